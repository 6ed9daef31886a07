//! Exchange with NumPy: sharing or copying an array's memory, exporting a tensor as an array, dtype translation.
//!
//! Invariant: an exported array keeps the storage alive and is read-only unless `ExportedMemory` counted it as a
//! writable export; a shared array is kept alive by the storage.

use std::ffi::{c_int, c_void};
use std::ptr;

use numpy::npyffi::{
    self, NPY_ARRAY_ALIGNED, NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_OWNDATA, NPY_ARRAY_WRITEABLE,
    PY_ARRAY_API, npy_intp,
};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::ffi::Py_REFCNT;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyType};

use crate::array::{Access, ElementWord, Elements, ElementsMut, Layout, Owner, Storage, observer};
use crate::bindings::attach::attached;
use crate::bindings::errors::{bad_type, to_python, type_name};
use crate::bindings::interop::foreign_arrays;
use crate::bindings::interop::memory_owner::{ExportMode, ExportedMemory};
use crate::dtype::{CONVERT, DType, Kind};
use crate::error::Error;
use crate::tensor::Tensor;

/// Up to this size, copying an array is cheaper than sharing it and copying when a derivative saves it.
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

/// `numpy.asarray`, with our error for ragged data.
pub(crate) fn asarray<'py>(op: &str, ob: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    asarray_with_dtype(op, ob, None)
}

/// `numpy.asarray` with a dtype, for which NumPy range-checks Python numbers.
fn asarray_with_dtype<'py>(
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

/// `asarray` of Python numbers for a dtype: range-checked by NumPy where the dtype is narrower.
pub(crate) fn asarray_checked<'py>(
    op: &str,
    ob: &Bound<'py, PyAny>,
    dtype: DType,
) -> PyResult<Bound<'py, PyAny>> {
    let array = asarray(op, ob)?;
    let natural = converted_dtype(&array.cast::<PyUntypedArray>()?.dtype());
    let checked = natural.is_some_and(|natural| {
        let whole = dtype.is_integer() && natural != dtype && natural != DType::Bool;
        whole || natural.is_complex() && dtype.is_float()
    });
    if checked { asarray_with_dtype(op, ob, Some(dtype)) } else { Ok(array) }
}

/// NumPy's singleton object of a dtype.
pub(crate) fn descr(py: Python<'_>, dtype: DType) -> Bound<'_, PyAny> {
    // SAFETY: the number is a builtin type number; the call returns a new reference to the singleton, or null with an
    // exception, which `from_owned_ptr` turns into a panic.
    unsafe {
        let descr = PY_ARRAY_API.PyArray_DescrFromType(py, dtype.row().numpy);
        Bound::from_owned_ptr(py, descr.cast())
    }
}

/// A tensor for one operation: copies small arrays, shares others. During a trace all are shared, since the program
/// reads them in place.
pub(crate) fn operand(op: &str, ob: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let array = ob.cast::<PyUntypedArray>()?;
    let small = array.len() <= SMALL_BYTES / size_of::<f64>() && !observer::is_active();
    match native_dtype(&array.dtype()) {
        Some(dtype) if small && flags(array) & NPY_ARRAY_C_CONTIGUOUS != 0 => {
            copy(op, array, dtype)
        }
        _ => share(op, ob),
    }
}

/// A tensor that shares an array's memory if possible, and copies it otherwise.
pub(crate) fn share(op: &str, ob: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let array = ob.cast::<PyUntypedArray>()?;
    let ours = flags(array) & NPY_ARRAY_WRITEABLE != 0;
    adopt(op, array, if ours { Access::Shared } else { Access::Foreign })
}

/// The same for an array that NumPy has just made and nothing else refers to: the tensor takes over the memory.
pub(crate) fn take_over(op: &str, ob: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let array = ob.cast::<PyUntypedArray>()?;
    if flags(array) & OWNED_FLAGS != OWNED_FLAGS {
        return share(op, ob);
    }
    adopt(op, array, Access::Exclusive)
}

/// The flags of an array that owns its memory.
const OWNED_FLAGS: c_int = NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE;

/// Whether an array owns at least `nbytes` bytes in C order, with elements of this dtype (if given).
pub(crate) fn owns_memory(
    array: &Bound<'_, PyUntypedArray>,
    dtype: Option<DType>,
    nbytes: usize,
) -> bool {
    let natural = native_dtype(&array.dtype());
    let asked = OWNED_FLAGS | NPY_ARRAY_C_CONTIGUOUS;
    let size = natural.map_or(0, |dtype| array.len() * dtype.size());
    flags(array) & asked == asked && size >= nbytes && dtype.is_none_or(|d| Some(d) == natural)
}

fn flags(array: &Bound<'_, PyUntypedArray>) -> c_int {
    // SAFETY: the array object is live.
    unsafe { (*array.as_array_ptr()).fields.flags }
}

fn data(array: &Bound<'_, PyUntypedArray>) -> *mut u8 {
    // SAFETY: the array object is live.
    unsafe { (*array.as_array_ptr()).fields.data.cast() }
}

/// The exported tensor memory that an array is a view of, if any.
fn exported_memory<'py>(array: &Bound<'py, PyUntypedArray>) -> Option<Bound<'py, ExportedMemory>> {
    let mut array = array.clone();
    loop {
        // SAFETY: the array object is live and owns a reference to its base.
        let base = unsafe {
            let base = (*array.as_array_ptr()).fields.base;
            Bound::from_borrowed_ptr_or_opt(array.py(), base)?
        };
        match base.cast_into::<ExportedMemory>() {
            Ok(memory) => return Some(memory),
            Err(other) => array = other.into_inner().cast_into().ok()?,
        }
    }
}

