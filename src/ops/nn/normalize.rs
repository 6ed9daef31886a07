//! Layer norm and RMS norm, and the entry points of group norm and batch norm (`channel_norm.rs`).
//!
//! Invariant: the composed derivative starts from the saved input, so it holds at every order.

use smallvec::{SmallVec, smallvec};

use super::channel_norm;
use super::channel_norm::RunningStats;
use crate::error::{Dims, Error, Result};
use crate::kernels;
use crate::ops::core::broadcast::{astype, real_float, reshape_dims, sum_over};
use crate::ops::core::elementwise::binary_scalar;
use crate::ops::core::op_decl::{Ints, Scalar};
use crate::ops::core::structured::{Cx, NodeSpec, Save, from_end, move_cost, record_output};
use crate::ops::elementwise::arithmetic::{ADD, multiply, subtract};
use crate::ops::elementwise::unary::rsqrt;
use crate::ops::reduce::reductions::mean_over;
use crate::tensor::Tensor;

/// Normalises over some axes in tensor operations; also returns the reciprocal deviations. For
/// higher derivatives.
pub(super) fn composed_normalize(
    x: &Tensor,
    axes: &[usize],
    eps: f64,
    centred: bool,
) -> Result<(Tensor, Tensor)> {
    let centre = if centred { subtract(x, &mean_over(x, axes, true)?)? } else { x.clone() };
    let square = mean_over(&multiply(&centre, &centre)?, axes, true)?;
    let r = rsqrt(&binary_scalar(&ADD, &square, Scalar::Float(eps))?)?;
    Ok((multiply(&centre, &r)?, r))
}

/// Parameters of the backward; weight and bias follow `x` among the inputs.
struct Params {
    eps: f64,
    centred: bool,
    weight: bool,
    bias: bool,
}

impl Params {
    fn bias_input(&self) -> usize {
        1 + usize::from(self.weight)
    }
}

fn gradient(p: &Params, g: Tensor, cx: &mut Cx<'_>) -> Result<()> {
    if cx.create_graph() || !cx.batch().is_empty() {
        composed_gradient(p, &g, cx)
    } else {
        fused_gradient(p, &g, cx)
    }
}

/// `r (h - mean(h) - y mean(h y))` with `h = g weight`, and the sums of `g y` and `g` over the
/// rows.
fn composed_gradient(p: &Params, g: &Tensor, cx: &mut Cx<'_>) -> Result<()> {
    let (y, r) = composed_normalize(&cx.saved(0)?, &[1], p.eps, p.centred)?;
    let (row, column) = (from_end(g, 2), from_end(g, 1));
    cx.give_with(0, |cx| {
        let h = if p.weight { multiply(g, &cx.saved(1)?)? } else { g.clone() };
        let mean = mean_over(&multiply(&h, &y)?, &[column], true)?;
        let mut slope = subtract(&h, &multiply(&y, &mean)?)?;
        if p.centred {
            slope = subtract(&slope, &mean_over(&h, &[column], true)?)?;
        }
        multiply(&slope, &r)
    })?;
    if p.weight {
        cx.give_with(1, |_| sum_over(&multiply(g, &y)?, &[row], false))?;
    }
    if p.bias {
        cx.give_with(p.bias_input(), |_| sum_over(g, &[row], false))?;
    }
    Ok(())
}

