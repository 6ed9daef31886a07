//! Flips (views), rolls and rotations by 90 degrees; the adjoint of each is its inverse.

use smallvec::SmallVec;

use crate::array::{ShapeVec, is_axis_of_scalar, normalize_axes, normalize_axis};
use crate::error::{Error, Result};
use crate::kernels;
use crate::ops::core::broadcast::{reshape_dims, swap_axes};
use crate::ops::core::op_decl::{Axes, Ints};
use crate::ops::core::structured::{
    NodeSpec, VIEW_COST, from_end, move_cost, record_output, save_none,
};
use crate::ops::core::view::{ViewStepList, element};
use crate::tensor::Tensor;

/// Reverses the axes; a view.
pub(crate) fn flip_axes(x: &Tensor, axes: &[usize]) -> Result<Tensor> {
    let reverse = |layout: crate::array::Layout, &axis: &usize| {
        let n = layout.dims()[axis];
        layout.slice(axis, n.saturating_sub(1), -1, n)
    };
    let out = x.with_layout(axes.iter().fold(x.layout().clone(), reverse));
    record_output(out, &[x], |_| NodeSpec {
        name: "flip",
        cost: VIEW_COST,
        params: axes.iter().map(|&axis| from_end(x, axis)).collect::<ShapeVec>(),
        saved: save_none(),
        backward: |axes, g, cx| {
            let axes: ShapeVec = axes.iter().map(|&axis| from_end(&g, axis)).collect();
            cx.give_with(0, |_| flip_axes(&g, &axes))
        },
    })
}

/// Rolls along distinct axes by shifts within their size.
fn roll_copy(x: &Tensor, moves: &[(usize, usize)]) -> Result<Tensor> {
    let out = Tensor::empty(x.shape(), x.dtype())?;
    // Along each axis there are two blocks: one moves on, one wraps around.
    for choice in 0..1usize << moves.len() {
        let (mut from, mut to) = (x.layout().clone(), out.layout().clone());
        for (bit, &(axis, shift)) in moves.iter().enumerate() {
            let n = x.shape()[axis];
            let inside = choice >> bit & 1 == 0;
            let (source, target, len) =
                if inside { (0, shift, n - shift) } else { (n - shift, 0, shift) };
            from = from.slice(axis, source, 1, len);
            to = to.slice(axis, target, 1, len);
        }
        kernels::copy(x.with_layout(from).view_of(), out.with_layout(to).view_mut());
    }
    Ok(out)
}

/// [`roll_copy`], recorded.
pub(crate) fn roll_axes(x: &Tensor, moves: &[(usize, usize)]) -> Result<Tensor> {
    let out = roll_copy(x, moves)?;
    record_output(out, &[x], |out| NodeSpec {
        name: "roll",
        cost: move_cost(out),
        params: moves
            .iter()
            .map(|&(axis, shift)| (from_end(x, axis), x.shape()[axis] - shift))
            .collect::<Vec<_>>(),
        saved: save_none(),
        backward: |back, g, cx| {
            let back: Vec<_> = back.iter().map(|&(axis, by)| (from_end(&g, axis), by)).collect();
            cx.give_with(0, |_| roll_axes(&g, &back))
        },
    })
}

/// Pairs of axis and normalised shift; a single shift or axis is repeated.
fn axis_shifts(x: &Tensor, shift: &[i64], axes: &[isize]) -> Result<Vec<(usize, usize)>> {
    let n = shift.len().max(axes.len());
    if !(shift.len() == n || shift.len() == 1) || !(axes.len() == n || axes.len() == 1) {
        return Err(Box::new(Error::Argument {
            op: "roll".into(),
            what: format!("{} shifts for {} axes", shift.len(), axes.len()),
            remedy: "give one shift per axis, or one shift for all axes".into(),
        }));
    }
    let mut by: ShapeVec = x.shape().iter().map(|_| 0).collect();
    for i in 0..n {
        let axis = normalize_axis("roll", axes[i % axes.len()], x.ndim())?;
        let size = x.shape()[axis] as i64;
        let shift = shift[i % shift.len()].checked_rem_euclid(size).unwrap_or(0) as usize;
        by[axis] = (by[axis] + shift) % size.max(1) as usize;
    }
    Ok(by.iter().copied().enumerate().filter(|&(_, shift)| shift > 0).collect())
}

