//! Group norm and batch norm: normalisation with one parameter per channel (axis 1), and running
//! statistics.
//!
//! The recorded form has the dims (n, groups, channels per group, inner); the statistics are those
//! of each group of each row, or of all rows. Invariant: the composed derivative starts from the
//! saved input, so it holds at every order.

use smallvec::{SmallVec, smallvec};

use super::normalize::{check_eps, composed_normalize, normalize_rows, shape_error};
use crate::array::{Layout, ShapeVec};
use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::kernels;
use crate::ops::core::broadcast::{as_real_float, astype, permute_axes, reshape_dims, sum_over};
use crate::ops::core::elementwise::binary_scalar;
use crate::ops::core::op_decl::Scalar;
use crate::ops::core::structured::{Cx, NodeSpec, Save, from_end, move_cost, record_output};
use crate::ops::elementwise::arithmetic::{ADD, MULTIPLY, add, multiply, subtract};
use crate::ops::elementwise::unary::rsqrt;
use crate::ops::inplace::methods::{Overwrite, overwrite};
use crate::ops::reduce::reductions::mean_over;
use crate::tensor::Tensor;

/// Minimum contiguous elements per channel for the kernel to read the input in place.
const MIN_INNER_FOR_KERNEL: usize = 8;

/// Parameters of the backward; weight and bias follow `x` among the inputs.
struct Params {
    eps: f64,
    /// Whether the statistics are taken over all rows.
    over_rows: bool,
    weight: bool,
    bias: bool,
}

impl Params {
    fn bias_input(&self) -> usize {
        1 + usize::from(self.weight)
    }

    /// The axes over which one set of statistics is taken, among the last four of `ndim`.
    fn statistic_axes(&self, ndim: usize) -> SmallVec<[usize; 3]> {
        let (n, own, inner) = (ndim - 4, ndim - 2, ndim - 1);
        if self.over_rows { smallvec![n, own, inner] } else { smallvec![own, inner] }
    }
}

fn gradient(p: &Params, g: Tensor, cx: &mut Cx<'_>) -> Result<()> {
    if cx.create_graph() || !cx.batch().is_empty() {
        composed_gradient(p, &g, cx)
    } else {
        fused_gradient(p, &g, cx)
    }
}

/// `r (h - mean(h) - y mean(h y))` with `h = g weight`, and the sums of `g y` and `g` per channel.
fn composed_gradient(p: &Params, g: &Tensor, cx: &mut Cx<'_>) -> Result<()> {
    let x = cx.saved(0)?;
    let (y, r) = composed_normalize(&x, &p.statistic_axes(4), p.eps, true)?;
    let channels = &x.shape()[1..3];
    cx.give_with(0, |cx| {
        let h = if p.weight {
            multiply(g, &reshape_dims(&cx.saved(1)?, &[channels[0], channels[1], 1])?)?
        } else {
            g.clone()
        };
        let axes = p.statistic_axes(h.ndim());
        let slope = multiply(&y, &mean_over(&multiply(&h, &y)?, &axes, true)?)?;
        let rest = subtract(&h, &slope)?;
        multiply(&subtract(&rest, &mean_over(&h, &axes, true)?)?, &r)
    })?;
    let by_channel = |terms: &Tensor| {
        let sum = sum_over(terms, &[from_end(terms, 4), from_end(terms, 1)], false)?;
        let mut dims = ShapeVec::from_slice(&sum.shape()[..sum.ndim() - 2]);
        dims.push(channels[0] * channels[1]);
        reshape_dims(&sum, &dims)
    };
    if p.weight {
        cx.give_with(1, |_| by_channel(&multiply(g, &y)?))?;
    }
    if p.bias {
        cx.give_with(p.bias_input(), |_| by_channel(g))?;
    }
    Ok(())
}

