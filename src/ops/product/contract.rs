//! The contraction kernel of `gemm` functors: any number of M, N and K axes, trailing batch axes,
//! both transposes.
//!
//! Groups axes into matrices; not recorded. Invariant: a transpose and trailing batch axes are
//! strides; operands are copied only where groups of axes do not merge.

use crate::array::{Layout, ShapeVec};
use crate::error::{Dims, Error, Result};
use crate::kernels;
use crate::kernels::elementwise::{LoopOperand, apply};
use crate::ops::core::broadcast::{require_readable, reshape_dims};
use crate::ops::elementwise::arithmetic::MULTIPLY;
use crate::ops::product::functor_ops::Gemm;
use crate::tensor::Tensor;

/// Estimated multiply-adds per nanosecond of one core in float64.
const FLOPS_PER_NS: f32 = 40.0;

/// The axes of one operand: its own, the contracted ones, the batch axes.
struct AxisGroups<'a> {
    own: &'a [usize],
    inner: &'a [usize],
    batch: &'a [usize],
    /// Whether the contracted axes come first.
    inner_first: bool,
}

impl<'a> AxisGroups<'a> {
    fn of(name: &str, x: &'a Tensor, rule: &Gemm, inner_first: bool) -> Result<AxisGroups<'a>> {
        let dims = x.shape();
        let Some(own) = dims.len().checked_sub(rule.ndim + rule.batch_ndim) else {
            return Err(shape_error(format!(
                "{name} has {} dimensions, fewer than ndim {} + batch_ndim {}",
                dims.len(),
                rule.ndim,
                rule.batch_ndim
            )));
        };
        let (matrix, batch) = dims.split_at(dims.len() - rule.batch_ndim);
        let (first, second) = matrix.split_at(if inner_first { rule.ndim } else { own });
        let (own, inner) = if inner_first { (second, first) } else { (first, second) };
        Ok(AxisGroups { own, inner, batch, inner_first })
    }

    /// The operand as `[own, inner]`, or `[batch, own, inner]` with batch axes.
    fn matrices(&self, x: &Tensor) -> Result<Tensor> {
        let (own, inner) = (size(self.own), size(self.inner));
        let (first, second) = if self.inner_first { (inner, own) } else { (own, inner) };
        let detached = x.detach();
        let merged = if self.batch.is_empty() {
            reshape_dims(&detached, &[first, second])?
        } else {
            reshape_dims(&detached, &[first, second, size(self.batch)])?
        };
        let layout = matrix_layout(merged.layout(), self.inner_first);
        Ok(merged.into_layout(layout))
    }
}

/// The layout `[rows, transpose_layout]` or `[batch, rows, transpose_layout]`, of the matrix or its transpose.
fn matrix_layout(layout: &Layout, transposed: bool) -> Layout {
    match (layout.ndim(), transposed) {
        (2, false) => layout.clone(),
        (2, true) => layout.permute(&[1, 0]),
        (_, false) => layout.permute(&[2, 0, 1]),
        (_, true) => layout.permute(&[2, 1, 0]),
    }
}

fn size(dims: &[usize]) -> usize {
    dims.iter().product()
}

#[cold]
fn shape_error(what: String) -> Box<Error> {
    let remedy = "a is [M…, K…, batch…] and b is [K…, N…, batch…], with M, K and K, N exchanged by trans_a and trans_b";
    Box::new(Error::Shape { op: "gemm".into(), what, remedy })
}

/// Fast path: two matrices and one contracted axis.
#[inline]
fn matrix_product(a: &Tensor, b: &Tensor, rule: &Gemm) -> Result<Option<(Tensor, f32)>> {
    let (&[a0, a1], &[b0, b1]) = (a.shape(), b.shape()) else {
        return Ok(None);
    };
    let (m, k) = if rule.trans_a { (a1, a0) } else { (a0, a1) };
    let (inner, n) = if rule.trans_b { (b1, b0) } else { (b0, b1) };
    if (rule.ndim, rule.batch_ndim, inner) != (1, 0, k) {
        return Ok(None);
    }
    let transpose = |x: &Tensor| x.with_layout(x.layout().permute(&[1, 0]));
    let (x, y) = (rule.trans_a.then(|| transpose(a)), rule.trans_b.then(|| transpose(b)));
    let (x, y) = (x.as_ref().unwrap_or(a), y.as_ref().unwrap_or(b));
    let out = Tensor::empty(&[m, n], a.dtype())?;
    kernels::matmul(x.view_of(), y.view_of(), &out.view_mut())?;
    scale_in_place(&out, rule.alpha);
    Ok(Some((out, 100.0 + m as f32 * n as f32 * k as f32 / FLOPS_PER_NS)))
}

/// The contraction (not recorded), and its estimated nanoseconds.
pub(crate) fn contract(a: &Tensor, b: &Tensor, rule: &Gemm) -> Result<(Tensor, f32)> {
    require_readable("gemm", a)?;
    require_readable("gemm", b)?;
    match matrix_product(a, b, rule)? {
        Some(done) => Ok(done),
        None => grouped(a, b, rule),
    }
}

fn grouped(a: &Tensor, b: &Tensor, rule: &Gemm) -> Result<(Tensor, f32)> {
    let left = AxisGroups::of("a", a, rule, rule.trans_a)?;
    let right = AxisGroups::of("b", b, rule, !rule.trans_b)?;
    let differ = |what: &str, x: &[usize], y: &[usize]| {
        shape_error(format!(
            "the {what} dimensions of a are {} and those of b are {}",
            Dims::from(x),
            Dims::from(y)
        ))
    };
    if left.inner != right.inner {
        return Err(differ("contracted", left.inner, right.inner));
    }
    if left.batch != right.batch {
        return Err(differ("batch", left.batch, right.batch));
    }
    let dims: ShapeVec = [left.own, right.own, left.batch].concat().into();
    let out = Tensor::empty(&dims, a.dtype())?;
    let (m, n, batch) = (size(left.own), size(right.own), size(left.batch));
    let grouped = if left.batch.is_empty() {
        Layout::contiguous(&[m, n])?
    } else {
        Layout::contiguous(&[m, n, batch])?
    };
    let target = out.with_layout(matrix_layout(&grouped, false));
    let (x, y) = (left.matrices(a)?, right.matrices(b)?);
    let y = y.with_layout(transpose_layout(y.layout()));
    if left.batch.is_empty() {
        kernels::matmul(x.view_of(), y.view_of(), &target.view_mut())?;
    } else {
        kernels::matmul_batch(x.view_of(), y.view_of(), &target.view_mut())?;
    }
    scale_in_place(&out, rule.alpha);
    let cost = 100.0 + (batch * m * n) as f32 * size(left.inner) as f32 / FLOPS_PER_NS;
    Ok((out, cost))
}

/// Transposes `[…, own, inner]` for the right operand of a product.
fn transpose_layout(layout: &Layout) -> Layout {
    match layout.ndim() {
        2 => layout.permute(&[1, 0]),
        _ => layout.permute(&[0, 2, 1]),
    }
}

/// Multiplies a new result by `alpha` in place.
pub(crate) fn scale_in_place(out: &Tensor, alpha: f64) {
    if alpha != 1.0 {
        let ins = [LoopOperand::View(out.view_of()), LoopOperand::Float(alpha)];
        apply(MULTIPLY.forward, &ins, out.view_mut(), &[]);
    }
}
