//! Exchange of memory with other libraries: NumPy, DLPack, foreign arrays, files; and import hooks.
//!
//! Invariant: whoever shares memory keeps it alive, and writers to shared memory are counted.

mod atomic_file;
pub(crate) mod dlpack;
pub(crate) mod foreign_arrays;
pub(crate) mod import_hooks;
pub(crate) mod memory_owner;
pub(crate) mod numpy;
pub(crate) mod safetensors;
