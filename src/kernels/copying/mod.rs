//! Elements from one memory to another: as they are, in another dtype, or the same one everywhere.
//!
//! Owns: copies, conversions, fills, and stores that pass the caches by.
//! Never computes with elements beyond their conversion. Invariant: a copy has the bits of what it copies.

pub mod cast;
pub mod copy;
pub mod fill;
mod halves;
pub(in crate::kernels) mod neighbours;
mod registers;
pub(crate) mod stream;
pub mod truncate;
pub(in crate::kernels) mod turn;
