//! The functions of float32 that AVX-512 has instructions for which no compiler finds, on sixteen numbers at once.
mod exponential;
mod hyperbolic;
mod logarithm;
mod normal;
mod power;
mod root;
mod vector;

pub(crate) use vector::Sixteen;
