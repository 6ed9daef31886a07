//! Gated recurrent layers over time: every step in one node.
//!
//! Owns: `lstm_sequence`, `gru_sequence` and their first-order backward in fused steps. The same in tensor operations, for
//! derivatives of the derivative and for batches of gradients: `recurrent_recorded.rs`.
//! Invariant: the gradient of the recurrent weight is one product over all steps.

use smallvec::smallvec;

use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::kernels::{self, recurrent::Activations};
use crate::ops::core::broadcast::{astype, real_float, reshape_dims, sum_over, swap_axes};
use crate::ops::core::elementwise::{Elementwise, binary};
use crate::ops::core::structured::{Cx, RecordMany, Save, finish_many, move_cost};
use crate::ops::core::view::slice_axis;
use crate::ops::elementwise::activation::SIGMOID;
use crate::ops::elementwise::arithmetic::ADD;
use crate::ops::elementwise::unary::TANH;
use crate::ops::nn::recurrent_composed::{gru_recorded, lstm_recorded};
use crate::ops::product::matmul::product;
use crate::tensor::Tensor;

/// The steps in the order in which they are taken.
#[derive(Clone, Copy)]
pub(super) struct Order {
    pub(super) steps: usize,
    reverse: bool,
}

impl Order {
    /// The place in time of step `k`.
    pub(super) fn at(self, k: usize) -> usize {
        if self.reverse { self.steps - 1 - k } else { k }
    }
}

fn loops(dtype: DType) -> Activations {
    let of = |op: &Elementwise| op.forward.get(dtype).expect("every float has a loop");
    Activations { sigmoid: of(&SIGMOID), tanh: of(&TANH) }
}

/// What stands at one place in time, without a history.
fn at(x: &Tensor, t: usize) -> Tensor {
    x.with_layout(x.layout().select(0, t))
}

/// Operands of one float dtype and of the shapes (T, N, gates H), (N, H), (gates H, H), and the shape of `last`.
fn fitted<const N: usize>(
    op: &'static str,
    gates: usize,
    operands: [&Tensor; N],
    last: impl Fn(usize, usize) -> bool,
) -> Result<[Tensor; N]> {
    let [x, h, weight] = [operands[0], operands[1], operands[2]].map(Tensor::shape);
    let fits = match (x, h) {
        (&[steps, rows, wide], &[n_rows, n]) => {
            steps > 0
                && rows == n_rows
                && wide == gates * n
                && *weight == [wide, n]
                && last(rows, n)
        }
        _ => false,
    };
    if !fits {
        let dims: Vec<String> =
            operands.iter().map(|x| Dims::from(x.shape()).to_string()).collect();
        return Err(Box::new(Error::Shape {
            op: op.into(),
            what: format!("operands of shapes {}", dims.join(", ")),
            remedy: "give x (T, N, gates H) of at least one step, h (N, H), the weight (gates H, H), and c (N, H) or the bias (H)",
        }));
    }
    let dtype = operands.iter().fold(operands[0].dtype(), |dtype, x| dtype.promote(x.dtype()));
    let dtype = real_float(op, dtype)?;
    let mut cast = operands.map(Tensor::clone);
    for x in &mut cast {
        *x = astype(x, dtype)?;
    }
    Ok(cast)
}

/// The values of a tensor in C order, without a history.
fn plain(x: &Tensor) -> Result<Tensor> {
    x.detach().contiguous()
}

/// Zeros of this shape, or the gradient that arrived.
fn arrived(g: Option<Tensor>, like: &Tensor) -> Result<Tensor> {
    match g {
        Some(g) => g.contiguous(),
        None => Tensor::zeros(like.shape(), like.dtype()),
    }
}

/// The gradient of the recurrent weight: the sum of `slopesᵀ h` over all steps, each with the state before it.
fn weight_gradient(order: Order, slopes: &Tensor, out: &Tensor, first: &Tensor) -> Result<Tensor> {
    let lone = product(&swap_axes(&at(slopes, order.at(0)), 0, 1)?, first)?;
    let rest = order.steps - 1;
    if rest == 0 {
        return Ok(lone);
    }
    let flat = |x: &Tensor, start: usize| {
        let part = x.with_layout(x.layout().slice(0, start, 1, rest));
        reshape_dims(&part, &[rest * x.shape()[1], x.shape()[2]])
    };
    let (after, before) = if order.reverse { (0, 1) } else { (1, 0) };
    let many = product(&swap_axes(&flat(slopes, after)?, 0, 1)?, &flat(out, before)?)?;
    binary(&ADD, &many, &lone)
}

