//! Normalisation: of rows (layer, rms, groups) and over batches.
//!
//! Owns: `normalized`, the one recorded form of them all, and the layouts that bring each to rows.
//! Never divides by a deviation without its `eps`.
//! Invariant: the derivative is written in the results alone, so it holds at every order.

use smallvec::smallvec;

use crate::array::ShapeVec;
use crate::error::{Dims, Error, Result};
use crate::graph::Saved;
use crate::kernels;
use crate::ops::arith::{ADD, MULTIPLY, SUBTRACT};
use crate::ops::cast::astype;
use crate::ops::declare::{Ints, Scalar};
use crate::ops::elementwise::{binary, binary_scalar};
use crate::ops::inplace::overwrite;
use crate::ops::math::rsqrt;
use crate::ops::reduce::mean_over;
use crate::ops::shape::{permute_axes, reshape_dims};
use crate::ops::structured::{Cx, Record, finish_many, move_cost};
use crate::tensor::Tensor;

fn mul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    binary(&MULTIPLY, a, b)
}

/// `r (g - mean(g) - y mean(g y)) - r² y h / n`, with `y` and `r` the results, `g` and `h` their gradients; without
/// `mean(g)` where the mean was not taken off.
fn recorded(
    y: &Tensor,
    r: &Tensor,
    g: Option<&Tensor>,
    h: Option<&Tensor>,
    centred: bool,
) -> Result<Tensor> {
    let column = reshape_dims(r, &[r.size(), 1])?;
    let mut total = Tensor::zeros(y.shape(), y.dtype())?;
    if let Some(g) = g {
        let mut part = binary(&SUBTRACT, g, &mul(y, &mean_over(&mul(g, y)?, &[1], true)?)?)?;
        if centred {
            part = binary(&SUBTRACT, &part, &mean_over(g, &[1], true)?)?;
        }
        total = mul(&part, &column)?;
    }
    if let Some(h) = h {
        let h = binary_scalar(
            &MULTIPLY,
            &reshape_dims(h, &[h.size(), 1])?,
            Scalar::Float(-1.0 / y.shape()[1] as f64),
        )?;
        total = binary(&ADD, &total, &mul(y, &mul(&mul(&column, &column)?, &h)?)?)?;
    }
    Ok(total)
}

fn gradient(centred: bool, cx: &mut Cx<'_>) -> Result<()> {
    let (y, r) = (cx.saved(0)?, cx.saved(1)?);
    let (g, h) = (cx.take_grad(0), cx.take_grad(1));
    let fused = if cx.create_graph() || h.is_some() { None } else { g.as_ref() };
    cx.give(
        0,
        match fused {
            Some(g) => {
                let g = g.contiguous()?;
                let out = Tensor::empty(y.shape(), y.dtype())?;
                kernels::normalize::backward(
                    y.dtype(),
                    y.view_of(),
                    r.view_of(),
                    g.view_of(),
                    centred,
                    out.view_mut(),
                );
                out
            }
            None => recorded(&y, &r, g.as_ref(), h.as_ref(), centred)?,
        },
    );
    Ok(())
}

/// Rows (rows, n) with mean 0 (if `centred`) and mean square 1, but for `eps`.
fn normalized(x: &Tensor, eps: f64, centred: bool) -> Result<Tensor> {
    let rows = x.contiguous()?;
    let (y, r) = (Tensor::empty(x.shape(), x.dtype())?, Tensor::empty(&x.shape()[..1], x.dtype())?);
    kernels::normalize::forward(
        x.dtype(),
        rows.view_of(),
        eps,
        centred,
        y.view_mut(),
        r.view_mut(),
    );
    let outs = finish_many(vec![y, r], &[x], |outs| Record {
        name: "normalize",
        cost: 4.0 * move_cost(x),
        params: centred,
        saved: smallvec![Saved::output(&outs[0], 0), Saved::output(&outs[1], 1)],
        backward: |&centred, cx| gradient(centred, cx),
    });
    outs.into_iter().next().ok_or_else(|| {
        Box::new(Error::Internal { op: "normalize".into(), what: "no result".into() })
    })
}

/// `y weight + bias`, both broadcast.
fn affine(y: Tensor, weight: Option<Tensor>, bias: Option<Tensor>) -> Result<Tensor> {
    let mut out = y;
    if let Some(weight) = weight {
        out = mul(&out, &weight)?;
    }
    match bias {
        Some(bias) => binary(&ADD, &out, &bias),
        None => Ok(out),
    }
}

