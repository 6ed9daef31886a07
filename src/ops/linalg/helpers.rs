//! What the matrix operations share: checks of their operands and the small words of matrix calculus.
//!
//! Owns: transposes, columns of numbers as diagonals, batches brought to one shape. Never factorises.
//! Invariant: operands that leave here are inexact numbers whose last two axes are the matrices.

use crate::array::{ShapeVec, afford, broadcast_shapes};
use crate::error::{Dims, Error, Result};
use crate::ops::core::broadcast::{astype, broadcast_to, reshape_dims, swap_axes};
use crate::ops::core::elementwise::binary;
use crate::ops::core::view::slice_axis;
use crate::ops::elementwise::arithmetic::{ADD, MULTIPLY, SUBTRACT};
use crate::ops::elementwise::conjugate::conjugated;
use crate::ops::product::matmul::product;
use crate::tensor::Tensor;
use crate::threads::spare_threads;

pub(super) use crate::ops::elementwise::arithmetic::negative;

/// The operand as inexact numbers; it has at least two axes.
pub(super) fn matrices(op: &'static str, x: &Tensor) -> Result<Tensor> {
    if x.ndim() < 2 {
        return Err(Box::new(Error::Shape {
            op: op.into(),
            what: format!("an operand of shape {}", Dims::from(x.shape())),
            remedy: "give a matrix, or a stack of them: at least 2 dimensions",
        }));
    }
    astype(x, x.dtype().to_float())
}

/// The operand as floats; its matrices are square.
pub(super) fn square(op: &'static str, x: &Tensor) -> Result<Tensor> {
    let out = matrices(op, x)?;
    if rows(x) == columns(x) {
        return Ok(out);
    }
    Err(Box::new(Error::Shape {
        op: op.into(),
        what: format!("matrices of {} rows and {} columns", rows(x), columns(x)),
        remedy: "the last two dimensions must be equal",
    }))
}

/// Matrices with more rows or columns may be factored by blocks.
const BLOCKED: usize = 16;
/// What the operands of a product of blocks take, packed, in bytes.
const PACKED: usize = 2 << 20;

/// Refuses matrices for which the system has no working memory, `copies` of each in double precision on every thread that works:
/// the factorisations would end the process. Products of blocks pack their operands beside that.
pub(super) fn room(x: &Tensor, copies: usize) -> Result<()> {
    let stack = lead(x).iter().product::<usize>().min(1 + spare_threads());
    let each = rows(x)
        .saturating_mul(columns(x))
        .saturating_mul(8 * copies * if x.dtype().is_complex() { 2 } else { 1 });
    let packed = if rows(x).max(columns(x)) > BLOCKED { PACKED } else { 0 };
    afford(each.saturating_add(packed).saturating_mul(stack))
}

pub(super) fn rows(x: &Tensor) -> usize {
    x.shape()[x.ndim() - 2]
}

pub(super) fn columns(x: &Tensor) -> usize {
    x.shape()[x.ndim() - 1]
}

/// The axes in front of the matrices.
pub(super) fn lead(x: &Tensor) -> &[usize] {
    &x.shape()[..x.ndim() - 2]
}

/// Dims of `x` in front, others behind.
pub(super) fn with_last(x: &Tensor, last: &[usize]) -> ShapeVec {
    lead(x).iter().chain(last).copied().collect()
}

/// The transposed matrices, a view.
pub(super) fn t(x: &Tensor) -> Result<Tensor> {
    swap_axes(x, x.ndim() - 2, x.ndim() - 1)
}

/// The conjugates of the transposed matrices; a view of real ones.
pub(super) fn h(x: &Tensor) -> Result<Tensor> {
    conjugated(&t(x)?)
}

pub(super) fn mm(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    product(a, b)
}

pub(super) fn mul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    binary(&MULTIPLY, a, b)
}

pub(super) fn add(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    binary(&ADD, a, b)
}

