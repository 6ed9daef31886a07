//! LSTM and GRU over all time steps as one node, with fused first-order backward passes.
//!
//! `recurrent_composed.rs` has the backward in tensor operations, for higher derivatives and
//! batched gradients. Invariant: the gradient of the recurrent weight is one product over all
//! steps.

use smallvec::smallvec;

use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::kernels::{self, recurrent::Activations};
use crate::ops::core::broadcast::{astype, real_float, reshape_dims, sum_over, swap_axes};
use crate::ops::core::elementwise::{Elementwise, binary};
use crate::ops::core::structured::{Cx, NodeSpecMany, Save, move_cost, record_outputs};
use crate::ops::core::view::slice_axis;
use crate::ops::elementwise::activation::SIGMOID;
use crate::ops::elementwise::arithmetic::ADD;
use crate::ops::elementwise::unary::TANH;
use crate::ops::nn::recurrent_composed::{gru_composed, lstm_composed};
use crate::ops::product::matmul::product;
use crate::tensor::Tensor;

/// The order of the time steps.
#[derive(Clone, Copy)]
pub(super) struct StepOrder {
    pub(super) steps: usize,
    reverse: bool,
}

impl StepOrder {
    /// The time index of step `k`.
    pub(super) fn time_index(self, k: usize) -> usize {
        if self.reverse { self.steps - 1 - k } else { k }
    }
}

fn loops(dtype: DType) -> Activations {
    let of = |op: &Elementwise| op.forward.get(dtype).expect("every float has a loop");
    Activations { sigmoid: of(&SIGMOID), tanh: of(&TANH) }
}

/// The values at one time index, detached.
fn at(x: &Tensor, t: usize) -> Tensor {
    x.with_layout(x.layout().select(0, t))
}

