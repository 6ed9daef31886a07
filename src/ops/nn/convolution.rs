//! Convolution of sequences and images, and transposed convolution.
//!
//! Three recorded operations (convolution, transposed convolution, weight correlation), each the
//! derivative of the other two, so that every order follows. Invariant: kernel operands are
//! contiguous, of one float dtype, and match the geometry.

use smallvec::{SmallVec, smallvec};

use super::window_geometry::{
    ConvParams, argument_error, convolution_geometry, dilated_extent, shape_error, spatial_pair,
};
use crate::error::{Dims, Result};
use crate::kernels::convolution::{self, Geometry};
use crate::ops::core::arguments::Padding;
use crate::ops::core::broadcast::{astype, real_float, reshape_dims, sum_over};
use crate::ops::core::elementwise::binary;
use crate::ops::core::op_decl::Ints;
use crate::ops::core::structured::{NodeSpec, Save, from_end, record_output};
use crate::ops::core::view::{ViewStep, view_through};
use crate::ops::elementwise::arithmetic::ADD;
use crate::ops::shape::join::join;
use crate::tensor::Tensor;

/// Estimated nanoseconds of one convolution.
fn cost(g: &Geometry) -> f32 {
    let depth = g.channels[0] / g.groups * g.kernel[0] * g.kernel[1];
    200.0 + (g.batch * g.channels[1] * g.result[0] * g.result[1]) as f32 * depth as f32 / 20.0
}

fn image_dims(g: &Geometry) -> [usize; 4] {
    [g.batch, g.channels[0], g.image[0], g.image[1]]
}

fn kernel_dims(g: &Geometry) -> [usize; 4] {
    [g.channels[1], g.channels[0] / g.groups, g.kernel[0], g.kernel[1]]
}

fn result_dims(g: &Geometry) -> [usize; 4] {
    [g.batch, g.channels[1], g.result[0], g.result[1]]
}

