//! Methods that change their tensor and are no operations of the registry.
//!
//! Owns: `fill_`, `zero_`, `copy_`, `detach_`, `@=`, and what a tensor says of its memory. Never checks or writes:
//! `ops::change` does. Invariant: each returns its receiver.

use pyo3::prelude::*;
use smallvec::smallvec;

use crate::bindings::call::convert;
use crate::bindings::call::dispatch;
use crate::bindings::call::observe;
use crate::bindings::errors::python;
use crate::bindings::exchange::foreign;
use crate::bindings::tensor::PyTensor;
use crate::ops::change::inplace;
use crate::ops::core::declare::{Arg, Operand, Scalar};

type Slf<'py> = PyResult<Bound<'py, PyTensor>>;

fn told<'py>(name: &str, slf: &Bound<'py, PyTensor>) -> Slf<'py> {
    slf.get().written();
    if observe::active() {
        observe::operator(name, &[slf.as_any()], slf.as_any())?;
    }
    Ok(slf.clone())
}

#[pymethods]
impl PyTensor {
    /// Sets every element to one value. Derivative: zero for the old elements, the sum of `g` for the value.
    fn fill_<'py>(slf: &Bound<'py, Self>, value: &Bound<'py, PyAny>) -> Slf<'py> {
        let value = convert::operand_of("fill_", "the value", value)?;
        python(inplace::fill_(&slf.get().tensor, &value))?;
        told("fill_", slf)
    }

    /// Sets every element to zero.
    fn zero_<'py>(slf: &Bound<'py, Self>) -> Slf<'py> {
        python(inplace::fill_(&slf.get().tensor, &Operand::Scalar(Scalar::Int(0))))?;
        told("zero_", slf)
    }

    /// Copies the elements of another tensor, broadcast to this one's shape. Derivative: zero for the old elements,
    /// `g` for the source.
    fn copy_<'py>(slf: &Bound<'py, Self>, src: &Bound<'py, PyAny>) -> Slf<'py> {
        let source = convert::tensor_of("copy_", "the source", src)?;
        python(inplace::copy_(&slf.get().tensor, &source))?;
        told("copy_", slf)
    }

    /// Takes the tensor out of the graph; views cannot be taken out.
    fn detach_<'py>(slf: &Bound<'py, Self>) -> Slf<'py> {
        python(slf.get().tensor.detach_in_place())?;
        Ok(slf.clone())
    }

    fn __imatmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        foreign::refuse_in_place("matmul", other)?;
        let other = convert::tensor_of("matmul", "the operand", other)?;
        let x = slf.get().tensor.sharing();
        let mut args: smallvec::SmallVec<[Arg; 2]> = smallvec![Arg::Tensor(x), Arg::Tensor(other)];
        let Some(decl) = dispatch::find("matmul") else { return Ok(()) };
        python(inplace::apply(decl, "matmul", &mut args))?;
        told("matmul", slf).map(|_| ())
    }

    /// Whether the tensor was made in inference mode.
    fn is_inference(&self) -> bool {
        self.tensor.is_inference()
    }

    /// The tensor whose memory this view shows, or None.
    #[getter]
    fn _base(&self, py: Python<'_>) -> Option<Py<PyTensor>> {
        self.base.as_ref().map(|base| base.clone_ref(py))
    }

    /// Whether the tensor shows memory of another one.
    fn _is_view(&self) -> bool {
        self.tensor.is_view()
    }
}
