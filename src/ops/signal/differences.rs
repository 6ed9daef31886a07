//! Differences of neighbours, and sums over the intervals between them: `diff`, `trapezoid`.

use crate::array::{ShapeVec, normalize_axis};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ops::core::broadcast::{astype, broadcast_to, reshape_dims, sum_over};
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::ops::core::view::slice_axis;
use crate::ops::elementwise::arithmetic::{ADD, DIVIDE, MULTIPLY, SUBTRACT};
use crate::ops::elementwise::compare::NOT_EQUAL;
use crate::ops::shape::join::concatenate;
use crate::tensor::Tensor;

/// Adjacent elements: `x[1:]` and `x[:-1]` along an axis.
fn adjacent(x: &Tensor, axis: usize) -> Result<(Tensor, Tensor)> {
    let n = x.shape()[axis];
    let len = n.saturating_sub(1);
    Ok((slice_axis(x, axis, n - len, 1, len)?, slice_axis(x, axis, 0, 1, len)?))
}

/// The `prepend` or `append` of `diff`: a scalar becomes one slice.
fn as_border(x: &Tensor, value: &Operand, axis: usize) -> Result<Tensor> {
    let value = match value {
        Operand::Scalar(s) => Tensor::full(&[], *s, x.dtype().promote_weak(s.weak()))?,
        Operand::Tensor(t) => t.clone(),
    };
    if value.ndim() > 0 {
        return Ok(value);
    }
    let mut dims = ShapeVec::from_slice(x.shape());
    dims[axis] = 1;
    broadcast_to(&value, &dims)
}

crate::operations! { family "numerical" [float32];
    /// Differences of neighbours along an axis, `n` times; of booleans, whether they differ. Derivative: the negative differences of `g`.
    [numpy("diff")]
    fn diff(x: Tensor, n: isize = 1, axis: isize = -1, prepend: Option<Operand> = None, append: Option<Operand> = None) -> Tensor {
        if n < 0 {
            return Err(Box::new(Error::Argument { op: "diff".into(), what: format!("n is {n}"), remedy: "give 0 or more".into() }));
        }
        if n == 0 {
            return Ok(x.clone());
        }
        let axis = normalize_axis("diff", axis, x.ndim())?;
        let before = prepend.map(|value| as_border(x, value, axis)).transpose()?;
        let after = append.map(|value| as_border(x, value, axis)).transpose()?;
        let pieces: Vec<Tensor> = before.into_iter().chain([x.clone()]).chain(after).collect();
        let mut out = if pieces.len() == 1 { x.clone() } else { concatenate(&pieces, Some(axis as isize))? };
        for _ in 0..n.min(out.shape()[axis] as isize) {
            let (high, low) = adjacent(&out, axis)?;
            out = binary(if out.dtype() == DType::Bool { &NOT_EQUAL } else { &SUBTRACT }, &high, &low)?;
        }
        Ok(out)
    }
    /// Integral along an axis by the trapezoidal rule, over places `x` or steps of `dx`. Derivative: `g` times half the steps on either side.
    [numpy("trapezoid"), aliases("trapz")]
    fn trapezoid(y: Tensor, x: Option<Tensor> = None, dx: Scalar = Scalar::Float(1.0), axis: isize = -1) -> Tensor {
        let wide = x.map_or(y.dtype(), |x| y.dtype().promote(x.dtype()));
        let y = astype(y, wide.to_float())?;
        let axis = normalize_axis("trapezoid", axis, y.ndim())?;
        let (high, low) = adjacent(&y, axis)?;
        let sums = binary(&ADD, &high, &low)?;
        let steps = match x {
            None => {
                let half = match dx {
                    Scalar::Complex(re, im) => Scalar::Complex(re / 2.0, im / 2.0),
                    real => Scalar::Float(real.as_f64() / 2.0),
                };
                return binary_scalar(&MULTIPLY, &sum_over(&sums, &[axis], false)?, half);
            }
            Some(x) if x.ndim() == 1 => {
                let mut dims = ShapeVec::from_elem(1, y.ndim());
                let steps = diff(x, 1, -1, None, None)?;
                dims[axis] = steps.size();
                reshape_dims(&steps, &dims)?
            }
            Some(x) => diff(x, 1, axis as isize - y.ndim() as isize, None, None)?,
        };
        let areas = binary(&MULTIPLY, &sums, &steps)?;
        let axis = areas.ndim() + axis - y.ndim();
        binary_scalar(&DIVIDE, &sum_over(&areas, &[axis], false)?, Scalar::Float(2.0))
    }
}
