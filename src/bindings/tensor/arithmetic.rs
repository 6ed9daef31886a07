//! Operators: the slots of `Tensor`.
//!
//! Owns: the order in which operands are tried, exact tensors first, then Python numbers, then
//! everything that converts. Never promotes or broadcasts: `ops` does.
//! Invariant: an operand that is nothing like an array yields `NotImplemented`, so Python goes on.

use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyBytes, PyNotImplemented, PyString};

use crate::bindings::call::convert;
use crate::bindings::call::dispatch::{self, SMALL};
use crate::bindings::call::observe;
use crate::bindings::errors::{bad_type, python};
use crate::bindings::exchange::foreign::{self, Door};
use crate::bindings::tensor::{PyTensor, wrap};
use crate::error::Result;
use crate::ops::change::inplace;
use crate::ops::core::declare::{Arg, Operand, Scalar};
use crate::ops::core::elementwise::{Elementwise, binary, binary_scalar, scalar_binary, unary};
use crate::ops::derive::backward::admit_saved;
use crate::ops::elementwise::{arith, compare};
use crate::ops::product::matmul;
use crate::tensor::Tensor;

type Object<'py> = PyResult<Bound<'py, PyAny>>;

fn not_implemented(py: Python<'_>) -> Bound<'_, PyAny> {
    PyNotImplemented::get(py).to_owned().into_any()
}

/// An operand that is nothing like an array. Python would repeat text as often as the tensor says.
#[cold]
fn unfit<'py>(op: &Elementwise, other: &Bound<'py, PyAny>) -> Object<'py> {
    let text = other.is_instance_of::<PyString>() || other.is_instance_of::<PyBytes>();
    match text && op.name == arith::MULTIPLY.name {
        true => {
            convert::tensor_of(op.name, "the operand", other).map(|_| not_implemented(other.py()))
        }
        false => Ok(not_implemented(other.py())),
    }
}

/// Runs a computation, without the GIL where it is large.
#[inline]
pub(super) fn run<'py>(
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

/// The result of an operator, told to the graph scopes of this thread.
#[inline]
fn told<'py>(name: &str, operands: &[&Bound<'py, PyAny>], result: Object<'py>) -> Object<'py> {
    if observe::active()
        && let Ok(value) = &result
        && value.is_instance_of::<PyTensor>()
    {
        observe::operator(name, operands, value)?;
    }
    result
}

#[inline]
fn forward<'py>(
    op: &'static Elementwise,
    slf: &Bound<'py, PyTensor>,
    other: &Bound<'py, PyAny>,
) -> Object<'py> {
    told(op.name, &[slf.as_any(), other], forward_result(op, &slf.get().tensor, other))
}

#[inline]
fn forward_result<'py>(
    op: &'static Elementwise,
    a: &Tensor,
    other: &Bound<'py, PyAny>,
) -> Object<'py> {
    let py = other.py();
    if let Ok(b) = other.cast_exact::<PyTensor>() {
        let b = &b.get().tensor;
        return run(py, a.size().max(b.size()), || binary(op, a, b));
    }
    if let Some(scalar) = convert::weak_number(other)? {
        return run(py, a.size(), || binary_scalar(op, a, scalar));
    }
    match convert::operand_like(op.name, Door::Operator, other)? {
        Some(b) => run(py, a.size().max(b.size()), || binary(op, a, &b)),
        None => unfit(op, other),
    }
}

#[inline]
fn reflected<'py>(
    op: &'static Elementwise,
    slf: &Bound<'py, PyTensor>,
    other: &Bound<'py, PyAny>,
) -> Object<'py> {
    told(op.name, &[other, slf.as_any()], reflected_result(op, &slf.get().tensor, other))
}

#[inline]
fn reflected_result<'py>(
    op: &'static Elementwise,
    b: &Tensor,
    other: &Bound<'py, PyAny>,
) -> Object<'py> {
    let py = other.py();
    if let Some(scalar) = convert::weak_number(other)? {
        return run(py, b.size(), || scalar_binary(op, scalar, b));
    }
    match convert::operand_like(op.name, Door::Reflected, other)? {
        Some(a) => run(py, a.size().max(b.size()), || binary(op, &a, b)),
        None => unfit(op, other),
    }
}

fn in_place(
    op: &'static Elementwise,
    slf: &Bound<'_, PyTensor>,
    other: &Bound<'_, PyAny>,
) -> PyResult<()> {
    foreign::refuse_in_place(op.name, other)?;
    let operand = convert::operand_of(op.name, "the operand", other)?;
    python(inplace::binary_(op, &slf.get().tensor, &operand))?;
    slf.get().written();
    let result = Ok(slf.as_any().clone());
    told(op.name, &[slf.as_any(), other], result).map(|_| ())
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
    dispatch::wrap_output(py, dispatch::by_name(name, &mut [arg(a), arg(b)])?, None)
}

fn bitwise<'py>(
    name: &'static str,
    slf: &PyTensor,
    other: &Bound<'py, PyAny>,
    swap: bool,
) -> Object<'py> {
    let py = other.py();
    let mine = Operand::Tensor(slf.tensor.clone());
    let door = if swap { Door::Reflected } else { Door::Operator };
    let theirs = match convert::weak_number(other)? {
        Some(scalar) => Operand::Scalar(scalar),
        None => match convert::operand_like(name, door, other)? {
            Some(tensor) => Operand::Tensor(tensor),
            None => return Ok(not_implemented(py)),
        },
    };
    if swap { named(name, theirs, mine, py) } else { named(name, mine, theirs, py) }
}

