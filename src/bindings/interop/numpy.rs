//! The only door between tensors and NumPy's memory.
//!
//! Owns: sharing an array's memory with a tensor, exporting a tensor as an array, dtype translation.
//! Never casts or reorders silently where sharing was asked for: what cannot be shared is copied once.
//! Invariant: an exported array keeps the storage alive and is read-only unless `memory` counted it as a
//! writable export; a shared array is kept alive by the storage.

use std::ffi::{c_int, c_void};
use std::ptr;

use numpy::npyffi::{
    self, NPY_ARRAY_ALIGNED, NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_OWNDATA, NPY_ARRAY_WRITEABLE,
    PY_ARRAY_API, npy_intp,
};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::ffi::Py_REFCNT;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

use crate::array::{Access, Elements, ElementsMut, Layout, Owner, Storage, Word, capture};
use crate::bindings::attach::attached;
use crate::bindings::errors::{to_python, type_name};
pub(crate) use crate::bindings::interop::dtypes::{dtype_of, dtype_of_code, native};
use crate::bindings::interop::dtypes::{translate, unsupported};
use crate::bindings::interop::foreign_arrays;
use crate::bindings::interop::memory_owner::{Lending, Memory};
use crate::dtype::DType;
use crate::error::Error;
use crate::tensor::Tensor;

/// Up to this size a copy costs less than sharing an array and copying it when a derivative keeps it.
const SMALL_BYTES: usize = 1024;

/// Whether an object is an ndarray (or a subclass).
#[inline]
pub(crate) fn is_array(ob: &Bound<'_, PyAny>) -> bool {
    ob.cast::<PyUntypedArray>().is_ok()
}

/// Whether an object is a NumPy scalar.
pub(crate) fn is_scalar(ob: &Bound<'_, PyAny>) -> PyResult<bool> {
    static GENERIC: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    ob.is_instance(GENERIC.import(ob.py(), "numpy", "generic")?.as_any())
}

/// `numpy.asarray`, with ragged and object data refused in our words.
pub(crate) fn asarray<'py>(op: &str, ob: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    asarray_of(op, ob, None)
}

/// The same with elements of a dtype, which NumPy checks its numbers against.
fn asarray_of<'py>(
    op: &str,
    ob: &Bound<'py, PyAny>,
    dtype: Option<DType>,
) -> PyResult<Bound<'py, PyAny>> {
    static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = ob.py();
    let asarray = ASARRAY.import(py, "numpy", "asarray")?;
    let made = match dtype {
        Some(dtype) => asarray.call1((ob, descr(py, dtype))),
        None => asarray.call1((ob,)),
    };
    made.map_err(|error| {
        let ragged = |error: &PyErr| dtype.is_none() || error.to_string().contains("sequence");
        if error.is_instance_of::<PyValueError>(py) && ragged(&error) {
            to_python(Box::new(Error::Shape {
                op: op.to_owned().into(),
                what: format!("the {} is ragged: its rows have different lengths", type_name(ob)),
                remedy: "pad the rows or make one tensor of each",
            }))
        } else {
            error
        }
    })
}

/// `asarray` of Python numbers that are to have a dtype: where it holds less than they do, NumPy checks each of them.
pub(crate) fn asarray_for<'py>(
    op: &str,
    ob: &Bound<'py, PyAny>,
    dtype: DType,
) -> PyResult<Bound<'py, PyAny>> {
    let array = asarray(op, ob)?;
    let natural = translate(&array.cast::<PyUntypedArray>()?.dtype());
    let checked = natural.is_some_and(|natural| {
        let whole = dtype.is_integer() && natural != dtype && natural != DType::Bool;
        whole || natural.is_complex() && dtype.is_float()
    });
    if checked { asarray_of(op, ob, Some(dtype)) } else { Ok(array) }
}