fn need_dims(op: &'static str, x: &Tensor, min_dims: usize) -> Result<()> {
    if x.ndim() >= min_dims {
        return Ok(());
    }
    Err(Box::new(Error::Shape {
        op: op.into(),
        what: format!("a tensor of {} dimensions", x.ndim()),
        remedy: if min_dims == 1 { "give one of at least 1" } else { "give one of at least 2" },
    }))
}

crate::operations! { family "reversal";
    /// The order of elements reversed along the axes, all by default; a view. Derivative: `g` reversed.
    [numpy("flip")]
    fn flip(x: Tensor, axis: Axes = Axes::All) -> Tensor {
        let axes = match axis.named() {
            None => (0..x.ndim()).collect(),
            Some(&[axis]) if is_axis_of_scalar(axis, x.ndim()) => ShapeVec::new(),
            Some(named) => normalize_axes("flip", named, x.ndim())?,
        };
        if x.ndim() == 0 {
            // As NumPy, whose flip of a 0-d array is indexing without a slice; a result for `out=` and in-place methods.
            return Ok(element(x, ViewStepList::new())?.into_result());
        }
        flip_axes(x, &axes)
    }
    /// Reversed along axis 1; a view.
    [numpy("fliplr")]
    fn fliplr(x: Tensor) -> Tensor {
        need_dims("fliplr", x, 2)?;
        flip_axes(x, &[1])
    }
    /// Reversed along axis 0; a view.
    [numpy("flipud")]
    fn flipud(x: Tensor) -> Tensor {
        need_dims("flipud", x, 1)?;
        flip_axes(x, &[0])
    }
    /// The elements moved on along the axes (of the flattened tensor by default), those that leave coming in at the front. Derivative: `g` rolled back.
    [numpy("roll"), keywords(("shifts", "shift")), memory]
    fn roll(x: Tensor, shift: Ints, axis: Axes = Axes::All) -> Tensor {
        let Some(named) = axis.named() else {
            let flat = reshape_dims(x, &[x.size()])?;
            let total: i64 = shift.iter().fold(0, |sum, &by| {
                let size = flat.size().max(1) as i64;
                (sum + by.rem_euclid(size)) % size
            });
            return reshape_dims(&roll_axes(&flat, &axis_shifts(&flat, &[total], &[0])?)?, x.shape());
        };
        if named.len() == 1 && is_axis_of_scalar(named[0], x.ndim()) {
            return roll_axes(x, &[]);
        }
        if shift.len() + named.len() <= 1 {
            normalize_axes("roll", named, x.ndim())?;
            return roll_axes(x, &[]);
        }
        roll_axes(x, &axis_shifts(x, &shift, named)?)
    }
    /// Turned by 90 degrees `k` times in the plane of two axes, from the first towards the second; a view.
    [numpy("rot90")]
    fn rot90(x: Tensor, k: isize = 1, axes: Ints = Ints::from_slice(&[0, 1])) -> Tensor {
        let named: SmallVec<[isize; 4]> = axes.iter().map(|&a| a as isize).collect();
        let axes = normalize_axes("rot90", &named, x.ndim())?;
        let [a, b] = axes[..] else {
            return Err(Box::new(Error::Argument {
                op: "rot90".into(),
                what: format!("{} axes span no plane", axes.len()),
                remedy: "give two axes".into(),
            }));
        };
        match k.rem_euclid(4) {
            0 => flip_axes(x, &[]),
            1 => swap_axes(&flip_axes(x, &[b])?, a, b),
            2 => flip_axes(x, &[a, b]),
            _ => flip_axes(&swap_axes(x, a, b)?, &[b]),
        }
    }
}
