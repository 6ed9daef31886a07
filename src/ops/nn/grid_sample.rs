//! Sampling between elements: `grid_sample` for images and volumes, `interpolate_axis` for
//! resizing.
//!
//! The elements around each point and their weights are computed here, the sums in
//! `weighted_gather.rs`. Invariant: weights are polynomials of the fractional coordinates, so every
//! derivative is one too.

use smallvec::smallvec;

use super::weighted_gather;
use super::window_geometry::{argument_error, shape_error};
use crate::array::{ShapeVec, afford, normalize_axis};
use crate::dtype::DType;
use crate::error::{Dims, Result};
use crate::kernels::grid_points;
use crate::kernels::grid_points::{GridGeometry, PaddingMode};
use crate::ops::core::broadcast::{as_real_float, astype, reshape_dims, sum_over, swap_axes};
use crate::ops::core::elementwise::{binary, binary_scalar};
use crate::ops::core::op_decl::Scalar;
use crate::ops::core::structured::{NodeSpec, Save, move_cost, record_output};
use crate::ops::core::view::slice_axis;
use crate::ops::elementwise::arithmetic::MULTIPLY;
use crate::ops::shape::join::join;
use crate::tensor::Tensor;

/// The elements around the places of a grid (N, P, axes), (N, taps, P), and their weights, which follow the grid.
fn corners(lattice: &GridGeometry, grid: &Tensor) -> Result<(Tensor, Tensor)> {
    let grid = grid.contiguous()?;
    let dims = [grid.shape()[0], lattice.taps(), grid.shape()[1]];
    let (indices, w) = (Tensor::empty(&dims, DType::I64)?, Tensor::empty(&dims, grid.dtype())?);
    grid_points::corner_weights(lattice, grid.view_of(), indices.view_mut(), w.view_mut());
    if lattice.nearest {
        return Ok((indices, w));
    }
    let w = record_output(w, &[&grid], |w| NodeSpec {
        name: "grid_weights",
        cost: 2.0 * move_cost(w),
        params: *lattice,
        saved: smallvec![Save::input(0, &[0])],
        backward: |lattice, g, cx| {
            let grid = cx.saved(0)?;
            cx.give_with(0, |cx| {
                if cx.create_graph() || !cx.batch().is_empty() {
                    return composed_grid_gradient(lattice, &grid, &g);
                }
                let (g, out) = (g.contiguous()?, Tensor::empty(grid.shape(), grid.dtype())?);
                grid_points::corner_slopes(lattice, grid.view_of(), g.view_of(), out.view_mut());
                Ok(out)
            })
        },
    })?;
    Ok((indices, w))
}

/// One index of an axis, as a slice.
#[cold]
fn slice_one(x: &Tensor, axis: usize, at: usize) -> Result<Tensor> {
    slice_axis(x, axis, at, 1, 1)
}

#[cold]
fn multiply(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    binary(&MULTIPLY, a, b)
}

/// The lattice of one axis, and the grid's coordinates along it, (N, P, 1).
#[cold]
fn single_axis(
    lattice: &GridGeometry,
    grid: &Tensor,
    axis: usize,
) -> Result<(GridGeometry, Tensor)> {
    let own = GridGeometry { axes: 1, sizes: [lattice.sizes[axis], 1, 1], ..*lattice };
    Ok((own, slice_one(grid, 2, lattice.axes - 1 - axis)?.contiguous()?))
}

/// The derivative of the fractional coordinate with respect to the grid along an axis, (N, 1, P):
/// constants.
#[cold]
fn coordinate_slopes(lattice: &GridGeometry, grid: &Tensor, axis: usize) -> Result<Tensor> {
    let (own, grid) = single_axis(lattice, grid, axis)?;
    let dims = [grid.shape()[0], 1, grid.shape()[1]];
    let (zero, one) = (Tensor::zeros(&dims, grid.dtype())?, Tensor::ones(&dims, grid.dtype())?);
    let (next, slope) = (join(&[zero, one], 1)?, Tensor::empty(grid.shape(), grid.dtype())?);
    grid_points::corner_slopes(&own, grid.view_of(), next.view_of(), slope.view_mut());
    reshape_dims(&slope, &dims)
}

