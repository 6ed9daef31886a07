//! Autograd attributes and methods of `Tensor`: `grad`, `requires_grad`, `grad_fn`, `backward`, `detach`.
//! `t.grad is t.grad`, and an assigned gradient is returned unchanged.

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

use crate::bindings::backward::grad_api;
use crate::bindings::call::convert;
use crate::bindings::errors::{bad_type, to_py_result, type_name};
use crate::bindings::object::node::{PyNode, link_node_object, wrap_node};
use crate::bindings::object::{PyTensor, set_identity, wrap};
use crate::bindings::tensor::conversion::{KEEP_HINT, refuse_in_transform};
use crate::error::Dims;
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::ops::inplace::methods;
use crate::tensor::Tensor;

/// Warns when the gradient of a non-leaf that does not retain it is read.
fn warn_not_kept(py: Python<'_>, tensor: &Tensor) -> PyResult<()> {
    if tensor.is_leaf() || tensor.meta().is_some_and(|meta| meta.retains_grad()) {
        return Ok(());
    }
    let text = c"grad: the tensor is no leaf, so backward does not keep its gradient; call retain_grad() before";
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), text, 1)
}

#[pymethods]
impl PyTensor {
    /// Whether operations on this tensor are recorded.
    #[getter]
    fn requires_grad(&self) -> bool {
        self.tensor.requires_grad()
    }

    #[setter]
    fn set_requires_grad(slf: &Bound<'_, Self>, on: &Bound<'_, PyAny>) -> PyResult<()> {
        to_py_result(slf.get().tensor.set_requires_grad(convert::requires_grad_flag(on)?))
    }

    /// Sets `requires_grad` and returns the tensor.
    #[pyo3(signature = (requires_grad=true))]
    fn requires_grad_<'py>(
        slf: &Bound<'py, Self>,
        #[pyo3(from_py_with = convert::requires_grad_flag)] requires_grad: bool,
    ) -> PyResult<Bound<'py, Self>> {
        slf.get().tensor.set_requires_grad(requires_grad)?;
        set_identity(slf)?;
        Ok(slf.clone())
    }

    /// Whether no operation produced this tensor.
    #[getter]
    fn is_leaf(&self) -> bool {
        self.tensor.is_leaf()
    }

    /// The node that produced this tensor, or None for a leaf.
    #[getter]
    fn grad_fn<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyNode>>> {
        let Some(node) = self.tensor.grad_fn() else {
            return Ok(None);
        };
        let node = wrap_node(py, node)?;
        node.get().remember_output(&self.tensor);
        link_node_object(self, &node);
        Ok(Some(node))
    }

    /// The accumulated gradient, or None.
    #[getter]
    fn grad<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.tensor.grad() {
            Some(grad) => {
                grad.become_memory();
                wrap(py, grad).map(Some)
            }
            None => {
                warn_not_kept(py, &self.tensor)?;
                Ok(None)
            }
        }
    }

    #[setter]
    fn set_grad(slf: &Bound<'_, Self>, grad: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let tensor = &slf.get().tensor;
        let Some(grad) = grad else {
            return to_py_result(tensor.set_grad(None));
        };
        if let Ok(given) = grad.cast::<PyTensor>() {
            if given.is(slf) {
                return Err(bad_type("grad", "a tensor cannot be its own gradient", "clone() it"));
            }
            set_identity(given)?;
            return to_py_result(tensor.set_grad(Some(given.get().tensor.clone())));
        }
        let given = convert::tensor_of("grad", "the gradient", grad)?;
        if given.ndim() == 0 && tensor.ndim() > 0 {
            let what = format!(
                "a number was assigned to the gradient of a tensor of shape {}",
                Dims::from(tensor.shape())
            );
            return Err(bad_type(
                "grad",
                what,
                "assign None to clear it, or an array of that shape",
            ));
        }
        let given = grad_api::gradient_of(given, tensor.dtype())?;
        to_py_result(tensor.set_grad(Some(given)))
    }

    #[deleter]
    fn delete_grad(slf: &Bound<'_, Self>) -> PyResult<()> {
        to_py_result(slf.get().tensor.set_grad(None))
    }

    /// Forgets the gradient; with `set_to_none=False` fills it with zeros.
    #[pyo3(signature = (set_to_none=true))]
    fn zero_grad(&self, set_to_none: bool) -> PyResult<()> {
        if set_to_none {
            return to_py_result(self.tensor.set_grad(None));
        }
        match self.tensor.grad() {
            Some(grad) => to_py_result(methods::fill_(&grad, &Operand::Scalar(Scalar::Float(0.0)))),
            None => Ok(()),
        }
    }

    /// Computes the gradients of this tensor with respect to the leaves and adds them to their `grad`.
    #[pyo3(signature = (gradient=None, retain_graph=None, create_graph=false, inputs=None))]
    fn backward(
        slf: &Bound<'_, Self>,
        gradient: Option<&Bound<'_, PyAny>>,
        retain_graph: Option<bool>,
        create_graph: bool,
        inputs: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        grad_api::run_backward(slf, gradient, retain_graph, create_graph, inputs)
    }

    /// The same data outside the graph; memory and version are shared.
    fn detach<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        wrap(py, self.tensor.detached())
    }

    /// The same data outside the graph; setting it copies in place.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        refuse_in_transform(&self.tensor, "data", KEEP_HINT)?;
        wrap(py, self.tensor.detached())
    }

    #[setter]
    fn set_data(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = convert::tensor_of("data", "the value", value)?;
        to_py_result(methods::copy_(&slf.get().tensor.detached(), &value.detach()))
    }

    /// Keeps this tensor's gradient in `grad` although it is no leaf.
    fn retain_grad(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.get().tensor.retain_grad()?;
        if slf.get().tensor.meta().is_some_and(|meta| meta.retains_grad()) {
            set_identity(slf)?;
        }
        Ok(())
    }

    /// Whether `retain_grad()` was called on a tensor that is no leaf.
    #[getter]
    fn retains_grad(&self) -> bool {
        self.tensor.meta().is_some_and(|meta| meta.retains_grad())
    }

    /// The name given to this tensor, or None.
    #[getter]
    fn name(&self) -> Option<String> {
        self.tensor.name().map(|name| name.to_string())
    }

    #[setter]
    fn set_name(slf: &Bound<'_, Self>, name: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let text = match name {
            None => None,
            Some(given) => Some(given.extract::<String>().map_err(|_| {
                bad_type(
                    "name",
                    format!("the name is a {}", type_name(given)),
                    "give a string or None",
                )
            })?),
        };
        slf.get().tensor.set_name(text.as_deref());
        set_identity(slf)
    }

    /// The index of this tensor among the outputs of its node.
    #[getter]
    fn output_nr(&self) -> u32 {
        self.tensor.producer_edge().map_or(0, |edge| edge.output())
    }
}