/// Checks the shapes (T, N, gates H), (N, H), (gates H, H) and that of the last operand, and casts
/// to one float dtype.
fn check_operands<const N: usize>(
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

/// The contiguous values of a tensor, detached.
fn detached_contiguous(x: &Tensor) -> Result<Tensor> {
    x.detach().contiguous()
}

/// The gradient, or zeros if there is none.
fn grad_or_zeros(g: Option<Tensor>, like: &Tensor) -> Result<Tensor> {
    match g {
        Some(g) => g.contiguous(),
        None => Tensor::zeros(like.shape(), like.dtype()),
    }
}

/// The gradient of the recurrent weight: the sum of `slopesᵀ h` over all steps, each with the state
/// before it.
fn weight_gradient(
    order: StepOrder,
    pre_activation_grads: &Tensor,
    out: &Tensor,
    first: &Tensor,
) -> Result<Tensor> {
    let first_step =
        product(&swap_axes(&at(pre_activation_grads, order.time_index(0)), 0, 1)?, first)?;
    let rest = order.steps - 1;
    if rest == 0 {
        return Ok(first_step);
    }
    let flat = |x: &Tensor, start: usize| {
        let part = x.with_layout(x.layout().slice(0, start, 1, rest));
        reshape_dims(&part, &[rest * x.shape()[1], x.shape()[2]])
    };
    let (after, before) = if order.reverse { (0, 1) } else { (1, 0) };
    let other_steps =
        product(&swap_axes(&flat(pre_activation_grads, after)?, 0, 1)?, &flat(out, before)?)?;
    binary(&ADD, &other_steps, &first_step)
}

/// Forward pass of an LSTM: all outputs, all cell states, and the gate values.
fn lstm_steps([x, h, weight, c]: [&Tensor; 4], order: StepOrder) -> Result<[Tensor; 3]> {
    let (dtype, x) = (x.dtype(), detached_contiguous(x)?);
    let (mut h, mut c, weight_t) = (
        detached_contiguous(h)?,
        detached_contiguous(c)?,
        detached_contiguous(&swap_axes(&weight.detach(), 0, 1)?)?,
    );
    let (steps, rows, n) = (order.steps, h.shape()[0], h.shape()[1]);
    let gates = Tensor::empty(&[steps, 5, rows, n], dtype)?;
    let (out, cells) =
        (Tensor::empty(&[steps, rows, n], dtype)?, Tensor::empty(&[steps, rows, n], dtype)?);
    let projected = Tensor::empty(&[rows, 4 * n], dtype)?;
    for k in 0..steps {
        let t = order.time_index(k);
        let (x, gates, cell, state) = (at(&x, t), at(&gates, t), at(&cells, t), at(&out, t));
        kernels::matmul(h.view_of(), weight_t.view_of(), &projected.view_mut())?;
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

fn lstm_gradient(order: &StepOrder, cx: &mut Cx<'_>) -> Result<()> {
    if cx.create_graph() || !cx.batch().is_empty() {
        return lstm_composed(*order, cx);
    }
    let (h, weight, c) = (
        detached_contiguous(&cx.saved(1)?)?,
        detached_contiguous(&cx.saved(2)?)?,
        detached_contiguous(&cx.saved(3)?)?,
    );
    let [out, cells, gates] =
        [detached_contiguous(&cx.saved(4)?)?, detached_contiguous(&cx.saved(5)?)?, cx.saved(6)?];
    let (g, g_cells) =
        (grad_or_zeros(cx.take_grad(0), &out)?, grad_or_zeros(cx.take_grad(1), &cells)?);
    let (steps, rows, n) = (order.steps, h.shape()[0], h.shape()[1]);
    let pre_activation_grads = Tensor::empty(&[steps, rows, 4 * n], h.dtype())?;
    let to_out = Tensor::zeros(h.shape(), h.dtype())?;
    let to_cells = Tensor::zeros(h.shape(), h.dtype())?;
    for k in (0..steps).rev() {
        let t = order.time_index(k);
        let before = if k == 0 { c.clone() } else { at(&cells, order.time_index(k - 1)) };
        let [gates, g, g_cells, slope] =
            [&gates, &g, &g_cells, &pre_activation_grads].map(|x| at(x, t));
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
    cx.give_with(2, |_| weight_gradient(*order, &pre_activation_grads, &out, &h))?;
    cx.give_with(0, |_| Ok(pre_activation_grads))?;
    cx.give_with(1, |_| Ok(to_out))?;
    cx.give_with(3, |_| Ok(to_cells))
}

/// Forward pass of a GRU: all outputs, and the gate values.
fn gru_steps([x, h, weight, bias]: [&Tensor; 4], order: StepOrder) -> Result<[Tensor; 2]> {
    let (dtype, x, bias) = (x.dtype(), detached_contiguous(x)?, detached_contiguous(bias)?);
    let (mut h, weight_t) =
        (detached_contiguous(h)?, detached_contiguous(&swap_axes(&weight.detach(), 0, 1)?)?);
    let (steps, rows, n) = (order.steps, h.shape()[0], h.shape()[1]);
    let gates = Tensor::empty(&[steps, 4, rows, n], dtype)?;
    let out = Tensor::empty(&[steps, rows, n], dtype)?;
    let projected = Tensor::empty(&[rows, 3 * n], dtype)?;
    for k in 0..steps {
        let t = order.time_index(k);
        let (x, gates, state) = (at(&x, t), at(&gates, t), at(&out, t));
        kernels::matmul(h.view_of(), weight_t.view_of(), &projected.view_mut())?;
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

fn gru_gradient(order: &StepOrder, cx: &mut Cx<'_>) -> Result<()> {
    if cx.create_graph() || !cx.batch().is_empty() {
        return gru_composed(*order, cx);
    }
    let (h, weight) = (detached_contiguous(&cx.saved(1)?)?, detached_contiguous(&cx.saved(2)?)?);
    let (out, gates) = (detached_contiguous(&cx.saved(4)?)?, cx.saved(5)?);
    let g = grad_or_zeros(cx.take_grad(0), &out)?;
    let (steps, rows, n) = (order.steps, h.shape()[0], h.shape()[1]);
    let pre_activation_grads = [(); 2].map(|()| Tensor::empty(&[steps, rows, 3 * n], h.dtype()));
    let [to_x, to_product] = pre_activation_grads;
    let (to_x, to_product) = (to_x?, to_product?);
    let to_out = Tensor::zeros(h.shape(), h.dtype())?;
    let carried = Tensor::zeros(h.shape(), h.dtype())?;
    for k in (0..steps).rev() {
        let t = order.time_index(k);
        let before = if k == 0 { h.clone() } else { at(&out, order.time_index(k - 1)) };
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
        let [x, h, weight, c] = check_operands("lstm_sequence", 4, [x, h, weight, c], |rows, n| *c.shape() == [rows, n])?;
        let order = StepOrder { steps: x.shape()[0], reverse };
        let [out, cells, gates] = lstm_steps([&x, &h, &weight, &c], order)?;
        record_outputs(vec![out, cells], &[&x, &h, &weight, &c], |_| NodeSpecMany {
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
        let [x, h, weight, bias] = check_operands("gru_sequence", 3, [x, h, weight, bias], |_, n| *bias.shape() == [n])?;
        let order = StepOrder { steps: x.shape()[0], reverse };
        let [out, gates] = gru_steps([&x, &h, &weight, &bias], order)?;
        let outs = record_outputs(vec![out], &[&x, &h, &weight, &bias], |_| NodeSpecMany {
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
