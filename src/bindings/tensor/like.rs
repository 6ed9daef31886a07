//! Tensors in the shape or dtype of another one, under PyTorch's names: `view_as`, `type_as`, `new_zeros`, ...

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::bindings::call::intercept::Call;
use crate::bindings::errors::bad_value;
use crate::bindings::object::PyTensor;
use crate::bindings::package::{self, LazyImport};

/// Calls a method of `slf` with the shape of `other`.
fn with_shape_of<'py>(
    method: &str,
    slf: &Bound<'py, PyTensor>,
    other: &Bound<'py, PyTensor>,
) -> PyResult<Bound<'py, PyAny>> {
    slf.call_method1(method, (other.getattr("shape")?,))
}

/// Calls a constructor of the package with the dtype of `slf` as default.
fn new_like<'py>(
    slf: &Bound<'py, PyTensor>,
    constructor: &LazyImport,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = slf.py();
    let options = kwargs.map_or_else(|| Ok(PyDict::new(py)), |given| given.copy())?;
    if !options.contains("dtype")? {
        options.set_item("dtype", slf.getattr("dtype")?)?;
    }
    constructor.get(py)?.call(args, Some(&options))
}

#[pymethods]
impl PyTensor {
    /// The elements in the shape of another tensor, as a view.
    fn view_as<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyTensor>,
    ) -> PyResult<Bound<'py, PyAny>> {
        with_shape_of("view", slf, other)
    }

    /// The elements in the shape of another tensor.
    fn reshape_as<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyTensor>,
    ) -> PyResult<Bound<'py, PyAny>> {
        with_shape_of("reshape", slf, other)
    }

    /// Broadcast to the shape of another tensor, as a view.
    fn expand_as<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyTensor>,
    ) -> PyResult<Bound<'py, PyAny>> {
        with_shape_of("expand", slf, other)
    }

    /// The same data in the dtype of another tensor; recorded.
    fn type_as<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyTensor>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.call_method1("to", (other,))
    }

    /// The transpose of a matrix, as a view; a vector as it is.
    fn t<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let n = slf.get().tensor.ndim();
        if n > 2 {
            let what = format!("the tensor has {n} dimensions");
            return Err(bad_value("t", what, "use mT for batches of matrices, or permute"));
        }
        slf.getattr("T")
    }

    /// Zeros in the dtype of this tensor.
    #[pyo3(signature = (*size, **options))]
    fn new_zeros<'py>(
        slf: &Bound<'py, Self>,
        size: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        new_like(slf, &package::ZEROS, size, options)
    }

    /// Ones in the dtype of this tensor.
    #[pyo3(signature = (*size, **options))]
    fn new_ones<'py>(
        slf: &Bound<'py, Self>,
        size: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        new_like(slf, &package::ONES, size, options)
    }

    /// Memory of any content, in the dtype of this tensor.
    #[pyo3(signature = (*size, **options))]
    fn new_empty<'py>(
        slf: &Bound<'py, Self>,
        size: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        new_like(slf, &package::EMPTY, size, options)
    }

    /// One value in every element, in the dtype of this tensor.
    #[pyo3(signature = (*size_and_value, **options))]
    fn new_full<'py>(
        slf: &Bound<'py, Self>,
        size_and_value: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        new_like(slf, &package::FULL, size_and_value, options)
    }

    /// A copy of data in the dtype of this tensor.
    #[pyo3(signature = (*data, **options))]
    fn new_tensor<'py>(
        slf: &Bound<'py, Self>,
        data: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        new_like(slf, &package::TENSOR, data, options)
    }

    /// The tensor itself where its elements lie in C order without gaps, else a copy that does; recorded.
    fn contiguous<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = &slf.get().tensor;
        if tensor.is_contiguous() {
            return Ok(slf.clone().into_any());
        }
        let operands = [slf.as_any()];
        Call::operator("contiguous", &operands).run_tensor(tensor.size(), || tensor.contiguous())
    }

    /// Whether the elements are floats.
    fn is_floating_point(&self) -> bool {
        self.tensor.dtype().is_inexact()
    }

    /// The address of the first element: equal addresses mean shared memory.
    fn data_ptr(&self) -> usize {
        self.tensor.ptr() as usize
    }
}
