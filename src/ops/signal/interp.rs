//! Piecewise linear interpolation: `interp`.
//!
//! Invariant: it is differentiable in every float operand, to any order.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ops::core::broadcast::{
    any_true, astype, require_elements, require_real, require_vector, reshape_dims,
};
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::ops::core::view::{element_view, slice_axis};
use crate::ops::elementwise::arithmetic::{ADD, DIVIDE, MULTIPLY, REMAINDER, SUBTRACT};
use crate::ops::elementwise::compare::{EQUAL, GREATER, LESS, LOGICAL_AND, isnan, logical_not};
use crate::ops::elementwise::rounding::nan_to_num;
use crate::ops::elementwise::select::{clip, where_};
use crate::ops::index::gather::gather_elements;
use crate::ops::reduce::sort::{order_along, search};
use crate::ops::shape::join::concatenate;
use crate::tensor::Tensor;

/// The knots and values around each point, as pairs `(x0, x1)`, `(f0, f1)`.
fn segments(x: &Tensor, xp: &Tensor, fp: &Tensor) -> Result<[Tensor; 4]> {
    let most = xp.size() as i64 - 2;
    let right = reshape_dims(&search(xp, x, true)?, &[x.size()])?;
    let bound = |at: i64| Operand::Scalar(Scalar::Int(at));
    let left = binary_scalar(&SUBTRACT, &right, Scalar::Int(1))?;
    let left = clip(&left, Some(&bound(0)), Some(&bound(most)))?;
    let next = binary_scalar(&ADD, &left, Scalar::Int(1))?;
    let at = |t: &Tensor, i: &Tensor| reshape_dims(&gather_elements("interp", t, 0, i)?, x.shape());
    Ok([at(xp, &left)?, at(xp, &next)?, at(fp, &left)?, at(fp, &next)?])
}

/// Linear interpolation at each point. Where the result is NaN, as NumPy: the value at a knot
/// itself, the line from the right knot, or the value both knots share.
fn interpolate(x: &Tensor, xp: &Tensor, fp: &Tensor) -> Result<Tensor> {
    let [x0, x1, f0, f1] = segments(x, xp, fp)?;
    let slope = binary(&DIVIDE, &binary(&SUBTRACT, &f1, &f0)?, &binary(&SUBTRACT, &x1, &x0)?)?;
    let from = |knot: &Tensor, f: &Tensor| {
        binary(&ADD, f, &binary(&MULTIPLY, &slope, &binary(&SUBTRACT, x, knot)?)?)
    };
    let line = from(&x0, &f0)?;
    let is_nan = isnan(&line.detach())?;
    if !any_true(&is_nan)? {
        return Ok(line);
    }
    let place = x.detach();
    let right = from(&x1, &f1)?;
    let same_values = binary(&EQUAL, &f0.detach(), &f1.detach())?;
    let same_values = binary(&LOGICAL_AND, &same_values, &isnan(&right.detach())?)?;
    let same_values = binary(&LOGICAL_AND, &same_values, &logical_not(&isnan(&place)?)?)?;
    let tensor = |t: &Tensor| Operand::Tensor(t.clone());
    let mut inside = where_(&same_values, &tensor(&f0), &tensor(&right))?;
    for (knot, value) in [(&x0, &f0), (&x1, &f1)] {
        let at_knot = binary(&EQUAL, &place, &knot.detach())?;
        inside = where_(&at_knot, &tensor(value), &tensor(&inside))?;
    }
    where_(&is_nan, &tensor(&inside), &tensor(&line))
}

/// `outside` (or the nearest value) for points beyond the knots.
fn outside_knots(
    value: &Tensor,
    x: &Tensor,
    test: &'static crate::ops::core::elementwise::Elementwise,
    knot: &Tensor,
    outside: Option<&Operand>,
    nearest: &Tensor,
) -> Result<Tensor> {
    let mask = binary(test, &x.detach(), &knot.detach())?;
    let nearest = Operand::Tensor(nearest.clone());
    where_(&mask, outside.unwrap_or(&nearest), &Operand::Tensor(value.clone()))
}

/// Points and knots reduced to one period and sorted, with one more knot on either side.
fn wrap_period(
    x: &Tensor,
    xp: &Tensor,
    fp: &Tensor,
    period: f64,
) -> Result<(Tensor, Tensor, Tensor)> {
    if period == 0.0 || !period.is_finite() {
        return Err(Box::new(Error::Argument {
            op: "interp".into(),
            what: format!("a period of {period}"),
            remedy: "give a finite period other than 0".into(),
        }));
    }
    let period = period.abs();
    let inside = |x: &Tensor| binary_scalar(&REMAINDER, x, Scalar::Float(period));
    let xp = inside(xp)?;
    let order = order_along(&xp.detach(), 0, xp.size(), false)?;
    let (xp, fp) =
        (gather_elements("interp", &xp, 0, &order)?, gather_elements("interp", fp, 0, &order)?);
    let ends = |v: &Tensor, by: f64| -> Result<Tensor> {
        let one =
            |i: usize, by: f64| binary_scalar(&ADD, &slice_axis(v, 0, i, 1, 1)?, Scalar::Float(by));
        concatenate(&[one(v.size() - 1, -by)?, v.clone(), one(0, by)?], Some(0))
    };
    Ok((inside(x)?, ends(&xp, period)?, ends(&fp, 0.0)?))
}

crate::operations! { family "numerical" [float32];
    /// Piecewise linear interpolation at `x` of the values `fp` at ascending knots `xp`; beyond them `left` and `right`, or the values at the ends. With a `period`, the knots go round it in any order. Derivatives: the slope by `x`, the weights by `fp`.
    [numpy("interp")]
    fn interp(x: Tensor, xp: Tensor, fp: Tensor, left: Option<Operand> = None, right: Option<Operand> = None, period: Option<f64> = None) -> Tensor {
        require_real("interp", x)?;
        require_real("interp", xp)?;
        let wide = DType::F64.promote(fp.dtype());
        let (x, xp, fp) = (astype(x, DType::F64)?, astype(require_vector("interp", xp)?, DType::F64)?, astype(require_vector("interp", fp)?, wide)?);
        if xp.size() != fp.size() {
            return Err(Box::new(Error::Shape {
                op: "interp".into(),
                what: format!("{} knots and {} values", xp.size(), fp.size()),
                remedy: "give one value per knot",
            }));
        }
        require_elements("interp", &xp)?;
        let (x, xp, fp) = match period {
            None => (x, xp, fp),
            Some(period) => wrap_period(&x, &xp, &fp, period)?,
        };
        let (left, right) = if period.is_some() { (None, None) } else { (left, right) };
        let (first, last) = (element_view(&fp, 0)?, element_view(&fp, fp.size() - 1)?);
        let inside = if xp.size() == 1 {
            // One knot has no slope: zero times a finite point keeps the shape, and a gradient of
            // 0.
            let place = nan_to_num(&x, 0.0, None, None)?;
            binary(&ADD, &first, &binary_scalar(&MULTIPLY, &place, Scalar::Float(0.0))?)?
        } else {
            interpolate(&x, &xp, &fp)?
        };
        let value = outside_knots(&inside, &x, &LESS, &element_view(&xp, 0)?, left, &first)?;
        outside_knots(&value, &x, &GREATER, &element_view(&xp, xp.size() - 1)?, right, &last)
    }
}
