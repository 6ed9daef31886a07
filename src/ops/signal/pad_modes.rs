//! Modes of NumPy's `pad` that compute the border: linear ramps, statistics, odd reflections.
//!
//! Compositions, one axis after the other. Invariant: a later axis sees what earlier ones added, as
//! in NumPy.

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

fn argument_error(what: String, remedy: &str) -> Box<Error> {
    Box::new(Error::Argument { op: "pad".into(), what, remedy: remedy.into() })
}

/// Pads each axis in turn with `border(padded so far, axis, side, width)`.
fn pad_axes(
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
            return Err(argument_error(what, "use mode=\"constant\""));
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

/// The outermost slice of a side, keeping the axis.
fn edge_slice(x: &Tensor, axis: usize, side: usize) -> Result<Tensor> {
    slice_axis(x, axis, if side == 0 { 0 } else { x.shape()[axis] - 1 }, 1, 1)
}

/// Pads with linear ramps from the edges to `ends`, of shape `(axes, 2)`.
pub(crate) fn pad_ramp(x: &Tensor, widths: &Widths, ends: &Tensor) -> Result<Tensor> {
    let wide = x.dtype().promote(DType::F64);
    pad_axes(x, widths, |x, axis, side, width| {
        let at =
            [ViewStep::Select { axis: 0, index: axis }, ViewStep::Select { axis: 0, index: side }];
        let end = astype(&view_through(ends, "pad", at)?, wide)?;
        let adjacent = astype(&edge_slice(x, axis, side)?, wide)?;
        let mut dims = ShapeVec::from_elem(1, x.ndim());
        dims[axis] = width;
        let shares: Vec<f64> = (0..width)
            .map(|i| (if side == 0 { i } else { width - 1 - i }) as f64 / width as f64)
            .collect();
        let shares = reshape_dims(&Tensor::from(shares), &dims)?;
        let rise = binary(&MULTIPLY, &binary(&SUBTRACT, &adjacent, &end)?, &shares)?;
        let line = binary(&ADD, &rise, &end)?;
        if rounds(x) { floor(&line) } else { Ok(line) }
    })
}

/// The statistic that fills a border.
#[derive(Clone, Copy)]
pub(crate) enum Statistic {
    Largest,
    Smallest,
    Mean,
    Median,
}

/// Pads with a statistic of the `lengths` elements next to the border, all by default.
pub(crate) fn pad_statistic(
    x: &Tensor,
    widths: &Widths,
    kind: Statistic,
    lengths: Option<&[i64]>,
) -> Result<Tensor> {
    if let Some(n) = lengths.and_then(|all| all.iter().find(|&&n| n < 1)) {
        return Err(argument_error(format!("stat_length {n}"), "give at least 1"));
    }
    pad_axes(x, widths, |x, axis, side, width| {
        let size = x.shape()[axis];
        let n = lengths.map_or(size, |all| (all[2 * axis + side] as usize).min(size));
        let adjacent = slice_axis(x, axis, if side == 0 { 0 } else { size - n }, 1, n)?;
        let value = match kind {
            Statistic::Largest => extreme_over(Reduction::Max, "max", &adjacent, &[axis])?,
            Statistic::Smallest => extreme_over(Reduction::Min, "min", &adjacent, &[axis])?,
            Statistic::Mean => round_like(x, mean_over(&adjacent, &[axis], true)?)?,
            Statistic::Median => {
                round_like(x, median(&adjacent, Axes::from(axis as isize), true)?)?
            }
        };
        let mut dims = ShapeVec::from_slice(x.shape());
        dims[axis] = width;
        broadcast_to(&value, &dims)
    })
}

/// Rounds if `x` has an integer dtype.
fn round_like(x: &Tensor, value: Tensor) -> Result<Tensor> {
    if rounds(x) { rint(&value) } else { Ok(value) }
}

/// Whether NumPy rounds the border: for integers, not for booleans, where anything but 0 is true.
fn rounds(x: &Tensor) -> bool {
    x.dtype().is_integer()
}

/// Pads with the reflection at the edge (or at the border, if `shared`), negated about the edge
/// value.
pub(crate) fn pad_odd_reflect(x: &Tensor, widths: &Widths, shared: bool) -> Result<Tensor> {
    pad_axes(x, widths, |x, axis, side, width| {
        let (size, skip) = (x.shape()[axis], usize::from(!shared));
        if width + skip > size {
            return Err(argument_error(
                format!("a width of {width} on axis {axis} of size {size}"),
                "reflect_type=\"odd\" turns each element once: give a smaller width",
            ));
        }
        let start = if side == 0 { skip } else { size - skip - width };
        let adjacent = reverse_axis(&slice_axis(x, axis, start, 1, width)?, axis)?;
        let twice = binary_scalar(&MULTIPLY, &edge_slice(x, axis, side)?, Scalar::Int(2))?;
        binary(&SUBTRACT, &twice, &adjacent)
    })
}
