//! Operators: the slots of `Tensor`.
//!
//! Owns: the order in which operands are tried, exact tensors first, then Python numbers, then
//! everything that converts. Never promotes or broadcasts: `ops` does.
//! Invariant: an operand that is nothing like an array yields `NotImplemented`, so Python goes on.

use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::PyNotImplemented;

use crate::bindings::convert;
use crate::bindings::dispatch::{self, SMALL};
use crate::bindings::errors::{bad_type, python};
use crate::bindings::tensor::{PyTensor, wrap};
use crate::error::Result;
use crate::ops::declare::{Arg, Operand, Scalar};
use crate::ops::elementwise::{Elementwise, binary, binary_scalar, scalar_binary, unary};
use crate::ops::{arith, compare, inplace, matmul};
use crate::tensor::Tensor;

type Object<'py> = PyResult<Bound<'py, PyAny>>;

fn not_implemented(py: Python<'_>) -> Bound<'_, PyAny> {
    PyNotImplemented::get(py).to_owned().into_any()
}

/// Runs a computation, without the GIL where it is large.
#[inline]
pub(crate) fn run<'py>(
    py: Python<'py>,
    elements: usize,
    compute: impl FnOnce() -> Result<Tensor> + Send,
) -> Object<'py> {
    let result = if elements > SMALL { py.detach(compute) } else { compute() };
    match result {
        Ok(tensor) => wrap(py, tensor),
        Err(error) => Err(error.into()),
    }
}

#[inline]
fn forward<'py>(op: &'static Elementwise, a: &Tensor, other: &Bound<'py, PyAny>) -> Object<'py> {
    let py = other.py();
    if let Ok(b) = other.cast_exact::<PyTensor>() {
        let b = &b.get().tensor;
        return run(py, a.size().max(b.size()), || binary(op, a, b));
    }
    if let Some(scalar) = convert::weak_number(other)? {
        return run(py, a.size(), || binary_scalar(op, a, scalar));
    }
    match convert::tensor_like(op.name, other)? {
        Some(b) => run(py, a.size().max(b.size()), || binary(op, a, &b)),
        None => Ok(not_implemented(py)),
    }
}

#[inline]
fn reflected<'py>(op: &'static Elementwise, b: &Tensor, other: &Bound<'py, PyAny>) -> Object<'py> {
    let py = other.py();
    if let Some(scalar) = convert::weak_number(other)? {
        return run(py, b.size(), || scalar_binary(op, scalar, b));
    }
    match convert::tensor_like(op.name, other)? {
        Some(a) => run(py, a.size().max(b.size()), || binary(op, &a, b)),
        None => Ok(not_implemented(py)),
    }
}

fn in_place(op: &'static Elementwise, a: &Tensor, other: &Bound<'_, PyAny>) -> PyResult<()> {
    let operand = convert::operand_of(op.name, "the operand", other)?;
    python(inplace::binary_(op, a, &operand))
}

/// An operator that is not in every build of the registry, such as `&`.
fn named<'py>(name: &'static str, a: Operand, b: Operand, py: Python<'py>) -> Object<'py> {
    if dispatch::find(name).is_none() {
        return Ok(not_implemented(py));
    }
    let arg = |operand| match operand {
        Operand::Tensor(tensor) => Arg::Tensor(tensor),
        Operand::Scalar(scalar) => Arg::Scalar(scalar),
    };
    dispatch::wrap_output(py, dispatch::by_name(name, &mut [arg(a), arg(b)])?)
}

fn bitwise<'py>(
    name: &'static str,
    slf: &PyTensor,
    other: &Bound<'py, PyAny>,
    swap: bool,
) -> Object<'py> {
    let py = other.py();
    let mine = Operand::Tensor(slf.tensor.clone());
    let theirs = match convert::weak_number(other)? {
        Some(scalar) => Operand::Scalar(scalar),
        None => match convert::tensor_like(name, other)? {
            Some(tensor) => Operand::Tensor(tensor),
            None => return Ok(not_implemented(py)),
        },
    };
    if swap { named(name, theirs, mine, py) } else { named(name, mine, theirs, py) }
}

fn product<'py>(a: &Tensor, b: &Tensor, py: Python<'py>) -> Object<'py> {
    let inner = a.shape().last().copied().unwrap_or(1);
    run(py, a.size().max(b.size()).saturating_mul(inner) / 8, || matmul::matmul(a, b))
}

fn refuse_modulo(modulo: &Bound<'_, PyAny>) -> PyResult<()> {
    if modulo.is_none() {
        return Ok(());
    }
    Err(bad_type("power", "a third argument was given", "use remainder(power(a, b), c)"))
}

