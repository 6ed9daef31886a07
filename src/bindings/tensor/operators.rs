//! Operators of `Tensor`. Operands are tried in order: exact tensors, Python numbers, then anything that converts;
//! other operands give `NotImplemented`.

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
use crate::dtype::DType;
use crate::ops::core::broadcast::astype;
use crate::ops::core::elementwise::{Elementwise, OperandRef, unary};
use crate::ops::elementwise::{arithmetic, bitwise, compare, unary as maths};
use crate::ops::inplace::methods;
use crate::ops::product::matmul;
use crate::tensor::Tensor;

type Object<'py> = PyResult<Bound<'py, PyAny>>;

fn not_implemented(py: Python<'_>) -> Bound<'_, PyAny> {
    PyNotImplemented::get(py).to_owned().into_any()
}

/// The result for an unsupported operand. Text is refused for `*`: Python would repeat it as a sequence.
#[cold]
fn unsupported_operand<'py>(op: &Elementwise, other: &Bound<'py, PyAny>) -> Object<'py> {
    let text = other.is_instance_of::<PyString>() || other.is_instance_of::<PyBytes>();
    if text && op.name == arithmetic::MULTIPLY.name {
        convert::tensor_of(op.name, "the operand", other).map(|_| not_implemented(other.py()))
    } else {
        Ok(not_implemented(other.py()))
    }
}

/// Applies a binary operator to a tensor, on the side that `rule` says, and the other operand.
#[inline]
fn operator_with<'py>(
    op: &'static Elementwise,
    slf: &Bound<'py, PyTensor>,
    other: &Bound<'py, PyAny>,
    rule: OverrideRule,
) -> Object<'py> {
    let converted;
    let y = match other.cast_exact::<PyTensor>() {
        Ok(tensor) => OperandRef::Tensor(&tensor.get().tensor),
        Err(_) => {
            let Some(operand) = convert::operand_like(op.name, rule, other)? else {
                return unsupported_operand(op, other);
            };
            converted = operand;
            OperandRef::from(&converted)
        }
    };
    let x = OperandRef::Tensor(&slf.get().tensor);
    let (objects, operands) = match rule {
        OverrideRule::Reflected => ([other, slf.as_any()], [y, x]),
        _ => ([slf.as_any(), other], [x, y]),
    };
    Call::operator(op.name, &objects).run_tensor(x.size().max(y.size()), || op.apply(&operands))
}

#[inline]
fn binary_operator<'py>(
    op: &'static Elementwise,
    slf: &Bound<'py, PyTensor>,
    other: &Bound<'py, PyAny>,
) -> Object<'py> {
    operator_with(op, slf, other, OverrideRule::Operator)
}

#[inline]
fn reflected_operator<'py>(
    op: &'static Elementwise,
    slf: &Bound<'py, PyTensor>,
    other: &Bound<'py, PyAny>,
) -> Object<'py> {
    operator_with(op, slf, other, OverrideRule::Reflected)
}

/// The receiver of `x op= y`. A value (like a NumPy scalar) is not changed in place: the slot returns `NotImplemented`,
/// so that Python computes `x = x op y`.
pub(super) struct MutableReceiver<'a, 'py>(pub(super) &'a Bound<'py, PyTensor>);

/// The error of a receiver that is a value.
pub(super) struct ReceiverIsValue;

impl From<ReceiverIsValue> for PyErr {
    fn from(_: ReceiverIsValue) -> PyErr {
        PyTypeError::new_err(())
    }
}

impl<'a, 'py> TryFrom<&'a Bound<'py, PyTensor>> for MutableReceiver<'a, 'py> {
    type Error = ReceiverIsValue;

    #[inline]
    fn try_from(slf: &'a Bound<'py, PyTensor>) -> Result<Self, ReceiverIsValue> {
        if slf.get().tensor.is_value() { Err(ReceiverIsValue) } else { Ok(MutableReceiver(slf)) }
    }
}

fn in_place_operator(
    op: &'static Elementwise,
    MutableReceiver(slf): MutableReceiver<'_, '_>,
    other: &Bound<'_, PyAny>,
) -> PyResult<()> {
    foreign_arrays::refuse_in_place(op.name, other)?;
    let x = &slf.get().tensor;
    let operand = convert::operand_of(op.name, "the operand", other)?;
    let operands = [slf.as_any(), other];
    let call = Call::operator(op.name, &operands);
    call.run_in_place(slf.as_any(), x.size(), || methods::binary_(op, x, &operand)).map(drop)
}