/// The owner of memory that a tensor shares with an array.
struct ArrayOwner(Py<PyUntypedArray>);

impl Owner for ArrayOwner {
    fn is_sole_owner(&self) -> bool {
        attached(|py| {
            let mut array = self.0.bind(py).clone();
            // SAFETY: the object is live.
            let count = |array: &Bound<'_, PyUntypedArray>| unsafe { Py_REFCNT(array.as_ptr()) };
            // Two references: this handle, and the owner's or that of the array whose base it is.
            while count(&array) == 2 {
                // SAFETY: the array object is live and owns a reference to its base.
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
    let Some(dtype) = converted_dtype(&descr) else {
        return Err(unsupported(op, &descr));
    };
    let aligned = flags(array) & NPY_ARRAY_ALIGNED != 0;
    // Not bool: bytes other than 0 and 1 are invalid as Rust bools, and NumPy code could write them later.
    let shareable = aligned && native_dtype(&descr).is_some() && dtype != DType::Bool;
    let size = dtype.size() as isize;
    let (dims, byte_strides) = (array.shape(), array.strides());
    if array.is_empty() || !shareable || byte_strides.iter().any(|s| s % size != 0) {
        return copy(op, array, dtype);
    }
    let (mut low, mut high) = (0, size);
    let mut strides = ShapeSteps::new();
    for (&d, &s) in dims.iter().zip(byte_strides) {
        let reach = (d as isize - 1) * s;
        low += reach.min(0);
        high += reach.max(0);
        strides.push(s / size);
    }
    if let Some(memory) = exported_memory(array) {
        // The array views a tensor's memory: share its storage, so that writes through either raise the same version.
        let storage = memory.get().storage().clone();
        let offset = data(array).addr() as isize - storage.ptr().addr() as isize;
        if offset % size == 0 {
            let layout = Layout::strided(dims, &strides, offset / size)?;
            let tensor = Tensor::assemble(storage, layout, dtype, None);
            tensor.set_cause(memory.get().detach_reason());
            return Ok(tensor);
        }
    }
    let owner = Box::new(ArrayOwner(array.clone().unbind()));
    // SAFETY: the array object, which the owner keeps alive, guarantees `low..high` around its data pointer; NumPy
    // initialises its memory as far as any byte is a valid number.
    let storage =
        unsafe { Storage::adopt(data(array).offset(low), (high - low) as usize, access, owner) };
    let layout = Layout::strided(dims, &strides, -low / size)?;
    Ok(Tensor::assemble(storage, layout, dtype, None))
}

type ShapeSteps = smallvec::SmallVec<[isize; 8]>;

/// Copies an array of any layout, byte order and supported dtype into a new tensor.
pub(crate) fn copy(op: &str, array: &Bound<'_, PyUntypedArray>, dtype: DType) -> PyResult<Tensor> {
    foreign_arrays::refuse_masked(op, array)?;
    let descr = array.dtype();
    if converted_dtype(&descr).is_none() {
        return Err(unsupported(op, &descr));
    }
    let out = Tensor::empty(array.shape(), dtype)?;
    observer::note_filled(out.storage());
    let nbytes = out.size() * dtype.size();
    if native_dtype(&descr) == Some(dtype) && flags(array) & NPY_ARRAY_C_CONTIGUOUS != 0 {
        // SAFETY: both hold `nbytes` bytes, and the new storage does not overlap the array.
        unsafe { ptr::copy_nonoverlapping(data(array), out.ptr(), nbytes) };
    } else {
        let py = array.py();
        let target = export(py, &out, true)?;
        // SAFETY: both are live arrays of the same shape; NumPy casts, reorders and swaps bytes.
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
    if let Some(memory) = exported_memory(array) {
        out.set_cause(memory.get().detach_reason());
    }
    Ok(out)
}

/// Whether the elements are aligned.
pub(crate) fn is_aligned(array: &Bound<'_, PyUntypedArray>) -> bool {
    flags(array) & NPY_ARRAY_ALIGNED != 0
}

/// The elements of a C-contiguous array, in place.
pub(crate) fn elements<'a>(array: &'a Bound<'_, PyUntypedArray>) -> Elements<'a> {
    // SAFETY: the array keeps the memory alive; as for every NumPy function, a concurrent write to an argument is the
    // caller's race.
    unsafe { Elements::new(data(array)) }
}

/// The default dtype of a copy of this array.
pub(crate) fn dtype_for_copy(op: &str, array: &Bound<'_, PyUntypedArray>) -> PyResult<DType> {
    let descr = array.dtype();
    converted_dtype(&descr).ok_or_else(|| unsupported(op, &descr))
}

/// Exports a tensor's memory as an array.
pub(crate) fn export<'py>(
    py: Python<'py>,
    tensor: &Tensor,
    writable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    export_with(py, tensor, if writable { ExportMode::Writable } else { ExportMode::ReadOnly })
}

/// Exports a tensor's memory with an [`ExportMode`].
pub(crate) fn export_with<'py>(
    py: Python<'py>,
    tensor: &Tensor,
    mode: ExportMode,
) -> PyResult<Bound<'py, PyAny>> {
    observer::check_read("numpy", tensor.storage())?;
    let memory = ExportedMemory::of(tensor, mode)?;
    let writable = memory.is_writable() || mode == ExportMode::WritableIfFree && tensor.size() == 0;
    let base = Bound::new(py, memory)?;
    let size = tensor.dtype().size() as npy_intp;
    let mut strides: ShapeSteps = tensor.layout().strides().iter().map(|&s| s * size).collect();
    let memory = (strides.as_mut_ptr(), tensor.ptr().cast::<c_void>());
    let flags = if writable { NPY_ARRAY_WRITEABLE } else { 0 };
    // SAFETY: data pointer, shape and strides describe memory inside the storage, which the base object keeps alive;
    // `SetBaseObject` steals the reference to it, also when it fails.
    unsafe {
        let array = new_array(py, tensor.shape(), tensor.dtype(), memory, flags)?;
        if PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast(), base.into_ptr()) != 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(array)
    }
}

/// The only element of a tensor as a NumPy scalar.
pub(crate) fn scalar<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    assert!(tensor.size() == 1, "one element");
    observer::check_read("item", tensor.storage())?;
    // SAFETY: the tensor has one element of its dtype, and outlives the call.
    unsafe { scalar_at(py, tensor.dtype(), tensor.ptr()) }
}

