//! In-place methods that are not in the operation registry (`fill_`, `copy_`, `detach_`, `@=`), and queries about a
//! tensor's memory.

use pyo3::prelude::*;

use crate::bindings::call::convert;
use crate::bindings::call::intercept::Call;
use crate::bindings::interop::foreign_arrays;
use crate::bindings::object::{PyTensor, set_identity};
use crate::bindings::tensor::operators::{MutableReceiver, product_work};
use crate::error::Result;
use crate::ops::core::op_decl::{Arg, Operand, Scalar};
use crate::ops::inplace::methods;
use crate::ops::product::matmul;
use crate::tensor::Tensor;

type Receiver<'py> = PyResult<Bound<'py, PyTensor>>;

/// Runs an in-place change of `slf` and returns `slf`.
fn change_in_place<'py>(
    name: &str,
    operands: &[&Bound<'py, PyAny>],
    slf: &Bound<'py, PyTensor>,
    work: usize,
    change: impl FnOnce(&Tensor) -> Result<()> + Send,
) -> Receiver<'py> {
    let x = &slf.get().tensor;
    Call::operator(name, operands).run_in_place(slf.as_any(), work, || change(x))?;
    Ok(slf.clone())
}

#[pymethods]
impl PyTensor {
    /// Sets every element to one value. Derivative: zero for the old elements, the sum of `g` for the value.
    fn fill_<'py>(slf: &Bound<'py, Self>, value: &Bound<'py, PyAny>) -> Receiver<'py> {
        let filling =
            convert::assigned_value("fill_", "the value", value, slf.get().tensor.dtype())?;
        let work = slf.get().tensor.size();
        change_in_place("fill_", &[slf.as_any(), value], slf, work, |x| methods::fill_(x, &filling))
    }

    /// Sets every element to zero.
    fn zero_<'py>(slf: &Bound<'py, Self>) -> Receiver<'py> {
        let (zero, work) = (Operand::Scalar(Scalar::Int(0)), slf.get().tensor.size());
        change_in_place("zero_", &[slf.as_any()], slf, work, |x| methods::fill_(x, &zero))
    }

    /// Copies the elements of another tensor, broadcast to this one's shape. Derivative: zero for the old elements,
    /// `g` for the source.
    fn copy_<'py>(slf: &Bound<'py, Self>, src: &Bound<'py, PyAny>) -> Receiver<'py> {
        let source = convert::tensor_of("copy_", "the source", src)?;
        let work = slf.get().tensor.size();
        change_in_place("copy_", &[slf.as_any(), src], slf, work, |x| methods::copy_(x, &source))
    }

    /// Takes the tensor out of the graph; views cannot be taken out.
    fn detach_<'py>(slf: &Bound<'py, Self>) -> Receiver<'py> {
        change_in_place("detach_", &[slf.as_any()], slf, 1, Tensor::detach_in_place)
    }

    fn __imatmul__(
        MutableReceiver(slf): MutableReceiver<'_, '_>,
        other: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        foreign_arrays::refuse_in_place("matmul", other)?;
        let b = convert::tensor_of("matmul", "the operand", other)?;
        let work = product_work(&slf.get().tensor, &b);
        let product = |x: &Tensor| {
            let mut args = [Arg::Tensor(x.clone()), Arg::Tensor(b)];
            methods::apply(&matmul::DECLS[0], "matmul", &mut args)
        };
        change_in_place("matmul", &[slf.as_any(), other], slf, work, product).map(drop)
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

    /// Whether the tensor is a value, as NumPy's scalars are: without axes, and never changed by `x += y`.
    fn _is_value(&self) -> bool {
        self.tensor.is_value()
    }

    /// Makes a tensor without axes memory, which `x += y` changes.
    fn _become_memory(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.get().tensor.become_memory();
        if slf.get().tensor.meta().is_some() { set_identity(slf) } else { Ok(()) }
    }

    /// Whether the tensor shows memory of another one.
    fn _is_view(&self) -> bool {
        self.tensor.is_view()
    }
}