#[pymethods]
impl PyTensor {
    fn __add__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        forward(&arith::ADD, &self.tensor, other)
    }
    fn __radd__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&arith::ADD, &self.tensor, other)
    }
    fn __iadd__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(&arith::ADD, &self.tensor, other)
    }
    fn __sub__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        forward(&arith::SUBTRACT, &self.tensor, other)
    }
    fn __rsub__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&arith::SUBTRACT, &self.tensor, other)
    }
    fn __isub__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(&arith::SUBTRACT, &self.tensor, other)
    }
    fn __mul__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        forward(&arith::MULTIPLY, &self.tensor, other)
    }
    fn __rmul__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&arith::MULTIPLY, &self.tensor, other)
    }
    fn __imul__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(&arith::MULTIPLY, &self.tensor, other)
    }
    fn __truediv__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        forward(&arith::DIVIDE, &self.tensor, other)
    }
    fn __rtruediv__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&arith::DIVIDE, &self.tensor, other)
    }
    fn __itruediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(&arith::DIVIDE, &self.tensor, other)
    }
    fn __floordiv__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        forward(&arith::FLOOR_DIVIDE, &self.tensor, other)
    }
    fn __rfloordiv__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&arith::FLOOR_DIVIDE, &self.tensor, other)
    }
    fn __mod__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        forward(&arith::REMAINDER, &self.tensor, other)
    }
    fn __rmod__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&arith::REMAINDER, &self.tensor, other)
    }
    fn __pow__<'py>(&self, other: &Bound<'py, PyAny>, modulo: &Bound<'py, PyAny>) -> Object<'py> {
        refuse_modulo(modulo)?;
        forward(&arith::POWER, &self.tensor, other)
    }
    fn __rpow__<'py>(&self, other: &Bound<'py, PyAny>, modulo: &Bound<'py, PyAny>) -> Object<'py> {
        refuse_modulo(modulo)?;
        reflected(&arith::POWER, &self.tensor, other)
    }
    fn __ipow__(&self, other: &Bound<'_, PyAny>, _modulo: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(&arith::POWER, &self.tensor, other)
    }

    fn __matmul__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        let py = other.py();
        if let Ok(b) = other.cast::<PyTensor>() {
            return product(&self.tensor, &b.get().tensor, py);
        }
        match convert::tensor_like("matmul", other)? {
            Some(b) => product(&self.tensor, &b, py),
            None => Ok(not_implemented(py)),
        }
    }
    fn __rmatmul__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        let py = other.py();
        match convert::tensor_like("matmul", other)? {
            Some(a) => product(&a, &self.tensor, py),
            None => Ok(not_implemented(py)),
        }
    }

    fn __neg__<'py>(&self, py: Python<'py>) -> Object<'py> {
        run(py, self.tensor.size(), || unary(&arith::NEGATIVE, &self.tensor))
    }
    fn __pos__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyAny> {
        slf.clone().into_any()
    }
    fn __abs__<'py>(&self, py: Python<'py>) -> Object<'py> {
        wrap(py, dispatch::tensor_by_name("abs", &mut [Arg::Tensor(self.tensor.clone())])?)
    }
    fn __invert__<'py>(&self, py: Python<'py>) -> Object<'py> {
        let flip = if self.tensor.dtype() == crate::dtype::DType::Bool {
            return run(py, self.tensor.size(), || {
                binary_scalar(&compare::EQUAL, &self.tensor, Scalar::Bool(false))
            });
        } else {
            Operand::Scalar(Scalar::Int(-1))
        };
        named("bitwise_xor", Operand::Tensor(self.tensor.clone()), flip, py)
    }

    fn __and__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        bitwise("bitwise_and", self, other, false)
    }
    fn __rand__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        bitwise("bitwise_and", self, other, true)
    }
    fn __or__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        bitwise("bitwise_or", self, other, false)
    }
    fn __ror__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        bitwise("bitwise_or", self, other, true)
    }
    fn __xor__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        bitwise("bitwise_xor", self, other, false)
    }
    fn __rxor__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        bitwise("bitwise_xor", self, other, true)
    }

    fn __richcmp__<'py>(&self, other: &Bound<'py, PyAny>, op: CompareOp) -> Object<'py> {
        let spec = match op {
            CompareOp::Lt => &compare::LESS,
            CompareOp::Le => &compare::LESS_EQUAL,
            CompareOp::Eq => &compare::EQUAL,
            CompareOp::Ne => &compare::NOT_EQUAL,
            CompareOp::Gt => &compare::GREATER,
            CompareOp::Ge => &compare::GREATER_EQUAL,
        };
        forward(spec, &self.tensor, other)
    }

    fn __hash__(slf: &Bound<'_, Self>) -> isize {
        (slf.as_ptr() as isize) >> 4
    }
}
