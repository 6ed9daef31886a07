//! Comparisons: predicates, closeness, and the larger or smaller of two operands. NaN compares as in NumPy.

pub mod closeness;
pub mod compare;
pub mod extremes;
