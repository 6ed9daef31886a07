//! Elements compared: truths, closeness, the larger and the smaller.
//!
//! Owns: predicates of two operands and what chooses by one. Never compares shapes or dtypes.
//! Invariant: a comparison with NaN is what NumPy's is.

pub mod closeness;
pub mod compare;
pub mod extremes;
