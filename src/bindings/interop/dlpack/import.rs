//! `from_dlpack`: DLPack capsules to tensors.
//!
//! Invariant: content is taken out of a capsule at most once, and its deleter is called exactly once, when the storage
//! made from it is dropped.

use std::ffi::CStr;
use std::ptr::NonNull;

use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::array::{Access, Layout, Owner, ShapeVec, Storage};
use crate::bindings::errors::{bad_type, to_python, type_name};
use crate::bindings::interop::dlpack::export::duplicate;
use crate::bindings::interop::dlpack::format::{
    CPU, DlTensor, LEGACY, LegacyTensor, Managed, READ_ONLY, VERSION, VERSIONED, VersionedTensor,
    exchange_error,
};
use crate::bindings::object::{PyTensor, wrap};
use crate::dtype::{CONVERT, DType};
use crate::error::Error;
use crate::graph::grad_enabled;
use crate::ops::core::broadcast::astype;
use crate::tensor::Tensor;

/// Content taken out of a capsule; dropping it calls the producer's deleter.
struct CapsuleContent<M: Managed>(NonNull<M>);

// SAFETY: the producer's deleter may be called from any thread, and we call it with the GIL held.
unsafe impl<M: Managed> Send for CapsuleContent<M> {}
// SAFETY: nothing is read through a shared reference after the import.
unsafe impl<M: Managed> Sync for CapsuleContent<M> {}

impl<M: Managed> Owner for CapsuleContent<M> {}

impl<M: Managed> Drop for CapsuleContent<M> {
    fn drop(&mut self) {
        // SAFETY: the content is ours until its deleter runs, which happens here and only here.
        let call = || unsafe {
            if let Some(deleter) = self.0.as_ref().deleter() {
                deleter(self.0.as_ptr());
            }
        };
        // During interpreter shutdown threads cannot attach any more; the memory is then left to the process exit.
        Python::try_attach(|_| call());
    }
}

fn take_content<M: Managed>(capsule: &Bound<'_, PyCapsule>) -> PyResult<CapsuleContent<M>> {
    // SAFETY: the capsule is live and, as the caller checked, holds an `M` that was not taken; renaming it transfers
    // ownership, as the protocol defines.
    unsafe {
        let content = ffi::PyCapsule_GetPointer(capsule.as_ptr(), M::NAME.as_ptr());
        let Some(content) = NonNull::new(content.cast::<M>()) else {
            return Err(PyErr::fetch(capsule.py()));
        };
        if ffi::PyCapsule_SetName(capsule.as_ptr(), M::USED_NAME.as_ptr()) != 0 {
            return Err(PyErr::fetch(capsule.py()));
        }
        Ok(CapsuleContent(content))
    }
}

fn has_name(capsule: &Bound<'_, PyCapsule>, name: &CStr) -> bool {
    // SAFETY: the capsule is a live object.
    unsafe { ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) == 1 }
}

fn tensor_from_capsule(capsule: &Bound<'_, PyCapsule>) -> PyResult<Tensor> {
    if has_name(capsule, VERSIONED) {
        let content = take_content::<VersionedTensor>(capsule)?;
        // SAFETY: version and flags are at the same offset in every version.
        let (version, flags) = unsafe { (content.0.as_ref().version, content.0.as_ref().flags) };
        if version[0] != VERSION[0] {
            let what = format!("the capsule has version {}.{}", version[0], version[1]);
            return Err(exchange_error("from_dlpack", what, "export it with max_version=(1, 0)"));
        }
        let access = if flags & READ_ONLY == 0 { Access::Shared } else { Access::Foreign };
        return adopt(content, access);
    }
    if has_name(capsule, LEGACY) {
        return adopt(take_content::<LegacyTensor>(capsule)?, Access::Shared);
    }
    let remedy = "pass an object with __dlpack__, whose capsule nobody has taken";
    Err(exchange_error("from_dlpack", "the capsule holds no DLPack tensor", remedy))
}

fn dtype_of(tensor: &DlTensor) -> PyResult<DType> {
    let DlTensor { code, bits, lanes, .. } = *tensor;
    match DType::from_dlpack(code, bits) {
        // Foreign booleans are read as u8: bytes other than 0 and 1 are invalid as Rust bools.
        Some(DType::Bool) if lanes == 1 => Ok(DType::U8),
        Some(dtype) if lanes == 1 => Ok(dtype),
        _ => Err(to_python(Box::new(Error::Unsupported {
            op: "from_dlpack".into(),
            what: format!("elements of code {code} with {bits} bits and {lanes} lanes"),
            remedy: CONVERT.as_str(),
        }))),
    }
}