/// The element in a word as a NumPy scalar.
pub(crate) fn scalar_from_word<'py>(
    py: Python<'py>,
    dtype: DType,
    word: &ElementWord,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: a word holds an element of any dtype.
    unsafe { scalar_at(py, dtype, ptr::from_ref(word).cast()) }
}

/// # Safety
/// `element` points to an element of this dtype.
unsafe fn scalar_at(
    py: Python<'_>,
    dtype: DType,
    element: *const u8,
) -> PyResult<Bound<'_, PyAny>> {
    let descr = descr(py, dtype);
    // SAFETY: the caller's contract; NumPy copies the element and borrows the dtype object.
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

/// A new uninitialised array in C order; it must be filled before Python code sees it.
pub(crate) fn empty<'py>(
    py: Python<'py>,
    dims: &[usize],
    dtype: DType,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    // SAFETY: without data and strides, NumPy allocates and chooses C order.
    unsafe {
        let array = new_array(py, dims, dtype, (ptr::null_mut(), ptr::null_mut()), 0)?;
        Ok(array.cast_into_unchecked())
    }
}

/// A new array with the given strides and data.
///
/// # Safety
/// There are as many strides as dims, and they stay inside memory that outlives the array; strides and data are both
/// null if NumPy allocates.
unsafe fn new_array<'py>(
    py: Python<'py>,
    dims: &[usize],
    dtype: DType,
    (strides, data): (*mut npy_intp, *mut c_void),
    flags: c_int,
) -> PyResult<Bound<'py, PyAny>> {
    let mut dims: ShapeSteps = dims.iter().map(|&d| d as npy_intp).collect();
    // SAFETY: the caller's contract; `dims` has the given length.
    unsafe {
        let class = npyffi::get_type_object(py, npyffi::NpyTypes::PyArray_Type);
        let array = PY_ARRAY_API.PyArray_New(
            py,
            class,
            dims.len() as c_int,
            dims.as_mut_ptr(),
            dtype.row().numpy,
            strides,
            data,
            0,
            flags,
            ptr::null_mut(),
        );
        Bound::from_owned_ptr_or_err(py, array)
    }
}

