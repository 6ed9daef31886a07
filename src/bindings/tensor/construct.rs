//! Constructors: `tensor` copies its data; `asarray` and `from_numpy` share NumPy's memory where possible.

use ::numpy::PyUntypedArray;
use pyo3::prelude::*;

use crate::array::observer;
use crate::bindings::call::convert;
use crate::bindings::call::default_dtype::{self, default_dtype};
use crate::bindings::call::intercept::Call;
use crate::bindings::call::sequence::is_sequence;
use crate::bindings::errors::{bad_type, bad_value, to_python, type_name};
use crate::bindings::interop::dlpack;
use crate::bindings::interop::numpy;
use crate::bindings::object::{PyTensor, free_list, new_leaf, set_identity};
use crate::bindings::tensor::attributes::{is_device, with_dtype};
use crate::dtype::DType;
use crate::error::Error;
use crate::graph::{GRAD, Mode, TRANSFORM};
use crate::ops::core::op_decl::Scalar;
use crate::ops::shape::create;
use crate::tensor::{DetachReason, Tensor};

/// The dtype that Python floats and the creation functions get.
#[pyfunction]
pub(crate) fn get_default_dtype(py: Python<'_>) -> Bound<'_, PyAny> {
    numpy::descr(py, default_dtype())
}

/// Sets the dtype that Python floats and the creation functions get: float64 or float32.
#[pyfunction]
pub(crate) fn set_default_dtype(dtype: &Bound<'_, PyAny>) -> PyResult<()> {
    let dtype = convert::dtype_of("set_default_dtype", dtype)?;
    if !dtype.is_float() {
        let what = format!("dtype {dtype} is not a float");
        return Err(bad_value("set_default_dtype", what, "use fg.float64 or fg.float32"));
    }
    default_dtype::set_default_dtype(dtype);
    Ok(())
}

/// Copies anything that converts to a tensor.
fn copy_to_tensor(data: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Tensor> {
    let op = "tensor";
    if let Some(number) = convert::weak_number(data)? {
        let natural = match number {
            Scalar::Float(_) => default_dtype(),
            Scalar::Complex(..) => default_dtype().to_complex(),
            Scalar::Int(_) | Scalar::Huge(_) => DType::I64,
            Scalar::Unsigned(_) => DType::U64,
            Scalar::Bool(_) => DType::Bool,
        };
        return Ok(Tensor::full(&[], number, dtype.unwrap_or(natural))?);
    }
    if let Ok(array) = data.cast::<PyUntypedArray>() {
        let dtype = dtype.map_or_else(|| numpy::dtype_for_copy(op, array), Ok)?;
        return numpy::copy(op, array, dtype);
    }
    if let Ok(source) = data.cast::<PyTensor>() {
        let source = &source.get().tensor;
        let copy = create::clone_(&source.detach())?;
        let copy = cast(copy, dtype.unwrap_or(source.dtype()))?;
        return Ok(copy.cut_from(source, DetachReason::Copy));
    }
    copy_sequence(op, data, dtype)
}

/// Copies a nested sequence or a foreign array.
fn copy_sequence(op: &str, data: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Tensor> {
    if data.is_none() || data.is_instance_of::<pyo3::types::PyString>() {
        return Err(bad_type(
            op,
            format!("the data is a {}", type_name(data)),
            "give a number, a nested sequence of numbers, an array or a tensor",
        ));
    }
    if convert::holds_tensor(op, data)? {
        let stacked = convert::from_sequence(op, data)?;
        return cast(stacked.clone(), dtype.unwrap_or(stacked.dtype()));
    }
    let array = match dtype.filter(|_| is_sequence(data)) {
        Some(dtype) => numpy::asarray_checked(op, data, dtype)?,
        None => numpy::asarray(op, data)?,
    };
    let array = array.cast::<PyUntypedArray>()?;
    let dtype = match dtype {
        Some(dtype) => dtype,
        None => match numpy::dtype_for_copy(op, array)? {
            // NumPy converts a list of Python floats to float64, whatever the default dtype.
            DType::F64 if is_sequence(data) => default_dtype(),
            DType::C128 if is_sequence(data) => default_dtype().to_complex(),
            natural => natural,
        },
    };
    numpy::copy(op, array, dtype)
}

fn cast(tensor: Tensor, dtype: DType) -> PyResult<Tensor> {
    if tensor.dtype() == dtype { Ok(tensor) } else { Ok(tensor.astype(dtype)?) }
}

fn dtype_option(op: &str, dtype: Option<&Bound<'_, PyAny>>) -> PyResult<Option<DType>> {
    dtype.map(|ob| convert::dtype_of(op, ob)).transpose()
}

fn check_device(op: &str, device: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match device {
        Some(device) if !is_device(op, device)? => {
            let what = format!("there is no device {}", device.repr()?);
            Err(bad_value(op, what, "use \"cpu\", or leave it out"))
        }
        _ => Ok(()),
    }
}

/// A new leaf that stands for a number, an array or a tensor in a transform. A number becomes a value (like a NumPy
/// scalar), an array becomes memory.
#[pyfunction(name = "_leaf")]
#[pyo3(signature = (data, dtype=None))]
pub(crate) fn leaf_of<'py>(
    data: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyTensor>> {
    let tensor = copy_to_tensor(data, dtype_option("tensor", dtype)?)?.in_mode();
    let tensor = match data.cast::<PyTensor>() {
        Ok(source) => tensor.with_kind_of(&source.get().tensor),
        Err(_) if numpy::is_array(data) => tensor.into_memory(),
        Err(_) => tensor,
    };
    new_leaf(data.py(), tensor)
}

/// A 0-d tensor of a number or array that is a value, like NumPy's scalars.
#[pyfunction(name = "_value")]
pub(crate) fn value_tensor<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTensor>> {
    let tensor = match convert::weak_number(data)? {
        Some(number) => Tensor::scalar(number),
        None => copy_to_tensor(data, None)?,
    };
    free_list::new_object(data.py(), tensor.in_mode(), None)
}

/// Sets the leaf state and the name of a new tensor.
fn set_leaf_state(
    object: &Bound<'_, PyTensor>,
    requires_grad: bool,
    name: Option<&str>,
) -> PyResult<()> {
    let tensor = &object.get().tensor;
    if requires_grad {
        tensor.set_requires_grad(true)?;
    }
    if name.is_some() {
        tensor.set_name(name);
    }
    if requires_grad || name.is_some() {
        set_identity(object)?;
    }
    Ok(())
}

/// A tensor with its own memory.
///
/// `data` is a number, a nested sequence (also of tensors, which are stacked differentiably), an array or a
/// tensor, whose values are copied.
#[pyfunction]
#[pyo3(signature = (data, dtype=None, *, requires_grad=false, name=None, device=None))]
pub(crate) fn tensor<'py>(
    data: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = convert::requires_grad_flag)] requires_grad: bool,
    name: Option<&str>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyTensor>> {
    check_device("tensor", device)?;
    refuse_copy_in_transform(data)?;
    let tensor = copy_to_tensor(data, dtype_option("tensor", dtype)?)?.in_mode().into_memory();
    let object = free_list::new_object(data.py(), tensor, None)?;
    set_leaf_state(&object, requires_grad, name)?;
    Ok(object)
}

/// Smaller arrays are copied: that costs no more, and the memory comes from the pool.
const MIN_ADOPTED_BYTES: usize = 1 << 12;

/// A tensor from an array that nothing else refers to: takes over its memory.
#[pyfunction(name = "_taken")]
#[pyo3(signature = (array, dtype=None, requires_grad=false))]
pub(crate) fn adopt_array<'py>(
    array: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    let dtype = dtype_option("tensor", dtype)?;
    let tensor = match array.cast::<PyUntypedArray>() {
        Ok(found) if numpy::owns_memory(found, dtype, MIN_ADOPTED_BYTES) => {
            let tensor = numpy::take_over("tensor", array)?;
            observer::note_filled(tensor.storage());
            tensor
        }
        _ => copy_to_tensor(array, dtype)?,
    };
    let object = free_list::new_object(array.py(), tensor.in_mode().into_memory(), None)?;
    set_leaf_state(&object, requires_grad, None)?;
    Ok(object)
}