/// The gradient of the grid in recorded operations, for a gradient (…, N, corners, P) of the
/// weights. Weights are products of per-axis weights, each linear in its coordinate.
#[cold]
#[inline(never)]
fn composed_grid_gradient(lattice: &GridGeometry, grid: &Tensor, g: &Tensor) -> Result<Tensor> {
    let (axes, taps) = (lattice.axes, g.ndim() - 2);
    let mut lines = Vec::new();
    for axis in (0..axes).filter(|_| axes > 1) {
        let (own, grid) = single_axis(lattice, grid, axis)?;
        lines.push(corners(&own, &grid)?.1);
    }
    let mut parts = Vec::with_capacity(axes);
    for axis in (0..axes).rev() {
        let mut corner_terms = Vec::with_capacity(lattice.taps());
        // Both signs; the first is for the lower element.
        let slope = coordinate_slopes(lattice, grid, axis)?;
        let signed = [binary_scalar(&MULTIPLY, &slope, Scalar::Int(-1))?, slope];
        for corner in 0..lattice.taps() {
            let bit = |axis: usize| (corner >> axis) & 1;
            let mut share = multiply(&slice_one(g, taps, corner)?, &signed[bit(axis)])?;
            for other in (0..axes).filter(|&other| other != axis) {
                share = multiply(&share, &slice_one(&lines[other], 1, bit(other))?)?;
            }
            corner_terms.push(share);
        }
        parts.push(sum_over(&join(&corner_terms, taps)?, &[taps], true)?);
    }
    swap_axes(&join(&parts, taps)?, taps, taps + 1)
}

/// The lattice of an image (N, C, …) for a grid (N, …, axes).
fn lattice_of(
    op: &'static str,
    x: &Tensor,
    grid: &Tensor,
    (mode, padding): (&str, &str),
    corners: bool,
) -> Result<GridGeometry> {
    let axes = x.ndim().wrapping_sub(2);
    if !matches!(axes, 2 | 3)
        || grid.ndim() != x.ndim()
        || grid.shape()[0] != x.shape()[0]
        || grid.shape()[axes + 1] != axes
    {
        let (x, grid) = (Dims::from(x.shape()), Dims::from(grid.shape()));
        let what = format!("an input of shape {x} and a grid of shape {grid}");
        let remedy = "give (N, C, H, W) and (N, h, w, 2), or (N, C, D, H, W) and (N, d, h, w, 3)";
        return Err(shape_error(op, what, remedy));
    }
    let outside = match padding {
        "zeros" => Some(PaddingMode::Zeros),
        "border" => Some(PaddingMode::Border),
        "reflection" => Some(PaddingMode::Reflection),
        _ => None,
    };
    match outside.filter(|_| matches!(mode, "bilinear" | "nearest")) {
        Some(outside) => Ok(GridGeometry {
            axes,
            sizes: [0, 1, 2].map(|axis| *x.shape().get(axis + 2).unwrap_or(&1)),
            padding: outside,
            align_corners: corners,
            nearest: mode == "nearest",
        }),
        None => Err(argument_error(
            op,
            format!("mode={mode:?} and padding_mode={padding:?}"),
            "use the mode \"bilinear\" or \"nearest\", and pad with \"zeros\", \"border\" or \"reflection\"",
        )),
    }
}

/// Interpolation mode.
#[derive(Clone, Copy, PartialEq)]
enum Interpolation {
    /// Nearest: the lower element, or if exact, the nearest.
    Nearest(bool),
    Linear,
    Cubic,
}

impl Interpolation {
    fn from_name(name: &str) -> Option<Interpolation> {
        match name {
            "nearest" => Some(Interpolation::Nearest(false)),
            "nearest-exact" => Some(Interpolation::Nearest(true)),
            "linear" => Some(Interpolation::Linear),
            "cubic" => Some(Interpolation::Cubic),
            _ => None,
        }
    }

    /// Number of elements that contribute to a point.
    fn taps(self) -> usize {
        match self {
            Interpolation::Nearest(_) => 1,
            Interpolation::Linear => 2,
            Interpolation::Cubic => 4,
        }
    }
}

/// The indices of the elements around each point of the resized axis, and their weights, (taps,
/// points).
fn interpolation_taps(
    old: usize,
    new: usize,
    scale: f64,
    corners: bool,
    interpolation: Interpolation,
) -> (Vec<i64>, Vec<f64>) {
    let (last, taps) = (old as i64 - 1, interpolation.taps());
    let step = if new > 1 { last as f64 / (new as f64 - 1.0) } else { 0.0 };
    let (mut numbers, mut weights_out) = (vec![0; taps * new], vec![1.0; taps * new]);
    for i in 0..new {
        let place = if corners { i as f64 * step } else { (i as f64 + 0.5) * scale - 0.5 };
        let (first, weights) = match interpolation {
            Interpolation::Nearest(exact) => {
                // PyTorch computes these positions in single precision, which decides some of them.
                let start = if exact { 0.5 } else { 0.0 };
                (((i as f32 + start) * scale as f32).floor() as i64, [1.0; 4])
            }
            Interpolation::Linear => {
                let place = place.max(0.0);
                let below = (place.floor() as i64).min(last);
                let t = place - below as f64;
                (below, [1.0 - t, t, 0.0, 0.0])
            }
            Interpolation::Cubic => {
                (place.floor() as i64 - 1, cubic_weights(place - place.floor()))
            }
        };
        for (k, &weight) in weights[..taps].iter().enumerate() {
            numbers[k * new + i] = first.saturating_add(k as i64).clamp(0, last);
            weights_out[k * new + i] = weight;
        }
    }
    (numbers, weights_out)
}

