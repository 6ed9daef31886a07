//! Gated recurrent layers in tensor operations: what their backward is when it is recorded in turn.
//!
//! Owns: the steps composed of operations, and the chain rule through them. Never runs where one gradient is wanted once:
//! the fused steps of `recurrent.rs` do that.
//! Invariant: gradients may have the axes of the batch before their own; states and weights have none.

use crate::error::Result;
use crate::ops::core::broadcast::{reshape_dims, sum_over, swap_axes};
use crate::ops::core::elementwise::binary;
use crate::ops::core::structured::{Cx, batched_dims};
use crate::ops::core::view::slice_axis;
use crate::ops::elementwise::arithmetic::{ADD, MULTIPLY, SUBTRACT};
use crate::ops::nn::recurrent::Order;
use crate::ops::product::matmul::product;
use crate::ops::shape::join::{join, stack};
use crate::tensor::Tensor;

fn add(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    binary(&ADD, a, b)
}

fn sub(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    binary(&SUBTRACT, a, b)
}

fn mul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    binary(&MULTIPLY, a, b)
}

/// `s (1 - s) g`, the slope of a sigmoid whose value is `s`.
fn through_sigmoid(s: &Tensor, g: &Tensor) -> Result<Tensor> {
    mul(&sub(s, &mul(s, s)?)?, g)
}

/// `(1 - y²) g`, the slope of a tanh whose value is `y`.
fn through_tanh(y: &Tensor, g: &Tensor) -> Result<Tensor> {
    sub(g, &mul(&mul(y, y)?, g)?)
}

/// Part `k` of the last axis, which has parts of `n`.
fn part(x: &Tensor, k: usize, n: usize) -> Result<Tensor> {
    slice_axis(x, x.ndim() - 1, k * n, 1, n)
}

/// A gradient at one time behind `front` axes of a batch, beside what comes from the step after it.
fn plus(g: Option<&Tensor>, front: usize, t: usize, carried: Tensor) -> Result<Tensor> {
    match g {
        Some(g) => add(&g.select(front as isize, t as isize)?, &carried),
        None => Ok(carried),
    }
}

/// `slopeᵀ h` on top of what earlier steps gave.
fn grown(sum: Option<Tensor>, slope: &Tensor, h: &Tensor) -> Result<Option<Tensor>> {
    let one = product(&swap_axes(slope, slope.ndim() - 2, slope.ndim() - 1)?, h)?;
    sum.map_or(Ok(one.clone()), |sum| add(&sum, &one)).map(Some)
}

/// Slopes in the order of the backward pass, along time behind the axes of the batch.
fn in_time(cx: &Cx<'_>, order: Order, mut slopes: Vec<Tensor>) -> Result<Tensor> {
    if order.at(0) == 0 {
        slopes.reverse();
    }
    stack(&slopes, cx.batch().len() as isize)
}

struct LstmStep {
    h: Tensor,
    c: Tensor,
    gates: [Tensor; 4],
    /// `tanh` of the cells after it.
    u: Tensor,
}

fn lstm_forward(order: Order, [x, h, weight, c]: [&Tensor; 4]) -> Result<Vec<LstmStep>> {
    let (turned, n) = (swap_axes(weight, 0, 1)?, h.shape()[1]);
    let (mut h, mut c) = (h.clone(), c.clone());
    let mut steps = Vec::new();
    for k in 0..order.steps {
        let z = add(&x.select(0, order.at(k) as isize)?, &product(&h, &turned)?)?;
        let (i, f) = (part(&z, 0, n)?.sigmoid()?, part(&z, 1, n)?.sigmoid()?);
        let (new, o) = (part(&z, 2, n)?.tanh()?, part(&z, 3, n)?.sigmoid()?);
        let cells = add(&mul(&f, &c)?, &mul(&i, &new)?)?;
        let u = cells.tanh()?;
        let state = mul(&o, &u)?;
        steps.push(LstmStep { h, c, gates: [i, f, new, o], u });
        (h, c) = (state, cells);
    }
    Ok(steps)
}

