//! `where` and `clip`.
//!
//! Invariant: a mask is boolean and has no gradient.

use std::borrow::Cow;

use crate::array::broadcast_shapes;
use crate::dtype::{DType, WeakScalar};
use crate::error::Result;
use crate::graph::Mode;
use crate::kernels::elementwise::select_flat;
use crate::ops::core::broadcast::{astype, broadcast_to, select_by_mask};
use crate::ops::core::elementwise::{Elementwise, OperandRef, binary, binary_operands, unary_with};
use crate::ops::core::int_range::check_int_range;
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::ops::elementwise::arithmetic::{MAXIMUM, MINIMUM};
use crate::ops::elementwise::compare::{GREATER, LESS, LOGICAL_OR, isnan};
use crate::ops::elementwise::ternary::ternary;
use crate::tensor::Tensor;

pub(crate) fn dtype_of(a: &Operand, b: &Operand) -> DType {
    match (a, b) {
        (Operand::Tensor(a), Operand::Tensor(b)) => a.dtype().promote(b.dtype()),
        (Operand::Tensor(t), Operand::Scalar(s)) | (Operand::Scalar(s), Operand::Tensor(t)) => {
            t.dtype().promote_weak(s.weak())
        }
        (Operand::Scalar(a), Operand::Scalar(b)) => {
            Tensor::scalar(*a).dtype().promote(Tensor::scalar(*b).dtype())
        }
    }
}

pub(crate) fn operand_tensor(x: &Operand, dtype: DType) -> Result<Cow<'_, Tensor>> {
    match x {
        Operand::Tensor(t) if t.dtype() == dtype => Ok(Cow::Borrowed(t)),
        Operand::Tensor(t) => astype(t, dtype).map(Cow::Owned),
        // An integer that the dtype cannot hold wraps, as in NumPy.
        Operand::Scalar(s) if dtype.is_integer() && !matches!(s, Scalar::Huge(_)) => {
            astype(&Tensor::scalar(*s), dtype).map(Cow::Owned)
        }
        Operand::Scalar(s) => Tensor::full(&[], *s, dtype).map(Cow::Owned),
    }
}

/// A tensor broadcast to `dims`. An owned one was made here, so its broadcast is not recorded.
fn broadcast_to_cow<'a>(x: Cow<'a, Tensor>, dims: &[usize]) -> Result<Cow<'a, Tensor>> {
    Ok(match x {
        x if x.shape() == dims => x,
        Cow::Owned(x) if x.is_plain() => Cow::Owned(x.with_layout(x.layout().broadcast_to(dims)?)),
        x => Cow::Owned(broadcast_to(&x, dims)?),
    })
}

/// Fast path for few contiguous elements: nothing is recorded or cast, and only scalars broadcast.
fn select_small(
    condition: &Tensor,
    operands: [&Operand; 2],
    dtype: DType,
) -> Option<Result<Tensor>> {
    let plain = |x: &Operand| match x {
        Operand::Tensor(x) => x.is_plain() && x.layout().same_dims(condition.layout()),
        Operand::Scalar(_) => matches!(dtype, DType::F64 | DType::F32),
    };
    let plain = condition.is_plain() && operands.into_iter().all(plain);
    if !plain || !Mode::current().plain_results() {
        return None;
    }
    let mask = condition.flat()?;
    let [a, b] = operands.map(|x| OperandRef::from(x).flat(condition.size()));
    match Tensor::empty_as(condition.layout(), dtype) {
        Ok(out) => select_flat(mask, [a?, b?], out.flat()?).then_some(Ok(out)),
        Err(error) => Some(Err(error)),
    }
}

