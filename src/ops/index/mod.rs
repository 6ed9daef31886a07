//! Selecting elements: subscripts, takes, gathers and masks.
//!
//! Invariant: indices are resolved once into `core::row_indices`, for forward and backward.

pub mod gather;
pub mod getitem;
pub mod membership;
pub mod nonzero;
pub(crate) mod subscript;
pub mod take;