/// The backward of `lstm_sequence`.
pub(super) fn lstm_recorded(order: Order, cx: &mut Cx<'_>) -> Result<()> {
    let [x, h, weight, c] = [cx.saved(0)?, cx.saved(1)?, cx.saved(2)?, cx.saved(3)?];
    let (g, g_cells) = (cx.take_grad(0), cx.take_grad(1));
    let front = cx.batch().len();
    let mut to_h = Tensor::zeros(&batched_dims(cx, h.shape()), h.dtype())?;
    let mut to_c = to_h.clone();
    let (mut to_weight, mut slopes) = (None, Vec::new());
    for (k, step) in lstm_forward(order, [&x, &h, &weight, &c])?.iter().enumerate().rev() {
        let [i, f, new, o] = &step.gates;
        let gh = plus(g.as_ref(), front, order.at(k), to_h)?;
        let gc = plus(g_cells.as_ref(), front, order.at(k), to_c)?;
        let gc = add(&gc, &through_tanh(&step.u, &mul(o, &gh)?)?)?;
        let slope = join(
            &[
                through_sigmoid(i, &mul(new, &gc)?)?,
                through_sigmoid(f, &mul(&step.c, &gc)?)?,
                through_tanh(new, &mul(i, &gc)?)?,
                through_sigmoid(o, &mul(&step.u, &gh)?)?,
            ],
            front + 1,
        )?;
        to_c = mul(f, &gc)?;
        to_h = product(&slope, &weight)?;
        to_weight = grown(to_weight, &slope, &step.h)?;
        slopes.push(slope);
    }
    let to_x = in_time(cx, order, slopes)?;
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

fn gru_forward(order: Order, [x, h, weight, bias]: [&Tensor; 4]) -> Result<Vec<GruStep>> {
    let (turned, n) = (swap_axes(weight, 0, 1)?, h.shape()[1]);
    let bias = reshape_dims(bias, &[1, n])?;
    let mut h = h.clone();
    let mut steps = Vec::new();
    for k in 0..order.steps {
        let (x, p) = (x.select(0, order.at(k) as isize)?, product(&h, &turned)?);
        let r = add(&part(&x, 0, n)?, &part(&p, 0, n)?)?.sigmoid()?;
        let z = add(&part(&x, 1, n)?, &part(&p, 1, n)?)?.sigmoid()?;
        let m = add(&part(&p, 2, n)?, &bias)?;
        let new = add(&part(&x, 2, n)?, &mul(&r, &m)?)?.tanh()?;
        let state = add(&new, &mul(&z, &sub(&h, &new)?)?)?;
        steps.push(GruStep { h, gates: [r, z, new, m] });
        h = state;
    }
    Ok(steps)
}

/// The backward of `gru_sequence`.
pub(super) fn gru_recorded(order: Order, cx: &mut Cx<'_>) -> Result<()> {
    let [x, h, weight, bias] = [cx.saved(0)?, cx.saved(1)?, cx.saved(2)?, cx.saved(3)?];
    let (g, front) = (cx.take_grad(0), cx.batch().len());
    let mut to_h = Tensor::zeros(&batched_dims(cx, h.shape()), h.dtype())?;
    let (mut to_weight, mut to_bias) =
        (None, Tensor::zeros(&batched_dims(cx, bias.shape()), h.dtype())?);
    let mut slopes = Vec::new();
    for (k, step) in gru_forward(order, [&x, &h, &weight, &bias])?.iter().enumerate().rev() {
        let [r, z, new, m] = &step.gates;
        let gh = plus(g.as_ref(), front, order.at(k), to_h)?;
        let kept = mul(z, &gh)?;
        let to_new = through_tanh(new, &sub(&gh, &kept)?)?;
        let to_z = through_sigmoid(z, &mul(&sub(&step.h, new)?, &gh)?)?;
        let (to_r, to_m) = (through_sigmoid(r, &mul(m, &to_new)?)?, mul(r, &to_new)?);
        let slope = join(&[to_r.clone(), to_z.clone(), to_m.clone()], front + 1)?;
        to_h = add(&kept, &product(&slope, &weight)?)?;
        to_weight = grown(to_weight, &slope, &step.h)?;
        to_bias = add(&to_bias, &sum_over(&to_m, &[front], false)?)?;
        slopes.push(join(&[to_r, to_z, to_new], front + 1)?);
    }
    let to_x = in_time(cx, order, slopes)?;
    cx.give_with(0, |_| Ok(to_x))?;
    cx.give_with(1, |_| Ok(to_h))?;
    if let Some(to_weight) = to_weight {
        cx.give_with(2, |_| Ok(to_weight))?;
    }
    cx.give_with(3, |_| Ok(to_bias))
}