fn fused_gradient(p: &Params, g: &Tensor, cx: &mut Cx<'_>) -> Result<()> {
    let (x, g, stats) = (cx.saved(0)?.contiguous()?, g.contiguous()?, cx.saved(2)?);
    let channels = x.shape()[1] * x.shape()[2];
    let saved = if p.weight { Some(cx.saved(1)?) } else { None };
    let weight = parameter_or_constant(saved.as_ref(), 1.0, channels, x.dtype())?;
    let of_params =
        [Tensor::empty(&[channels], x.dtype())?, Tensor::empty(&[channels], x.dtype())?];
    let of_x = if cx.wants(0) { Some(Tensor::empty(x.shape(), x.dtype())?) } else { None };
    let mut writes: SmallVec<[_; 3]> =
        of_params.iter().chain(&of_x).map(Tensor::view_mut).collect();
    kernels::normalize::channels_backward(
        [x.view_of(), weight.view_of(), stats.view_of(), g.view_of()],
        p.eps,
        p.over_rows,
        &mut writes,
    )?;
    drop(writes);
    if let Some(of_x) = of_x {
        cx.give(0, of_x)?;
    }
    let [of_weight, of_bias] = of_params;
    if p.weight && cx.wants(1) {
        cx.give(1, of_weight)?;
    }
    if p.bias && cx.wants(p.bias_input()) {
        cx.give(p.bias_input(), of_bias)?;
    }
    Ok(())
}

/// A parameter, or a constant: the kernel requires one.
fn parameter_or_constant(
    p: Option<&Tensor>,
    value: f64,
    channels: usize,
    dtype: DType,
) -> Result<Tensor> {
    match p {
        Some(p) => p.contiguous(),
        None => Tensor::full(&[channels], Scalar::Float(value), dtype),
    }
}

/// Normalises `x` (n, groups, channels per group, inner); also returns the mean and the variance of
/// each set.
fn normalize_channels(
    x: &Tensor,
    [weight, bias]: [Option<&Tensor>; 2],
    eps: f64,
    over_rows: bool,
) -> Result<(Tensor, Tensor)> {
    let dims = x.shape();
    let (channels, sets) = (dims[1] * dims[2], if over_rows { dims[1] } else { dims[0] * dims[1] });
    let rows = x.contiguous()?;
    let w = parameter_or_constant(weight, 1.0, channels, x.dtype())?;
    let b = parameter_or_constant(bias, 0.0, channels, x.dtype())?;
    let y = Tensor::empty(dims, x.dtype())?;
    let stats = Tensor::empty(&[sets, 2], x.dtype())?;
    kernels::normalize::channels_forward(
        [rows.view_of(), w.view_of(), b.view_of()],
        eps,
        over_rows,
        y.view_mut(),
        stats.view_mut(),
    );
    let inputs: SmallVec<[&Tensor; 3]> = [Some(x), weight, bias].into_iter().flatten().collect();
    let y = record_output(y, &inputs, |_| NodeSpec {
        name: "normalize",
        cost: 4.0 * move_cost(x),
        params: Params { eps, over_rows, weight: weight.is_some(), bias: bias.is_some() },
        saved: smallvec![
            Save::input(0, &[0, 1, 2]),
            if weight.is_some() { Save::input(1, &[0, 1, 2]) } else { Save::none() },
            Save::value(&stats, &[0, 1, 2]),
        ],
        backward: gradient,
    })?;
    Ok((y, stats))
}

/// `y weight + bias`, both broadcast.
fn affine(y: Tensor, weight: Option<Tensor>, bias: Option<Tensor>) -> Result<Tensor> {
    let mut out = y;
    if let Some(weight) = weight {
        out = multiply(&out, &weight)?;
    }
    match bias {
        Some(bias) => add(&out, &bias),
        None => Ok(out),
    }
}

/// Refuses a parameter that does not have one element per channel (axis 1).
fn check_parameters(op: &'static str, x: &Tensor, params: &[Option<&Tensor>]) -> Result<()> {
    let wrong_shape = params.iter().flatten().find(|p| p.shape() != &x.shape()[1..2]);
    let Some(p) = wrong_shape else { return Ok(()) };
    let what = format!("a parameter of shape {}", Dims::from(p.shape()));
    Err(shape_error(op, x, what, "give one element per channel, axis 1"))
}

fn check_has_channels(op: &'static str, x: &Tensor) -> Result<()> {
    if x.ndim() >= 2 {
        return Ok(());
    }
    Err(shape_error(op, x, format!("{} dimensions", x.ndim()), "give (rows, channels, …)"))
}

/// A parameter reshaped to broadcast along axis 1.
fn per_channel(x: &Tensor, p: Option<&Tensor>) -> Result<Option<Tensor>> {
    let Some(p) = p else { return Ok(None) };
    let dims: ShapeVec = (0..x.ndim()).map(|a| if a == 1 { p.size() } else { 1 }).collect();
    reshape_dims(p, &dims).map(Some)
}

