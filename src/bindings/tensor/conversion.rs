//! Conversion of tensors to Python numbers, lists and arrays, where gradients may be lost.
//! `item`, `tolist` and `numpy` are explicit and raise only inside a transform. While recording, `float(t)` and
//! `int(t)` warn; `__array__`, and `float(t)` called by a library, raise.

use ::numpy::PyArrayDescrMethods;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};

use crate::array::observer;
use crate::bindings::errors::{bad_value, graph_cut_warning, to_py_result, to_python};
use crate::bindings::graph::call_site::is_subscript_assignment;
use crate::bindings::interop::memory_owner::ExportMode;
use crate::bindings::interop::numpy;
use crate::bindings::object::{PyTensor, item_to_python};
use crate::bindings::package;
use crate::compile::trace::buffers;
use crate::error::Error;
use crate::graph::{Mode, TRANSFORM, grad_enabled};
use crate::ops::inplace::methods::refuse_read_only;
use crate::tensor::Tensor;

/// Whether leaving the graph loses this tensor's gradient.
fn loses_gradient(tensor: &Tensor) -> bool {
    grad_enabled() && tensor.requires_grad()
}

pub(super) const KEEP_HINT: &str = "keep the tensor, or use detach() where no gradient is meant";
const NUMBER_HINT: &str = "keep the tensor, or use detach() where no gradient is meant; ferrograd.numpy has the functions of \
                      math";
/// The operation named in errors when an array element is assigned, and the hint.
const ASSIGNMENT: &str = "array[...] = t";
const BUFFER_HINT: &str = "an array of NumPy's cannot hold it: import ferrograd.numpy as np, whose zeros, linspace and other \
                      functions that make arrays give ones that can while a transform runs (fg.zeros always), and where \
                      a = np.array(a) makes one of a computed array; or assign t.detach() where no gradient is meant; \
                      see docs/when_it_goes_wrong.md";
const INTEGER_HINT: &str = "the array holds integers, which have no derivative: make it of floats (dtype=float), or assign \
                        t.detach(), or np.floor(t).astype(int) for counts, where no gradient is meant";

/// Inside a transform, explicit conversions are refused as well.
pub(super) fn refuse_in_transform(
    tensor: &Tensor,
    call: &'static str,
    remedy: &'static str,
) -> PyResult<()> {
    if !Mode::current().has(TRANSFORM) || !loses_gradient(tensor) {
        return Ok(());
    }
    to_py_result(Err(Box::new(Error::GraphCut { op: call.into(), remedy })))
}

/// Rewords the error of reading a traced tensor, if the program assigns to an array element.
fn reword_trace_error(py: Python<'_>, error: PyErr) -> PyErr {
    if !observer::is_active() || !is_subscript_assignment(py) {
        return error;
    }
    let what = "the array would keep what the arguments of a function that fg.compile is recording are now";
    to_python(Box::new(Error::NotTraceable {
        op: ASSIGNMENT.into(),
        what: what.into(),
        remedy: BUFFER_HINT,
    }))
}

/// Warns about or refuses an implicit conversion.
fn check_implicit_conversion(py: Python<'_>, tensor: &Tensor, call: &'static str) -> PyResult<()> {
    if !loses_gradient(tensor) {
        return Ok(());
    }
    // `int` is piecewise constant: its derivative is 0 wherever it exists.
    if call != "int(t)" {
        package::NUMBER_OF.get(py)?.call1((call,))?;
    }
    let (call, remedy) = if is_subscript_assignment(py) {
        (ASSIGNMENT, if call == "int(t)" { INTEGER_HINT } else { BUFFER_HINT })
    } else {
        (call, "use item() if that is meant, or keep the tensor")
    };
    refuse_in_transform(tensor, call, if call == ASSIGNMENT { remedy } else { NUMBER_HINT })?;
    let text = format!("{call} leaves the graph of a tensor that requires grad; {remedy}");
    PyErr::warn(py, &graph_cut_warning(py), &std::ffi::CString::new(text)?, 1)
}

