//! Operators: the slots of `Tensor`.
//!
//! Owns: the order in which operands are tried, exact tensors first, then Python numbers, then
//! everything that converts. Never promotes or broadcasts: `ops` does.
//! Invariant: an operand that is nothing like an array yields `NotImplemented`, so Python goes on.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyBytes, PyInt, PyNotImplemented, PyString};

use crate::bindings::call::convert;
use crate::bindings::call::intercept::Call;
use crate::bindings::errors::bad_type;
use crate::bindings::interop::foreign_arrays;
use crate::bindings::interop::foreign_arrays::OverrideRule;
use crate::bindings::object::PyTensor;
use crate::bindings::package::SPARSE_PRODUCT;
use crate::bindings::tensor::temporary_elision;
use crate::dtype::DType;
use crate::ops::core::broadcast::astype;
use crate::ops::core::elementwise::{Elementwise, binary, binary_scalar, scalar_binary, unary};
use crate::ops::core::reuse_temporary::binary_into;
use crate::ops::elementwise::{arithmetic, bitwise, compare, unary as maths};
use crate::ops::inplace::methods;
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
    if text && op.name == arithmetic::MULTIPLY.name {
        convert::tensor_of(op.name, "the operand", other).map(|_| not_implemented(other.py()))
    } else {
        Ok(not_implemented(other.py()))
    }
}

#[inline]
fn forward<'py>(
    op: &'static Elementwise,
    slf: &Bound<'py, PyTensor>,
    other: &Bound<'py, PyAny>,
) -> Object<'py> {
    let (a, operands) = (&slf.get().tensor, [slf.as_any(), other]);
    let call = Call::operator(op.name, &operands);
    if let Ok(b) = other.cast_exact::<PyTensor>() {
        let over = temporary_elision::spare(op, slf, b);
        let b = &b.get().tensor;
        return call.tensor(a.size().max(b.size()), || match over {
            Some(over) => binary_into(op, a, b, over),
            None => binary(op, a, b),
        });
    }
    if let Some(scalar) = convert::weak_number(other)? {
        return call.tensor(a.size(), || binary_scalar(op, a, scalar));
    }
    match convert::operand_like(op.name, OverrideRule::Operator, other)? {
        Some(b) => call.tensor(a.size().max(b.size()), || binary(op, a, &b)),
        None => unfit(op, other),
    }
}

#[inline]
fn reflected<'py>(
    op: &'static Elementwise,
    slf: &Bound<'py, PyTensor>,
    other: &Bound<'py, PyAny>,
) -> Object<'py> {
    let (b, operands) = (&slf.get().tensor, [other, slf.as_any()]);
    let call = Call::operator(op.name, &operands);
    if let Some(scalar) = convert::weak_number(other)? {
        return call.tensor(b.size(), || scalar_binary(op, scalar, b));
    }
    match convert::operand_like(op.name, OverrideRule::Reflected, other)? {
        Some(a) => call.tensor(a.size().max(b.size()), || binary(op, &a, b)),
        None => unfit(op, other),
    }
}

/// The receiver of `x op= y` that is changed. A value is refused, which the slot answers with `NotImplemented`: Python then
/// computes `x = x op y`.
pub(super) struct Memory<'a, 'py>(pub(super) &'a Bound<'py, PyTensor>);

/// The receiver is a value.
pub(super) struct IsValue;

impl From<IsValue> for PyErr {
    fn from(_: IsValue) -> PyErr {
        PyTypeError::new_err(())
    }
}

impl<'a, 'py> TryFrom<&'a Bound<'py, PyTensor>> for Memory<'a, 'py> {
    type Error = IsValue;

    #[inline]
    fn try_from(slf: &'a Bound<'py, PyTensor>) -> Result<Self, IsValue> {
        if slf.get().tensor.is_value() { Err(IsValue) } else { Ok(Memory(slf)) }
    }
}

