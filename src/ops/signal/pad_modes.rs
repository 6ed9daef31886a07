//! Borders that are computed from what they frame: ramps, statistics, odd reflections.
//!
//! Owns: NumPy's remaining modes of `pad`, one axis after the other, each a composition.
//! Never writes in place. Invariant: a later axis sees what earlier ones added, as in NumPy.

use crate::array::ShapeVec;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels::Reduction;
use crate::ops::core::broadcast::{astype, broadcast_to, reshape_dims};
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::op_decl::{Axes, Scalar};
use crate::ops::core::view::{ViewStep, slice_axis, view_through};
use crate::ops::elementwise::arithmetic::{ADD, MULTIPLY, SUBTRACT};
use crate::ops::elementwise::unary::{floor, rint};
use crate::ops::reduce::quantile::median;
use crate::ops::reduce::reductions::{extreme_over, mean_over};
use crate::ops::reduce::scan::reverse_axis;
use crate::ops::shape::join::join;
use crate::tensor::Tensor;

/// Widths before and after, for every axis.
type Widths = [(usize, usize)];

fn bad(what: String, remedy: &str) -> Box<Error> {
    Box::new(Error::Argument { op: "pad".into(), what, remedy: remedy.into() })
}

/// Each axis in turn framed by what `border(so far, axis, side, width)` makes.
fn framed(
    x: &Tensor,
    widths: &Widths,
    border: impl Fn(&Tensor, usize, usize, usize) -> Result<Tensor>,
) -> Result<Tensor> {
    let mut out = x.clone();
    for (axis, &(before, after)) in widths.iter().enumerate() {
        if before + after == 0 {
            continue;
        }
        if out.shape()[axis] == 0 {
            let what = format!("axis {axis} has no element to make a border of");
            return Err(bad(what, "use mode=\"constant\""));
        }
        let side = |side: usize, width: usize| -> Result<Tensor> {
            let made = if width == 0 {
                slice_axis(&out, axis, 0, 1, 0)?
            } else {
                border(&out, axis, side, width)?
            };
            astype(&made, x.dtype())
        };
        out = join(&[side(0, before)?, out.clone(), side(1, after)?], axis)?;
    }
    Ok(out)
}

/// The outermost slice of a side, with its axis.
fn edge(x: &Tensor, axis: usize, side: usize) -> Result<Tensor> {
    slice_axis(x, axis, if side == 0 { 0 } else { x.shape()[axis] - 1 }, 1, 1)
}

/// Straight lines from the edges to `ends`, of shape `(axes, 2)`.
pub(crate) fn ramped(x: &Tensor, widths: &Widths, ends: &Tensor) -> Result<Tensor> {
    let wide = x.dtype().promote(DType::F64);
    framed(x, widths, |x, axis, side, width| {
        let at =
            [ViewStep::Select { axis: 0, index: axis }, ViewStep::Select { axis: 0, index: side }];
        let end = astype(&view_through(ends, "pad", at)?, wide)?;
        let near = astype(&edge(x, axis, side)?, wide)?;
        let mut dims = ShapeVec::from_elem(1, x.ndim());
        dims[axis] = width;
        let shares: Vec<f64> = (0..width)
            .map(|i| (if side == 0 { i } else { width - 1 - i }) as f64 / width as f64)
            .collect();
        let shares = reshape_dims(&Tensor::from(shares), &dims)?;
        let rise = binary(&MULTIPLY, &binary(&SUBTRACT, &near, &end)?, &shares)?;
        let line = binary(&ADD, &rise, &end)?;
        if holds_integers(x) { floor(&line) } else { Ok(line) }
    })
}

/// Which statistic fills a border.
#[derive(Clone, Copy)]
pub(crate) enum Statistic {
    Largest,
    Smallest,
    Mean,
    Median,
}

/// A statistic of the `lengths` elements next to the border, all by default.
pub(crate) fn filled(
    x: &Tensor,
    widths: &Widths,
    kind: Statistic,
    lengths: Option<&[i64]>,
) -> Result<Tensor> {
    if let Some(n) = lengths.and_then(|all| all.iter().find(|&&n| n < 1)) {
        return Err(bad(format!("stat_length {n}"), "give at least 1"));
    }
    framed(x, widths, |x, axis, side, width| {
        let size = x.shape()[axis];
        let n = lengths.map_or(size, |all| (all[2 * axis + side] as usize).min(size));
        let near = slice_axis(x, axis, if side == 0 { 0 } else { size - n }, 1, n)?;
        let value = match kind {
            Statistic::Largest => extreme_over(Reduction::Max, "max", &near, &[axis])?,
            Statistic::Smallest => extreme_over(Reduction::Min, "min", &near, &[axis])?,
            Statistic::Mean => whole(x, mean_over(&near, &[axis], true)?)?,
            Statistic::Median => whole(x, median(&near, Axes::from(axis as isize), true)?)?,
        };
        let mut dims = ShapeVec::from_slice(x.shape());
        dims[axis] = width;
        broadcast_to(&value, &dims)
    })
}

/// Rounded if `x` holds integers.
fn whole(x: &Tensor, value: Tensor) -> Result<Tensor> {
    if holds_integers(x) { rint(&value) } else { Ok(value) }
}

/// Whether NumPy rounds what it computes for `x`: not for booleans, where anything but 0 is true.
fn holds_integers(x: &Tensor) -> bool {
    x.dtype().is_integer()
}

/// Reflected about the edge (or the border, if `shared`) and turned upside down there.
pub(crate) fn turned(x: &Tensor, widths: &Widths, shared: bool) -> Result<Tensor> {
    framed(x, widths, |x, axis, side, width| {
        let (size, skip) = (x.shape()[axis], usize::from(!shared));
        if width + skip > size {
            return Err(bad(
                format!("a width of {width} on axis {axis} of size {size}"),
                "reflect_type=\"odd\" turns each element once: give a smaller width",
            ));
        }
        let start = if side == 0 { skip } else { size - skip - width };
        let near = reverse_axis(&slice_axis(x, axis, start, 1, width)?, axis)?;
        let twice = binary_scalar(&MULTIPLY, &edge(x, axis, side)?, Scalar::Int(2))?;
        binary(&SUBTRACT, &twice, &near)
    })
}