/// NumPy's object for a dtype, always the same one.
pub(crate) fn descr(py: Python<'_>, dtype: DType) -> Bound<'_, PyAny> {
    // SAFETY: the number is one of NumPy's builtin types; the call returns a new reference to the
    // singleton, or null with an exception, which `from_owned_ptr` turns into a panic.
    unsafe {
        let descr = PY_ARRAY_API.PyArray_DescrFromType(py, dtype.row().numpy);
        Bound::from_owned_ptr(py, descr.cast())
    }
}

/// A tensor for one operation: an array of at most `SMALL_BYTES` is copied, larger ones are shared, as all are where a
/// program is recorded, which reads them where they lie.
pub(crate) fn operand(op: &str, ob: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let array = ob.cast::<PyUntypedArray>()?;
    let small = array.len() <= SMALL_BYTES / size_of::<f64>() && !capture::active();
    match native(&array.dtype()) {
        Some(dtype) if small && flags(array) & NPY_ARRAY_C_CONTIGUOUS != 0 => {
            copy(op, array, dtype)
        }
        _ => share(op, ob),
    }
}

/// A tensor that shares an array's memory where it can, and copies once where it cannot.
pub(crate) fn share(op: &str, ob: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let array = ob.cast::<PyUntypedArray>()?;
    let ours = flags(array) & NPY_ARRAY_WRITEABLE != 0;
    adopt(op, array, if ours { Access::Shared } else { Access::Foreign })
}

/// The same for an array that NumPy may just have made, of which nobody else knows: it becomes ours.
pub(crate) fn take_over(op: &str, ob: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let array = ob.cast::<PyUntypedArray>()?;
    if flags(array) & OWNED != OWNED {
        return share(op, ob);
    }
    adopt(op, array, Access::Ours)
}

/// The flags of an array that NumPy may just have made.
const OWNED: c_int = NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE;

/// Whether an array has memory of its own, at least so many bytes in C order, and elements of this dtype, if one is asked for.
pub(crate) fn is_owned(
    array: &Bound<'_, PyUntypedArray>,
    dtype: Option<DType>,
    nbytes: usize,
) -> bool {
    let natural = native(&array.dtype());
    let asked = OWNED | NPY_ARRAY_C_CONTIGUOUS;
    let size = natural.map_or(0, |dtype| array.len() * dtype.size());
    flags(array) & asked == asked && size >= nbytes && dtype.is_none_or(|d| Some(d) == natural)
}

fn flags(array: &Bound<'_, PyUntypedArray>) -> c_int {
    // SAFETY: the pointer is that of a live array object.
    unsafe { (*array.as_array_ptr()).fields.flags }
}

fn data(array: &Bound<'_, PyUntypedArray>) -> *mut u8 {
    // SAFETY: the pointer is that of a live array object.
    unsafe { (*array.as_array_ptr()).fields.data.cast() }
}

/// The tensor's memory that an array is a view of, if it is one.
fn exported<'py>(array: &Bound<'py, PyUntypedArray>) -> Option<Bound<'py, Memory>> {
    let mut array = array.clone();
    loop {
        // SAFETY: the pointer is that of a live array object, which holds its base, if it has one.
        let base = unsafe {
            let base = (*array.as_array_ptr()).fields.base;
            Bound::from_borrowed_ptr_or_opt(array.py(), base)?
        };
        match base.cast_into::<Memory>() {
            Ok(memory) => return Some(memory),
            Err(other) => array = other.into_inner().cast_into().ok()?,
        }
    }
}

/// An array whose memory a tensor uses.
struct Lender(Py<PyUntypedArray>);

impl Owner for Lender {
    fn is_alone(&self) -> bool {
        attached(|py| {
            let mut array = self.0.bind(py).clone();
            // SAFETY: the pointer is that of a live object.
            let count = |array: &Bound<'_, PyUntypedArray>| unsafe { Py_REFCNT(array.as_ptr()) };
            // Beside the count of this handle there is the lender's, or that of the array whose base it is.
            while count(&array) == 2 {
                // SAFETY: the pointer is that of a live array object, which holds its base, if it has one.
                let base = unsafe {
                    let base = (*array.as_array_ptr()).fields.base;
                    Bound::from_borrowed_ptr_or_opt(py, base)
                };
                match base.map(Bound::cast_into) {
                    None => return flags(&array) & NPY_ARRAY_OWNDATA != 0,
                    Some(Ok(base)) => array = base,
                    Some(Err(_)) => return false,
                }
            }
            false
        })
    }
}