/// The tensor itself, or a tensor that shares the memory of an array where possible.
#[pyfunction]
#[pyo3(signature = (x, dtype=None, *, device=None))]
pub(crate) fn asarray<'py>(
    x: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    check_device("asarray", device)?;
    let py = x.py();
    let dtype = dtype_option("asarray", dtype)?;
    if let Ok(tensor) = x.cast::<PyTensor>() {
        let found = &tensor.get().tensor;
        if !found.is_value() {
            return with_dtype(tensor, dtype.unwrap_or(found.dtype()));
        }
        // Like NumPy, which makes a 0-d array of a scalar.
        let dtype = dtype.unwrap_or(found.dtype());
        return Call::operator("asarray", &[x])
            .run_tensor(1, || found.astype(dtype)?.copied("clone").map(Tensor::into_memory));
    }
    let tensor = match x.cast::<PyUntypedArray>() {
        Ok(array)
            if dtype.is_some_and(|d| numpy::dtype_for_copy("asarray", array).ok() != Some(d)) =>
        {
            numpy::copy("asarray", array, dtype.unwrap_or(DType::F64))?
        }
        Ok(_) => numpy::share("asarray", x)?,
        Err(_) if x.is_none() => return Err(none_error("asarray")),
        Err(_) if dlpack::is_producer(x)? => {
            let shared = dlpack::import_shared(x)?;
            cast(shared.clone(), dtype.unwrap_or(shared.dtype()))?
        }
        Err(_) if dtype.is_some() && is_sequence(x) => copy_sequence("asarray", x, dtype)?,
        Err(_) => {
            let tensor = match convert::weak_number(x)? {
                Some(_) => copy_to_tensor(x, dtype)?,
                None => convert::tensor_of("asarray", "the data", x)?,
            };
            cast(tensor.clone(), dtype.unwrap_or(tensor.dtype()))?
        }
    };
    crate::bindings::object::wrap(py, tensor.into_memory())
}

