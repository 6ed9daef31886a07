//! Element-wise operations: their formulas, and selection by masks.
//!
//! Invariant: `core::elementwise` broadcasts and promotes operands before a formula sees them.

pub mod arithmetic;
pub mod bitwise;
pub mod cast;
mod comparison;
pub mod complex;
mod functions;
pub(crate) mod integer_power_shift;
pub mod nextafter;
pub mod rounding;
pub mod select;
pub mod ternary;

pub use comparison::{closeness, compare, extremes};
pub use functions::{activation, binary, constant_exponents, gelu, special, thresholds, unary};
