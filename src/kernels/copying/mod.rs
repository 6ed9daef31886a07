//! Elements from one memory to another: as they are, in another dtype, or the same one everywhere.
//!
//! Owns: copies, conversions, fills, and stores that pass the caches by.
//! Never computes with elements beyond their conversion. Invariant: a copy has the bits of what it copies.

pub mod cast;
pub(in crate::kernels) mod cast_run;
pub mod copy;
mod f16;
pub mod fill;
pub mod float_to_int;
mod float_to_int_simd;
pub(crate) mod nontemporal;
pub(in crate::kernels) mod transpose;