fn adopt<M: Managed>(content: CapsuleContent<M>, access: Access) -> PyResult<Tensor> {
    // SAFETY: the content is valid until its deleter runs; shape and strides hold `ndim` integers each, and null
    // strides mean C order.
    let (tensor, dims, strides) = unsafe {
        let tensor = content.0.as_ref().tensor();
        let ndim = tensor.ndim.max(0) as usize;
        let list = |p: *mut i64| {
            if ndim == 0 || p.is_null() { None } else { Some(std::slice::from_raw_parts(p, ndim)) }
        };
        (tensor, list(tensor.shape).unwrap_or_default(), list(tensor.strides))
    };
    if tensor.device[0] != CPU {
        let what = format!("the memory is on device {:?}, not on the CPU", tensor.device);
        return Err(exchange_error("from_dlpack", what, "copy it to the CPU first"));
    }
    let dtype = dtype_of(tensor)?;
    let boolean = tensor.code == DType::Bool.row().dlpack;
    let dims: ShapeVec = dims.iter().map(|&d| d.max(0) as usize).collect();
    if dims.contains(&0) {
        return Ok(Tensor::empty(&dims, if boolean { DType::Bool } else { dtype })?);
    }
    let first = tensor.data.cast::<u8>().wrapping_add(tensor.byte_offset as usize);
    if first.addr() % dtype.size() != 0 {
        let what = "the memory is not aligned to its elements";
        return Err(exchange_error("from_dlpack", what, "pass a copy of it"));
    }
    let strides: Vec<isize> = match strides {
        Some(strides) => strides.iter().map(|&s| s as isize).collect(),
        None => Layout::contiguous(&dims)?.strides().to_vec(),
    };
    if tensor.data.is_null() {
        return Err(exchange_error("from_dlpack", "the capsule names no memory", "pass an array"));
    }
    let Some((low, high)) = element_range(&dims, &strides, dtype.size()) else {
        let what = "the strides reach beyond what memory can address";
        return Err(exchange_error("from_dlpack", what, "pass a copy of it"));
    };
    let layout = Layout::strided(&dims, &strides, -low)?;
    let size = dtype.size() as isize;
    let nbytes = ((high - low + 1) * size) as usize;
    // SAFETY: the producer guarantees the elements that shape and strides address until the deleter runs, which the
    // owner calls when the storage is dropped.
    let storage =
        unsafe { Storage::adopt(first.offset(low * size), nbytes, access, Box::new(content)) };
    let shared = Tensor::assemble(storage, layout, dtype, None);
    if boolean { Ok(astype(&shared, DType::Bool)?) } else { Ok(shared) }
}

/// The lowest and the highest element offset of a shape and strides; None if the range in bytes overflows an address.
fn element_range(dims: &[usize], strides: &[isize], size: usize) -> Option<(isize, isize)> {
    let (mut low, mut high) = (0isize, 0isize);
    for (&d, &s) in dims.iter().zip(strides) {
        let reach = isize::try_from(d).ok()?.checked_sub(1)?.checked_mul(s)?;
        low = low.checked_add(reach.min(0))?;
        high = high.checked_add(reach.max(0))?;
    }
    let elements = high.checked_sub(low)?.checked_add(1)?;
    elements.checked_mul(isize::try_from(size).ok()?)?;
    Some((low, high))
}

/// A tensor on the memory of any object with `__dlpack__`: an array of NumPy, PyTorch, JAX, …
///
/// Shares the memory unless `copy=True`; operations copy what they must keep of it, because its owner
/// may write to it. Errors: `TypeError` for other objects and dtypes, `BufferError` for other devices.
#[pyfunction]
#[pyo3(signature = (x, *, device=None, copy=None))]
pub(crate) fn from_dlpack<'py>(
    x: &Bound<'py, PyAny>,
    device: Option<&str>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    if device.is_some_and(|device| device != "cpu") {
        let what = format!("device {:?} does not exist", device.unwrap_or_default());
        return Err(exchange_error("from_dlpack", what, "tensors live on \"cpu\""));
    }
    let own = x.cast::<PyTensor>().ok().map(|t| t.get().tensor.clone());
    let shared = match own {
        Some(tensor) if grad_enabled() && tensor.requires_grad() => {
            let remedy = "use detach() or no_grad() to mean it";
            return Err(to_python(Box::new(Error::GraphCut { op: "from_dlpack".into(), remedy })));
        }
        Some(tensor) => tensor.detach(),
        None => tensor_from_capsule(&capsule_from(x, copy)?)?,
    };
    wrap(py, if copy == Some(true) { duplicate(&shared)? } else { shared })
}

/// Whether an object is an array of another library with `__dlpack__`.
///
/// NumPy's arrays and scalars are handled by `numpy.rs`.
pub(crate) fn is_producer(x: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(!x.is_instance_of::<PyTensor>()
        && !crate::bindings::interop::numpy::is_scalar(x)?
        && x.hasattr(pyo3::intern!(x.py(), "__dlpack__"))?)
}

/// A tensor on the memory of an object with `__dlpack__`.
pub(crate) fn import_shared(x: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    tensor_from_capsule(&capsule_from(x, None)?)
}

/// Asks a producer for a capsule, of the newest version that it supports.
fn capsule_from<'py>(x: &Bound<'py, PyAny>, copy: Option<bool>) -> PyResult<Bound<'py, PyCapsule>> {
    let py = x.py();
    let foreign = |_| {
        let what = format!("the argument is a {}, which has no __dlpack__", type_name(x));
        bad_type("from_dlpack", what, "pass an array, or use fg.tensor")
    };
    let export = x.getattr("__dlpack__").map_err(foreign)?;
    let device: (i32, i32) = match x.call_method0("__dlpack_device__") {
        Ok(device) => device.extract()?,
        Err(e) if e.is_instance_of::<PyAttributeError>(py) => (CPU, 0),
        Err(e) => return Err(e),
    };
    if device.0 != CPU {
        let what = format!("the memory is on device {device:?}, not on the CPU");
        return Err(exchange_error("from_dlpack", what, "copy it to the CPU first"));
    }
    let kwargs = PyDict::new(py);
    kwargs.set_item("max_version", (VERSION[0], VERSION[1]))?;
    if copy == Some(false) {
        kwargs.set_item("copy", false)?;
    }
    let made = match export.call((), Some(&kwargs)) {
        Err(e) if e.is_instance_of::<PyTypeError>(py) => export.call0()?,
        made => made?,
    };
    Ok(made.cast_into::<PyCapsule>()?)
}
