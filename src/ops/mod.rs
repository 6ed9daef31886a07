//! All operations, each with its derivative: they validate, compute and record.
//!
//! Invariant: an operation enters the graph through `graph::record` and nowhere else.

#[macro_use]
pub mod core;

pub mod autograd;
pub mod custom_op;
pub mod elementwise;
#[cfg(feature = "fft")]
pub mod fft;
pub mod index;
pub mod inplace;
#[cfg(feature = "linalg")]
pub mod linalg;
pub mod nn;
pub mod product;
pub mod reduce;
pub mod shape;
pub mod signal;

mod operators;
mod registry;
mod value;

pub use registry::registry;