fn adopt(op: &str, array: &Bound<'_, PyUntypedArray>, access: Access) -> PyResult<Tensor> {
    foreign_arrays::refuse_masked(op, array)?;
    let descr = array.dtype();
    let Some(dtype) = translate(&descr) else {
        return Err(unsupported(op, &descr));
    };
    let aligned = flags(array) & NPY_ARRAY_ALIGNED != 0;
    // Bytes other than 0 and 1 would be no booleans to Rust, and others could write them later.
    let shareable = aligned && native(&descr).is_some() && dtype != DType::Bool;
    let size = dtype.size() as isize;
    let (dims, strides) = (array.shape(), array.strides());
    if array.is_empty() || !shareable || strides.iter().any(|s| s % size != 0) {
        return copy(op, array, dtype);
    }
    let (mut low, mut high) = (0, size);
    let mut steps = ShapeSteps::new();
    for (&d, &s) in dims.iter().zip(strides) {
        let reach = (d as isize - 1) * s;
        low += reach.min(0);
        high += reach.max(0);
        steps.push(s / size);
    }
    if let Some(memory) = exported(array) {
        // Our own memory comes home: its version then sees what each handle writes.
        let storage = memory.get().storage().clone();
        let offset = data(array).addr() as isize - storage.ptr().addr() as isize;
        if offset % size == 0 {
            let layout = Layout::strided(dims, &steps, offset / size)?;
            let tensor = Tensor::assemble(storage, layout, dtype, None);
            tensor.set_cause(memory.get().cut_cause());
            return Ok(tensor);
        }
    }
    let owner = Box::new(Lender(array.clone().unbind()));
    // SAFETY: the array object, which the owner keeps alive, guarantees `low..high` around its data
    // pointer; NumPy initialises what it hands out as far as any byte is valid as a number.
    let storage =
        unsafe { Storage::adopt(data(array).offset(low), (high - low) as usize, access, owner) };
    let layout = Layout::strided(dims, &steps, -low / size)?;
    Ok(Tensor::assemble(storage, layout, dtype, None))
}

type ShapeSteps = smallvec::SmallVec<[isize; 8]>;

/// A tensor of its own memory, from an array of any layout, byte order and real dtype.
pub(crate) fn copy(op: &str, array: &Bound<'_, PyUntypedArray>, dtype: DType) -> PyResult<Tensor> {
    foreign_arrays::refuse_masked(op, array)?;
    let descr = array.dtype();
    if translate(&descr).is_none() {
        return Err(unsupported(op, &descr));
    }
    let out = Tensor::empty(array.shape(), dtype)?;
    capture::register_filled(out.storage());
    let nbytes = out.size() * dtype.size();
    if native(&descr) == Some(dtype) && flags(array) & NPY_ARRAY_C_CONTIGUOUS != 0 {
        // SAFETY: both hold `nbytes` bytes, and the new storage overlaps nothing.
        unsafe { ptr::copy_nonoverlapping(data(array), out.ptr(), nbytes) };
    } else {
        let py = array.py();
        let target = export(py, &out, true)?;
        // SAFETY: both are live arrays of one shape; NumPy casts, reorders and swaps bytes.
        let failed = unsafe {
            PY_ARRAY_API.PyArray_CopyInto(py, target.as_ptr().cast(), array.as_array_ptr()) != 0
        };
        if failed {
            return Err(PyErr::fetch(py));
        }
    }
    if dtype == DType::Bool {
        // SAFETY: the new storage holds `nbytes` initialised bytes that only we can reach.
        let bytes = unsafe { std::slice::from_raw_parts_mut(out.ptr(), nbytes) };
        bytes.iter_mut().for_each(|byte| *byte = (*byte != 0) as u8);
    }
    if let Some(memory) = exported(array) {
        out.set_cause(memory.get().cut_cause());
    }
    Ok(out)
}

/// Whether elements lie where the processor can read them.
pub(crate) fn is_aligned(array: &Bound<'_, PyUntypedArray>) -> bool {
    flags(array) & NPY_ARRAY_ALIGNED != 0
}

/// The elements of a C-contiguous array, where they lie.
pub(crate) fn elements<'a>(array: &'a Bound<'_, PyUntypedArray>) -> Elements<'a> {
    // SAFETY: the array keeps them; as for every NumPy function, who writes to an argument meanwhile races.
    unsafe { Elements::new(data(array)) }
}

/// The dtype a copy of this array gets when none is asked for.
pub(crate) fn dtype_for_copy(op: &str, array: &Bound<'_, PyUntypedArray>) -> PyResult<DType> {
    let descr = array.dtype();
    translate(&descr).ok_or_else(|| unsupported(op, &descr))
}

/// An array over a tensor's memory.
pub(crate) fn export<'py>(
    py: Python<'py>,
    tensor: &Tensor,
    writable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    lend(py, tensor, if writable { Lending::Writable } else { Lending::ReadOnly })
}

