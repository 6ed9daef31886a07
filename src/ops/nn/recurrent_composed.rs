//! LSTM and GRU backward in tensor operations, for higher derivatives and batched gradients.
//!
//! The fused first-order backward is in `recurrent.rs`. Invariant: gradients may have leading batch
//! axes; states and weights have none.

use crate::error::Result;
use crate::ops::core::broadcast::{reshape_dims, sum_over, swap_axes};
use crate::ops::core::structured::{Cx, batched_dims};
use crate::ops::core::view::slice_axis;
use crate::ops::elementwise::arithmetic::{add, multiply, subtract};
use crate::ops::nn::recurrent::StepOrder;
use crate::ops::product::matmul::product;
use crate::ops::shape::join::{join, stack};
use crate::tensor::Tensor;

/// `s (1 - s) g`: backward of a sigmoid with value `s`.
fn sigmoid_backward(s: &Tensor, g: &Tensor) -> Result<Tensor> {
    multiply(&subtract(s, &multiply(s, s)?)?, g)
}

/// `(1 - y²) g`: backward of a tanh with value `y`.
fn tanh_backward(y: &Tensor, g: &Tensor) -> Result<Tensor> {
    subtract(g, &multiply(&multiply(y, y)?, g)?)
}

/// Gate `k` of the last axis, which holds gates of `n` elements.
fn gate(x: &Tensor, k: usize, n: usize) -> Result<Tensor> {
    slice_axis(x, x.ndim() - 1, k * n, 1, n)
}

/// The gradient at one time index (after `front` batch axes), plus what comes from the next step.
fn add_carried(g: Option<&Tensor>, front: usize, t: usize, carried: Tensor) -> Result<Tensor> {
    match g {
        Some(g) => add(&g.select(front as isize, t as isize)?, &carried),
        None => Ok(carried),
    }
}

/// Adds `slopeᵀ h` to a sum.
fn accumulate_weight(sum: Option<Tensor>, slope: &Tensor, h: &Tensor) -> Result<Option<Tensor>> {
    let one = product(&swap_axes(slope, slope.ndim() - 2, slope.ndim() - 1)?, h)?;
    sum.map_or(Ok(one.clone()), |sum| add(&sum, &one)).map(Some)
}

/// Stacks gradients, given in the order of the backward pass, along time (after the batch axes).
fn stack_in_time(cx: &Cx<'_>, order: StepOrder, mut slopes: Vec<Tensor>) -> Result<Tensor> {
    if order.time_index(0) == 0 {
        slopes.reverse();
    }
    stack(&slopes, cx.batch().len() as isize)
}

struct LstmStep {
    h: Tensor,
    c: Tensor,
    gates: [Tensor; 4],
    /// `tanh` of the cell states after the step.
    u: Tensor,
}

fn lstm_forward(order: StepOrder, [x, h, weight, c]: [&Tensor; 4]) -> Result<Vec<LstmStep>> {
    let (weight_t, n) = (swap_axes(weight, 0, 1)?, h.shape()[1]);
    let (mut h, mut c) = (h.clone(), c.clone());
    let mut steps = Vec::new();
    for k in 0..order.steps {
        let z = add(&x.select(0, order.time_index(k) as isize)?, &product(&h, &weight_t)?)?;
        let (i, f) = (gate(&z, 0, n)?.sigmoid()?, gate(&z, 1, n)?.sigmoid()?);
        let (new, o) = (gate(&z, 2, n)?.tanh()?, gate(&z, 3, n)?.sigmoid()?);
        let cells = add(&multiply(&f, &c)?, &multiply(&i, &new)?)?;
        let u = cells.tanh()?;
        let state = multiply(&o, &u)?;
        steps.push(LstmStep { h, c, gates: [i, f, new, o], u });
        (h, c) = (state, cells);
    }
    Ok(steps)
}

