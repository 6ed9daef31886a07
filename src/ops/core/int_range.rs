//! Integer corner cases of promotion: Python integers that must fit a dtype, and comparisons between signed integers and
//! uint64, which have no common integer dtype. Nothing goes through floats.

use crate::array::broadcast_shapes;
use crate::dtype::{DType, Kind};
use crate::error::{Error, Result};
use crate::kernels::sort::compare_mixed_signs;
use crate::ops::core::broadcast::{astype, broadcast_to};
use crate::ops::core::elementwise::{Elementwise, OperandRef};
use crate::ops::core::op_decl::Scalar;
use crate::tensor::Tensor;

/// Whether one dtype is a signed integer and the other uint64.
pub(crate) fn differ_in_sign(a: DType, b: DType) -> bool {
    let signed = |dtype: DType| dtype.row().kind == Kind::Signed;
    (a == DType::U64 && signed(b)) || (b == DType::U64 && signed(a))
}

/// Compares signed integers with uint64: computes the sign of the exact order, then compares that with 0.
pub(crate) fn compare_mixed_sign(
    op: &'static Elementwise,
    a: &Tensor,
    b: &Tensor,
) -> Result<Tensor> {
    let dims = broadcast_shapes(op.name, &[a.shape(), b.shape()])?;
    let wide = |x: &Tensor| {
        let dtype = if x.dtype() == DType::U64 { DType::U64 } else { DType::I64 };
        broadcast_to(&astype(&x.detach(), dtype)?, &dims)
    };
    let (a, b, order) = (wide(a)?, wide(b)?, Tensor::empty(&dims, DType::I64)?);
    compare_mixed_signs(a.view_of(), b.view_of(), order.view_mut());
    let operands = [OperandRef::Tensor(&order), OperandRef::Scalar(Scalar::Int(0))];
    op.run(operands, order.layout(), DType::I64, &[])
}

/// NumPy 2: a Python integer must fit the array's integer dtype. Returns the number as the loops of the dtype take it.
pub(in crate::ops) fn check_int_range(
    op: &'static str,
    dtype: DType,
    scalar: Scalar,
) -> Result<Scalar> {
    let value = match scalar {
        Scalar::Int(value) if dtype.holds(value) => return Ok(scalar),
        // Loops of uint64 take the bit pattern.
        Scalar::Unsigned(value) if dtype == DType::U64 => return Ok(Scalar::Int(value as i64)),
        Scalar::Unsigned(value) if dtype.is_integer() => value.to_string(),
        Scalar::Int(value) => value.to_string(),
        Scalar::Huge(value) if dtype.is_integer() => format!("{value:.0}"),
        _ => return Ok(scalar),
    };
    Err(Box::new(Error::IntegerRange { op: op.into(), value, dtype }))
}
