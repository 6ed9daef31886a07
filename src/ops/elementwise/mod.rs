//! Operations that treat each element alone.
//!
//! Owns: their formulas, and the selections that combine masks with them. Never moves elements.
//! Invariant: operands are broadcast and promoted by `core::elementwise` before a formula sees them.

pub mod arithmetic;
pub mod bitwise;
pub mod cast;
mod comparison;
pub mod complex;
pub(crate) mod conjugate;
mod functions;
pub(crate) mod integer;
pub mod nextafter;
pub mod rounding;
pub mod select;
pub mod ternary;

pub use comparison::{closeness, compare, extremes};
pub use functions::{activation, gelu, powers, special, thresholds, unary};
