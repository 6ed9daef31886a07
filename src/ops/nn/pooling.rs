//! Max pooling and average pooling.
//!
//! Four recorded operations, each the derivative of its partner. The padding has no elements: a
//! window at the border is smaller. Invariant: positions of maxima are constants; planes are
//! contiguous.

use smallvec::{SmallVec, smallvec};

use super::window_geometry::{
    ConvParams, argument_error, shape_error, spatial_pair, spatial_planes,
};
use crate::dtype::DType;
use crate::error::{Dims, Result};
use crate::kernels::convolution::Geometry;
use crate::kernels::pooling;
use crate::ops::core::arguments::OneOrTuple;
use crate::ops::core::broadcast::{as_real_float, astype, broadcast_to, reshape_dims};
use crate::ops::core::elementwise::binary;
use crate::ops::core::op_decl::Ints;
use crate::ops::core::structured::{NodeSpec, Save, edges_of, move_cost, record_output, save_none};
use crate::ops::core::view::slice_axis;
use crate::ops::elementwise::arithmetic::MULTIPLY;
use crate::ops::reduce::reductions::mean_over;
use crate::ops::shape::join::concatenate;
use crate::tensor::Tensor;

fn image_dims(g: &Geometry) -> [usize; 3] {
    [g.batch, g.image[0], g.image[1]]
}

fn result_dims(g: &Geometry) -> [usize; 3] {
    [g.batch, g.result[0], g.result[1]]
}

fn cost(g: &Geometry) -> f32 {
    100.0 + (g.batch * g.result[0] * g.result[1] * g.kernel[0] * g.kernel[1]) as f32
}

/// Runs an operation on planes with a leading batch axis of gradients, merged into the planes.
fn with_batch(
    g: &Geometry,
    x: &Tensor,
    one: impl FnOnce(&Geometry, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let (front, planes) = (x.shape()[0], x.shape()[0] * g.batch);
    let flat = reshape_dims(x, &[planes, x.shape()[2], x.shape()[3]])?;
    let out = one(&Geometry { batch: planes, ..*g }, &flat)?;
    reshape_dims(&out, &[front, g.batch, out.shape()[1], out.shape()[2]])
}

/// Repeats positions for every item of a batch.
fn repeat_positions(positions: &Tensor, g: &Geometry) -> Result<Tensor> {
    let [planes, rows, columns] = result_dims(g);
    let front = planes / positions.shape()[0].max(1);
    let all = broadcast_to(positions, &[front, positions.shape()[0], rows, columns])?;
    reshape_dims(&all, &[planes, rows, columns])?.contiguous()
}

/// The elements at given positions.
fn take_at(g: &Geometry, x: &Tensor, positions: &Tensor) -> Result<Tensor> {
    if x.ndim() > 3 {
        return with_batch(g, x, |g, x| take_at(g, x, &repeat_positions(positions, g)?));
    }
    let x = x.contiguous()?;
    let out = Tensor::empty(&result_dims(g), x.dtype())?;
    pooling::take(g, x.view_of(), positions.view_of(), out.view_mut());
    record_take(g, &x, positions, out)
}

fn record_take(g: &Geometry, x: &Tensor, positions: &Tensor, out: Tensor) -> Result<Tensor> {
    record_output(out, &[x], |_| NodeSpec {
        name: "max_pool2d",
        cost: move_cost(x),
        params: *g,
        saved: smallvec![Save::value(positions, &[0])],
        backward: |g, gy, cx| cx.give_with(0, |cx| put_at(g, &gy, &cx.saved(0)?)),
    })
}

/// Adds elements at given positions: the adjoint of `take_at`.
fn put_at(g: &Geometry, y: &Tensor, positions: &Tensor) -> Result<Tensor> {
    if y.ndim() > 3 {
        return with_batch(g, y, |g, y| put_at(g, y, &repeat_positions(positions, g)?));
    }
    let y = y.contiguous()?;
    let out = Tensor::zeros(&image_dims(g), y.dtype())?;
    pooling::scatter_add(g, y.view_of(), positions.view_of(), out.view_mut());
    record_output(out, &[&y], |_| NodeSpec {
        name: "max_unpool2d",
        cost: move_cost(&y),
        params: *g,
        saved: smallvec![Save::value(positions, &[0])],
        backward: |g, gx, cx| cx.give_with(0, |cx| take_at(g, &gx, &cx.saved(0)?)),
    })
}

/// The sums of windows.
fn window_sums(g: &Geometry, x: &Tensor) -> Result<Tensor> {
    if x.ndim() > 3 {
        return with_batch(g, x, window_sums);
    }
    let x = x.contiguous()?;
    let out = Tensor::empty(&result_dims(g), x.dtype())?;
    if x.size() == 0 {
        return Tensor::zeros(&result_dims(g), x.dtype());
    }
    pooling::window_sums(g, x.view_of(), out.view_mut());
    record_output(out, &[&x], |_| NodeSpec {
        name: "avg_pool2d",
        cost: cost(g),
        params: *g,
        saved: save_none(),
        backward: |g, gy, cx| cx.give_with(0, |_| window_spread(g, &gy)),
    })
}

/// Adds each element to all elements of its window: the adjoint of `window_sums`.
fn window_spread(g: &Geometry, y: &Tensor) -> Result<Tensor> {
    if y.ndim() > 3 {
        return with_batch(g, y, window_spread);
    }
    let y = y.contiguous()?;
    let out = Tensor::zeros(&image_dims(g), y.dtype())?;
    pooling::add_to_windows(g, y.view_of(), out.view_mut());
    record_output(out, &[&y], |_| NodeSpec {
        name: "avg_unpool2d",
        cost: cost(g),
        params: *g,
        saved: save_none(),
        backward: |g, gx, cx| cx.give_with(0, |_| window_sums(g, &gx)),
    })
}

/// The arguments of a pooling operation, apart from the input.
struct PoolingArgs<'a> {
    op: &'static str,
    axes: usize,
    kernel: &'a Ints,
    stride: Option<&'a Ints>,
    padding: &'a Ints,
    dilation: &'a Ints,
    ceil_mode: bool,
}