/// `a` where `condition` is true, else `b`; all broadcast.
pub fn where_(condition: &Tensor, a: &Operand, b: &Operand) -> Result<Tensor> {
    let dtype = dtype_of(a, b);
    if let Some(out) = select_small(condition, [a, b], dtype) {
        return out;
    }
    let (a, b) = (operand_tensor(a, dtype)?, operand_tensor(b, dtype)?);
    let mask = if condition.dtype() == DType::Bool && condition.is_plain() {
        Cow::Borrowed(condition)
    } else {
        Cow::Owned(astype(&condition.detach(), DType::Bool)?)
    };
    let dims = broadcast_shapes("where", &[mask.shape(), a.shape(), b.shape()])?;
    select_by_mask(
        &*broadcast_to_cow(mask, &dims)?,
        &*broadcast_to_cow(a, &dims)?,
        &*broadcast_to_cow(b, &dims)?,
    )
}

impl Tensor {
    /// `a` where this is true, else `b`; all broadcast.
    pub fn where_(&self, a: &Operand, b: &Operand) -> Result<Tensor> {
        where_(self, a, b)
    }
}

/// The mask of elements beyond a bound, or where the bound is NaN; a NaN in `x` is not beyond.
fn beyond_bound(test: &'static Elementwise, x: &Tensor, bound: &Operand) -> Result<Tensor> {
    let past = binary_operands(test, &Operand::Tensor(x.detach()), bound)?;
    match bound {
        Operand::Scalar(s) if s.as_f64().is_nan() => {
            Tensor::full(past.shape(), Scalar::Bool(true), DType::Bool)
        }
        Operand::Tensor(t) if t.dtype().is_float() => {
            binary(&LOGICAL_OR, &past, &isnan(&t.detach())?)
        }
        _ => Ok(past),
    }
}

elementwise_specs! {
    /// Limited to the range between two others; a bound that is NaN makes NaN. Derivatives: `g` to what the value is.
    fn limited_between(a, b, c) = LIMITED_BETWEEN {
        forward { float [memory_bound]: |a, b, c| {
            let raised = R::select(R::mask_or(a.lt(b), b.is_nan()), b, a);
            R::select(R::mask_or(raised.gt(c), c.is_nan()), c, raised)
        }; cost: 0.4; }
        by a { float [memory_bound] |g, a, b, c| R::select(R::mask_and(R::mask_not(R::mask_or(a.lt(b), b.is_nan())), R::mask_not(R::mask_or(a.gt(c), c.is_nan()))), g, R::lit(0.0)) }
        by b { float [memory_bound] |g, a, b, c| R::select(R::mask_and(R::mask_or(a.lt(b), b.is_nan()), R::mask_not(R::mask_or(b.gt(c), c.is_nan()))), g, R::lit(0.0)) }
        by c { float [memory_bound] |g, a, b, c| R::select(R::mask_or(R::select(R::mask_or(a.lt(b), b.is_nan()), b, a).gt(c), c.is_nan()), g, R::lit(0.0)) }
    }
    /// Limited to the range of two numbers; NaN stays. Derivative: `g` inside and at the bounds, 0 outside.
    fn limited(x; low = 0.0, high = 1.0) = LIMITED {
        forward { float [memory_bound]: |x; low, high| {
            let raised = R::select(x.lt(low), low, x);
            R::select(raised.gt(high), high, raised)
        }; cost: 0.3; }
        by x { float [memory_bound] |g, x; low, high| R::select(R::mask_or(x.lt(low), x.gt(high)), R::lit(0.0), g) }
    }
}

// Facts take constants, and a static is not one: hence a constant reference.
const LIMITED_LOOP: &Elementwise = &LIMITED;

/// The value of a scalar bound, or `missing` if there is none; `None` if it is a tensor or NaN.
fn scalar_bound(bound: Option<&Operand>, missing: f64) -> Option<f64> {
    match bound {
        None => Some(missing),
        Some(Operand::Scalar(s)) => Some(s.as_f64()).filter(|v| !v.is_nan()),
        Some(Operand::Tensor(_)) => None,
    }
}

/// The bound, if the dtype of `x` can hold it; an error otherwise.
fn checked_bound(x: &Tensor, bound: &Operand) -> Result<Operand> {
    match bound {
        Operand::Scalar(s) => {
            check_int_range("clip", x.dtype().promote_weak(s.weak()), *s).map(|_| bound.clone())
        }
        Operand::Tensor(_) => Ok(bound.clone()),
    }
}

