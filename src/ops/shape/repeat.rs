//! `repeat` and `tile`: a broadcast and a copy, or a gather.

use crate::array::ShapeVec;
use crate::error::{Error, Result};
use crate::ops::core::broadcast::{axis_or_flat, broadcast_to, permute_axes, reshape_dims};
use crate::ops::core::op_decl::Ints;
use crate::ops::core::row_indices::{RowIndices, as_int64, scatter_rows, take_rows};

use crate::kernels;
use crate::ops::core::broadcast::require_vector;
use crate::ops::core::structured::edges_of;
use crate::ops::shape::create::try_vec_with_capacity;
use crate::tensor::Tensor;

fn negative(op: &'static str, n: i64) -> Box<Error> {
    Box::new(Error::Argument {
        op: op.into(),
        what: format!("{n} repetitions"),
        remedy: "give 0 or more".into(),
    })
}

fn too_large(op: &'static str, x: &Tensor) -> Box<Error> {
    Box::new(Error::TooLarge { op: op.into(), dims: x.shape().into() })
}

/// `out` with its own memory.
fn copy_if_shared(out: Tensor, x: &Tensor, op: &'static str) -> Result<Tensor> {
    if out.storage().same(x.storage()) { out.copied(op) } else { Ok(out) }
}

/// Rows of `x` along an axis, by number.
pub(crate) fn take_along(
    op: &'static str,
    x: &Tensor,
    axis: usize,
    rows: &Tensor,
) -> Result<Tensor> {
    let rows = reshape_dims(rows, &[rows.size()])?;
    if x.ndim() == 1 && edges_of(&[x]).is_none() {
        // Nothing is recorded, so the offsets are not kept.
        let out = Tensor::empty(rows.shape(), x.dtype())?;
        kernels::index::take_checked(op, x.view_of(), axis, rows.view_of(), out.view_mut())?;
        return Ok(out.unrecorded([x].into_iter()));
    }
    let row_indices = RowIndices::from_arrays(op, x.shape(), &[axis], &[rows])?;
    let taken = take_rows(x, &row_indices)?;
    if axis == 0 {
        return Ok(taken);
    }
    let order: ShapeVec = (1..=axis).chain([0]).chain(axis + 1..taken.ndim()).collect();
    permute_axes(&taken, &order)
}

/// The adjoint of `take_along`: adds the slices of `g` to the rows they came from, along an axis of `size`.
pub(crate) fn add_along(
    op: &'static str,
    g: &Tensor,
    axis: usize,
    rows: &Tensor,
    size: usize,
) -> Result<Tensor> {
    let mut dims = ShapeVec::from_slice(g.shape());
    dims[axis] = size;
    let row_indices = RowIndices::from_arrays(op, &dims, &[axis], std::slice::from_ref(rows))?;
    let order: ShapeVec = [axis].into_iter().chain((0..g.ndim()).filter(|&a| a != axis)).collect();
    scatter_rows(&permute_axes(g, &order)?, &row_indices)
}

/// Repeats every element of an axis `n` times.
fn repeat_evenly(x: &Tensor, axis: usize, n: usize) -> Result<Tensor> {
    let mut dims = ShapeVec::from_slice(x.shape());
    dims.insert(axis + 1, 1);
    let split = reshape_dims(x, &dims)?;
    dims[axis + 1] = n;
    let spread = broadcast_to(&split, &dims)?;
    let merged =
        dims.remove(axis + 1).checked_mul(dims[axis]).ok_or_else(|| too_large("repeat", x))?;
    dims[axis] = merged;
    copy_if_shared(reshape_dims(&spread, &dims)?, x, "repeat")
}

/// Repeats element `i` of an axis `counts[i]` times.
fn repeat_each(x: &Tensor, axis: usize, counts: &[i64]) -> Result<Tensor> {
    if counts.len() != x.shape()[axis] {
        return Err(Box::new(Error::Argument {
            op: "repeat".into(),
            what: format!("{} repetitions for an axis of size {}", counts.len(), x.shape()[axis]),
            remedy: "give one number for all, or one for each element".into(),
        }));
    }
    let total = counts.iter().try_fold(0i64, |sum, &n| sum.checked_add(n));
    let mut rows = try_vec_with_capacity(total.ok_or_else(|| too_large("repeat", x))? as usize)?;
    for (i, &n) in counts.iter().enumerate() {
        rows.extend(std::iter::repeat_n(i as i64, n as usize));
    }
    take_along("repeat", x, axis, &Tensor::from(rows))
}

crate::operations! { family "repetition";
    /// Each element of an axis (of the flattened tensor by default) so many times: one number for all or one for each. Derivative: `g` summed over the repetitions.
    [numpy("repeat"), aliases("repeat_interleave"), indices("repeats")]
    fn repeat(x: Tensor, repeats: Tensor, axis: Option<isize> = None) -> Tensor {
        let repeats = if repeats.ndim() == 0 { repeats } else { require_vector("repeat", repeats)? };
        let counts = as_int64("repeat", repeats)?.to_vec::<i64>()?;
        if let Some(&n) = counts.iter().find(|&&n| n < 0) {
            return Err(negative("repeat", n));
        }
        let (x, axis) = axis_or_flat("repeat", x, axis)?;
        match counts[..] {
            [n] => repeat_evenly(&x, axis, n as usize),
            _ => repeat_each(&x, axis, &counts),
        }
    }
    /// The whole tensor side by side, so many times along each axis; missing axes come first. Derivative: `g` summed over the copies.
    [numpy("tile")]
    fn tile(x: Tensor, reps: Ints) -> Tensor {
        if let Some(&n) = reps.iter().find(|&&n| n < 0) {
            return Err(negative("tile", n));
        }
        let ndim = reps.len().max(x.ndim());
        let size = |axis: usize| (axis + x.ndim()).checked_sub(ndim).map_or(1, |a| x.shape()[a]);
        let times = |axis: usize| (axis + reps.len()).checked_sub(ndim).map_or(1, |a| reps[a] as usize);
        let split: ShapeVec = (0..ndim).flat_map(|a| [1, size(a)]).collect();
        let spread: ShapeVec = (0..ndim).flat_map(|a| [times(a), size(a)]).collect();
        let whole: Option<ShapeVec> = (0..ndim).map(|a| times(a).checked_mul(size(a))).collect();
        let whole = whole.ok_or_else(|| too_large("tile", x))?;
        let tiled = broadcast_to(&reshape_dims(x, &split)?, &spread)?;
        copy_if_shared(reshape_dims(&tiled, &whole)?, x, "tile")
    }
}
