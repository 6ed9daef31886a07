//! The dtype of floats whose dtype nothing else decides.
//!
//! Owns: that dtype, for all threads. Never converts anything. Invariant: it is a float.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::dtype::DType;

/// Its discriminant.
static DEFAULT: AtomicU8 = AtomicU8::new(DType::F64 as u8);

/// The dtype that Python floats and the creation functions get.
pub(crate) fn default_dtype() -> DType {
    DType::ALL[DEFAULT.load(Ordering::Relaxed) as usize]
}

/// Sets it; `dtype` is a float.
pub(crate) fn set(dtype: DType) {
    debug_assert!(dtype.is_float(), "the default dtype is a float");
    DEFAULT.store(dtype as u8, Ordering::Relaxed);
}