/// The common dtype of the elements and the bounds.
fn common_dtype(dtype: DType, bounds: [Option<&Operand>; 2]) -> DType {
    let given = || bounds.into_iter().flatten();
    let dtype = given().fold(dtype, |dtype, bound| match bound {
        Operand::Tensor(t) => dtype.promote(t.dtype()),
        Operand::Scalar(_) => dtype,
    });
    given().fold(dtype, |dtype, bound| match bound {
        Operand::Scalar(s) => dtype.promote_weak(s.weak()),
        Operand::Tensor(_) => dtype,
    })
}

/// An integer bound; `None` if no element can exceed it.
fn effective_bound(bound: Option<&Operand>, dtype: DType, lower: bool) -> Option<&Operand> {
    bound.filter(|bound| match bound {
        Operand::Scalar(s) if dtype.is_integer() && s.weak() == WeakScalar::Int => {
            check_int_range("clip", dtype, *s).is_ok() || (s.as_f64() < 0.0) != lower
        }
        _ => true,
    })
}

crate::operations! { family "selection" [in_place, ufunc];
    /// Limited to the range `min..max`; a bound that is None does not limit. Complex numbers are compared by their real, then their imaginary parts. Derivative: `g` inside and at the bounds, 0 outside.
    [numpy("clip"), aliases("clamp"), keywords(("a_min", "min"), ("a_max", "max")), elementwise(LIMITED_LOOP)]
    fn clip(x: Tensor, min: Option<Operand> = None, max: Option<Operand> = None) -> Tensor {
        let (min, max) = (effective_bound(min, x.dtype(), true), effective_bound(max, x.dtype(), false));
        if min.is_none() && max.is_none() && !x.dtype().is_float() {
            return x.duplicate();
        }
        if let (true, Some(low), Some(high)) = (x.dtype().is_float(), scalar_bound(min, f64::NEG_INFINITY), scalar_bound(max, f64::INFINITY)) {
            return unary_with(&LIMITED, x, &[low, high]);
        }
        let dtype = common_dtype(x.dtype(), [min, max]);
        if !x.dtype().is_inexact() && dtype != x.dtype() {
            return clip(&astype(x, dtype)?, min, max);
        }
        let mut out = x.clone();
        let complex = |bound: &Operand| match bound {
            Operand::Tensor(t) => t.dtype().is_complex(),
            Operand::Scalar(s) => matches!(s, Scalar::Complex(..)),
        };
        if x.dtype().is_complex() || min.into_iter().chain(max).any(complex) {
            for (op, bound) in [(&MAXIMUM, min), (&MINIMUM, max)] {
                if let Some(bound) = bound {
                    out = binary_operands(op, &Operand::Tensor(out), bound)?;
                }
            }
            return Ok(out);
        }
        let float = |bound: Option<&Operand>| !matches!(bound, Some(Operand::Tensor(t)) if !t.dtype().is_float());
        if x.dtype().is_float() && float(min) && float(max) {
            let bound = |bound: Option<&Operand>, missing| bound.cloned().unwrap_or(Operand::from(missing));
            let [low, high] = [bound(min, f64::NEG_INFINITY), bound(max, f64::INFINITY)];
            return ternary(&LIMITED_BETWEEN, x, [&low, &high], &[]);
        }
        if let Some(low) = min {
            out = where_(&beyond_bound(&LESS, &out, low)?, &checked_bound(&out, low)?, &Operand::Tensor(out))?;
        }
        if let Some(high) = max {
            out = where_(&beyond_bound(&GREATER, &out, high)?, &checked_bound(&out, high)?, &Operand::Tensor(out))?;
        }
        Ok(out)
    }
}

impl From<&Tensor> for Operand {
    fn from(t: &Tensor) -> Operand {
        Operand::Tensor(t.clone())
    }
}

impl From<f64> for Operand {
    fn from(value: f64) -> Operand {
        Operand::Scalar(Scalar::Float(value))
    }
}