/// The planes of an input, the window geometry, and the shape of the result.
fn prepare(x: &Tensor, call: &PoolingArgs<'_>) -> Result<(Tensor, Geometry, Vec<usize>)> {
    let op = call.op;
    let x = as_real_float(op, x)?;
    let (mut dims, batch, image) = spatial_planes(op, &x, call.axes)?;
    let kernel = spatial_pair(op, "kernel_size", call.kernel, call.axes, 1, 1)?;
    let params = ConvParams::of(
        op,
        call.axes,
        call.stride.unwrap_or(call.kernel),
        call.padding,
        call.dilation,
    )?;
    if (0..2).any(|a| params.padding[a] > kernel[a] / 2) {
        return Err(argument_error(
            op,
            format!("padding {:?} for windows of {kernel:?}", params.padding),
            "pad by at most half the window",
        ));
    }
    let steps =
        |axis: usize| params.output_size(op, axis, image[axis], kernel[axis], call.ceil_mode);
    let result = [steps(0)?, steps(1)?];
    dims.extend(&result[2 - call.axes..]);
    let geometry = Geometry {
        batch,
        channels: [1, 1],
        image,
        kernel,
        result,
        stride: params.stride,
        padding: params.padding,
        dilation: params.dilation,
        groups: 1,
    };
    Ok((reshape_dims(&x, &image_dims(&geometry))?, geometry, dims))
}

fn max_pool(x: &Tensor, call: &PoolingArgs<'_>, indices: bool) -> Result<OneOrTuple> {
    let (x, g, dims) = prepare(x, call)?;
    let x = x.contiguous()?;
    let out = Tensor::empty(&result_dims(&g), x.dtype())?;
    if g.image.contains(&0) && out.size() > 0 {
        return Err(shape_error(
            call.op,
            "windows without elements".into(),
            "give images with elements",
        ));
    }
    if !indices && edges_of(&[&x]).is_none() {
        // Nobody asks where they are.
        pooling::max_pool_values(&g, x.view_of(), out.view_mut());
        return Ok(OneOrTuple::One(reshape_dims(&out, &dims)?.unrecorded([&x].into_iter())));
    }
    let positions = Tensor::empty(&result_dims(&g), DType::I64)?;
    pooling::max_pool(&g, x.view_of(), out.view_mut(), positions.view_mut());
    let largest = reshape_dims(&record_take(&g, &x, &positions, out)?, &dims)?;
    Ok(if indices {
        OneOrTuple::Tuple(vec![largest, reshape_dims(&positions, &dims)?])
    } else {
        OneOrTuple::One(largest)
    })
}

/// The number of elements of the window at each position of an axis.
fn window_counts(g: &Geometry, axis: usize, with_padding: bool) -> Vec<usize> {
    let (padding, image) = (g.padding[axis], g.image[axis]);
    let span = |at: usize| {
        let (start, end) = (at * g.stride[axis], at * g.stride[axis] + g.kernel[axis]);
        if with_padding {
            end.min(image + 2 * padding) - start
        } else {
            end.min(image + padding).saturating_sub(start.max(padding))
        }
    };
    (0..g.result[axis]).map(span).collect()
}

