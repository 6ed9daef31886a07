//! How an operation is declared, and what a host language passes to it.
//!
//! Owns: the declaration of an operation and its facts, the types of its arguments, and the macro that turns a structured
//! one into all its faces. Never computes and never records.
//! Invariant: whatever a binding needs to know of an operation stands in its declaration.

pub mod arguments;
pub mod op_decl;
pub mod op_facts;
#[macro_use]
pub mod declare_op;