fn in_place(
    op: &'static Elementwise,
    Memory(slf): Memory<'_, '_>,
    other: &Bound<'_, PyAny>,
) -> PyResult<()> {
    foreign_arrays::refuse_in_place(op.name, other)?;
    let x = &slf.get().tensor;
    let operand = convert::operand_of(op.name, "the operand", other)?;
    let operands = [slf.as_any(), other];
    let call = Call::operator(op.name, &operands);
    call.change(slf.as_any(), x.size(), || methods::binary_(op, x, &operand)).map(drop)
}

fn alone<'py>(op: &'static Elementwise, slf: &Bound<'py, PyTensor>) -> Object<'py> {
    let x = &slf.get().tensor;
    Call::operator(op.name, &[slf.as_any()]).tensor(x.size(), || unary(op, x))
}

/// What a matrix product costs, in elements of an element-wise operation.
pub(super) fn product_work(a: &Tensor, b: &Tensor) -> usize {
    let inner = a.shape().last().copied().unwrap_or(1);
    a.size().max(b.size()).saturating_mul(inner) / 8
}

fn product<'py>(operands: [&Bound<'py, PyAny>; 2], a: &Tensor, b: &Tensor) -> Object<'py> {
    Call::operator("matmul", &operands).tensor(product_work(a, b), || matmul::matmul(a, b))
}

/// The product with a sparse array of SciPy's, which knows dense arrays only.
#[cold]
fn sparse_product<'py>(a: &Bound<'py, PyAny>, b: &Bound<'py, PyAny>) -> Object<'py> {
    SPARSE_PRODUCT.get(a.py())?.call1((a, b))
}

fn is_two(other: &Bound<'_, PyAny>) -> bool {
    other.cast_exact::<PyInt>().is_ok_and(|n| n.extract::<i64>().is_ok_and(|n| n == 2))
}