#[pymethods]
impl PyTensor {
    /// The one element as a Python number; with indices, that element, or the one at a flat index.
    #[pyo3(signature = (*index))]
    fn item<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        refuse_in_transform(&self.tensor, "item", KEEP_HINT)?;
        if index.is_empty() {
            return item_to_python(py, &self.tensor);
        }
        numpy::export(py, &self.tensor, false)?.call_method1(pyo3::intern!(py, "item"), index)
    }

    /// The bytes of the elements in C order (`order="F"`: the first axis runs fastest).
    #[pyo3(signature = (order="C"))]
    fn tobytes<'py>(&self, py: Python<'py>, order: &str) -> PyResult<Bound<'py, PyAny>> {
        refuse_in_transform(&self.tensor, "tobytes", KEEP_HINT)?;
        numpy::export(py, &self.tensor, false)?.call_method1(pyo3::intern!(py, "tobytes"), (order,))
    }

    /// Rounded to so many decimals, 0 by default, as a tensor.
    #[pyo3(signature = (ndigits=None))]
    fn __round__<'py>(
        slf: &Bound<'py, Self>,
        ndigits: Option<isize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.call_method1(pyo3::intern!(slf.py(), "round"), (ndigits.unwrap_or(0),))
    }

    /// The elements as nested lists of Python numbers.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        refuse_in_transform(&self.tensor, "tolist", KEEP_HINT)?;
        numpy::export(py, &self.tensor, false)?.call_method0(pyo3::intern!(py, "tolist"))
    }

    /// The elements as an array that shares the memory.
    ///
    /// Without `writable`, it can be written through where the tensor does not require grad and nothing has kept the memory
    /// (no operation for its backward pass, no compiled function), else it is read-only. `False` makes it read-only, `True`
    /// writable for every tensor that does not require grad. As long as a writable array lives, operations copy what they
    /// must keep.
    #[pyo3(signature = (*, writable=None))]
    fn numpy<'py>(&self, py: Python<'py>, writable: Option<bool>) -> PyResult<Bound<'py, PyAny>> {
        refuse_in_transform(&self.tensor, "numpy", KEEP_HINT)?;
        let Some(writable) = writable else {
            return numpy::export_with(py, &self.tensor, ExportMode::WritableIfFree);
        };
        if writable && self.tensor.requires_grad() {
            return Err(bad_value(
                "numpy",
                "the tensor requires grad, and writing through the array would falsify gradients",
                "use t.detach().clone().numpy(writable=True)",
            ));
        }
        if writable && buffers::is_tracing_outside_host_code() {
            return Err(to_python(Box::new(Error::NotTraceable {
                op: "numpy(writable=True)".into(),
                what: "what NumPy code writes to the memory would not be written again by later calls of a function \
                       that fg.compile is recording"
                    .into(),
                remedy: "write to the tensor: t[...] = value",
            })));
        }
        if writable {
            refuse_read_only("numpy", &self.tensor)?;
            to_py_result(self.tensor.whole_memory().keep_saved())?;
            // Other saved uses cannot be copied any more; raising the version makes them errors.
            self.tensor.changed_in_place("numpy(writable=True)");
        }
        numpy::export(py, &self.tensor, writable)
    }

    /// The elements as a read-only array, also inside a transform: to look at, not to compute with.
    #[getter]
    fn _value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        numpy::export(py, &self.tensor, false)
    }

    fn __float__<'py>(&self, py: Python<'py>) -> PyResult<f64> {
        check_implicit_conversion(py, &self.tensor, "float(t)")?;
        item_to_python(py, &self.tensor).map_err(|error| reword_trace_error(py, error))?.extract()
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        check_implicit_conversion(py, &self.tensor, "int(t)")?;
        py.get_type::<PyInt>().call1((item_to_python(py, &self.tensor)?,))
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        check_implicit_conversion(py, &self.tensor, "complex(t)")?;
        py.get_type::<pyo3::types::PyComplex>().call1((item_to_python(py, &self.tensor)?,))
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        if self.tensor.size() != 1 {
            return Err(bad_value(
                "bool",
                format!(
                    "the truth value of a tensor with {} elements is ambiguous",
                    self.tensor.size()
                ),
                "use t.any() or t.all()",
            ));
        }
        item_to_python(py, &self.tensor)?.is_truthy()
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let dtype = self.tensor.dtype();
        if !dtype.is_integer() || self.tensor.size() != 1 {
            return Err(PyTypeError::new_err(format!(
                "only integer tensors of one element can be converted to an index, and this one is {dtype} of shape \
                 {:?}; use int(t.item()) for a number, or len(t) for the length",
                self.tensor.shape()
            )));
        }
        item_to_python(py, &self.tensor)
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, tensor) = (slf.py(), &slf.get().tensor);
        let wanted = dtype.map(|d| ::numpy::PyArrayDescr::new(py, d)).transpose()?;
        // Integers have no derivative.
        let whole = wanted.as_ref().is_some_and(|w| matches!(w.kind(), b'i' | b'u' | b'b'));
        if loses_gradient(tensor) && !whole {
            if is_subscript_assignment(py) {
                let cut = Error::GraphCut { op: ASSIGNMENT.into(), remedy: BUFFER_HINT };
                return Err(to_python(Box::new(cut)));
            }
            return package::ARRAY_OF.get(py)?.call1((slf,));
        }
        let array = if copy == Some(true) {
            numpy::to_new_array(py, tensor)
        } else {
            numpy::export_with(py, tensor, ExportMode::WritableIfFree)
        };
        let array = array.map_err(|error| reword_trace_error(py, error))?;
        let Some(wanted) = wanted else { return Ok(array) };
        if wanted.eq(numpy::descr(py, tensor.dtype()))? {
            return Ok(array);
        }
        if copy == Some(false) {
            let what = format!("a tensor of {} becomes {wanted} only by a copy", tensor.dtype());
            return Err(bad_value("__array__", what, "leave copy= out"));
        }
        array.call_method1(pyo3::intern!(py, "astype"), (wanted,))
    }
}
