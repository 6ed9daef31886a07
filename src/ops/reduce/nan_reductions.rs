//! Reductions that ignore NaN; a NaN element gets a gradient of 0.

use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::Reduction;
use crate::ops::core::broadcast::{any_true, astype, reduce_axes, sum_over};
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::op_decl::{Axes, Operand, Scalar};
use crate::ops::elementwise::arithmetic::{DIVIDE, SUBTRACT};
use crate::ops::elementwise::compare::{LESS_EQUAL, isnan, logical_not};
use crate::ops::elementwise::select::where_;
use crate::ops::reduce::norms::root;
use crate::ops::reduce::reductions::{
    extreme_over, finish_shape, need_elements, resolve_axes, squares_over,
};
use crate::tensor::Tensor;

/// `x` with NaN replaced by `value`; integers unchanged.
fn replace_nan(x: &Tensor, value: f64) -> Result<Tensor> {
    if !x.dtype().is_inexact() {
        return Ok(x.clone());
    }
    where_(&isnan(x)?, &Operand::from(value), &Operand::Tensor(x.clone()))
}

fn any_nan(x: &Tensor) -> Result<bool> {
    any_true(&isnan(&x.detach())?)
}

/// The number of non-NaN elements over the axes, as a float; the axes are kept with size 1.
fn count_numbers(x: &Tensor, axes: &[usize], dtype: DType) -> Result<Tensor> {
    astype(&sum_over(&logical_not(&isnan(&x.detach())?)?, axes, true)?, dtype)
}

fn mean_of_numbers(x: &Tensor, axes: &[usize]) -> Result<Tensor> {
    binary(
        &DIVIDE,
        &sum_over(&replace_nan(x, 0.0)?, axes, true)?,
        &count_numbers(x, axes, x.dtype().real())?,
    )
}

fn extreme_of_numbers(
    op: &'static str,
    largest: bool,
    x: &Tensor,
    axis: &Axes,
    keepdims: bool,
) -> Result<Tensor> {
    let axes = resolve_axes(op, axis, x.ndim())?;
    need_elements(op, x, &axes)?;
    let (kind, worst) =
        if largest { (Reduction::Max, f64::NEG_INFINITY) } else { (Reduction::Min, f64::INFINITY) };
    let out = extreme_over(kind, op, &replace_nan(x, worst)?, &axes)?;
    if !x.dtype().is_inexact() {
        return finish_shape(out, &axes, keepdims);
    }
    let none = reduce_axes(Reduction::All, &isnan(&x.detach())?, &axes, DType::Bool)?;
    finish_shape(where_(&none, &Operand::from(f64::NAN), &Operand::Tensor(out))?, &axes, keepdims)
}

/// Variance of the non-NaN elements; NaN if `ddof` leaves nothing to divide by.
fn variance(x: &Tensor, axes: &[usize], ddof: f64) -> Result<Tensor> {
    let x = astype(x, x.dtype().to_float())?;
    let gap = binary(&SUBTRACT, &x, &mean_of_numbers(&x, axes)?)?;
    let gap = where_(&isnan(&x)?, &Operand::from(0.0), &Operand::Tensor(gap))?;
    let divisor =
        binary_scalar(&SUBTRACT, &count_numbers(&x, axes, x.dtype().real())?, Scalar::Float(ddof))?;
    let nothing = binary_scalar(&LESS_EQUAL, &divisor, Scalar::Float(0.0))?;
    let divisor = where_(&nothing, &Operand::from(f64::NAN), &Operand::Tensor(divisor))?;
    binary(&DIVIDE, &squares_over(&gap, axes, true)?, &divisor)
}

crate::operations! { family "reduction" [float32];
    /// Sum over the axes, a NaN counting as 0. Derivative: `g` repeated, 0 for a NaN.
    [numpy("nansum"), positional(2), fold("add"), neutral(0)]
    fn nansum(x: Tensor, axis: Axes = Axes::All, keepdims: bool = false) -> Tensor {
        let axes = resolve_axes("nansum", &axis, x.ndim())?;
        // If the plain sum is not NaN, no element was NaN.
        let total = sum_over(x, &axes, keepdims)?;
        if x.dtype().is_inexact() && any_nan(&total)? {
            return sum_over(&replace_nan(x, 0.0)?, &axes, keepdims);
        }
        Ok(total)
    }
    /// Mean over the axes of what is not NaN. Derivative: `g / n` repeated, 0 for a NaN.
    [numpy("nanmean"), positional(2)]
    fn nanmean(x: Tensor, axis: Axes = Axes::All, keepdims: bool = false) -> Tensor {
        let x = astype(x, x.dtype().to_float())?;
        let axes = resolve_axes("nanmean", &axis, x.ndim())?;
        finish_shape(mean_of_numbers(&x, &axes)?, &axes, keepdims)
    }
    /// Largest element over the axes that is not NaN; NaN if all are. Derivative: `g` to the largest, shared evenly among ties.
    [numpy("nanmax"), positional(2)]
    fn nanmax(x: Tensor, axis: Axes = Axes::All, keepdims: bool = false) -> Tensor {
        extreme_of_numbers("nanmax", true, x, &axis, keepdims)
    }
    /// Smallest element over the axes that is not NaN; NaN if all are. Derivative: `g` to the smallest, shared evenly among ties.
    [numpy("nanmin"), positional(2)]
    fn nanmin(x: Tensor, axis: Axes = Axes::All, keepdims: bool = false) -> Tensor {
        extreme_of_numbers("nanmin", false, x, &axis, keepdims)
    }
    /// Variance over the axes of what is not NaN. Derivative: `2 g (x - mean) / (n - ddof)`, 0 for a NaN.
    [numpy("nanvar"), positional(2), keywords(("correction", "ddof"), ("unbiased", "ddof"))]
    fn nanvar(x: Tensor, axis: Axes = Axes::All, ddof: f64 = 0.0, keepdims: bool = false) -> Tensor {
        let axes = resolve_axes("nanvar", &axis, x.ndim())?;
        finish_shape(variance(x, &axes, ddof)?, &axes, keepdims)
    }
    /// Standard deviation over the axes of what is not NaN, the square root of `nanvar`.
    [numpy("nanstd"), positional(2), keywords(("correction", "ddof"), ("unbiased", "ddof"))]
    fn nanstd(x: Tensor, axis: Axes = Axes::All, ddof: f64 = 0.0, keepdims: bool = false) -> Tensor {
        let axes = resolve_axes("nanstd", &axis, x.ndim())?;
        finish_shape(root(&variance(x, &axes, ddof)?)?, &axes, keepdims)
    }
}
