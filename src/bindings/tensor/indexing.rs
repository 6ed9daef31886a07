//! `t[key]`, `t[key] = value`, iteration and length of tensors.

use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt};

use crate::bindings::call::convert;
use crate::bindings::call::intercept::{Call, Inputs};
use crate::bindings::call::sequence::is_sequence;
use crate::bindings::object::PyTensor;
use crate::error::{Error, Result};
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::op_decl::{Axes, IndexItem, Operand};
use crate::ops::elementwise::compare;
use crate::ops::index::getitem;
use crate::ops::inplace::assign;
use crate::ops::reduce::reductions;
use crate::tensor::Tensor;

#[pymethods]
impl PyTensor {
    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let tensor = &slf.get().tensor;
        let operands = [slf.as_any(), key];
        let call = Call::operator("index", &operands);
        if key.is_exact_instance_of::<PyInt>() {
            let item = IndexItem::Int(convert::index_int(key)?);
            return call.run_view(slf, 1, || getitem::index(tensor, &[item]));
        }
        let items = convert::index_of(key)?;
        let copies = items.iter().any(|item| matches!(item, IndexItem::Array(_)));
        let work = if copies { tensor.size() } else { 1 };
        call.run_view(slf, work, || getitem::index(tensor, &items))
    }

    fn __setitem__(
        slf: &Bound<'_, Self>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let items = convert::index_of(key)?;
        let x = &slf.get().tensor;
        let operand = convert::assigned_value("setitem", "the value", value, x.dtype())?;
        if let Operand::Tensor(nested) = &operand
            && nested.ndim() > 0
            && is_sequence(value)
        {
            check_nesting(x, &items, nested)?;
        }
        let operands = [slf.as_any(), key, value];
        let write = || assign::set_index(x, &items, &operand);
        let call = Call::operator("setitem", &operands);
        call.run_in_place(slf.as_any(), indexed_elements(x, &items), write).map(drop)
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

    fn __contains__(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (py, x) = (slf.py(), &slf.get().tensor);
        let operand = convert::operand_of("in", "the value", value)?;
        let search = || {
            let same = match &operand {
                Operand::Scalar(scalar) => binary_scalar(&compare::EQUAL, x, *scalar)?,
                Operand::Tensor(other) => binary(&compare::EQUAL, x, other)?,
            };
            reductions::any(&same, Axes::All, false)?.item::<bool>()
        };
        let object = |found| Ok(PyBool::new(py, found).to_owned().into_any());
        let operands = [slf.as_any(), value];
        Call::operator("contains", &operands).run(x.size(), search, object)?.extract()
    }
}

/// Refuses a list nested deeper than the number of indexed axes, as NumPy does.
fn check_nesting(x: &Tensor, items: &[IndexItem], nested: &Tensor) -> Result<()> {
    let axes = assign::indexed_axes(x, items)?;
    if nested.ndim() <= axes {
        return Ok(());
    }
    Err(Box::new(Error::Shape {
        op: "setitem".into(),
        what: format!("a list of {} levels goes into elements with {axes} axes", nested.ndim()),
        remedy: "give one number for an element, a list with one level for each axis, or an array",
    }))
}

/// An upper bound of the number of elements that an index selects.
fn indexed_elements(x: &Tensor, items: &[IndexItem]) -> usize {
    let chosen =
        items.iter().zip(x.shape()).take_while(|(item, _)| matches!(item, IndexItem::Int(_)));
    x.size() / chosen.map(|(_, size)| (*size).max(1)).product::<usize>()
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
        let call = Call::new(py, "index", Inputs::Element(source.as_any(), i));
        let element = || getitem::index(tensor, &[IndexItem::Int(i as i64)]);
        call.run_view(source, 1, element).map(Some)
    }

    fn __length_hint__(&self) -> usize {
        length(&self.tensor.get().tensor)
            .unwrap_or(0)
            .saturating_sub(self.next.load(Ordering::Relaxed))
    }
}
