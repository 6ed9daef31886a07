//! `logsumexp`, computed relative to the maximum. Lines that are empty or all -inf give -inf, with a gradient of 0.

use smallvec::smallvec;

use crate::array::ShapeVec;
use crate::error::Result;
use crate::kernels::real_imag::Part;
use crate::kernels::{self, Reduction};
use crate::ops::core::broadcast::{astype, kept_dims, reduce_axes, reshape_dims, sum_over};
use crate::ops::core::complex_as_real::copy_part;
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::op_decl::{Axes, Operand, Scalar};
use crate::ops::core::structured::{NodeSpec, Save, move_cost, record_output};
use crate::ops::elementwise::arithmetic::{ADD, DIVIDE, MULTIPLY, SUBTRACT};
use crate::ops::elementwise::compare::{EQUAL, isfinite};
use crate::ops::elementwise::select::where_;
use crate::ops::elementwise::unary::{exp, log};
use crate::ops::reduce::reductions::{finish_shape, resolve_axes};
use crate::tensor::Tensor;

/// The maximum over the axes (0 where it is not finite) and the sum of `e^(x - maximum)` (1 where it is 0 because all
/// elements are -inf); the axes are kept with size 1. Not recorded.
fn max_and_sum(x: &Tensor, axes: &[usize]) -> Result<[Tensor; 2]> {
    if let [axis] = axes[..]
        && axis + 1 == x.ndim()
        && x.is_contiguous()
        && x.size() > 0
    {
        let (n, kept) = (x.shape()[axis], kept_dims(x.shape(), axes));
        let rows = reshape_dims(x, &[x.size() / n, n])?;
        let numbers = || Tensor::empty(&rows.shape()[..1], x.dtype());
        let (level, total) = (numbers()?, numbers()?);
        kernels::softmax::logsumexp_parts(rows.view_of(), level.view_mut(), total.view_mut());
        return Ok([reshape_dims(&level, &kept)?, reshape_dims(&total, &kept)?]);
    }
    let top = reduce_axes(Reduction::Max, x, axes, x.dtype())?;
    let zero = Operand::Scalar(Scalar::Float(0.0));
    let level = where_(&isfinite(&top)?, &Operand::Tensor(top), &zero)?;
    let total = sum_over(&exp(&binary(&SUBTRACT, x, &level)?)?, axes, true)?;
    Ok([level, total])
}

/// `total` with 1 in place of 0, to divide by.
fn divisor(total: &Tensor) -> Result<Tensor> {
    let none = binary_scalar(&EQUAL, &total.detach(), Scalar::Float(0.0))?;
    where_(&none, &Operand::Scalar(Scalar::Float(1.0)), &Operand::Tensor(total.clone()))
}

/// `g` times the softmax.
///
/// Computed as a quotient of two exponentials relative to the maximum: `e^(x - y)` would be wrong where the maximum is so
/// large that `y` rounds to it.
fn softmax_times(x: &Tensor, level: &Tensor, total: &Tensor, g: &Tensor) -> Result<Tensor> {
    let shares = exp(&binary(&SUBTRACT, x, level)?)?;
    binary(&MULTIPLY, &shares, &binary(&DIVIDE, g, &divisor(total)?)?)
}

/// `logsumexp` of complex numbers, relative to the largest real part. Lines where every `e^x` is 0 give -inf and have a
/// gradient of 0.
fn complex_logsumexp(x: &Tensor, axes: &[usize]) -> Result<Tensor> {
    let real = copy_part(&x.detach(), Part::Real)?;
    let top = reduce_axes(Reduction::Max, &real, axes, real.dtype())?;
    let zero = Operand::Scalar(Scalar::Float(0.0));
    let level = where_(&isfinite(&top)?, &Operand::Tensor(top), &zero)?;
    let level = astype(&level, x.dtype())?;
    let total = sum_over(&exp(&binary(&SUBTRACT, x, &level)?)?, axes, true)?;
    let none = binary_scalar(&EQUAL, &total.detach(), Scalar::Float(0.0))?;
    let value = binary(&ADD, &log(&divisor(&total)?)?, &level)?;
    where_(&none, &Operand::Scalar(Scalar::Float(f64::NEG_INFINITY)), &Operand::Tensor(value))
}

crate::operations! { family "reduction" [float32];
    /// `ln(sum(e^x))` over the axes, without overflow; -inf for lines of -inf. Of complex numbers the principal branch. Derivative: `g e^(x - y)`, the share of each element.
    [numpy("scipy.special.logsumexp"), positional(2), fold("logaddexp")]
    fn logsumexp(x: Tensor, axis: Axes = Axes::All, keepdims: bool = false) -> Tensor {
        let x = astype(x, x.dtype().to_float())?;
        let axes = resolve_axes("logsumexp", &axis, x.ndim())?;
        if x.dtype().is_complex() {
            return finish_shape(complex_logsumexp(&x, &axes)?, &axes, keepdims);
        }
        let [level, total] = max_and_sum(&x.detach(), &axes)?;
        let value = binary(&ADD, &log(&total)?, &level)?;
        let out = record_output(value, &[&x], |_| NodeSpec {
            name: "logsumexp",
            cost: 4.0 * move_cost(&x),
            params: ShapeVec::from_slice(&axes),
            saved: smallvec![Save::input(0, &[0]), Save::value(&level, &[0]), Save::value(&total, &[0])],
            backward: |axes, g, cx| {
                let (x, level, mut total) = (cx.saved(0)?, cx.saved(1)?, cx.saved(2)?);
                if cx.create_graph() {
                    total = sum_over(&exp(&binary(&SUBTRACT, &x, &level)?)?, axes, true)?;
                }
                cx.give_with(0, |_| softmax_times(&x, &level, &total, &g))
            },
        })?;
        finish_shape(out, &axes, keepdims)
    }
}
