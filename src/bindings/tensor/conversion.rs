//! Tensors to Python numbers, lists and arrays.
//!
//! Owns: the doors out of the graph, and the warnings and errors that keep them from being silent.
//! Invariant: `item`, `tolist` and `numpy` are explicit and complain only inside a transform; where a gradient would be
//! lost while recording, `float(t)` and `int(t)` warn, `float(t)` in a library's code and `__array__` raise.

use ::numpy::PyArrayDescrMethods;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};

use crate::array::capture;
use crate::bindings::errors::{bad_value, graph_cut_warning, python, to_python};
use crate::bindings::graph::call_site::assigning;
use crate::bindings::interop::memory_owner::Lending;
use crate::bindings::interop::numpy;
use crate::bindings::object::{PyTensor, item};
use crate::bindings::package;
use crate::error::Error;
use crate::graph::{Mode, TRANSFORM, grad_enabled};
use crate::ops::inplace::methods::refuse_read_only;
use crate::tensor::Tensor;

/// Whether taking the values out of this tensor loses a gradient.
fn cuts(tensor: &Tensor) -> bool {
    grad_enabled() && tensor.requires_grad()
}

pub(super) const KEEP: &str = "keep the tensor, or use detach() where no gradient is meant";
const NUMBER: &str = "keep the tensor, or use detach() where no gradient is meant; ferrograd.numpy has the functions of \
                      math";
/// What NumPy asks for when one element of an array is assigned, and what to do instead.
const ASSIGNED: &str = "array[...] = t";
const BUFFER: &str = "an array of NumPy's cannot hold it: import ferrograd.numpy as np, whose zeros, linspace and other \
                      functions that make arrays give ones that can while a transform runs (fg.zeros always), and where \
                      a = np.array(a) makes one of a computed array; or assign t.detach() where no gradient is meant";
const INTEGERS: &str = "the array holds integers, which have no derivative: make it of floats (dtype=float), or assign \
                        t.detach(), or np.floor(t).astype(int) for counts, where no gradient is meant";

/// Inside a transform every way out of the graph is refused, not only the implicit ones.
pub(super) fn refuse_in_transform(
    tensor: &Tensor,
    call: &'static str,
    remedy: &'static str,
) -> PyResult<()> {
    if !Mode::current().has(TRANSFORM) || !cuts(tensor) {
        return Ok(());
    }
    python(Err(Box::new(Error::GraphCut { op: call.into(), remedy })))
}

/// The error of reading elements, in the words of an assignment to an array where a program is recorded.
fn recorded(py: Python<'_>, error: PyErr) -> PyErr {
    if !capture::active() || !assigning(py) {
        return error;
    }
    let what = "the array would keep what the arguments of a function that fg.compile is recording are now";
    to_python(Box::new(Error::Captured { op: ASSIGNED.into(), what: what.into(), remedy: BUFFER }))
}

/// What Python or NumPy do without being asked for it in so many words.
fn implicit(py: Python<'_>, tensor: &Tensor, call: &'static str) -> PyResult<()> {
    if !cuts(tensor) {
        return Ok(());
    }
    // An integer moves in steps, so that its derivative is 0 wherever it has one.
    if call != "int(t)" {
        package::NUMBER_OF.get(py)?.call1((call,))?;
    }
    let (call, remedy) = if assigning(py) {
        (ASSIGNED, if call == "int(t)" { INTEGERS } else { BUFFER })
    } else {
        (call, "use item() if that is meant, or keep the tensor")
    };
    refuse_in_transform(tensor, call, if call == ASSIGNED { remedy } else { NUMBER })?;
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
        refuse_in_transform(&self.tensor, "item", KEEP)?;
        if index.is_empty() {
            return item(py, &self.tensor);
        }
        numpy::export(py, &self.tensor, false)?.call_method1(pyo3::intern!(py, "item"), index)
    }

    /// The bytes of the elements in C order (`order="F"`: the first axis runs fastest).
    #[pyo3(signature = (order="C"))]
    fn tobytes<'py>(&self, py: Python<'py>, order: &str) -> PyResult<Bound<'py, PyAny>> {
        refuse_in_transform(&self.tensor, "tobytes", KEEP)?;
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
        refuse_in_transform(&self.tensor, "tolist", KEEP)?;
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
        refuse_in_transform(&self.tensor, "numpy", KEEP)?;
        let Some(writable) = writable else {
            return numpy::lend(py, &self.tensor, Lending::WhereFree);
        };
        if writable && self.tensor.requires_grad() {
            return Err(bad_value(
                "numpy",
                "the tensor requires grad, and writing through the array would falsify gradients",
                "use t.detach().clone().numpy(writable=True)",
            ));
        }
        if writable && capture::is_outside_host_span() {
            return Err(to_python(Box::new(Error::Captured {
                op: "numpy(writable=True)".into(),
                what: "what NumPy code writes to the memory would not be written again by later calls of a function \
                       that fg.compile is recording"
                    .into(),
                remedy: "write to the tensor: t[...] = value",
            })));
        }
        if writable {
            refuse_read_only("numpy", &self.tensor)?;
            python(self.tensor.whole_memory().keep_saved())?;
            // What else was saved or recorded cannot be copied after the fact; raising the version makes its use an error.
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
        implicit(py, &self.tensor, "float(t)")?;
        item(py, &self.tensor).map_err(|error| recorded(py, error))?.extract()
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        implicit(py, &self.tensor, "int(t)")?;
        py.get_type::<PyInt>().call1((item(py, &self.tensor)?,))
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        implicit(py, &self.tensor, "complex(t)")?;
        py.get_type::<pyo3::types::PyComplex>().call1((item(py, &self.tensor)?,))
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
        item(py, &self.tensor)?.is_truthy()
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
        item(py, &self.tensor)
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, tensor) = (slf.py(), &slf.get().tensor);
        let wanted = dtype.map(|d| ::numpy::PyArrayDescr::new(py, d)).transpose()?;
        // Whole numbers have no derivative, whoever makes them.
        let whole = wanted.as_ref().is_some_and(|w| matches!(w.kind(), b'i' | b'u' | b'b'));
        if cuts(tensor) && !whole {
            if assigning(py) {
                let cut = Error::GraphCut { op: ASSIGNED.into(), remedy: BUFFER };
                return Err(to_python(Box::new(cut)));
            }
            return package::ARRAY_OF.get(py)?.call1((slf,));
        }
        let array = if copy == Some(true) {
            numpy::fresh(py, tensor)
        } else {
            numpy::lend(py, tensor, Lending::WhereFree)
        };
        let array = array.map_err(|error| recorded(py, error))?;
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