#[cold]
fn unfit(op: &'static str, x: &Tensor, what: String, remedy: &'static str) -> Box<Error> {
    Box::new(Error::Shape {
        op: op.into(),
        what: format!("input of shape {} with {what}", Dims::from(x.shape())),
        remedy,
    })
}

fn float(x: &Tensor) -> Result<Tensor> {
    astype(x, x.dtype().to_float())
}

/// Normalises over the last axes, whose shape is `shape`.
fn over_last(
    op: &'static str,
    x: &Tensor,
    shape: &[i64],
    eps: f64,
    centred: bool,
) -> Result<Tensor> {
    let x = float(x)?;
    let tail = x.ndim().checked_sub(shape.len()).map(|lead| &x.shape()[lead..]);
    if shape.is_empty()
        || tail.is_none_or(|tail| tail.iter().zip(shape).any(|(&d, &s)| s != d as i64))
    {
        return Err(unfit(
            op,
            &x,
            format!("normalized_shape {shape:?}"),
            "give the sizes of the last dimensions",
        ));
    }
    let n: usize = shape.iter().map(|&d| d as usize).product();
    let rows: usize = x.shape()[..x.ndim() - shape.len()].iter().product();
    reshape_dims(&normalized(&reshape_dims(&x, &[rows, n])?, eps, centred)?, x.shape())
}

/// A parameter with the shape of what was normalised.
fn like_last(
    op: &'static str,
    x: &Tensor,
    p: Option<&Tensor>,
    shape: &[i64],
) -> Result<Option<Tensor>> {
    match p {
        Some(p)
            if p.shape().len() != shape.len()
                || p.shape().iter().zip(shape).any(|(&d, &s)| s != d as i64) =>
        {
            Err(unfit(
                op,
                x,
                format!("a parameter of shape {}", Dims::from(p.shape())),
                "weight and bias have the normalized shape",
            ))
        }
        other => Ok(other.cloned()),
    }
}

/// A parameter with one element per channel (axis 1), shaped to broadcast.
fn per_channel(op: &'static str, x: &Tensor, p: Option<&Tensor>) -> Result<Option<Tensor>> {
    let Some(p) = p else { return Ok(None) };
    if p.shape() != &x.shape()[1..2] {
        let what = format!("a parameter of shape {}", Dims::from(p.shape()));
        return Err(unfit(op, x, what, "give one element per channel, axis 1"));
    }
    let dims: ShapeVec = (0..x.ndim()).map(|a| if a == 1 { p.size() } else { 1 }).collect();
    reshape_dims(p, &dims).map(Some)
}

fn need_channels(op: &'static str, x: &Tensor) -> Result<()> {
    if x.ndim() >= 2 {
        return Ok(());
    }
    Err(unfit(op, x, format!("{} dimensions", x.ndim()), "give (rows, channels, …)"))
}

/// The channels as rows, everything else as columns; and back.
fn channels_as_rows(x: &Tensor) -> Result<Tensor> {
    let mut order: ShapeVec = (0..x.ndim()).collect();
    order.swap(0, 1);
    let swapped = permute_axes(x, &order)?;
    let rest = swapped.shape()[1..].iter().product();
    reshape_dims(&swapped, &[swapped.shape()[0], rest])
}

fn rows_as_channels(rows: &Tensor, dims: &[usize]) -> Result<Tensor> {
    let mut swapped = ShapeVec::from_slice(dims);
    swapped.swap(0, 1);
    let mut order: ShapeVec = (0..dims.len()).collect();
    order.swap(0, 1);
    permute_axes(&reshape_dims(rows, &swapped)?, &order)
}

/// `running = (1 - momentum) running + momentum value`, in place.
fn follow(running: Option<&Tensor>, value: &Tensor, momentum: f64) -> Result<()> {
    let Some(running) = running else {
        return Ok(());
    };
    let old = binary_scalar(&MULTIPLY, &running.detach(), Scalar::Float(1.0 - momentum))?;
    let new = binary_scalar(&MULTIPLY, &astype(value, running.dtype())?, Scalar::Float(momentum))?;
    overwrite("batch_norm", running, &binary(&ADD, &old, &new)?, true)
}

/// Moves the running mean and (unbiased) variance towards those of this batch.
fn track(rows: &Tensor, mean: Option<&Tensor>, var: Option<&Tensor>, momentum: f64) -> Result<()> {
    if mean.is_none() && var.is_none() {
        return Ok(());
    }
    let rows = rows.detach();
    follow(mean, &mean_over(&rows, &[1], false)?, momentum)?;
    follow(var, &crate::ops::reduce::var_over(&rows, &[1], 1.0, false)?, momentum)
}

