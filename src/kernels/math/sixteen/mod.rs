//! The functions of float32 that AVX-512 has instructions for which no compiler finds, on sixteen numbers at once.
//!
//! Owns: these functions, in the bounds of their namesakes. Never runs below AVX-512.
//! Invariant: a lane depends on the same lane of the arguments.

mod exponential;
mod hyperbolic;
mod logarithm;
mod normal;
mod power;
mod root;
mod vector;

pub(crate) use exponential::exp_of_eight;
pub(crate) use vector::Sixteen;
