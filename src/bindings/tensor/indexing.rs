//! `t[key]`, `t[key] = value`, iteration and length.
//!
//! Owns: the container protocol of `Tensor`. Never resolves an index: `ops::index` does.
//! Invariant: iterating yields `t[0], t[1], …`, each recorded on its own.

use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyInt;

use crate::bindings::call::convert;
use crate::bindings::call::dispatch::{self, SMALL};
use crate::bindings::call::observe;
use crate::bindings::errors::python;
use crate::bindings::tensor::{PyTensor, wrap_of};
use crate::ops::change::assign;
use crate::ops::core::declare::{Arg, IndexItem, Operand};
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::elementwise::compare;
use crate::ops::index::index;
use crate::tensor::Tensor;

#[pymethods]
impl PyTensor {
    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let item = get_item(slf, key)?;
        if observe::active() {
            observe::operator("index", &[slf.as_any(), key], &item)?;
        }
        Ok(item)
    }

    fn __setitem__(
        slf: &Bound<'_, Self>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let items = convert::index_of(key)?;
        let operand = convert::operand_of("setitem", "the value", value)?;
        python(assign::set_index(&slf.get().tensor, &items, &operand))?;
        slf.get().written();
        if observe::active() {
            observe::operator("setitem", &[slf.as_any(), key, value], slf.as_any())?;
        }
        Ok(())
    }

    fn __len__(&self) -> PyResult<usize> {
        length(&self.tensor).ok_or_else(|| PyTypeError::new_err("len() of a 0-d tensor"))
    }

    fn __iter__(slf: &Bound<'_, Self>) -> PyResult<TensorIterator> {
        if slf.get().tensor.ndim() == 0 {
            return Err(PyTypeError::new_err("iteration over a 0-d tensor; use item()"));
        }
        Ok(TensorIterator { tensor: slf.clone().unbind(), next: AtomicUsize::new(0) })
    }

    fn __contains__(&self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let same = match convert::operand_of("in", "the value", value)? {
            Operand::Scalar(scalar) => binary_scalar(&compare::EQUAL, &self.tensor, scalar)?,
            Operand::Tensor(other) => binary(&compare::EQUAL, &self.tensor, &other)?,
        };
        let any =
            dispatch::tensor_by_name("any", &mut [Arg::Tensor(same), Arg::Missing, Arg::Missing])?;
        Ok(any.item::<bool>()?)
    }
}

fn get_item<'py>(
    slf: &Bound<'py, PyTensor>,
    key: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, tensor) = (key.py(), &slf.get().tensor);
    if key.is_exact_instance_of::<PyInt>() {
        let item = IndexItem::Int(convert::integer(key)?);
        return wrap_of(slf, index::index(tensor, &[item])?);
    }
    let items = convert::index_of(key)?;
    let heavy =
        tensor.size() > SMALL && items.iter().any(|item| matches!(item, IndexItem::Array(_)));
    let compute = || index::index(tensor, &items);
    wrap_of(slf, if heavy { py.detach(compute) } else { compute() }?)
}

fn length(tensor: &Tensor) -> Option<usize> {
    tensor.shape().first().copied()
}

/// The iterator over the first axis.
#[pyclass(name = "TensorIterator", module = "ferrograd._core", frozen)]
pub(crate) struct TensorIterator {
    tensor: Py<PyTensor>,
    next: AtomicUsize,
}

#[pymethods]
impl TensorIterator {
    fn __iter__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        slf.clone()
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let i = self.next.fetch_add(1, Ordering::Relaxed);
        let source = self.tensor.bind(py);
        let tensor = &source.get().tensor;
        if i >= length(tensor).unwrap_or(0) {
            return Ok(None);
        }
        wrap_of(source, index::index(tensor, &[IndexItem::Int(i as i64)])?).map(Some)
    }

    fn __length_hint__(&self) -> usize {
        length(&self.tensor.get().tensor)
            .unwrap_or(0)
            .saturating_sub(self.next.load(Ordering::Relaxed))
    }
}
