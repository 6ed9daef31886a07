//! The scalar types on which element-wise formulas are evaluated: the trait `Real`, its implementations for
//! floats and complex numbers, and the ring operations of each dtype.
//!
//! Invariant: a formula means the same for one number, for a SIMD vector and for complex numbers.

pub mod complex_scalar;
pub mod real;
pub(super) mod ring;
pub mod scalar;