/// Casts all operands to their common dtype.
fn promote<const N: usize>(
    x: &Tensor,
    params: [Option<&Tensor>; N],
) -> Result<(Tensor, [Option<Tensor>; N])> {
    let given = params.iter().flatten();
    let dtype = given.fold(x.dtype(), |dtype, p| dtype.promote(p.dtype()));
    let mut out = [const { None }; N];
    for (p, out) in params.into_iter().zip(&mut out) {
        *out = p.map(|p| astype(p, dtype)).transpose()?;
    }
    Ok((astype(x, dtype)?, out))
}

pub(super) fn group_norm(
    x: &Tensor,
    groups: isize,
    [weight, bias]: [Option<&Tensor>; 2],
    eps: f64,
) -> Result<Tensor> {
    let op = "group_norm";
    check_eps(op, eps)?;
    check_has_channels(op, x)?;
    let x = as_real_float(op, x)?;
    let (n, channels) = (x.shape()[0], x.shape()[1]);
    let Some(groups) = usize::try_from(groups).ok().filter(|&g| g > 0 && channels % g == 0) else {
        let remedy = "give a number of groups that divides the channels, axis 1";
        return Err(shape_error(op, &x, format!("{groups} groups"), remedy));
    };
    check_parameters(op, &x, &[weight, bias])?;
    let (own, inner) = (channels / groups, x.shape()[2..].iter().product::<usize>());
    let (cast, params) = promote(&x, [weight, bias])?;
    if inner >= MIN_INNER_FOR_KERNEL && !cast.dtype().is_complex() {
        let sets = reshape_dims(&cast, &[n, groups, own, inner])?;
        let (y, _) = normalize_channels(&sets, params.each_ref().map(Option::as_ref), eps, false)?;
        return reshape_dims(&y, x.shape());
    }
    let rows = reshape_dims(&x, &[n * groups, own * inner])?;
    let y = reshape_dims(&normalize_rows(&rows, [None, None], eps, true)?, x.shape())?;
    affine(y, per_channel(&x, weight)?, per_channel(&x, bias)?)
}

/// The running statistics of a layer.
pub(super) struct RunningStats<'a> {
    pub(super) mean: Option<&'a Tensor>,
    pub(super) var: Option<&'a Tensor>,
    pub(super) momentum: f64,
}

pub(super) fn batch_norm(
    x: &Tensor,
    running: RunningStats<'_>,
    [weight, bias]: [Option<&Tensor>; 2],
    training: bool,
    eps: f64,
) -> Result<Tensor> {
    let op = "batch_norm";
    check_eps(op, eps)?;
    check_has_channels(op, x)?;
    let x = as_real_float(op, x)?;
    check_parameters(op, &x, &[running.mean, running.var, weight, bias])?;
    if training {
        return batch_norm_training(&x, &running, [weight, bias], eps);
    }
    let (Some(_), Some(_)) = (running.mean, running.var) else {
        return Err(Box::new(Error::Argument {
            op: op.into(),
            what: "training=False without running_mean and running_var".into(),
            remedy: "give both, or training=True".into(),
        }));
    };
    let (cast, given) = promote(&x, [running.mean, running.var, weight, bias])?;
    let [Some(mean), Some(var), weight, bias] = given else { unreachable!("both are given") };
    let mut scale = rsqrt(&binary_scalar(&ADD, &var, Scalar::Float(eps))?)?;
    if let Some(weight) = weight {
        scale = multiply(&scale, &weight)?;
    }
    scale_channels(&cast, &mean, &scale, bias.as_ref())
}

/// Normalises with the statistics of the batch and updates the running ones.
fn batch_norm_training(
    x: &Tensor,
    running: &RunningStats<'_>,
    [weight, bias]: [Option<&Tensor>; 2],
    eps: f64,
) -> Result<Tensor> {
    let (n, channels) = (x.shape()[0], x.shape()[1]);
    let inner: usize = x.shape()[2..].iter().product();
    if x.size() == 0 {
        // Nothing to normalise, and no statistics to update.
        let (cast, [weight, bias]) = promote(x, [weight, bias])?;
        let [weight, bias] = [weight.as_ref(), bias.as_ref()];
        let empty = cast.copied("batch_norm")?;
        return affine(empty, per_channel(x, weight)?, per_channel(x, bias)?);
    }
    if n * inner < 2 {
        let remedy = "train with more than one value per channel";
        return Err(shape_error("batch_norm", x, "one value per channel".into(), remedy));
    }
    let (cast, params) = promote(x, [weight, bias])?;
    let params = params.each_ref().map(Option::as_ref);
    if (inner >= MIN_INNER_FOR_KERNEL || inner == 1) && x.is_contiguous() {
        let sets = reshape_dims(&cast, &[n, channels, 1, inner])?;
        let (y, stats) = normalize_channels(&sets, params, eps, true)?;
        update_running_stats(&stats, n * inner, running)?;
        return reshape_dims(&y, x.shape());
    }
    let mut order: ShapeVec = (0..x.ndim()).collect();
    order.swap(0, 1);
    let swapped = permute_axes(&cast, &order)?;
    let rows = reshape_dims(&swapped, &[1, channels, 1, n * inner])?;
    let (y, stats) = normalize_channels(&rows, params, eps, true)?;
    update_running_stats(&stats, n * inner, running)?;
    permute_axes(&reshape_dims(&y, swapped.shape())?, &order)
}