fn fused_gradient(p: &Params, g: &Tensor, cx: &mut Cx<'_>) -> Result<()> {
    let (x, g, stats) = (cx.saved(0)?.contiguous()?, g.contiguous()?, cx.saved(2)?);
    let weight = if p.weight && cx.wants(0) { Some(cx.saved(1)?.contiguous()?) } else { None };
    let empty_if = |wanted: bool, dims: &[usize]| {
        if wanted { Tensor::empty(dims, x.dtype()).map(Some) } else { Ok(None) }
    };
    let columns = &x.shape()[1..];
    let outs = [
        empty_if(cx.wants(0), x.shape())?,
        empty_if(p.weight && cx.wants(1), columns)?,
        empty_if(p.bias && cx.wants(p.bias_input()), columns)?,
    ];
    let [to_x, to_weight, to_bias] = outs.each_ref().map(|out| out.as_ref().map(Tensor::view_mut));
    kernels::normalize::backward(
        x.view_of(),
        weight.as_ref().map(Tensor::view_of),
        stats.view_of(),
        g.view_of(),
        p.centred,
        kernels::normalize::Gradients { x: to_x, weight: to_weight, bias: to_bias },
    )?;
    for (input, out) in [0, 1, p.bias_input()].into_iter().zip(outs) {
        if let Some(out) = out {
            cx.give(input, out)?;
        }
    }
    Ok(())
}

/// Normalises rows (rows, n) to mean 0 (if `centred`) and mean square 1 (up to `eps`), then applies
/// the column parameters `weight` and `bias`.
pub(super) fn normalize_rows(
    x: &Tensor,
    [weight, bias]: [Option<&Tensor>; 2],
    eps: f64,
    centred: bool,
) -> Result<Tensor> {
    let flat = |p: Option<&Tensor>| p.map(Tensor::contiguous).transpose();
    let (rows, w, b) = (x.contiguous()?, flat(weight)?, flat(bias)?);
    let y = Tensor::empty(x.shape(), x.dtype())?;
    let stats = Tensor::empty(&[x.shape()[0], 2], x.dtype())?;
    kernels::normalize::forward(
        rows.view_of(),
        [w.as_ref().map(Tensor::view_of), b.as_ref().map(Tensor::view_of)],
        eps,
        centred,
        y.view_mut(),
        stats.view_mut(),
    );
    let inputs: SmallVec<[&Tensor; 3]> = [Some(x), weight, bias].into_iter().flatten().collect();
    record_output(y, &inputs, |_| NodeSpec {
        name: "normalize",
        cost: 4.0 * move_cost(x),
        params: Params { eps, centred, weight: weight.is_some(), bias: bias.is_some() },
        saved: smallvec![
            Save::input(0, &[0, 1, 2]),
            if weight.is_some() { Save::input(1, &[0]) } else { Save::none() },
            Save::value(&stats, &[0, 1, 2]),
        ],
        backward: gradient,
    })
}

#[cold]
pub(super) fn shape_error(
    op: &'static str,
    x: &Tensor,
    what: String,
    remedy: &'static str,
) -> Box<Error> {
    Box::new(Error::Shape {
        op: op.into(),
        what: format!("input of shape {} with {what}", Dims::from(x.shape())),
        remedy,
    })
}

/// Refuses a negative (or NaN) `eps`.
pub(super) fn check_eps(op: &'static str, eps: f64) -> Result<()> {
    if eps >= 0.0 {
        return Ok(());
    }
    let remedy = "give a small positive number".into();
    Err(Box::new(Error::Argument { op: op.into(), what: format!("eps={eps}"), remedy }))
}

/// Normalises over the last axes, which must have the shape `shape`, with parameters of that shape.
fn normalize_last(
    op: &'static str,
    x: &Tensor,
    shape: &[i64],
    parameters: [Option<&Tensor>; 2],
    eps: f64,
    centred: bool,
) -> Result<Tensor> {
    check_eps(op, eps)?;
    let tail = x.ndim().checked_sub(shape.len()).map(|lead| &x.shape()[lead..]);
    if shape.is_empty()
        || tail.is_none_or(|tail| tail.iter().zip(shape).any(|(&d, &s)| s != d as i64))
    {
        return Err(shape_error(
            op,
            x,
            format!("normalized_shape {shape:?}"),
            "give the sizes of the last dimensions",
        ));
    }
    let n: usize = shape.iter().map(|&d| d as usize).product();
    let rows: usize = x.shape()[..x.ndim() - shape.len()].iter().product();
    let [weight, bias] = parameters.map(|p| check_parameter(op, x, p, shape));
    let (weight, bias) = (weight?, bias?);
    let given = [weight, bias].into_iter().flatten();
    let dtype = given.fold(real_float(op, x.dtype())?, |dtype, p| dtype.promote(p.dtype()));
    let row = |p: Option<&Tensor>| p.map(|p| reshape_dims(&astype(p, dtype)?, &[n])).transpose();
    let (weight, bias) = (row(weight)?, row(bias)?);
    let rows = reshape_dims(&astype(x, dtype)?, &[rows, n])?;
    let y = normalize_rows(&rows, [weight.as_ref(), bias.as_ref()], eps, centred)?;
    reshape_dims(&y, x.shape())
}