/// Runs an operation on images (or results) and kernels where one has a leading batch axis of
/// gradients: batches of images are merged into one, sets of kernels are processed one by one.
fn with_batch(
    g: &Geometry,
    x: &Tensor,
    w: &Tensor,
    one: impl Fn(&Geometry, &Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    if w.ndim() > 4 {
        return map_batch_items(x, w, |x, w| one(g, x, w));
    }
    let (front, all) = x.shape().split_at(2);
    let images = front[0] * front[1];
    let flat = reshape_dims(x, &[&[images][..], all].concat())?;
    let out = one(&Geometry { batch: images, ..*g }, &flat, w)?;
    reshape_dims(&out, &[front, &out.shape()[1..]].concat())
}

/// Runs `one` on each item of two operands, of which at least one has a leading batch axis.
fn map_batch_items(
    a: &Tensor,
    b: &Tensor,
    one: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let part = |x: &Tensor, index: usize| {
        if x.ndim() > 4 {
            view_through(x, "row", [ViewStep::Select { axis: 0, index }])
        } else {
            Ok(x.clone())
        }
    };
    let count = if a.ndim() > 4 { a.shape()[0] } else { b.shape()[0] };
    let rows: Result<Vec<Tensor>> = (0..count)
        .map(|k| {
            let row = one(&part(a, k)?, &part(b, k)?)?;
            reshape_dims(&row, &[&[1][..], row.shape()].concat())
        })
        .collect();
    join(&rows?, 0)
}

/// The convolution of images with kernels, recorded.
fn convolve(g: &Geometry, x: &Tensor, w: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    if x.ndim() > 4 || w.ndim() > 4 {
        return with_batch(g, x, w, |g, x, w| convolve(g, x, w, bias));
    }
    let (x, w) = (x.contiguous()?, w.contiguous()?);
    let bias = bias.map(|b| b.contiguous()).transpose()?;
    let out = Tensor::empty(&result_dims(g), x.dtype())?;
    convolution::convolve(
        g,
        x.view_of(),
        w.view_of(),
        bias.as_ref().map(|b| b.view_of()),
        out.view_mut(),
    )?;
    let mut inputs: SmallVec<[&Tensor; 3]> = smallvec![&x, &w];
    inputs.extend(&bias);
    record_output(out, &inputs, |_| NodeSpec {
        name: "conv2d",
        cost: 2.0 * cost(g),
        params: *g,
        saved: smallvec![Save::input(0, &[1]), Save::input(1, &[0])],
        backward: |g, gy, cx| {
            cx.give_with(0, |cx| convolve_transposed(g, &gy, &cx.saved(1)?))?;
            cx.give_with(1, |cx| correlate(g, &cx.saved(0)?, &gy))?;
            let axes = [4, 2, 1].map(|axis| from_end(&gy, axis));
            cx.give_with(2, |_| sum_over(&gy, &axes, false))
        },
    })
}

/// The transposed convolution: the derivative of `convolve` with respect to the images.
fn convolve_transposed(g: &Geometry, y: &Tensor, w: &Tensor) -> Result<Tensor> {
    if y.ndim() > 4 || w.ndim() > 4 {
        return with_batch(g, y, w, convolve_transposed);
    }
    let (y, w) = (y.contiguous()?, w.contiguous()?);
    let out = Tensor::empty(&image_dims(g), y.dtype())?;
    convolution::convolve_transposed(g, y.view_of(), w.view_of(), out.view_mut())?;
    record_output(out, &[&y, &w], |_| NodeSpec {
        name: "conv_transpose2d",
        cost: 2.0 * cost(g),
        params: *g,
        saved: smallvec![Save::input(0, &[1]), Save::input(1, &[0])],
        backward: |g, gx, cx| {
            cx.give_with(0, |cx| convolve(g, &gx, &cx.saved(1)?, None))?;
            cx.give_with(1, |cx| correlate(g, &gx, &cx.saved(0)?))
        },
    })
}

/// Correlation of images and results: the derivative of `convolve` with respect to the kernels.
fn correlate(g: &Geometry, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    if x.ndim() > 4 || y.ndim() > 4 {
        return map_batch_items(x, y, |x, y| correlate(g, x, y));
    }
    let (x, y) = (x.contiguous()?, y.contiguous()?);
    let out = Tensor::empty(&kernel_dims(g), x.dtype())?;
    convolution::correlate(g, x.view_of(), y.view_of(), out.view_mut())?;
    record_output(out, &[&x, &y], |_| NodeSpec {
        name: "correlate2d",
        cost: 2.0 * cost(g),
        params: *g,
        saved: smallvec![Save::input(0, &[1]), Save::input(1, &[0])],
        backward: |g, gw, cx| {
            cx.give_with(0, |cx| convolve_transposed(g, &cx.saved(1)?, &gw))?;
            cx.give_with(1, |cx| convolve(g, &cx.saved(0)?, &gw, None))
        },
    })
}

/// Input, weight and bias in one float dtype, with a batch axis and two spatial axes.
struct Operands {
    x: Tensor,
    w: Tensor,
    bias: Option<Tensor>,
    /// Whether the input has a batch axis, and its number of spatial axes.
    batched: bool,
    axes: usize,
}

impl Operands {
    fn new(
        op: &'static str,
        x: &Tensor,
        w: &Tensor,
        bias: Option<&Tensor>,
        axes: usize,
    ) -> Result<Operands> {
        let batched = x.ndim() == axes + 2;
        if (!batched && x.ndim() != axes + 1) || w.ndim() != axes + 2 {
            let what = format!(
                "input of shape {} and weight of shape {}",
                Dims::from(x.shape()),
                Dims::from(w.shape())
            );
            return Err(shape_error(
                op,
                what,
                "give input (batch, channels, …) or (channels, …), and a weight of one more axis than that without the batch",
            ));
        }
        let dtype = real_float(op, x.dtype().promote(w.dtype()))?;
        let four = |t: &Tensor, batch: bool| {
            let mut dims = t.shape().to_vec();
            if !batch {
                dims.insert(0, 1);
            }
            if axes == 1 {
                dims.insert(2, 1);
            }
            reshape_dims(&astype(t, dtype)?, &dims)
        };
        let bias = bias.map(|b| astype(b, dtype)).transpose()?;
        Ok(Operands { x: four(x, batched)?, w: four(w, true)?, bias, batched, axes })
    }

    fn check_bias(&self, op: &'static str, channels: usize) -> Result<()> {
        match &self.bias {
            Some(b) if b.shape() != [channels] => Err(shape_error(
                op,
                format!("bias of shape {} for {channels} channels", Dims::from(b.shape())),
                "give one element per channel of the result",
            )),
            _ => Ok(()),
        }
    }

    /// Removes the axes that the input did not have.
    fn restore(&self, out: &Tensor) -> Result<Tensor> {
        let mut dims = out.shape().to_vec();
        if self.axes == 1 {
            dims.remove(2);
        }
        if !self.batched {
            dims.remove(0);
        }
        reshape_dims(out, &dims)
    }
}

/// The widths of a padding; for `"same"`, an extra element at the end of an axis is padded onto the
/// images here.
fn padding_widths(
    op: &'static str,
    operands: &mut Operands,
    axes: usize,
    stride: &Ints,
    padding: &Padding,
    dilation: &Ints,
) -> Result<Ints> {
    let rule = match padding {
        Padding::Widths(given) => return Ok(given.clone()),
        Padding::Rule(rule) if rule == "valid" => return Ok(int(0)),
        Padding::Rule(rule) => rule,
    };
    if rule != "same" || stride.iter().any(|&s| s != 1) {
        return Err(argument_error(
            op,
            format!("padding={rule:?} with stride {:?}", stride.as_slice()),
            "use \"valid\", \"same\" with a stride of 1, or widths",
        ));
    }
    let dilation = spatial_pair(op, "dilation", dilation, axes, 1, 1)?;
    let (mut found, mut ends) = (Ints::new(), Ints::new());
    let kernel = &operands.w.shape()[2..];
    for (&size, &apart) in kernel.iter().zip(&dilation).skip(2 - axes) {
        let all = dilated_extent(size, apart).map_or(0, |r| r - 1);
        found.push((all / 2) as i64);
        ends.insert_many(0, [0, (all % 2) as i64]);
    }
    if ends.iter().any(|&end| end > 0) {
        operands.x = operands.x.pad_(ends, "constant".to_owned(), None)?;
    }
    Ok(found)
}

fn forward(
    op: &'static str,
    mut operands: Operands,
    axes: usize,
    stride: &Ints,
    padding: &Padding,
    dilation: &Ints,
    groups: isize,
) -> Result<Tensor> {
    let padding = padding_widths(op, &mut operands, axes, stride, padding, dilation)?;
    let params = ConvParams::of(op, axes, stride, &padding, dilation)?;
    let geometry =
        convolution_geometry(op, operands.x.shape(), operands.w.shape(), &params, groups)?;
    operands.check_bias(op, geometry.channels[1])?;
    operands.restore(&convolve(&geometry, &operands.x, &operands.w, operands.bias.as_ref())?)
}

/// The geometry of the convolution whose adjoint is this transposed convolution.
fn transposed_geometry(
    op: &'static str,
    operands: &Operands,
    params: &ConvParams,
    more: [usize; 2],
    groups: isize,
) -> Result<Geometry> {
    let (y, w) = (operands.x.shape(), operands.w.shape());
    let size = |axis: usize| {
        let whole = dilated_extent(w[2 + axis], params.dilation[axis]).and_then(|r| {
            y[2 + axis]
                .checked_sub(1)?
                .checked_mul(params.stride[axis])?
                .checked_add(r + more[axis])
        });
        whole.and_then(|n| n.checked_sub(2 * params.padding[axis])).filter(|&n| n > 0).ok_or_else(
            || {
                let what = format!(
                    "input of shape {} with weight of shape {}, padding {}",
                    Dims::from(y),
                    Dims::from(w),
                    params.padding[axis]
                );
                shape_error(op, what, "the result would have no elements; use less padding")
            },
        )
    };
    let count = usize::try_from(groups).ok().filter(|&g| g > 0).unwrap_or(1);
    let image = [y[0], w[1].saturating_mul(count), size(0)?, size(1)?];
    if y[1] != w[0] || (0..2).any(|a| more[a] >= params.stride[a].max(params.dilation[a])) {
        let what = format!(
            "input of {} channels, weight of shape {}, output_padding {more:?}",
            y[1],
            Dims::from(w)
        );
        return Err(shape_error(
            op,
            what,
            "the weight is (in, out / groups, …), and output_padding is less than stride or dilation",
        ));
    }
    let mut geometry = convolution_geometry(op, &image, w, params, groups)?;
    geometry.result = [y[2], y[3]];
    Ok(geometry)
}

fn width(value: i64) -> Padding {
    Padding::Widths(int(value))
}

fn int(value: i64) -> Ints {
    SmallVec::from_slice(&[value])
}

crate::operations! { family "convolution" [float32];
    /// Convolution of sequences (N, C, L) with kernels (O, C / groups, k), as in PyTorch: a cross-correlation; padding may be a rule, `valid` or `same`. Derivatives: `g` spread back through the weight, and the products of `g` with the windows of `x`.
    [namespace("nn.functional")]
    fn conv1d(x: Tensor, weight: Tensor, bias: Option<Tensor> = None, stride: Ints = int(1), padding: Padding = width(0), dilation: Ints = int(1), groups: isize = 1) -> Tensor {
        forward("conv1d", Operands::new("conv1d", x, weight, bias, 1)?, 1, &stride, &padding, &dilation, groups)
    }
    /// Convolution of images (N, C, H, W) with kernels (O, C / groups, kh, kw), as in PyTorch: a cross-correlation; padding may be a rule, `valid` or `same`. Derivatives: `g` spread back through the weight, and the products of `g` with the windows of `x`.
    [namespace("nn.functional")]
    fn conv2d(x: Tensor, weight: Tensor, bias: Option<Tensor> = None, stride: Ints = int(1), padding: Padding = width(0), dilation: Ints = int(1), groups: isize = 1) -> Tensor {
        forward("conv2d", Operands::new("conv2d", x, weight, bias, 2)?, 2, &stride, &padding, &dilation, groups)
    }
    /// Images (N, C, H, W) spread through kernels (C, O / groups, kh, kw): the adjoint of `conv2d`. Derivatives: the convolution of `g`, and the products of the windows of `g` with `x`.
    [namespace("nn.functional")]
    fn conv_transpose2d(x: Tensor, weight: Tensor, bias: Option<Tensor> = None, stride: Ints = int(1), padding: Ints = int(0), output_padding: Ints = int(0), groups: isize = 1, dilation: Ints = int(1)) -> Tensor {
        let op = "conv_transpose2d";
        let operands = Operands::new(op, x, weight, bias, 2)?;
        let params = ConvParams::of(op, 2, &stride, &padding, &dilation)?;
        let more = spatial_pair(op, "output_padding", &output_padding, 2, 0, 0)?;
        let geometry = transposed_geometry(op, &operands, &params, more, groups)?;
        operands.check_bias(op, geometry.channels[0])?;
        let mut out = convolve_transposed(&geometry, &operands.x, &operands.w)?;
        if let Some(bias) = &operands.bias {
            out = binary(&ADD, &out, &reshape_dims(bias, &[1, bias.size(), 1, 1])?)?;
        }
        operands.restore(&out)
    }
}