#[cold]
fn none_error(op: &str) -> PyErr {
    bad_type(op, "the data is None", "give a number, a sequence, an array or a tensor")
}

/// Refuses a copy that would lose the gradient inside a transform.
fn refuse_copy_in_transform(data: &Bound<'_, PyAny>) -> PyResult<()> {
    let Ok(source) = data.cast::<PyTensor>() else { return Ok(()) };
    if !Mode::current().has(GRAD | TRANSFORM) || !source.get().tensor.requires_grad() {
        return Ok(());
    }
    let remedy = "fg.tensor copies without it, as in PyTorch; write t.clone() or fg.array(t) to keep the gradient, or \
                  t.detach().clone() to mean it";
    Err(to_python(Box::new(Error::GraphCut { op: "tensor".into(), remedy })))
}

/// A tensor that shares the memory of an array.
#[pyfunction]
pub(crate) fn from_numpy<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if !numpy::is_array(array) {
        let what = format!("the argument is a {}", type_name(array));
        return Err(bad_type("from_numpy", what, "pass a numpy.ndarray, or use fg.tensor"));
    }
    let tensor = numpy::share("from_numpy", array)?.into_memory();
    crate::bindings::object::wrap(array.py(), tensor)
}

/// A tensor of one repeated number.
#[pyfunction(name = "_full")]
pub(crate) fn full<'py>(
    py: Python<'py>,
    op: &str,
    shape: Vec<i64>,
    fill_value: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = convert::requires_grad_flag)] requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    let dtype = dtype_option(op, dtype)?.unwrap_or_else(default_dtype);
    let Some(value) = convert::weak_number(fill_value)? else {
        let what = format!("fill_value is a {}", type_name(fill_value));
        return Err(bad_type(op, what, "give a number"));
    };
    if let Some(negative) = shape.iter().find(|&&d| d < 0) {
        let what = format!("the shape holds the negative size {negative}");
        return Err(bad_value(op, what, "give sizes of at least 0"));
    }
    let dims: Vec<usize> = shape.iter().map(|&d| d as usize).collect();
    let tensor = create::full_cast(&dims, value, dtype)?.in_mode().into_memory();
    let object = free_list::new_object(py, tensor, None)?;
    set_leaf_state(&object, requires_grad, None)?;
    Ok(object)
}

#[pymethods]
impl PyTensor {
    #[new]
    #[pyo3(signature = (data, dtype=None, *, requires_grad=false, name=None))]
    fn new(
        data: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = convert::requires_grad_flag)] requires_grad: bool,
        name: Option<&str>,
    ) -> PyResult<PyTensor> {
        let tensor = copy_to_tensor(data, dtype_option("tensor", dtype)?)?.in_mode().into_memory();
        if requires_grad {
            tensor.set_requires_grad(true)?;
        }
        if name.is_some() {
            tensor.set_name(name);
        }
        Ok(PyTensor::from(tensor))
    }
}