/// `running = (1 - momentum) running + momentum value`, in place.
fn update_running(running: Option<&Tensor>, value: &Tensor, momentum: f64) -> Result<()> {
    let Some(running) = running else {
        return Ok(());
    };
    let old = binary_scalar(&MULTIPLY, &running.detach(), Scalar::Float(1.0 - momentum))?;
    let new = binary_scalar(&MULTIPLY, &astype(value, running.dtype())?, Scalar::Float(momentum))?;
    overwrite("batch_norm", running, &add(&old, &new)?, Overwrite::ComputedHere)
}

/// Updates the running mean and (unbiased) variance with those of a batch of `count` values per
/// channel.
fn update_running_stats(stats: &Tensor, count: usize, running: &RunningStats<'_>) -> Result<()> {
    let column = |i: isize| -> Result<Tensor> {
        let layout = Layout::strided(&[stats.shape()[0]], &[2], stats.layout().offset() + i)?;
        Ok(stats.with_layout(layout))
    };
    update_running(running.mean, &column(0)?, running.momentum)?;
    let unbiased = count as f64 / (count as f64 - 1.0);
    let var = binary_scalar(&MULTIPLY, &column(1)?, Scalar::Float(unbiased))?;
    update_running(running.var, &var, running.momentum)
}

/// `(x - mean) scale + bias` with per-channel parameters.
fn scale_channels(
    x: &Tensor,
    mean: &Tensor,
    scale: &Tensor,
    bias: Option<&Tensor>,
) -> Result<Tensor> {
    let dims = x.shape();
    let (channels, inner) = (dims[1], dims[2..].iter().product());
    let runs = reshape_dims(x, &[dims[0], channels, inner])?;
    let (held, mean, scale) = (runs.contiguous()?, mean.contiguous()?, scale.contiguous()?);
    let shift = parameter_or_constant(bias, 0.0, channels, x.dtype())?;
    let y = Tensor::empty(runs.shape(), x.dtype())?;
    kernels::normalize::channels_scaled(
        [held.view_of(), mean.view_of(), scale.view_of(), shift.view_of()],
        y.view_mut(),
    );
    let inputs: SmallVec<[&Tensor; 4]> =
        [Some(&runs), Some(&mean), Some(&scale), bias].into_iter().flatten().collect();
    let y = record_output(y, &inputs, |_| NodeSpec {
        name: "scale_channels",
        cost: 2.0 * move_cost(x),
        params: bias.is_some(),
        saved: smallvec![Save::input(0, &[2]), Save::input(1, &[2]), Save::input(2, &[0, 1]),],
        backward: scale_channels_gradient,
    })?;
    reshape_dims(&y, dims)
}

/// `g scale`, and the sums of `-g scale`, `g (x - mean)` and `g` per channel.
fn scale_channels_gradient(bias: &bool, g: Tensor, cx: &mut Cx<'_>) -> Result<()> {
    let column = |p: Tensor| reshape_dims(&p, &[p.size(), 1]);
    let by_channel =
        |terms: &Tensor| sum_over(terms, &[from_end(terms, 3), from_end(terms, 1)], false);
    cx.give_with(0, |cx| multiply(&g, &column(cx.saved(2)?)?))?;
    cx.give_with(1, |cx| {
        let sum = multiply(&by_channel(&g)?, &cx.saved(2)?)?;
        binary_scalar(&MULTIPLY, &sum, Scalar::Float(-1.0))
    })?;
    cx.give_with(2, |cx| {
        by_channel(&multiply(&g, &subtract(&cx.saved(0)?, &column(cx.saved(1)?)?)?)?)
    })?;
    if *bias {
        cx.give_with(3, |_| by_channel(&g))?;
    }
    Ok(())
}
