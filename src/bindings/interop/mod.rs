//! Memory that is shared with other array libraries.
//!
//! Owns: the doors to NumPy, DLPack, arrays of other libraries and files. Never casts where sharing was asked for.
//! Invariant: whoever shares memory keeps it alive, and who may write to it is counted.

mod atomic_file;
pub(crate) mod dlpack;
mod dtypes;
pub(crate) mod einops;
pub(crate) mod foreign_arrays;
pub(crate) mod memory_owner;
pub(crate) mod missing_modules;
pub(crate) mod numpy;
pub(crate) mod safetensors;
