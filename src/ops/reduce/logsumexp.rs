//! The logarithm of a sum of exponentials.
//!
//! Owns: `logsumexp`. Never exponentiates anything above the largest element.
//! Invariant: lines of -inf alone, or of nothing, give -inf and a gradient of 0.

use smallvec::smallvec;

use crate::array::ShapeVec;
use crate::error::Result;
use crate::kernels::real_imag::Part;
use crate::kernels::{self, Reduction};
use crate::ops::core::broadcast::{astype, kept_dims, reduced, reshape_dims, sum_over};
use crate::ops::core::complex_as_real::part_of;
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::op_decl::{Axes, Operand, Scalar};
use crate::ops::core::structured::{Record, Save, finish, move_cost};
use crate::ops::elementwise::arithmetic::{ADD, DIVIDE, MULTIPLY, SUBTRACT};
use crate::ops::elementwise::compare::{EQUAL, isfinite};
use crate::ops::elementwise::select::where_;
use crate::ops::elementwise::unary::{exp, log};
use crate::ops::reduce::reductions::{finish_shape, resolve};
use crate::tensor::Tensor;

/// The largest elements (0 where they are no numbers) and the sums of `e^(x - largest)` over the axes, which stay as
/// size 1; 1 in place of a sum of nothing but -inf. Outside the graph.
fn level_and_total(x: &Tensor, axes: &[usize]) -> Result<[Tensor; 2]> {
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
    let top = reduced(Reduction::Max, x, axes, x.dtype())?;
    let zero = Operand::Scalar(Scalar::Float(0.0));
    let level = where_(&isfinite(&top)?, &Operand::Tensor(top), &zero)?;
    let total = sum_over(&exp(&binary(&SUBTRACT, x, &level)?)?, axes, true)?;
    Ok([level, total])
}

/// `total`, 1 in place of 0, so that it divides.
fn divisor(total: &Tensor) -> Result<Tensor> {
    let none = binary_scalar(&EQUAL, &total.detach(), Scalar::Float(0.0))?;
    where_(&none, &Operand::Scalar(Scalar::Float(1.0)), &Operand::Tensor(total.clone()))
}

/// `g` times the share of each element in its sum.
///
/// It is the quotient of two exponentials below the same level: `e^(x - y)` would lose it where the level is so large
/// that `y` rounds to it.
fn shared(x: &Tensor, level: &Tensor, total: &Tensor, g: &Tensor) -> Result<Tensor> {
    let parts = exp(&binary(&SUBTRACT, x, level)?)?;
    binary(&MULTIPLY, &parts, &binary(&DIVIDE, g, &divisor(total)?)?)
}

/// The same of complex numbers, whose largest real part is the level. Lines of nothing but `e^x = 0` are -inf and have no
/// slope.
fn of_complex(x: &Tensor, axes: &[usize]) -> Result<Tensor> {
    let real = part_of(&x.detach(), Part::Real)?;
    let top = reduced(Reduction::Max, &real, axes, real.dtype())?;
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
        let axes = resolve("logsumexp", &axis, x.ndim())?;
        if x.dtype().is_complex() {
            return finish_shape(of_complex(&x, &axes)?, &axes, keepdims);
        }
        let [level, total] = level_and_total(&x.detach(), &axes)?;
        let value = binary(&ADD, &log(&total)?, &level)?;
        let out = finish(value, &[&x], |_| Record {
            name: "logsumexp",
            cost: 4.0 * move_cost(&x),
            params: ShapeVec::from_slice(&axes),
            saved: smallvec![Save::input(0, &[0]), Save::value(&level, &[0]), Save::value(&total, &[0])],
            backward: |axes, g, cx| {
                let (x, level, mut total) = (cx.saved(0)?, cx.saved(1)?, cx.saved(2)?);
                if cx.create_graph() {
                    total = sum_over(&exp(&binary(&SUBTRACT, &x, &level)?)?, axes, true)?;
                }
                cx.give_with(0, |_| shared(&x, &level, &total, &g))
            },
        })?;
        finish_shape(out, &axes, keepdims)
    }
}
