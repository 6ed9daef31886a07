//! The process-wide default float dtype.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::dtype::DType;

/// The discriminant of the dtype.
static DEFAULT: AtomicU8 = AtomicU8::new(DType::F64 as u8);

/// The dtype of Python floats and of creation functions without `dtype=`.
pub(crate) fn default_dtype() -> DType {
    DType::ALL[DEFAULT.load(Ordering::Relaxed) as usize]
}

/// Sets the default; `dtype` must be a float.
pub(crate) fn set_default_dtype(dtype: DType) {
    debug_assert!(dtype.is_float(), "the default dtype is a float");
    DEFAULT.store(dtype as u8, Ordering::Relaxed);
}