/// Cubic convolution weights with a = -0.75 (Keys, 1981).
fn cubic_weights(t: f64) -> [f64; 4] {
    let a = -0.75;
    let near = |d: f64| ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0;
    let far = |d: f64| ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a;
    [far(1.0 + t), near(t), near(1.0 - t), far(2.0 - t)]
}

crate::operations! { family "sampling" [float32];
    /// Images (N, C, H, W) at the places of a grid (N, h, w, 2), from -1 to 1 along each axis, the last axis first; volumes with a grid (N, d, h, w, 3). Outside there are zeros, the nearest element ("border") or the mirrored image ("reflection"). Derivatives: by the image, the weights of `g`; by the grid, the slopes between elements.
    [namespace("nn.functional")]
    fn grid_sample(x: Tensor, grid: Tensor, mode: String = "bilinear".to_owned(), padding_mode: String = "zeros".to_owned(), align_corners: Option<bool> = None) -> Tensor {
        let op = "grid_sample";
        let (x, grid) = (as_real_float(op, x)?, as_real_float(op, grid)?);
        let dtype = x.dtype().promote(grid.dtype());
        let (x, grid) = (astype(&x, dtype)?, astype(&grid, dtype)?);
        let lattice = lattice_of(op, &x, &grid, (&mode, &padding_mode), align_corners.unwrap_or(false))?;
        let axes = lattice.axes;
        let count = grid.shape()[1..=axes].iter().product();
        let (indices, w) = corners(&lattice, &reshape_dims(&grid, &[grid.shape()[0], count, axes])?)?;
        let flat = reshape_dims(&x, &[x.shape()[0], x.shape()[1], lattice.sizes[..axes].iter().product(), 1])?;
        let mut dims = ShapeVec::from_slice(&x.shape()[..2]);
        dims.extend_from_slice(&grid.shape()[1..=axes]);
        reshape_dims(&weighted_gather::gather(&flat, &indices, &w)?, &dims)
    }
    /// One axis with `size` elements, each `scale` of the old ones wide: the nearest of these ("nearest", or "nearest-exact" from the middle), lines between them ("linear") or cubic convolution ("cubic"); with `align_corners` the first and last elements keep their places. Derivative: the transposed weights of `g`.
    [namespace("nn.functional")]
    fn interpolate_axis(x: Tensor, axis: isize, size: isize, scale: f64, mode: String = "linear".to_owned(), align_corners: bool = false) -> Tensor {
        let op = "interpolate_axis";
        let x = as_real_float(op, x)?;
        let axis = normalize_axis(op, axis, x.ndim())?;
        let (old, Ok(new @ 1..)) = (x.shape()[axis], usize::try_from(size)) else {
            return Err(argument_error(op, format!("size={size}"), "give at least 1"));
        };
        let (Some(interpolation), 1.., true) = (Interpolation::from_name(&mode), old, scale.is_finite()) else {
            let what = format!("an axis of {old} elements, mode={mode:?} and scale={scale}");
            return Err(argument_error(op, what, "give elements, a number, and \"nearest\", \"nearest-exact\", \"linear\" or \"cubic\""));
        };
        afford(new.saturating_mul(interpolation.taps() * 16))?;
        let (numbers, weights_out) = interpolation_taps(old, new, scale, align_corners, interpolation);
        let dims = [1, interpolation.taps(), new];
        let numbers = Tensor::from_vec::<i64>(numbers, &dims)?;
        let w = astype(&Tensor::from_vec::<f64>(weights_out, &dims)?, x.dtype())?;
        let (outer, inner) = (x.shape()[..axis].iter().product(), x.shape()[axis + 1..].iter().product());
        let sampled = weighted_gather::gather(&reshape_dims(&x, &[1, outer, old, inner])?, &numbers, &w)?;
        let mut dims = ShapeVec::from_slice(x.shape());
        dims[axis] = new;
        reshape_dims(&sampled, &dims)
    }
}