pub(super) fn sub(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    binary(&SUBTRACT, a, b)
}

/// `x - xᴴ`.
pub(super) fn skew(x: &Tensor) -> Result<Tensor> {
    sub(x, &h(x)?)
}

/// `(x + xᴴ) / 2`.
pub(super) fn hermitian(x: &Tensor) -> Result<Tensor> {
    mul(&add(x, &h(x)?)?, &Tensor::from(0.5f64).cast_like(x)?)
}

/// A vector per matrix as columns: it scales rows.
pub(super) fn down(v: &Tensor) -> Result<Tensor> {
    let mut dims = ShapeVec::from_slice(v.shape());
    dims.push(1);
    reshape_dims(v, &dims)
}

/// A vector per matrix as rows: it scales columns.
pub(super) fn across(v: &Tensor) -> Result<Tensor> {
    let mut dims = ShapeVec::from_slice(v.shape());
    dims.insert(v.ndim() - 1, 1);
    reshape_dims(v, &dims)
}

/// A number per matrix, to scale it.
pub(super) fn each(v: &Tensor) -> Result<Tensor> {
    let mut dims = ShapeVec::from_slice(v.shape());
    dims.extend([1, 1]);
    reshape_dims(v, &dims)
}

/// Some columns of the matrices, a view.
pub(super) fn some_columns(x: &Tensor, start: usize, len: usize) -> Result<Tensor> {
    slice_axis(x, x.ndim() - 1, start, 1, len)
}

/// Some rows of the matrices, a view.
pub(super) fn some_rows(x: &Tensor, start: usize, len: usize) -> Result<Tensor> {
    slice_axis(x, x.ndim() - 2, start, 1, len)
}

/// Two operands of one dtype whose stacks have one shape.
pub(super) fn paired(op: &'static str, a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor)> {
    let dtype = a.dtype().promote(b.dtype());
    let (a, b) = (astype(a, dtype)?, astype(b, dtype)?);
    let front = broadcast_shapes(op, &[lead(&a), lead(&b)])?;
    let spread = |x: &Tensor| {
        let mut dims = front.clone();
        dims.extend([rows(x), columns(x)]);
        broadcast_to(x, &dims)
    };
    Ok((spread(&a)?, spread(&b)?))
}

impl Tensor {
    /// A constant in the dtype of another tensor.
    pub(super) fn cast_like(&self, x: &Tensor) -> Result<Tensor> {
        astype(self, x.dtype())
    }
}

/// Where in the stack an item stands, for messages.
fn place(x: &Tensor, index: usize) -> String {
    if x.ndim() == 2 {
        return "the matrix".into();
    }
    let (mut rest, mut at) = (index, Vec::new());
    for &d in lead(x).iter().rev() {
        at.insert(0, (rest % d).to_string());
        rest /= d;
    }
    format!("matrix [{}]", at.join(", "))
}

/// The error of a matrix for which the operation has no answer.
#[cold]
pub(super) fn refuse(
    op: &'static str,
    x: &Tensor,
    index: usize,
    is: &str,
    remedy: &'static str,
) -> Box<Error> {
    Box::new(Error::Matrix { op: op.into(), what: format!("{} {is}", place(x, index)), remedy })
}

#[cold]
pub(super) fn singular(op: &'static str, x: &Tensor, index: usize) -> Box<Error> {
    refuse(op, x, index, "is singular", "use pinv or lstsq, or add a multiple of the identity")
}

#[cold]
pub(super) fn not_converged(op: &'static str, x: &Tensor, index: usize) -> Box<Error> {
    refuse(
        op,
        x,
        index,
        "holds NaN or infinity, or its iteration did not converge",
        "check where the values come from",
    )
}

/// Nanoseconds of `n` multiply-adds of a factorisation, about.
pub(super) fn cost(x: &Tensor, factor: f32) -> f32 {
    100.0 + factor * (x.size() * rows(x).min(columns(x))) as f32 / 4.0
}