fn unary_operator<'py>(op: &'static Elementwise, slf: &Bound<'py, PyTensor>) -> Object<'py> {
    let x = &slf.get().tensor;
    Call::operator(op.name, &[slf.as_any()]).run_tensor(x.size(), || unary(op, x))
}

/// The cost of a matrix product, in elements of an element-wise operation.
pub(super) fn product_work(a: &Tensor, b: &Tensor) -> usize {
    let inner = a.shape().last().copied().unwrap_or(1);
    a.size().max(b.size()).saturating_mul(inner) / 8
}

fn matrix_product<'py>(operands: [&Bound<'py, PyAny>; 2], a: &Tensor, b: &Tensor) -> Object<'py> {
    Call::operator("matmul", &operands).run_tensor(product_work(a, b), || matmul::matmul(a, b))
}

/// The product with a SciPy sparse array.
#[cold]
fn sparse_product<'py>(a: &Bound<'py, PyAny>, b: &Bound<'py, PyAny>) -> Object<'py> {
    SPARSE_PRODUCT.get(a.py())?.call1((a, b))
}

fn is_two(other: &Bound<'_, PyAny>) -> bool {
    other.cast_exact::<PyInt>().is_ok_and(|n| n.extract::<i64>().is_ok_and(|n| n == 2))
}

