//! The logarithm of a sum of exponentials.
//!
//! Owns: `logsumexp`. Never exponentiates anything above the largest element.
//! Invariant: lines of -inf alone, or of nothing, give -inf and a gradient of 0.

use smallvec::smallvec;

use crate::error::Result;
use crate::graph::Saved;
use crate::kernels::Reduction;
use crate::ops::core::declare::{Axes, Operand, Scalar};
use crate::ops::core::elementwise::binary;
use crate::ops::core::layout::{astype, reduced, sum_over};
use crate::ops::core::structured::{Record, finish_batched, move_cost};
use crate::ops::elementwise::arith::{ADD, MULTIPLY, SUBTRACT};
use crate::ops::elementwise::compare::isfinite;
use crate::ops::elementwise::select::where_;
use crate::ops::elementwise::unary::{exp, log};
use crate::ops::fold::reduce::{finish_shape, resolve};
use crate::ops::fold::scan::without_minus_infinity;
use crate::tensor::Tensor;

/// The value, with the axes kept as size 1, outside the graph.
fn value(x: &Tensor, axes: &[usize]) -> Result<Tensor> {
    let top = reduced(Reduction::Max, x, axes, x.dtype())?;
    let zero = Operand::Scalar(Scalar::Float(0.0));
    let level = where_(&isfinite(&top)?, &Operand::Tensor(top), &zero)?;
    let total = sum_over(&exp(&binary(&SUBTRACT, x, &level)?)?, axes, true)?;
    binary(&ADD, &log(&total)?, &level)
}

crate::operations! { family "reduction";
    /// `ln(sum(e^x))` over the axes, without overflow; -inf for lines of -inf. Derivative: `g e^(x - y)`, the share of each element.
    [numpy("scipy.special.logsumexp")]
    fn logsumexp(x: Tensor, axis: Axes = Axes::All, keepdims: bool = false) -> Tensor {
        let x = astype(x, x.dtype().to_float())?;
        let axes = resolve("logsumexp", &axis, x.ndim())?;
        let out = finish_batched(value(&x.detach(), &axes)?, &[&x], |out| Record {
            name: "logsumexp",
            cost: 4.0 * move_cost(&x),
            params: (),
            saved: smallvec![Saved::input(&x, 0), Saved::output(out, 0)],
            backward: |(), cx| {
                let Some(g) = cx.take_grad(0) else { return Ok(()) };
                let (x, y) = (cx.saved(0)?, cx.saved(1)?);
                let share = exp(&binary(&SUBTRACT, &x, &without_minus_infinity(&y)?)?)?;
                cx.give(0, binary(&MULTIPLY, &g, &share)?);
                Ok(())
            },
        });
        finish_shape(out, &axes, keepdims)
    }
}