/// `mask ** 2`, which NumPy's operator takes for the square: the smallest integers, as no other power of booleans.
#[cold]
fn square_of_mask<'py>(mask: &Bound<'py, PyTensor>) -> Object<'py> {
    let x = &mask.get().tensor;
    Call::operator(arithmetic::POWER.name, &[mask.as_any()])
        .tensor(x.size(), || astype(x, DType::I8))
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
        forward(&arithmetic::ADD, slf, other)
    }
    fn __radd__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&arithmetic::ADD, slf, other)
    }
    fn __iadd__(slf: Memory<'_, '_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(&arithmetic::ADD, slf, other)
    }
    fn __sub__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        forward(&arithmetic::SUBTRACT, slf, other)
    }
    fn __rsub__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&arithmetic::SUBTRACT, slf, other)
    }
    fn __isub__(slf: Memory<'_, '_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(&arithmetic::SUBTRACT, slf, other)
    }
    fn __mul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        forward(&arithmetic::MULTIPLY, slf, other)
    }
    fn __rmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&arithmetic::MULTIPLY, slf, other)
    }
    fn __imul__(slf: Memory<'_, '_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(&arithmetic::MULTIPLY, slf, other)
    }
    fn __truediv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        forward(&arithmetic::DIVIDE, slf, other)
    }
    fn __rtruediv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&arithmetic::DIVIDE, slf, other)
    }
    fn __itruediv__(slf: Memory<'_, '_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(&arithmetic::DIVIDE, slf, other)
    }
    fn __floordiv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        forward(&arithmetic::FLOOR_DIVIDE, slf, other)
    }
    fn __rfloordiv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&arithmetic::FLOOR_DIVIDE, slf, other)
    }
    fn __ifloordiv__(slf: Memory<'_, '_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(&arithmetic::FLOOR_DIVIDE, slf, other)
    }
    fn __mod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        forward(&arithmetic::REMAINDER, slf, other)
    }
    fn __rmod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&arithmetic::REMAINDER, slf, other)
    }
    fn __imod__(slf: Memory<'_, '_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(&arithmetic::REMAINDER, slf, other)
    }
    fn __divmod__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        Ok((
            forward(&arithmetic::FLOOR_DIVIDE, slf, other)?,
            forward(&arithmetic::REMAINDER, slf, other)?,
        ))
    }
    fn __rdivmod__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        Ok((
            reflected(&arithmetic::FLOOR_DIVIDE, slf, other)?,
            reflected(&arithmetic::REMAINDER, slf, other)?,
        ))
    }
    fn __pow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        modulo: &Bound<'py, PyAny>,
    ) -> Object<'py> {
        refuse_modulo(modulo)?;
        if slf.get().tensor.dtype() == DType::Bool && is_two(other) {
            return square_of_mask(slf);
        }
        forward(&arithmetic::POWER, slf, other)
    }
    fn __rpow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        modulo: &Bound<'py, PyAny>,
    ) -> Object<'py> {
        refuse_modulo(modulo)?;
        reflected(&arithmetic::POWER, slf, other)
    }
    fn __ipow__(
        slf: Memory<'_, '_>,
        other: &Bound<'_, PyAny>,
        _modulo: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        in_place(&arithmetic::POWER, slf, other)
    }

    fn __matmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        let (a, operands) = (&slf.get().tensor, [slf.as_any(), other]);
        if let Ok(b) = other.cast::<PyTensor>() {
            return product(operands, a, &b.get().tensor);
        }
        match convert::operand_like("matmul", OverrideRule::Operator, other)? {
            Some(b) => product(operands, a, &b),
            None if foreign_arrays::is_sparse(other) => sparse_product(slf.as_any(), other),
            None => Ok(not_implemented(other.py())),
        }
    }
    fn __rmatmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        let b = &slf.get().tensor;
        if foreign_arrays::is_sparse(other) {
            return sparse_product(other, slf.as_any());
        }
        match convert::operand_like("matmul", OverrideRule::Reflected, other)? {
            Some(a) => product([other, slf.as_any()], &a, b),
            None => Ok(not_implemented(other.py())),
        }
    }

    fn __neg__<'py>(slf: &Bound<'py, Self>) -> Object<'py> {
        alone(&arithmetic::NEGATIVE, slf)
    }
    fn __pos__<'py>(slf: &Bound<'py, Self>) -> Object<'py> {
        // A copy, as NumPy's: a change of `+a` never reaches `a`. Without axes it is a value.
        let x = &slf.get().tensor;
        Call::operator("positive", &[slf.as_any()]).tensor(x.size(), || x.copied("clone"))
    }
    fn __abs__<'py>(slf: &Bound<'py, Self>) -> Object<'py> {
        alone(&maths::ABS, slf)
    }
    fn __invert__<'py>(slf: &Bound<'py, Self>) -> Object<'py> {
        alone(&bitwise::BITWISE_NOT, slf)
    }

    fn __and__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        forward(&bitwise::BITWISE_AND, slf, other)
    }
    fn __rand__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&bitwise::BITWISE_AND, slf, other)
    }
    fn __iand__(slf: Memory<'_, '_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(&bitwise::BITWISE_AND, slf, other)
    }
    fn __or__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        forward(&bitwise::BITWISE_OR, slf, other)
    }
    fn __ror__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&bitwise::BITWISE_OR, slf, other)
    }
    fn __ior__(slf: Memory<'_, '_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(&bitwise::BITWISE_OR, slf, other)
    }
    fn __xor__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        forward(&bitwise::BITWISE_XOR, slf, other)
    }
    fn __rxor__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&bitwise::BITWISE_XOR, slf, other)
    }
    fn __ixor__(slf: Memory<'_, '_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(&bitwise::BITWISE_XOR, slf, other)
    }
    fn __lshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        forward(&bitwise::LEFT_SHIFT, slf, other)
    }
    fn __rlshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&bitwise::LEFT_SHIFT, slf, other)
    }
    fn __ilshift__(slf: Memory<'_, '_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(&bitwise::LEFT_SHIFT, slf, other)
    }
    fn __rshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        forward(&bitwise::RIGHT_SHIFT, slf, other)
    }
    fn __rrshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected(&bitwise::RIGHT_SHIFT, slf, other)
    }
    fn __irshift__(slf: Memory<'_, '_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(&bitwise::RIGHT_SHIFT, slf, other)
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
