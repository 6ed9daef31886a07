//! Choosing elements: subscripts, takes, gathers, masks.
//!
//! Owns: the reading of index expressions and the operations that pick by position. Never changes a tensor in place.
//! Invariant: positions are resolved once into `core::row_indices`, which serves forward and backward.

pub mod gather;
pub mod getitem;
pub mod membership;
pub mod nonzero;
pub mod select_slice;
pub(crate) mod subscript;
pub mod take;
