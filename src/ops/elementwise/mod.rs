//! Operations that treat each element alone.
//!
//! Owns: their formulas, and the selections that combine masks with them. Never moves elements.
//! Invariant: operands are broadcast and promoted by `core::elementwise` before a formula sees them.

pub mod activation;
pub mod arith;
pub mod bitwise;
pub mod blend;
pub mod cast;
pub mod closeness;
pub mod compare;
pub mod complex;
pub(crate) mod conjugated;
pub mod extremes;
pub mod gelu;
pub(crate) mod integer;
pub mod neighbour;
pub mod powers;
pub mod rounding;
pub mod select;
pub mod special;
pub mod unary;