/// Checks that a parameter has the normalised shape.
fn check_parameter<'p>(
    op: &'static str,
    x: &Tensor,
    p: Option<&'p Tensor>,
    shape: &[i64],
) -> Result<Option<&'p Tensor>> {
    match p {
        Some(p)
            if p.shape().len() != shape.len()
                || p.shape().iter().zip(shape).any(|(&d, &s)| s != d as i64) =>
        {
            Err(shape_error(
                op,
                x,
                format!("a parameter of shape {}", Dims::from(p.shape())),
                "weight and bias have the normalized shape",
            ))
        }
        other => Ok(other),
    }
}

crate::operations! { family "normalisation" [float32];
    /// `(x - mean) / sqrt(var + eps) weight + bias` over the last dimensions, whose sizes are `normalized_shape`. Derivative: `r (g - mean(g) - y mean(g y))` with `r` the reciprocal deviation and `y` the normalised rows.
    [namespace("nn.functional")]
    fn layer_norm(x: Tensor, normalized_shape: Ints, weight: Option<Tensor> = None, bias: Option<Tensor> = None, eps: f64 = 1e-5) -> Tensor {
        normalize_last("layer_norm", x, &normalized_shape, [weight, bias], eps, true)
    }
    /// `x / sqrt(mean(x²) + eps) weight` over the last dimensions, whose sizes are `normalized_shape`; eps is the machine epsilon unless given. Derivative: `r (g - y mean(g y))`.
    [namespace("nn.functional")]
    fn rms_norm(x: Tensor, normalized_shape: Ints, weight: Option<Tensor> = None, eps: Option<f64> = None) -> Tensor {
        let single = x.dtype().to_float() == crate::dtype::DType::F32;
        let eps = eps.unwrap_or(if single { f64::from(f32::EPSILON) } else { f64::EPSILON });
        normalize_last("rms_norm", x, &normalized_shape, [weight, None], eps, false)
    }
    /// `layer_norm` of groups of channels (axis 1) of each row, then one weight and bias per channel. Derivative: as that of `layer_norm`.
    [namespace("nn.functional")]
    fn group_norm(x: Tensor, num_groups: isize, weight: Option<Tensor> = None, bias: Option<Tensor> = None, eps: f64 = 1e-5) -> Tensor {
        channel_norm::group_norm(x, num_groups, [weight, bias], eps)
    }
    /// Normalises each channel (axis 1) over all rows: with the batch's mean and variance while training, moving the running ones (in place) towards them, else with the running ones; then one weight and bias per channel. Derivative: as that of `layer_norm` while training, else `g weight / sqrt(var + eps)`.
    [namespace("nn.functional")]
    fn batch_norm(x: Tensor, running_mean: Option<Tensor> = None, running_var: Option<Tensor> = None, weight: Option<Tensor> = None, bias: Option<Tensor> = None, training: bool = false, momentum: f64 = 0.1, eps: f64 = 1e-5) -> Tensor {
        let running = RunningStats { mean: running_mean, var: running_var, momentum };
        channel_norm::batch_norm(x, running, [weight, bias], training, eps)
    }
}