/// Normalises with given statistics.
fn with_statistics(x: &Tensor, mean: Tensor, var: Tensor, eps: f64) -> Result<Tensor> {
    let scale = rsqrt(&binary_scalar(&ADD, &var, Scalar::Float(eps))?)?;
    mul(&binary(&SUBTRACT, x, &mean)?, &scale)
}

crate::operations! { family "normalisation";
    /// `(x - mean) / sqrt(var + eps) weight + bias` over the last dimensions, whose sizes are `normalized_shape`. Derivative: `r (g - mean(g) - y mean(g y))` with `r` the reciprocal deviation and `y` the normalised rows.
    [namespace("nn.functional")]
    fn layer_norm(x: Tensor, normalized_shape: Ints, weight: Option<Tensor> = None, bias: Option<Tensor> = None, eps: f64 = 1e-5) -> Tensor {
        let y = over_last("layer_norm", x, &normalized_shape, eps, true)?;
        let parameter = |p| like_last("layer_norm", x, p, &normalized_shape);
        affine(y, parameter(weight)?, parameter(bias)?)
    }
    /// `x / sqrt(mean(x²) + eps) weight` over the last dimensions, whose sizes are `normalized_shape`; eps is the machine epsilon unless given. Derivative: `r (g - y mean(g y))`.
    [namespace("nn.functional")]
    fn rms_norm(x: Tensor, normalized_shape: Ints, weight: Option<Tensor> = None, eps: Option<f64> = None) -> Tensor {
        let single = x.dtype().to_float() == crate::dtype::DType::F32;
        let eps = eps.unwrap_or(if single { f64::from(f32::EPSILON) } else { f64::EPSILON });
        let y = over_last("rms_norm", x, &normalized_shape, eps, false)?;
        affine(y, like_last("rms_norm", x, weight, &normalized_shape)?, None)
    }
    /// `layer_norm` of groups of channels (axis 1) of each row, then one weight and bias per channel. Derivative: as that of `layer_norm`.
    [namespace("nn.functional")]
    fn group_norm(x: Tensor, num_groups: isize, weight: Option<Tensor> = None, bias: Option<Tensor> = None, eps: f64 = 1e-5) -> Tensor {
        need_channels("group_norm", x)?;
        let x = float(x)?;
        let groups = usize::try_from(num_groups).ok().filter(|&g| g > 0 && x.shape()[1] % g == 0);
        let Some(groups) = groups else {
            return Err(unfit("group_norm", &x, format!("{num_groups} groups"), "give a number of groups that divides the channels, axis 1"));
        };
        let rows = x.shape()[0] * groups;
        let n = x.shape()[1] / groups * x.shape()[2..].iter().product::<usize>();
        let y = reshape_dims(&normalized(&reshape_dims(&x, &[rows, n])?, eps, true)?, x.shape())?;
        affine(y, per_channel("group_norm", &x, weight)?, per_channel("group_norm", &x, bias)?)
    }
    /// Normalises each channel (axis 1) over all rows: with the batch's mean and variance while training, moving the running ones (in place) towards them, else with the running ones; then one weight and bias per channel. Derivative: as that of `layer_norm` while training, else `g weight / sqrt(var + eps)`.
    [namespace("nn.functional")]
    fn batch_norm(x: Tensor, running_mean: Option<Tensor> = None, running_var: Option<Tensor> = None, weight: Option<Tensor> = None, bias: Option<Tensor> = None, training: bool = false, momentum: f64 = 0.1, eps: f64 = 1e-5) -> Tensor {
        need_channels("batch_norm", x)?;
        let x = float(x)?;
        let shaped = |p| per_channel("batch_norm", &x, p);
        let (mean, var) = (shaped(running_mean)?, shaped(running_var)?);
        let (weight, bias) = (shaped(weight)?, shaped(bias)?);
        let y = match (training, mean, var) {
            (false, Some(mean), Some(var)) => with_statistics(&x, mean, var, eps)?,
            (false, ..) => return Err(Box::new(Error::Argument {
                op: "batch_norm".into(),
                what: "training=False without running_mean and running_var".into(),
                remedy: "give both, or training=True".into(),
            })),
            (true, ..) => {
                let rows = channels_as_rows(&x)?;
                if rows.shape()[1] < 2 {
                    return Err(unfit("batch_norm", &x, "one value per channel".into(), "train with more than one value per channel"));
                }
                let y = normalized(&rows, eps, true)?;
                track(&rows, running_mean, running_var, momentum)?;
                rows_as_channels(&y, x.shape())?
            }
        };
        affine(y, weight, bias)
    }
}
