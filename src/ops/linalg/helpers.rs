//! Operand checks, error constructors and small matrix expressions of the linear algebra
//! operations.
//!
//! Invariant: checked operands have an inexact dtype and at least two axes, of which the last two
//! are the matrices.

use crate::array::{ShapeVec, afford, broadcast_shapes};
use crate::error::{Dims, Error, Result};
use crate::ops::core::broadcast::{astype, broadcast_to, reshape_dims, swap_axes};
use crate::ops::core::view::slice_axis;
use crate::ops::elementwise::arithmetic::conjugated;
use crate::ops::product::matmul::product;
use crate::tensor::Tensor;
use crate::threads::spare_threads;

pub(super) use crate::ops::elementwise::arithmetic::{
    add, multiply as mul, negative, subtract as sub,
};

/// Casts the operand to an inexact dtype; fails with fewer than two axes.
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

/// As `matrices`; fails unless the matrices are square.
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

/// Sides above this may use blocked algorithms.
const MAX_UNBLOCKED_SIDE: usize = 16;
/// Bytes of the packed operands of a blocked product.
const PACK_BYTES: usize = 2 << 20;

/// Refuses matrices for which the system has no working memory, `copies` of each in double precision on every thread that works:
/// the factorisations would end the process. Products of blocks pack their operands beside that.
pub(super) fn check_memory(x: &Tensor, copies: usize) -> Result<()> {
    let stack = batch_dims(x).iter().product::<usize>().min(1 + spare_threads());
    let per_matrix = rows(x)
        .saturating_mul(columns(x))
        .saturating_mul(8 * copies * if x.dtype().is_complex() { 2 } else { 1 });
    let packed = if rows(x).max(columns(x)) > MAX_UNBLOCKED_SIDE { PACK_BYTES } else { 0 };
    afford(per_matrix.saturating_add(packed).saturating_mul(stack))
}

pub(super) fn rows(x: &Tensor) -> usize {
    x.shape()[x.ndim() - 2]
}

pub(super) fn columns(x: &Tensor) -> usize {
    x.shape()[x.ndim() - 1]
}

/// The batch dims.
pub(super) fn batch_dims(x: &Tensor) -> &[usize] {
    &x.shape()[..x.ndim() - 2]
}

/// Batch dims of `x`, followed by other dims.
pub(super) fn with_matrix_dims(x: &Tensor, last: &[usize]) -> ShapeVec {
    batch_dims(x).iter().chain(last).copied().collect()
}

/// The transposes, as a view.
pub(super) fn t(x: &Tensor) -> Result<Tensor> {
    swap_axes(x, x.ndim() - 2, x.ndim() - 1)
}

/// The adjoints; a view for real matrices.
pub(super) fn h(x: &Tensor) -> Result<Tensor> {
    conjugated(&t(x)?)
}

pub(super) fn mm(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    product(a, b)
}

/// `x - xᴴ`.
pub(super) fn skew(x: &Tensor) -> Result<Tensor> {
    sub(x, &h(x)?)
}

/// `(x + xᴴ) / 2`.
pub(super) fn hermitian(x: &Tensor) -> Result<Tensor> {
    mul(&add(x, &h(x)?)?, &Tensor::from(0.5f64).cast_like(x)?)
}

/// One vector per matrix as a column, which scales rows.
pub(super) fn as_column(v: &Tensor) -> Result<Tensor> {
    let mut dims = ShapeVec::from_slice(v.shape());
    dims.push(1);
    reshape_dims(v, &dims)
}

/// One vector per matrix as a row, which scales columns.
pub(super) fn as_row(v: &Tensor) -> Result<Tensor> {
    let mut dims = ShapeVec::from_slice(v.shape());
    dims.insert(v.ndim() - 1, 1);
    reshape_dims(v, &dims)
}

/// One scalar per matrix, which scales it.
pub(super) fn per_matrix(v: &Tensor) -> Result<Tensor> {
    let mut dims = ShapeVec::from_slice(v.shape());
    dims.extend([1, 1]);
    reshape_dims(v, &dims)
}

/// A range of columns, as a view.
pub(super) fn slice_columns(x: &Tensor, start: usize, len: usize) -> Result<Tensor> {
    slice_axis(x, x.ndim() - 1, start, 1, len)
}

/// A range of rows, as a view.
pub(super) fn slice_rows(x: &Tensor, start: usize, len: usize) -> Result<Tensor> {
    slice_axis(x, x.ndim() - 2, start, 1, len)
}

/// Promotes two operands to one dtype and broadcasts their batch dims.
pub(super) fn broadcast_batch(
    op: &'static str,
    a: &Tensor,
    b: &Tensor,
) -> Result<(Tensor, Tensor)> {
    let dtype = a.dtype().promote(b.dtype());
    let (a, b) = (astype(a, dtype)?, astype(b, dtype)?);
    let front = broadcast_shapes(op, &[batch_dims(&a), batch_dims(&b)])?;
    let expand = |x: &Tensor| {
        let mut dims = front.clone();
        dims.extend([rows(x), columns(x)]);
        broadcast_to(x, &dims)
    };
    Ok((expand(&a)?, expand(&b)?))
}

impl Tensor {
    /// A constant in the dtype of another tensor.
    pub(super) fn cast_like(&self, x: &Tensor) -> Result<Tensor> {
        astype(self, x.dtype())
    }
}

/// Names an item of a batch in error messages.
fn item_name(x: &Tensor, index: usize) -> String {
    if x.ndim() == 2 {
        return "the matrix".into();
    }
    let (mut rest, mut at) = (index, Vec::new());
    for &d in batch_dims(x).iter().rev() {
        at.insert(0, (rest % d).to_string());
        rest /= d;
    }
    format!("matrix [{}]", at.join(", "))
}

/// The error for a matrix without a result.
#[cold]
pub(super) fn matrix_error(
    op: &'static str,
    x: &Tensor,
    index: usize,
    is: &str,
    remedy: &'static str,
) -> Box<Error> {
    Box::new(Error::Matrix { op: op.into(), what: format!("{} {is}", item_name(x, index)), remedy })
}

#[cold]
pub(super) fn singular_error(op: &'static str, x: &Tensor, index: usize) -> Box<Error> {
    matrix_error(
        op,
        x,
        index,
        "is singular",
        "use pinv or lstsq, or add a multiple of the identity",
    )
}

#[cold]
pub(super) fn not_converged_error(op: &'static str, x: &Tensor, index: usize) -> Box<Error> {
    matrix_error(
        op,
        x,
        index,
        "holds NaN or infinity, or its iteration did not converge",
        "check where the values come from",
    )
}

/// Estimated nanoseconds of a factorisation with `factor` times n³ multiply-adds.
pub(super) fn cost(x: &Tensor, factor: f32) -> f32 {
    100.0 + factor * (x.size() * rows(x).min(columns(x))) as f32 / 4.0
}
