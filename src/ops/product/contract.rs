//! The contraction behind `gemm`: any number of M, N and K axes, trailing batch axes, both transposes.
//!
//! Owns: the check of the axes and their grouping into matrices. Never records.
//! Invariant: a transpose and a trailing batch are strides; operands are copied only where groups of axes do not merge.

use crate::array::{Layout, ShapeVec};
use crate::error::{Dims, Error, Result};
use crate::kernels;
use crate::kernels::elementwise::{In, apply};
use crate::ops::core::broadcast::{require_readable, reshape_dims};
use crate::ops::elementwise::arithmetic::MULTIPLY;
use crate::ops::product::functor_ops::Gemm;
use crate::tensor::Tensor;

/// Multiply-adds that one nanosecond of one core does in float64, about.
const FLOPS_PER_NS: f32 = 40.0;

/// The axes of one operand: those only it has, the contracted ones, the batch.
struct Groups<'a> {
    own: &'a [usize],
    inner: &'a [usize],
    batch: &'a [usize],
    /// Whether the contracted axes come first.
    inner_first: bool,
}

impl<'a> Groups<'a> {
    fn of(name: &str, x: &'a Tensor, rule: &Gemm, inner_first: bool) -> Result<Groups<'a>> {
        let dims = x.shape();
        let Some(own) = dims.len().checked_sub(rule.ndim + rule.batch_ndim) else {
            return Err(refuse(format!(
                "{name} has {} dimensions, fewer than ndim {} + batch_ndim {}",
                dims.len(),
                rule.ndim,
                rule.batch_ndim
            )));
        };
        let (matrix, batch) = dims.split_at(dims.len() - rule.batch_ndim);
        let (first, second) = matrix.split_at(if inner_first { rule.ndim } else { own });
        let (own, inner) = if inner_first { (second, first) } else { (first, second) };
        Ok(Groups { own, inner, batch, inner_first })
    }

    /// The operand as `[own, inner]`, or `[batch, own, inner]` where there are batch axes.
    fn matrices(&self, x: &Tensor) -> Result<Tensor> {
        let (own, inner) = (size(self.own), size(self.inner));
        let (first, second) = if self.inner_first { (inner, own) } else { (own, inner) };
        let plain = x.detach();
        let merged = if self.batch.is_empty() {
            reshape_dims(&plain, &[first, second])?
        } else {
            reshape_dims(&plain, &[first, second, size(self.batch)])?
        };
        let layout = matrix_layout(merged.layout(), self.inner_first);
        Ok(merged.into_layout(layout))
    }
}

/// `[rows, columns]` or `[rows, columns, batch]` with the batch first and the matrix transposed or not.
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
fn refuse(what: String) -> Box<Error> {
    let remedy = "a is [M…, K…, batch…] and b is [K…, N…, batch…], with M, K and K, N exchanged by trans_a and trans_b";
    Box::new(Error::Shape { op: "gemm".into(), what, remedy })
}

/// Two matrices and one contracted axis: nothing to group.
#[inline]
fn plain(a: &Tensor, b: &Tensor, rule: &Gemm) -> Result<Option<(Tensor, f32)>> {
    let (&[a0, a1], &[b0, b1]) = (a.shape(), b.shape()) else {
        return Ok(None);
    };
    let (m, k) = if rule.trans_a { (a1, a0) } else { (a0, a1) };
    let (inner, n) = if rule.trans_b { (b1, b0) } else { (b0, b1) };
    if (rule.ndim, rule.batch_ndim, inner) != (1, 0, k) {
        return Ok(None);
    }
    let turned = |x: &Tensor| x.with_layout(x.layout().permute(&[1, 0]));
    let (x, y) = (rule.trans_a.then(|| turned(a)), rule.trans_b.then(|| turned(b)));
    let (x, y) = (x.as_ref().unwrap_or(a), y.as_ref().unwrap_or(b));
    let out = Tensor::empty(&[m, n], a.dtype())?;
    kernels::matmul(x.view_of(), y.view_of(), &out.view_mut())?;
    scale(&out, rule.alpha);
    Ok(Some((out, 100.0 + m as f32 * n as f32 * k as f32 / FLOPS_PER_NS)))
}

/// The product, not recorded, and the nanoseconds it takes.
pub(crate) fn contract(a: &Tensor, b: &Tensor, rule: &Gemm) -> Result<(Tensor, f32)> {
    require_readable("gemm", a)?;
    require_readable("gemm", b)?;
    match plain(a, b, rule)? {
        Some(done) => Ok(done),
        None => grouped(a, b, rule),
    }
}

fn grouped(a: &Tensor, b: &Tensor, rule: &Gemm) -> Result<(Tensor, f32)> {
    let left = Groups::of("a", a, rule, rule.trans_a)?;
    let right = Groups::of("b", b, rule, !rule.trans_b)?;
    let differ = |what: &str, x: &[usize], y: &[usize]| {
        refuse(format!(
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
    let y = y.with_layout(columns(y.layout()));
    if left.batch.is_empty() {
        kernels::matmul(x.view_of(), y.view_of(), &target.view_mut())?;
    } else {
        kernels::matmul_batch(x.view_of(), y.view_of(), &target.view_mut())?;
    }
    scale(&out, rule.alpha);
    let cost = 100.0 + (batch * m * n) as f32 * size(left.inner) as f32 / FLOPS_PER_NS;
    Ok((out, cost))
}

/// `[…, own, inner]` as `[…, inner, own]`: the right operand of a product.
fn columns(layout: &Layout) -> Layout {
    match layout.ndim() {
        2 => layout.permute(&[1, 0]),
        _ => layout.permute(&[0, 2, 1]),
    }
}

/// Multiplies a fresh result in place.
pub(crate) fn scale(out: &Tensor, alpha: f64) {
    if alpha != 1.0 {
        let ins = [In::View(out.view_of()), In::Float(alpha)];
        apply(MULTIPLY.forward, &ins, out.view_mut(), &[]);
    }
}
