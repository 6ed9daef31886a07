//! Memory that is shared with other array libraries.
pub(crate) mod dlpack;
mod dtypes;
pub(crate) mod einops;
pub(crate) mod foreign;
pub(crate) mod memory;
pub(crate) mod numpy;
pub(crate) mod safetensors;
mod whole_file;