/// All outputs and all cells of an LSTM from operands of one dtype, and the values of its gates.
fn lstm_steps([x, h, weight, c]: [&Tensor; 4], order: Order) -> Result<[Tensor; 3]> {
    let (dtype, x) = (x.dtype(), plain(x)?);
    let (mut h, mut c, turned) =
        (plain(h)?, plain(c)?, plain(&swap_axes(&weight.detach(), 0, 1)?)?);
    let (steps, rows, n) = (order.steps, h.shape()[0], h.shape()[1]);
    let gates = Tensor::empty(&[steps, 5, rows, n], dtype)?;
    let (out, cells) =
        (Tensor::empty(&[steps, rows, n], dtype)?, Tensor::empty(&[steps, rows, n], dtype)?);
    let projected = Tensor::empty(&[rows, 4 * n], dtype)?;
    for k in 0..steps {
        let t = order.at(k);
        let (x, gates, cell, state) = (at(&x, t), at(&gates, t), at(&cells, t), at(&out, t));
        kernels::matmul(h.view_of(), turned.view_of(), &projected.view_mut())?;
        kernels::recurrent::lstm(
            loops(dtype),
            x.view_of(),
            projected.view_of(),
            c.view_of(),
            gates.view_mut(),
            cell.view_mut(),
            state.view_mut(),
        );
        (h, c) = (state, cell);
    }
    Ok([out, cells, gates])
}

fn lstm_gradient(order: &Order, cx: &mut Cx<'_>) -> Result<()> {
    if cx.create_graph() || !cx.batch().is_empty() {
        return lstm_recorded(*order, cx);
    }
    let (h, weight, c) = (plain(&cx.saved(1)?)?, plain(&cx.saved(2)?)?, plain(&cx.saved(3)?)?);
    let [out, cells, gates] = [plain(&cx.saved(4)?)?, plain(&cx.saved(5)?)?, cx.saved(6)?];
    let (g, g_cells) = (arrived(cx.take_grad(0), &out)?, arrived(cx.take_grad(1), &cells)?);
    let (steps, rows, n) = (order.steps, h.shape()[0], h.shape()[1]);
    let slopes = Tensor::empty(&[steps, rows, 4 * n], h.dtype())?;
    let to_out = Tensor::zeros(h.shape(), h.dtype())?;
    let to_cells = Tensor::zeros(h.shape(), h.dtype())?;
    for k in (0..steps).rev() {
        let t = order.at(k);
        let before = if k == 0 { c.clone() } else { at(&cells, order.at(k - 1)) };
        let [gates, g, g_cells, slope] = [&gates, &g, &g_cells, &slopes].map(|x| at(x, t));
        kernels::recurrent::lstm_backward(
            [gates.view_of(), before.view_of()],
            [g.view_of(), to_out.view_of(), g_cells.view_of()],
            to_cells.view_mut(),
            slope.view_mut(),
        );
        if k > 0 || cx.wants(1) {
            kernels::matmul(slope.view_of(), weight.view_of(), &to_out.view_mut())?;
        }
    }
    cx.give_with(2, |_| weight_gradient(*order, &slopes, &out, &h))?;
    cx.give_with(0, |_| Ok(slopes))?;
    cx.give_with(1, |_| Ok(to_out))?;
    cx.give_with(3, |_| Ok(to_cells))
}

/// All outputs of a GRU from operands of one dtype, and what its gates hold.
fn gru_steps([x, h, weight, bias]: [&Tensor; 4], order: Order) -> Result<[Tensor; 2]> {
    let (dtype, x, bias) = (x.dtype(), plain(x)?, plain(bias)?);
    let (mut h, turned) = (plain(h)?, plain(&swap_axes(&weight.detach(), 0, 1)?)?);
    let (steps, rows, n) = (order.steps, h.shape()[0], h.shape()[1]);
    let gates = Tensor::empty(&[steps, 4, rows, n], dtype)?;
    let out = Tensor::empty(&[steps, rows, n], dtype)?;
    let projected = Tensor::empty(&[rows, 3 * n], dtype)?;
    for k in 0..steps {
        let t = order.at(k);
        let (x, gates, state) = (at(&x, t), at(&gates, t), at(&out, t));
        kernels::matmul(h.view_of(), turned.view_of(), &projected.view_mut())?;
        kernels::recurrent::gru(
            loops(dtype),
            x.view_of(),
            projected.view_of(),
            bias.view_of(),
            h.view_of(),
            gates.view_mut(),
            state.view_mut(),
        );
        h = state;
    }
    Ok([out, gates])
}

