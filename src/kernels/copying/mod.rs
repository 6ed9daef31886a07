//! Copies, dtype conversions, fills, block transposes and non-temporal stores.

pub mod cast;
pub mod copy;
mod f16;
pub mod fill;
pub mod float_to_int;
mod float_to_int_simd;
pub(crate) mod nontemporal;
pub(in crate::kernels) mod transpose;
