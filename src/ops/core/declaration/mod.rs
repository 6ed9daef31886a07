//! Declarations of operations: signature, facts, argument types, and the macro for structured operations.
//!
//! Invariant: a binding needs to know nothing about an operation beyond its declaration.

pub mod arguments;
pub mod op_decl;
pub mod op_facts;
#[macro_use]
pub mod declare_op;