/// The backward of `lstm_sequence`.
pub(super) fn lstm_composed(order: StepOrder, cx: &mut Cx<'_>) -> Result<()> {
    let [x, h, weight, c] = [cx.saved(0)?, cx.saved(1)?, cx.saved(2)?, cx.saved(3)?];
    let (g, g_cells) = (cx.take_grad(0), cx.take_grad(1));
    let front = cx.batch().len();
    let mut to_h = Tensor::zeros(&batched_dims(cx, h.shape()), h.dtype())?;
    let mut to_c = to_h.clone();
    let (mut to_weight, mut slopes) = (None, Vec::new());
    for (k, step) in lstm_forward(order, [&x, &h, &weight, &c])?.iter().enumerate().rev() {
        let [i, f, new, o] = &step.gates;
        let gh = add_carried(g.as_ref(), front, order.time_index(k), to_h)?;
        let gc = add_carried(g_cells.as_ref(), front, order.time_index(k), to_c)?;
        let gc = add(&gc, &tanh_backward(&step.u, &multiply(o, &gh)?)?)?;
        let slope = join(
            &[
                sigmoid_backward(i, &multiply(new, &gc)?)?,
                sigmoid_backward(f, &multiply(&step.c, &gc)?)?,
                tanh_backward(new, &multiply(i, &gc)?)?,
                sigmoid_backward(o, &multiply(&step.u, &gh)?)?,
            ],
            front + 1,
        )?;
        to_c = multiply(f, &gc)?;
        to_h = product(&slope, &weight)?;
        to_weight = accumulate_weight(to_weight, &slope, &step.h)?;
        slopes.push(slope);
    }
    let to_x = stack_in_time(cx, order, slopes)?;
    cx.give_with(0, |_| Ok(to_x))?;
    cx.give_with(1, |_| Ok(to_h))?;
    if let Some(to_weight) = to_weight {
        cx.give_with(2, |_| Ok(to_weight))?;
    }
    cx.give_with(3, |_| Ok(to_c))
}

struct GruStep {
    h: Tensor,
    /// `r`, `z`, `n`, and what `r` multiplies.
    gates: [Tensor; 4],
}

fn gru_forward(order: StepOrder, [x, h, weight, bias]: [&Tensor; 4]) -> Result<Vec<GruStep>> {
    let (weight_t, n) = (swap_axes(weight, 0, 1)?, h.shape()[1]);
    let bias = reshape_dims(bias, &[1, n])?;
    let mut h = h.clone();
    let mut steps = Vec::new();
    for k in 0..order.steps {
        let (x, p) = (x.select(0, order.time_index(k) as isize)?, product(&h, &weight_t)?);
        let r = add(&gate(&x, 0, n)?, &gate(&p, 0, n)?)?.sigmoid()?;
        let z = add(&gate(&x, 1, n)?, &gate(&p, 1, n)?)?.sigmoid()?;
        let m = add(&gate(&p, 2, n)?, &bias)?;
        let new = add(&gate(&x, 2, n)?, &multiply(&r, &m)?)?.tanh()?;
        let state = add(&new, &multiply(&z, &subtract(&h, &new)?)?)?;
        steps.push(GruStep { h, gates: [r, z, new, m] });
        h = state;
    }
    Ok(steps)
}

/// The backward of `gru_sequence`.
pub(super) fn gru_composed(order: StepOrder, cx: &mut Cx<'_>) -> Result<()> {
    let [x, h, weight, bias] = [cx.saved(0)?, cx.saved(1)?, cx.saved(2)?, cx.saved(3)?];
    let (g, front) = (cx.take_grad(0), cx.batch().len());
    let mut to_h = Tensor::zeros(&batched_dims(cx, h.shape()), h.dtype())?;
    let (mut to_weight, mut to_bias) =
        (None, Tensor::zeros(&batched_dims(cx, bias.shape()), h.dtype())?);
    let mut slopes = Vec::new();
    for (k, step) in gru_forward(order, [&x, &h, &weight, &bias])?.iter().enumerate().rev() {
        let [r, z, new, m] = &step.gates;
        let gh = add_carried(g.as_ref(), front, order.time_index(k), to_h)?;
        let to_previous = multiply(z, &gh)?;
        let to_new = tanh_backward(new, &subtract(&gh, &to_previous)?)?;
        let to_z = sigmoid_backward(z, &multiply(&subtract(&step.h, new)?, &gh)?)?;
        let (to_r, to_m) = (sigmoid_backward(r, &multiply(m, &to_new)?)?, multiply(r, &to_new)?);
        let slope = join(&[to_r.clone(), to_z.clone(), to_m.clone()], front + 1)?;
        to_h = add(&to_previous, &product(&slope, &weight)?)?;
        to_weight = accumulate_weight(to_weight, &slope, &step.h)?;
        to_bias = add(&to_bias, &sum_over(&to_m, &[front], false)?)?;
        slopes.push(join(&[to_r, to_z, to_new], front + 1)?);
    }
    let to_x = stack_in_time(cx, order, slopes)?;
    cx.give_with(0, |_| Ok(to_x))?;
    cx.give_with(1, |_| Ok(to_h))?;
    if let Some(to_weight) = to_weight {
        cx.give_with(2, |_| Ok(to_weight))?;
    }
    cx.give_with(3, |_| Ok(to_bias))
}