/// The elements of an array made by `empty`.
pub(crate) fn elements_mut<'a>(array: &'a Bound<'_, PyUntypedArray>) -> ElementsMut<'a> {
    // SAFETY: the array keeps the memory alive, and only its creator has access so far.
    unsafe { ElementsMut::new(data(array)) }
}

/// A new, writable, C-contiguous array with a tensor's elements.
pub(crate) fn to_new_array<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let kwargs = PyDict::new(py);
    kwargs.set_item(pyo3::intern!(py, "order"), "C")?;
    export(py, tensor, false)?.call_method(pyo3::intern!(py, "copy"), (), Some(&kwargs))
}

/// The dtype of an array; None for non-native byte order or an unsupported dtype.
pub(crate) fn native_dtype(descr: &Bound<'_, PyArrayDescr>) -> Option<DType> {
    if descr.is_native_byteorder() == Some(false) {
        return None;
    }
    dtype_of_code(descr.kind(), descr.itemsize())
}

/// The dtype that an array is converted to: the same kind and width in native byte order, or the widest float or
/// complex for wider ones.
fn converted_dtype(descr: &Bound<'_, PyArrayDescr>) -> Option<DType> {
    let same = dtype_of_code(descr.kind(), descr.itemsize());
    same.or_else(|| match descr.kind() {
        // Long double and complex long double.
        b'f' => Some(DType::F64),
        b'c' => Some(DType::C128),
        b'V' if descr.to_string() == "bfloat16" => Some(DType::F32),
        _ => None,
    })
}

#[cold]
fn unsupported(op: &str, descr: &Bound<'_, PyArrayDescr>) -> PyErr {
    let (what, remedy) = match descr.kind() {
        b'O' => (
            "an array of Python objects cannot become a tensor".to_owned(),
            "give numbers of one kind; ragged rows must be padded",
        ),
        _ => (format!("dtype {descr} is not supported"), CONVERT.as_str()),
    };
    to_python(Box::new(Error::Unsupported { op: op.to_owned().into(), what, remedy }))
}

/// A dtype from anything `numpy.dtype` accepts.
pub(crate) fn dtype_of(op: &str, ob: &Bound<'_, PyAny>) -> PyResult<DType> {
    if let Ok(name) = ob.cast_exact::<PyString>() {
        let name = name.to_cow()?;
        if let Some(dtype) = DType::ALL.into_iter().find(|dtype| dtype.name() == name) {
            return Ok(dtype);
        }
    }
    let descr = PyArrayDescr::new(ob.py(), ob).map_err(|_| {
        bad_type(op, format!("{} is not a dtype", display(ob)), "use one such as fg.float32")
    })?;
    native_dtype(&descr).ok_or_else(|| unsupported(op, &descr))
}

fn display(ob: &Bound<'_, PyAny>) -> String {
    ob.repr().map_or_else(|_| type_name(ob), |text| text.to_string())
}

/// The dtype of a NumPy kind character and an item size.
pub(crate) fn dtype_of_code(code: u8, size: usize) -> Option<DType> {
    let kind = match code {
        b'f' => Kind::Float,
        b'i' => Kind::Signed,
        b'u' => Kind::Unsigned,
        b'b' => Kind::Bool,
        b'c' => Kind::Complex,
        _ => return None,
    };
    DType::from_kind(kind, size)
}
