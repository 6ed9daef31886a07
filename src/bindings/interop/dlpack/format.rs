//! The memory layout of DLPack 1.0, in its versioned and its older form.
//!
//! Owns: the C structures and the names of the capsules that carry them. Never reads memory.
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
pub(super) struct Legacy {
    pub(super) tensor: DlTensor,
    pub(super) context: *mut c_void,
    pub(super) deleter: Option<unsafe extern "C" fn(*mut Legacy)>,
}

#[repr(C)]
pub(super) struct Versioned {
    pub(super) version: [u32; 2],
    pub(super) context: *mut c_void,
    pub(super) deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    pub(super) flags: u64,
    pub(super) tensor: DlTensor,
}

/// The two forms of a capsule's content.
pub(super) trait Managed: Sized + 'static {
    const NAME: &'static CStr;
    const USED: &'static CStr;
    fn new(tensor: DlTensor, flags: u64, deleter: unsafe extern "C" fn(*mut Self)) -> Self;
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
    fn tensor(&self) -> &DlTensor;
}

impl Managed for Legacy {
    const NAME: &'static CStr = LEGACY;
    const USED: &'static CStr = c"used_dltensor";
    fn new(tensor: DlTensor, _: u64, deleter: unsafe extern "C" fn(*mut Legacy)) -> Legacy {
        Legacy { tensor, context: std::ptr::null_mut(), deleter: Some(deleter) }
    }
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Legacy)> {
        self.deleter
    }
    fn tensor(&self) -> &DlTensor {
        &self.tensor
    }
}

impl Managed for Versioned {
    const NAME: &'static CStr = VERSIONED;
    const USED: &'static CStr = c"used_dltensor_versioned";
    fn new(tensor: DlTensor, flags: u64, delete: unsafe extern "C" fn(*mut Versioned)) -> Self {
        let context = std::ptr::null_mut();
        Versioned { version: VERSION, context, deleter: Some(delete), flags, tensor }
    }
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Versioned)> {
        self.deleter
    }
    fn tensor(&self) -> &DlTensor {
        &self.tensor
    }
}

#[cold]
pub(super) fn refused(op: &'static str, what: impl Into<String>, remedy: &'static str) -> PyErr {
    to_python(Box::new(Error::Exchange { op: op.into(), what: what.into(), remedy }))
}
