//! Diagonals and triangles; reading a diagonal is a view. A positive offset is above the main diagonal.

use crate::array::{ShapeVec, normalize_axis};
use crate::error::{Error, Result};
use crate::ops::core::broadcast::{broadcast_to, reshape_dims, select_by_mask, sum_over};
use crate::ops::core::view::{ViewStep, embed, view_through};
use crate::ops::shape::create::try_vec_with_capacity;
use crate::tensor::Tensor;

/// Two distinct normalised axes.
fn axis_pair(op: &'static str, axis1: isize, axis2: isize, ndim: usize) -> Result<(usize, usize)> {
    let a = normalize_axis(op, axis1, ndim)?;
    let b = normalize_axis(op, axis2, ndim)?;
    if a == b {
        return Err(Box::new(Error::RepeatedAxis { op: op.into(), axis: axis2 }));
    }
    Ok((a, b))
}

fn need_dims(op: &'static str, x: &Tensor, fits: bool, remedy: &'static str) -> Result<()> {
    if fits {
        return Ok(());
    }
    Err(Box::new(Error::Shape {
        op: op.into(),
        what: format!("a tensor of {} dimensions", x.ndim()),
        remedy,
    }))
}

/// The last axis of `x` on a diagonal of two new axes of the result.
fn embed_on_diagonal(
    op: &'static str,
    x: &Tensor,
    offset: isize,
    axis1: usize,
    axis2: usize,
) -> Result<Tensor> {
    let n = x.shape()[x.ndim() - 1];
    let edge = n
        .checked_add(offset.unsigned_abs())
        .ok_or_else(|| Box::new(Error::TooLarge { op: op.into(), dims: x.shape().into() }))?;
    let mut others = x.shape()[..x.ndim() - 1].iter();
    let dims: ShapeVec = (0..=x.ndim())
        .map(|a| if a == axis1 || a == axis2 { edge } else { others.next().copied().unwrap_or(1) })
        .collect();
    embed(x, &dims, &[ViewStep::Diagonal { offset, axis1, axis2 }])
}

/// The mask of the elements on and below diagonal `k` of the last two axes, or of those above it.
fn triangle_mask(rows: usize, columns: usize, k: isize, below: bool) -> Result<Tensor> {
    let numel = crate::array::checked_numel("triangle", &[rows, columns])?;
    let mut mask = try_vec_with_capacity(numel)?;
    mask.resize(numel, !below);
    for (i, row) in mask.chunks_exact_mut(columns.max(1)).enumerate() {
        let kept =
            (i as isize).saturating_add(k).saturating_add(1).clamp(0, columns as isize) as usize;
        row[..kept].fill(below);
    }
    Tensor::from_vec(mask, &[rows, columns])
}

/// `x` in the triangle, 0 elsewhere; a vector is repeated as rows.
fn mask_triangle(op: &'static str, x: &Tensor, k: isize, below: bool) -> Result<Tensor> {
    need_dims(op, x, x.ndim() > 0, "give one of at least 1 dimension")?;
    let columns = x.shape()[x.ndim() - 1];
    let rows = if x.ndim() == 1 { columns } else { x.shape()[x.ndim() - 2] };
    // The upper triangle from diagonal `k` is the complement of the lower one up to `k - 1`.
    let mask = triangle_mask(rows, columns, if below { k } else { k.saturating_sub(1) }, below)?;
    let dims = if x.ndim() == 1 { mask.shape().into() } else { ShapeVec::from_slice(x.shape()) };
    let zero = broadcast_to(&Tensor::zeros(&[], x.dtype())?, &dims)?;
    select_by_mask(&broadcast_to(&mask, &dims)?, &broadcast_to(x, &dims)?, &zero)
}

crate::operations! { family "diagonals";
    /// The elements on and below diagonal `k` of the last two axes, zeros elsewhere. Derivative: the same of `g`.
    [numpy("tril"), in_place, keywords(("diagonal", "k"), ("offset", "k"))]
    fn tril(x: Tensor, k: isize = 0) -> Tensor {
        mask_triangle("tril", x, k, true)
    }
    /// The elements on and above diagonal `k` of the last two axes, zeros elsewhere. Derivative: the same of `g`.
    [numpy("triu"), in_place, keywords(("diagonal", "k"), ("offset", "k"))]
    fn triu(x: Tensor, k: isize = 0) -> Tensor {
        mask_triangle("triu", x, k, false)
    }
    /// The diagonal of two axes, which disappear, as the last axis; a view. Derivative: `g` on that diagonal, zeros elsewhere.
    [numpy("diagonal")]
    fn diagonal(x: Tensor, offset: isize = 0, axis1: isize = 0, axis2: isize = 1) -> Tensor {
        let (axis1, axis2) = axis_pair("diagonal", axis1, axis2, x.ndim())?;
        view_through(x, "diagonal", [ViewStep::Diagonal { offset, axis1, axis2 }])
    }
    /// The diagonal of a matrix (a view), or a matrix with this vector on its diagonal.
    [numpy("diag"), keywords(("diagonal", "k"), ("offset", "k"))]
    fn diag(x: Tensor, k: isize = 0) -> Tensor {
        need_dims("diag", x, x.ndim() == 1 || x.ndim() == 2, "give a vector or a matrix")?;
        if x.ndim() == 2 { diagonal(x, k, 0, 1) } else { embed_on_diagonal("diag", x, k, 0, 1) }
    }
    /// Matrices with the last axis on their diagonal; `axis1` and `axis2` are axes of the result.
    fn diag_embed(x: Tensor, offset: isize = 0, axis1: isize = -2, axis2: isize = -1) -> Tensor {
        need_dims("diag_embed", x, x.ndim() > 0, "give one of at least 1 dimension")?;
        let (axis1, axis2) = axis_pair("diag_embed", axis1, axis2, x.ndim() + 1)?;
        embed_on_diagonal("diag_embed", x, offset, axis1, axis2)
    }
    /// A matrix with the elements, in C order, on its diagonal.
    [numpy("diagflat"), keywords(("diagonal", "k"), ("offset", "k"))]
    fn diagflat(x: Tensor, k: isize = 0) -> Tensor {
        embed_on_diagonal("diagflat", &reshape_dims(x, &[x.size()])?, k, 0, 1)
    }
    /// The sum of a diagonal of two axes. Derivative: `g` on that diagonal.
    [numpy("trace")]
    fn trace(x: Tensor, offset: isize = 0, axis1: isize = 0, axis2: isize = 1) -> Tensor {
        let (axis1, axis2) = axis_pair("trace", axis1, axis2, x.ndim())?;
        let line = view_through(x, "diagonal", [ViewStep::Diagonal { offset, axis1, axis2 }])?;
        sum_over(&line, &[line.ndim() - 1], false)
    }
}