/// `mask ** 2`: NumPy returns int8 for the square, unlike for other powers of booleans.
#[cold]
fn square_of_mask<'py>(mask: &Bound<'py, PyTensor>) -> Object<'py> {
    let x = &mask.get().tensor;
    Call::operator(arithmetic::POWER.name, &[mask.as_any()])
        .run_tensor(x.size(), || astype(x, DType::I8))
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
        binary_operator(&arithmetic::ADD, slf, other)
    }
    fn __radd__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected_operator(&arithmetic::ADD, slf, other)
    }
    fn __iadd__(slf: MutableReceiver<'_, '_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place_operator(&arithmetic::ADD, slf, other)
    }
    fn __sub__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        binary_operator(&arithmetic::SUBTRACT, slf, other)
    }
    fn __rsub__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected_operator(&arithmetic::SUBTRACT, slf, other)
    }
    fn __isub__(slf: MutableReceiver<'_, '_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place_operator(&arithmetic::SUBTRACT, slf, other)
    }
    fn __mul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        binary_operator(&arithmetic::MULTIPLY, slf, other)
    }
    fn __rmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected_operator(&arithmetic::MULTIPLY, slf, other)
    }
    fn __imul__(slf: MutableReceiver<'_, '_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place_operator(&arithmetic::MULTIPLY, slf, other)
    }
    fn __truediv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        binary_operator(&arithmetic::DIVIDE, slf, other)
    }
    fn __rtruediv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected_operator(&arithmetic::DIVIDE, slf, other)
    }
    fn __itruediv__(slf: MutableReceiver<'_, '_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place_operator(&arithmetic::DIVIDE, slf, other)
    }
    fn __floordiv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        binary_operator(&arithmetic::FLOOR_DIVIDE, slf, other)
    }
    fn __rfloordiv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected_operator(&arithmetic::FLOOR_DIVIDE, slf, other)
    }
    fn __ifloordiv__(slf: MutableReceiver<'_, '_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place_operator(&arithmetic::FLOOR_DIVIDE, slf, other)
    }
    fn __mod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        binary_operator(&arithmetic::REMAINDER, slf, other)
    }
    fn __rmod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected_operator(&arithmetic::REMAINDER, slf, other)
    }
    fn __imod__(slf: MutableReceiver<'_, '_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place_operator(&arithmetic::REMAINDER, slf, other)
    }
    fn __divmod__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        Ok((
            binary_operator(&arithmetic::FLOOR_DIVIDE, slf, other)?,
            binary_operator(&arithmetic::REMAINDER, slf, other)?,
        ))
    }
    fn __rdivmod__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        Ok((
            reflected_operator(&arithmetic::FLOOR_DIVIDE, slf, other)?,
            reflected_operator(&arithmetic::REMAINDER, slf, other)?,
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
        binary_operator(&arithmetic::POWER, slf, other)
    }
    fn __rpow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        modulo: &Bound<'py, PyAny>,
    ) -> Object<'py> {
        refuse_modulo(modulo)?;
        reflected_operator(&arithmetic::POWER, slf, other)
    }
    fn __ipow__(
        slf: MutableReceiver<'_, '_>,
        other: &Bound<'_, PyAny>,
        _modulo: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        in_place_operator(&arithmetic::POWER, slf, other)
    }

    fn __matmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        let (a, operands) = (&slf.get().tensor, [slf.as_any(), other]);
        if let Ok(b) = other.cast::<PyTensor>() {
            return matrix_product(operands, a, &b.get().tensor);
        }
        match convert::tensor_operand_like("matmul", OverrideRule::Operator, other)? {
            Some(b) => matrix_product(operands, a, &b),
            None if foreign_arrays::is_sparse(other) => sparse_product(slf.as_any(), other),
            None => Ok(not_implemented(other.py())),
        }
    }
    fn __rmatmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        let b = &slf.get().tensor;
        if foreign_arrays::is_sparse(other) {
            return sparse_product(other, slf.as_any());
        }
        match convert::tensor_operand_like("matmul", OverrideRule::Reflected, other)? {
            Some(a) => matrix_product([other, slf.as_any()], &a, b),
            None => Ok(not_implemented(other.py())),
        }
    }

    fn __neg__<'py>(slf: &Bound<'py, Self>) -> Object<'py> {
        unary_operator(&arithmetic::NEGATIVE, slf)
    }
    fn __pos__<'py>(slf: &Bound<'py, Self>) -> Object<'py> {
        // A copy, as in NumPy: writing to `+a` does not change `a`. Without axes it is a value.
        let x = &slf.get().tensor;
        Call::operator("positive", &[slf.as_any()]).run_tensor(x.size(), || x.copied("clone"))
    }
    fn __abs__<'py>(slf: &Bound<'py, Self>) -> Object<'py> {
        unary_operator(&maths::ABS, slf)
    }
    fn __invert__<'py>(slf: &Bound<'py, Self>) -> Object<'py> {
        unary_operator(&bitwise::BITWISE_NOT, slf)
    }

    fn __and__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        binary_operator(&bitwise::BITWISE_AND, slf, other)
    }
    fn __rand__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected_operator(&bitwise::BITWISE_AND, slf, other)
    }
    fn __iand__(slf: MutableReceiver<'_, '_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place_operator(&bitwise::BITWISE_AND, slf, other)
    }
    fn __or__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        binary_operator(&bitwise::BITWISE_OR, slf, other)
    }
    fn __ror__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected_operator(&bitwise::BITWISE_OR, slf, other)
    }
    fn __ior__(slf: MutableReceiver<'_, '_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place_operator(&bitwise::BITWISE_OR, slf, other)
    }
    fn __xor__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        binary_operator(&bitwise::BITWISE_XOR, slf, other)
    }
    fn __rxor__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected_operator(&bitwise::BITWISE_XOR, slf, other)
    }
    fn __ixor__(slf: MutableReceiver<'_, '_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place_operator(&bitwise::BITWISE_XOR, slf, other)
    }
    fn __lshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        binary_operator(&bitwise::LEFT_SHIFT, slf, other)
    }
    fn __rlshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected_operator(&bitwise::LEFT_SHIFT, slf, other)
    }
    fn __ilshift__(slf: MutableReceiver<'_, '_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place_operator(&bitwise::LEFT_SHIFT, slf, other)
    }
    fn __rshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        binary_operator(&bitwise::RIGHT_SHIFT, slf, other)
    }
    fn __rrshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Object<'py> {
        reflected_operator(&bitwise::RIGHT_SHIFT, slf, other)
    }
    fn __irshift__(slf: MutableReceiver<'_, '_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place_operator(&bitwise::RIGHT_SHIFT, slf, other)
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
        binary_operator(spec, slf, other)
    }

    fn __hash__(slf: &Bound<'_, Self>) -> isize {
        (slf.as_ptr() as isize) >> 4
    }
}
