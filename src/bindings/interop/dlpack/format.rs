//! The C structures of DLPack 1.0, versioned and legacy, and the capsule names.
//!
//! Invariant: field order and types are those of `dlpack.h`.

use std::ffi::{CStr, c_void};

use pyo3::PyErr;

use crate::bindings::errors::to_python;
use crate::error::Error;

pub(super) const VERSIONED: &CStr = c"dltensor_versioned";
pub(super) const LEGACY: &CStr = c"dltensor";
pub(super) const CPU: i32 = 1;
pub(super) const VERSION: [u32; 2] = [1, 0];
pub(super) const READ_ONLY: u64 = 1;
pub(super) const IS_COPIED: u64 = 2;

#[repr(C)]
pub(super) struct DlTensor {
    pub(super) data: *mut c_void,
    pub(super) device: [i32; 2],
    pub(super) ndim: i32,
    pub(super) code: u8,
    pub(super) bits: u8,
    pub(super) lanes: u16,
    pub(super) shape: *mut i64,
    pub(super) strides: *mut i64,
    pub(super) byte_offset: u64,
}

#[repr(C)]
pub(super) struct LegacyTensor {
    pub(super) tensor: DlTensor,
    pub(super) context: *mut c_void,
    pub(super) deleter: Option<unsafe extern "C" fn(*mut LegacyTensor)>,
}

#[repr(C)]
pub(super) struct VersionedTensor {
    pub(super) version: [u32; 2],
    pub(super) context: *mut c_void,
    pub(super) deleter: Option<unsafe extern "C" fn(*mut VersionedTensor)>,
    pub(super) flags: u64,
    pub(super) tensor: DlTensor,
}

/// The content of a capsule, versioned or legacy.
pub(super) trait Managed: Sized + 'static {
    const NAME: &'static CStr;
    const USED_NAME: &'static CStr;
    fn new(tensor: DlTensor, flags: u64, deleter: unsafe extern "C" fn(*mut Self)) -> Self;
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
    fn tensor(&self) -> &DlTensor;
}

impl Managed for LegacyTensor {
    const NAME: &'static CStr = LEGACY;
    const USED_NAME: &'static CStr = c"used_dltensor";
    fn new(
        tensor: DlTensor,
        _: u64,
        deleter: unsafe extern "C" fn(*mut LegacyTensor),
    ) -> LegacyTensor {
        LegacyTensor { tensor, context: std::ptr::null_mut(), deleter: Some(deleter) }
    }
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut LegacyTensor)> {
        self.deleter
    }
    fn tensor(&self) -> &DlTensor {
        &self.tensor
    }
}

impl Managed for VersionedTensor {
    const NAME: &'static CStr = VERSIONED;
    const USED_NAME: &'static CStr = c"used_dltensor_versioned";
    fn new(
        tensor: DlTensor,
        flags: u64,
        delete: unsafe extern "C" fn(*mut VersionedTensor),
    ) -> Self {
        let context = std::ptr::null_mut();
        VersionedTensor { version: VERSION, context, deleter: Some(delete), flags, tensor }
    }
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut VersionedTensor)> {
        self.deleter
    }
    fn tensor(&self) -> &DlTensor {
        &self.tensor
    }
}

#[cold]
pub(super) fn exchange_error(
    op: &'static str,
    what: impl Into<String>,
    remedy: &'static str,
) -> PyErr {
    to_python(Box::new(Error::Exchange { op: op.into(), what: what.into(), remedy }))
}