fn product<'py>(a: &Tensor, b: &Tensor, py: Python<'py>) -> Object<'py> {
    let inner = a.shape().last().copied().unwrap_or(1);
    run(py, a.size().max(b.size()).saturating_mul(inner) / 8, || {
        if a.is_inference() || b.is_inference() {
            return admit_saved("matmul", || matmul::matmul(a, b));
        }
        matmul::matmul(a, b)
    })
}

fn refuse_modulo(modulo: &Bound<'_, PyAny>) -> PyResult<()> {
    if modulo.is_none() {
        return Ok(());
    }
    Err(bad_type("power", "a third argument was given", "use remainder(power(a, b), c)"))
}

#[pymethods]
impl PyTensor {
    fn __add__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        forward(&arith::ADD, slf, other)
    }
    fn __radd__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&arith::ADD, slf, other)
    }
    fn __iadd__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(&arith::ADD, slf, other)
    }
    fn __sub__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        forward(&arith::SUBTRACT, slf, other)
    }
    fn __rsub__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&arith::SUBTRACT, slf, other)
    }
    fn __isub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(&arith::SUBTRACT, slf, other)
    }
    fn __mul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        forward(&arith::MULTIPLY, slf, other)
    }
    fn __rmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&arith::MULTIPLY, slf, other)
    }
    fn __imul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(&arith::MULTIPLY, slf, other)
    }
    fn __truediv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        forward(&arith::DIVIDE, slf, other)
    }
    fn __rtruediv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&arith::DIVIDE, slf, other)
    }
    fn __itruediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(&arith::DIVIDE, slf, other)
    }
    fn __floordiv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        forward(&arith::FLOOR_DIVIDE, slf, other)
    }
    fn __rfloordiv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&arith::FLOOR_DIVIDE, slf, other)
    }
    fn __mod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        forward(&arith::REMAINDER, slf, other)
    }
    fn __rmod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&arith::REMAINDER, slf, other)
    }
    fn __divmod__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        Ok((forward(&arith::FLOOR_DIVIDE, slf, other)?, forward(&arith::REMAINDER, slf, other)?))
    }
    fn __rdivmod__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        Ok((
            reflected(&arith::FLOOR_DIVIDE, slf, other)?,
            reflected(&arith::REMAINDER, slf, other)?,
        ))
    }
    fn __pow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        modulo: &Bound<'py, PyAny>,
    ) -> Object<'py> {
        refuse_modulo(modulo)?;
        forward(&arith::POWER, slf, other)
    }
    fn __rpow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        modulo: &Bound<'py, PyAny>,
    ) -> Object<'py> {
        refuse_modulo(modulo)?;
        reflected(&arith::POWER, slf, other)
    }
    fn __ipow__(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
        _modulo: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        in_place(&arith::POWER, slf, other)
    }

    fn __matmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        let (py, a) = (other.py(), &slf.get().tensor);
        let result = match other.cast::<PyTensor>() {
            Ok(b) => product(a, &b.get().tensor, py),
            Err(_) => match convert::operand_like("matmul", Door::Operator, other)? {
                Some(b) => product(a, &b, py),
                None => Ok(not_implemented(py)),
            },
        };
        told("matmul", &[slf.as_any(), other], result)
    }
    fn __rmatmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        let py = other.py();
        let result = match convert::operand_like("matmul", Door::Reflected, other)? {
            Some(a) => product(&a, &slf.get().tensor, py),
            None => Ok(not_implemented(py)),
        };
        told("matmul", &[other, slf.as_any()], result)
    }

    fn __neg__<'py>(slf: &Bound<'py, Self>) -> Object<'py> {
        let x = &slf.get().tensor;
        let result = run(slf.py(), x.size(), || unary(&arith::NEGATIVE, x));
        told("negative", &[slf.as_any()], result)
    }
    fn __pos__<'py>(slf: &Bound<'py, Self>) -> Object<'py> {
        // A copy, as NumPy's: a change of `+a` never reaches `a`.
        let x = slf.get().tensor.clone();
        let result = wrap(slf.py(), dispatch::tensor_by_name("clone", &mut [Arg::Tensor(x)])?);
        told("positive", &[slf.as_any()], result)
    }
    fn __abs__<'py>(slf: &Bound<'py, Self>) -> Object<'py> {
        let x = slf.get().tensor.clone();
        let result = wrap(slf.py(), dispatch::tensor_by_name("abs", &mut [Arg::Tensor(x)])?);
        told("abs", &[slf.as_any()], result)
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

    fn __lshift__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        bitwise("left_shift", self, other, false)
    }
    fn __rlshift__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        bitwise("left_shift", self, other, true)
    }
    fn __rshift__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        bitwise("right_shift", self, other, false)
    }
    fn __rrshift__<'py>(&self, other: &Bound<'py, PyAny>) -> Object<'py> {
        bitwise("right_shift", self, other, true)
    }

    fn __richcmp__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        op: CompareOp,
    ) -> Object<'py> {
        let spec = match op {
            CompareOp::Lt => &compare::LESS,
            CompareOp::Le => &compare::LESS_EQUAL,
            CompareOp::Eq => &compare::EQUAL,
            CompareOp::Ne => &compare::NOT_EQUAL,
            CompareOp::Gt => &compare::GREATER,
            CompareOp::Ge => &compare::GREATER_EQUAL,
        };
        forward(spec, slf, other)
    }

    fn __hash__(slf: &Bound<'_, Self>) -> isize {
        (slf.as_ptr() as isize) >> 4
    }
}