/// The factors that turn window sums into means, (rows, columns).
fn mean_factors(g: &Geometry, with_padding: bool, divisor: Option<f64>) -> Result<Tensor> {
    let (rows, columns) = (window_counts(g, 0, with_padding), window_counts(g, 1, with_padding));
    let share = |n: usize| {
        if n == 0 { 0.0 } else { 1.0 / divisor.unwrap_or(n as f64) }
    };
    let all = rows.iter().flat_map(|r| columns.iter().map(move |c| share(r * c))).collect();
    Tensor::from_vec::<f64>(all, &g.result)
}

/// Adaptive average pooling along an axis: window sizes differ by at most one.
fn adaptive_mean(x: &Tensor, axis: usize, size: usize) -> Result<Tensor> {
    let n = x.shape()[axis];
    if size == n {
        return Ok(x.clone());
    }
    let mut parts = Vec::with_capacity(size);
    for i in 0..size {
        let (start, end) = (i * n / size, ((i + 1) * n).div_ceil(size));
        parts.push(mean_over(&slice_axis(x, axis, start, 1, end - start)?, &[axis], true)?);
    }
    concatenate(&parts, Some(axis as isize))
}

fn int(value: i64) -> Ints {
    SmallVec::from_slice(&[value])
}

crate::operations! { family "pooling" [float32];
    /// Largest element of windows along the last axis; stride is the window's size unless given; with return_indices also the place of each in its plane. Derivative: `g` to the largest, the first of equals.
    [namespace("nn.functional")]
    fn max_pool1d(x: Tensor, kernel_size: Ints, stride: Option<Ints> = None, padding: Ints = int(0), dilation: Ints = int(1), ceil_mode: bool = false, return_indices: bool = false) -> OneOrTuple {
        max_pool(x, &PoolingArgs { op: "max_pool1d", axes: 1, kernel: &kernel_size, stride: stride.as_ref(), padding: &padding, dilation: &dilation, ceil_mode }, return_indices)
    }
    /// Largest element of windows over the last two axes; stride is the window's size unless given; with return_indices also the place of each in its plane. Derivative: `g` to the largest, the first of equals.
    [namespace("nn.functional")]
    fn max_pool2d(x: Tensor, kernel_size: Ints, stride: Option<Ints> = None, padding: Ints = int(0), dilation: Ints = int(1), ceil_mode: bool = false, return_indices: bool = false) -> OneOrTuple {
        max_pool(x, &PoolingArgs { op: "max_pool2d", axes: 2, kernel: &kernel_size, stride: stride.as_ref(), padding: &padding, dilation: &dilation, ceil_mode }, return_indices)
    }
    /// Mean of windows over the last two axes, with the padding as zeros unless count_include_pad=False, or the sum over `divisor_override`; stride is the window's size unless given. Derivative: `g` shared by the window.
    [namespace("nn.functional")]
    fn avg_pool2d(x: Tensor, kernel_size: Ints, stride: Option<Ints> = None, padding: Ints = int(0), ceil_mode: bool = false, count_include_pad: bool = true, divisor_override: Option<f64> = None) -> Tensor {
        if divisor_override == Some(0.0) {
            return Err(argument_error("avg_pool2d", "divisor_override=0".into(), "give another number"));
        }
        let call = PoolingArgs { op: "avg_pool2d", axes: 2, kernel: &kernel_size, stride: stride.as_ref(), padding: &padding, dilation: &int(1), ceil_mode };
        let (x, g, dims) = prepare(x, &call)?;
        let mean_factors = astype(&mean_factors(&g, count_include_pad, divisor_override)?, x.dtype())?;
        reshape_dims(&binary(&MULTIPLY, &window_sums(&g, &x)?, &mean_factors)?, &dims)
    }
    /// Means of the windows that divide the last two axes into `output_size` parts. Derivative: `g` shared by the window.
    [namespace("nn.functional"), core_function("_adaptive_avg_pool2d")]
    fn adaptive_avg_pool2d(x: Tensor, output_size: Ints) -> Tensor {
        let op = "adaptive_avg_pool2d";
        let x = as_real_float(op, x)?;
        let (_, _, image) = spatial_planes(op, &x, 2)?;
        let size = spatial_pair(op, "output_size", &output_size, 2, 1, 1)?;
        if (0..2).any(|a| image[a] == 0 || size[a] > 1 << 24) {
            return Err(shape_error(op, format!("input of shape {} for {size:?}", Dims::from(x.shape())), "give images with elements, and a size that fits memory"));
        }
        if image == size {
            return x.copied(op);
        }
        adaptive_mean(&adaptive_mean(&x, x.ndim() - 2, size[0])?, x.ndim() - 1, size[1])
    }
}