/// The same as NumPy may write to it, or not.
pub(crate) fn lend<'py>(
    py: Python<'py>,
    tensor: &Tensor,
    lending: Lending,
) -> PyResult<Bound<'py, PyAny>> {
    capture::check_read("numpy", tensor.storage())?;
    let memory = Memory::of(tensor, lending)?;
    let writable = memory.is_writable() || lending == Lending::WhereFree && tensor.size() == 0;
    let base = Bound::new(py, memory)?;
    let size = tensor.dtype().size() as npy_intp;
    let mut steps: ShapeSteps = tensor.layout().strides().iter().map(|&s| s * size).collect();
    let memory = (steps.as_mut_ptr(), tensor.ptr().cast::<c_void>());
    let flags = if writable { NPY_ARRAY_WRITEABLE } else { 0 };
    // SAFETY: the data pointer, shape and strides describe memory inside the storage, which the base
    // object keeps alive; `SetBaseObject` steals the reference to it, also when it fails.
    unsafe {
        let array = array_of(py, tensor.shape(), tensor.dtype(), memory, flags)?;
        if PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast(), base.into_ptr()) != 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(array)
    }
}

/// The only element of a tensor as a NumPy scalar.
pub(crate) fn scalar<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    assert!(tensor.size() == 1, "one element");
    capture::check_read("item", tensor.storage())?;
    // SAFETY: the tensor has one element of its dtype, and outlives the call.
    unsafe { scalar_at(py, tensor.dtype(), tensor.ptr()) }
}

/// The first element in a word as a NumPy scalar.
pub(crate) fn scalar_of<'py>(
    py: Python<'py>,
    dtype: DType,
    word: &Word,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: a word holds an element of any dtype.
    unsafe { scalar_at(py, dtype, ptr::from_ref(word).cast()) }
}

/// # Safety
/// There is an element of this dtype at the address.
unsafe fn scalar_at(
    py: Python<'_>,
    dtype: DType,
    element: *const u8,
) -> PyResult<Bound<'_, PyAny>> {
    let descr = descr(py, dtype);
    // SAFETY: the caller's contract; NumPy copies the element, and borrows the description.
    unsafe {
        let scalar = PY_ARRAY_API.PyArray_Scalar(
            py,
            element.cast_mut().cast::<c_void>(),
            descr.as_ptr().cast(),
            ptr::null_mut(),
        );
        Bound::from_owned_ptr_or_err(py, scalar)
    }
}

/// A new array in C order, whose elements are to be written before anybody sees it.
pub(crate) fn empty<'py>(
    py: Python<'py>,
    dims: &[usize],
    dtype: DType,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    // SAFETY: without data and strides, NumPy allocates and chooses C order.
    unsafe {
        let array = array_of(py, dims, dtype, (ptr::null_mut(), ptr::null_mut()), 0)?;
        Ok(array.cast_into_unchecked())
    }
}

/// A new array with these strides and data.
///
/// # Safety
/// The strides are as many as the dims and stay inside memory that outlives the array; both are null for memory of the
/// array's own.
unsafe fn array_of<'py>(
    py: Python<'py>,
    dims: &[usize],
    dtype: DType,
    (steps, data): (*mut npy_intp, *mut c_void),
    flags: c_int,
) -> PyResult<Bound<'py, PyAny>> {
    let mut dims: ShapeSteps = dims.iter().map(|&d| d as npy_intp).collect();
    // SAFETY: the caller's contract; dims are as many as the call says.
    unsafe {
        let class = npyffi::get_type_object(py, npyffi::NpyTypes::PyArray_Type);
        let array = PY_ARRAY_API.PyArray_New(
            py,
            class,
            dims.len() as c_int,
            dims.as_mut_ptr(),
            dtype.row().numpy,
            steps,
            data,
            0,
            flags,
            ptr::null_mut(),
        );
        Bound::from_owned_ptr_or_err(py, array)
    }
}

/// The elements of an array that `empty` made.
pub(crate) fn elements_mut<'a>(array: &'a Bound<'_, PyUntypedArray>) -> ElementsMut<'a> {
    // SAFETY: the array keeps them, and its maker has not shown it to anybody.
    unsafe { ElementsMut::new(data(array)) }
}

/// A new, writable, C-contiguous array with a tensor's elements.
pub(crate) fn fresh<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let kwargs = PyDict::new(py);
    kwargs.set_item(pyo3::intern!(py, "order"), "C")?;
    export(py, tensor, false)?.call_method(pyo3::intern!(py, "copy"), (), Some(&kwargs))
}