fn gru_gradient(order: &Order, cx: &mut Cx<'_>) -> Result<()> {
    if cx.create_graph() || !cx.batch().is_empty() {
        return gru_recorded(*order, cx);
    }
    let (h, weight) = (plain(&cx.saved(1)?)?, plain(&cx.saved(2)?)?);
    let (out, gates) = (plain(&cx.saved(4)?)?, cx.saved(5)?);
    let g = arrived(cx.take_grad(0), &out)?;
    let (steps, rows, n) = (order.steps, h.shape()[0], h.shape()[1]);
    let slopes = [(); 2].map(|()| Tensor::empty(&[steps, rows, 3 * n], h.dtype()));
    let [to_x, to_product] = slopes;
    let (to_x, to_product) = (to_x?, to_product?);
    let to_out = Tensor::zeros(h.shape(), h.dtype())?;
    let carried = Tensor::zeros(h.shape(), h.dtype())?;
    for k in (0..steps).rev() {
        let t = order.at(k);
        let before = if k == 0 { h.clone() } else { at(&out, order.at(k - 1)) };
        let [gates, g, to_x, to_product] = [&gates, &g, &to_x, &to_product].map(|x| at(x, t));
        kernels::recurrent::gru_backward(
            [gates.view_of(), before.view_of()],
            [g.view_of(), to_out.view_of()],
            carried.view_mut(),
            to_x.view_mut(),
            to_product.view_mut(),
        );
        if k > 0 || cx.wants(1) {
            kernels::matmul(to_product.view_of(), weight.view_of(), &to_out.view_mut())?;
        }
    }
    cx.give_with(0, |_| Ok(to_x))?;
    cx.give_with(1, |_| binary(&ADD, &to_out, &carried))?;
    cx.give_with(2, |_| weight_gradient(*order, &to_product, &out, &h))?;
    cx.give_with(3, |_| sum_over(&slice_axis(&to_product, 2, 2 * n, 1, n)?, &[0, 1], false))
}

crate::operations! { family "recurrent" [float32];
    /// All steps of an LSTM: `i, f, g, o` are the parts of `x_t + h weightᵀ`, `c' = σ(f) c + σ(i) tanh(g)`, `h' = σ(o) tanh(c')`. x is (T, N, 4H), the states (N, H), the weight (4H, H); the results are h' and c' at all times, (T, N, H). `reverse` begins with the last. Derivative: the chain rule from step to step.
    [namespace("nn.functional")]
    fn lstm_sequence(x: Tensor, h: Tensor, weight: Tensor, c: Tensor, reverse: bool = false) -> Vec<Tensor> {
        let [x, h, weight, c] = fitted("lstm_sequence", 4, [x, h, weight, c], |rows, n| *c.shape() == [rows, n])?;
        let order = Order { steps: x.shape()[0], reverse };
        let [out, cells, gates] = lstm_steps([&x, &h, &weight, &c], order)?;
        finish_many(vec![out, cells], &[&x, &h, &weight, &c], |_| RecordMany {
            name: "lstm_sequence",
            cost: 20.0 * move_cost(&x),
            params: order,
            saved: smallvec![
                Save::input(0, &[0, 1, 2, 3]),
                Save::input(1, &[0, 1, 2, 3]),
                Save::input(2, &[0, 1, 2, 3]),
                Save::input(3, &[0, 1, 2, 3]),
                Save::output(0, &[0, 1, 2, 3]),
                Save::output(1, &[0, 1, 2, 3]),
                Save::value(&gates, &[0, 1, 2, 3]),
            ],
            backward: lstm_gradient,
        })
    }
    /// All steps of a GRU: `r` and `z` are sigmoids of the first parts of `x_t + h weightᵀ`, `n = tanh(x_n + r (h weightᵀ_n + bias))`, `h' = n + z (h - n)`. x is (T, N, 3H), h (N, H), the weight (3H, H), the bias (H); the result is h' at all times, (T, N, H). `reverse` begins with the last. Derivative: the chain rule from step to step.
    [namespace("nn.functional")]
    fn gru_sequence(x: Tensor, h: Tensor, weight: Tensor, bias: Tensor, reverse: bool = false) -> Tensor {
        let [x, h, weight, bias] = fitted("gru_sequence", 3, [x, h, weight, bias], |_, n| *bias.shape() == [n])?;
        let order = Order { steps: x.shape()[0], reverse };
        let [out, gates] = gru_steps([&x, &h, &weight, &bias], order)?;
        let outs = finish_many(vec![out], &[&x, &h, &weight, &bias], |_| RecordMany {
            name: "gru_sequence",
            cost: 20.0 * move_cost(&x),
            params: order,
            saved: smallvec![
                Save::input(0, &[0, 1, 2, 3]),
                Save::input(1, &[0, 1, 2, 3]),
                Save::input(2, &[0, 1, 2, 3]),
                Save::input(3, &[0, 1, 2, 3]),
                Save::output(0, &[0, 1, 2, 3]),
                Save::value(&gates, &[0, 1, 2, 3]),
            ],
            backward: gru_gradient,
        })?;
        Ok(outs.into_iter().next().expect("one result"))
    }
}
