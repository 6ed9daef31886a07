//! `__dlpack__`: tensors to DLPack capsules.
//! Consumers that cannot know that the memory is read-only get a copy; one that asks for `copy=False` is counted as a
//! writer.
//!
//! Invariant: a capsule keeps the storage alive until its deleter has run.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::{Storage, observer};
use crate::bindings::errors::{bad_type, to_py_result, to_python};
use crate::bindings::interop::dlpack::format::{
    CPU, DlTensor, IS_COPIED, LegacyTensor, Managed, READ_ONLY, VersionedTensor, exchange_error,
};
use crate::bindings::object::PyTensor;
use crate::error::Error;
use crate::graph::grad_enabled;
use crate::ops::shape::create;
use crate::tensor::Tensor;
use crate::threads::NotAlone;

/// The content of our capsules; `managed` must be the first field.
#[repr(C)]
struct CapsuleData<M> {
    managed: M,
    dims: Vec<i64>,
    strides: Vec<i64>,
    storage: Storage,
    counted_writable: bool,
    /// The consumer may delete this on another thread without the GIL.
    _others: NotAlone,
}

impl<M> Drop for CapsuleData<M> {
    fn drop(&mut self) {
        if self.counted_writable {
            self.storage.release_export();
        }
    }
}

/// # Safety
/// `managed` was made by `capsule_of` and is not used any more.
unsafe extern "C" fn delete<M>(managed: *mut M) {
    // SAFETY: `capsule_of` leaked this box, whose first field is the managed part.
    drop(unsafe { Box::from_raw(managed.cast::<CapsuleData<M>>()) });
}

/// The destructor of a capsule: deletes content that no consumer has taken.
unsafe extern "C" fn destroy_capsule<M: Managed>(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this with a live capsule; a consumer that took the content renamed it.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, M::NAME.as_ptr()) == 1 {
            delete::<M>(ffi::PyCapsule_GetPointer(capsule, M::NAME.as_ptr()).cast());
        }
    }
}

fn capsule_of<'py, M: Managed>(
    py: Python<'py>,
    tensor: &Tensor,
    flags: u64,
    counted_writable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    observer::check_read("dlpack", tensor.storage())?;
    let storage = tensor.storage().clone();
    if counted_writable {
        storage.export_writable();
    }
    let mut dims: Vec<i64> = tensor.shape().iter().map(|&d| d as i64).collect();
    let mut strides: Vec<i64> = tensor.layout().strides().iter().map(|&s| s as i64).collect();
    let tensor_struct = DlTensor {
        data: tensor.ptr().cast(),
        device: [CPU, 0],
        ndim: dims.len() as i32,
        code: tensor.dtype().row().dlpack,
        bits: (tensor.dtype().size() * 8) as u8,
        lanes: 1,
        shape: dims.as_mut_ptr(),
        strides: strides.as_mut_ptr(),
        byte_offset: 0,
    };
    let managed = M::new(tensor_struct, flags, delete::<M>);
    let _others = NotAlone::new();
    let exported = CapsuleData { managed, dims, strides, storage, counted_writable, _others };
    let exported = Box::into_raw(Box::new(exported));
    // SAFETY: the box lives until `delete`, which either the capsule's destructor or the consumer calls; if no capsule
    // could be made, it is still ours.
    unsafe {
        let made =
            ffi::PyCapsule_New(exported.cast(), M::NAME.as_ptr(), Some(destroy_capsule::<M>));
        if made.is_null() {
            drop(Box::from_raw(exported));
        }
        Bound::from_owned_ptr_or_err(py, made)
    }
}

/// The `copy=` argument of `__dlpack__`.
enum CopyRequest {
    /// Not given: the consumer may not know the whole protocol.
    Silent,
    /// `copy=None`: share, and respect the read-only flag.
    Either,
    Copy,
    Share,
}

fn copy_request(kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<CopyRequest> {
    let given = kwargs.map(|k| k.get_item("copy")).transpose()?.flatten();
    Ok(match given {
        None => CopyRequest::Silent,
        Some(copy) if copy.is_none() => CopyRequest::Either,
        Some(copy) if copy.is_truthy()? => CopyRequest::Copy,
        Some(_) => CopyRequest::Share,
    })
}

/// Checks the keywords; returns whether the consumer takes versioned capsules.
fn check_export(kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<bool> {
    let Some(kwargs) = kwargs else { return Ok(false) };
    let mut versioned = false;
    for (key, value) in kwargs {
        match key.extract::<String>()?.as_str() {
            "copy" => {}
            _ if value.is_none() => {}
            "max_version" => versioned = value.extract::<(u32, u32)>()?.0 >= 1,
            "dl_device" if value.extract::<(i32, i32)>()?.0 == CPU => {}
            "dl_device" => {
                let what = format!("device {value} was asked for, and tensors live on the CPU");
                return Err(exchange_error(
                    "__dlpack__",
                    what,
                    "ask for (1, 0) or leave dl_device out",
                ));
            }
            "stream" => {
                let what = "a stream was given, and the CPU has none";
                return Err(exchange_error("__dlpack__", what, "pass stream=None"));
            }
            other => {
                let what = format!("unexpected keyword argument {other:?}");
                let remedy = "the parameters are stream, max_version, dl_device, copy";
                return Err(bad_type("__dlpack__()", what, remedy));
            }
        }
    }
    Ok(versioned)
}

#[pymethods]
impl PyTensor {
    /// The tensor's memory for another library, as DLPack 1.0 has it.
    ///
    /// Shared read-only with consumers that know the whole protocol (`copy=None`), writable and
    /// counted as `numpy(writable=True)` with `copy=False`; every other consumer gets a copy.
    #[pyo3(
        signature = (**kwargs),
        text_signature = "($self, *, stream=None, max_version=None, dl_device=None, copy=None)"
    )]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let tensor = &self.tensor;
        let versioned = check_export(kwargs)?;
        if grad_enabled() && tensor.requires_grad() {
            let remedy = "use detach() or no_grad() to mean it";
            return Err(to_python(Box::new(Error::GraphCut { op: "__dlpack__".into(), remedy })));
        }
        let (source, flags, counted_writable) = match copy_request(kwargs)? {
            CopyRequest::Either if versioned => (tensor.clone(), READ_ONLY, false),
            CopyRequest::Share => (share_writable(tensor)?, 0, true),
            _ => (duplicate(tensor)?, IS_COPIED, false),
        };
        if versioned {
            capsule_of::<VersionedTensor>(py, &source, flags, counted_writable)
        } else {
            capsule_of::<LegacyTensor>(py, &source, flags, counted_writable)
        }
    }

    /// The device of the memory: `(1, 0)`, the CPU.
    fn __dlpack_device__(&self) -> (i32, i32) {
        (CPU, 0)
    }
}

/// Prepares a tensor's memory for writes by the consumer.
fn share_writable(tensor: &Tensor) -> PyResult<Tensor> {
    if tensor.requires_grad() || !tensor.storage().is_writable() {
        let what = if tensor.requires_grad() {
            "the tensor requires grad, and writing to it elsewhere would falsify gradients"
        } else {
            "the memory is a read-only array's"
        };
        return Err(exchange_error("__dlpack__", what, "leave copy=False out, or share t.clone()"));
    }
    to_py_result(tensor.whole_memory().keep_saved())?;
    // Other saved uses cannot be copied any more; raising the version makes them errors.
    tensor.storage().bump_version("__dlpack__(copy=False)");
    Ok(tensor.clone())
}

pub(super) fn duplicate(tensor: &Tensor) -> PyResult<Tensor> {
    to_py_result(create::clone_(&tensor.detach()))
}
