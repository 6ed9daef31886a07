//! In-place operations: `x += y`, `x.exp_()`, `copy_`, `fill_`. Each checks that the change falsifies no gradient, writes,
//! bumps the version and records the new history.
//!
//! Invariant: after a change, every tensor that shares the memory has the history of its new values.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::array::observer;
use crate::error::{Error, Result};
use crate::graph::{self, FORWARD, INFERENCE, Mode, TRANSFORM};
use crate::kernels;
use crate::kernels::elementwise;
use crate::ops::core::broadcast::{astype, broadcast_to, cast_with_warnings};
use crate::ops::core::elementwise::{Elementwise, OperandRef, binary_operands};
use crate::ops::core::op_decl::{Arg, OpDecl, Operand, Output, Scalar};
use crate::ops::core::structured::{NodeSpec, move_cost, record_output, save_none};
use crate::ops::inplace::elementwise_call::elementwise_call;
use crate::tensor::{
    AtomicDetachReason, DetachReason, Edge, Region, Tensor, TensorFlags, ViewOrigin, Write,
    same_elements,
};

fn refuse(op: &'static str, what: &str, remedy: &'static str) -> Box<Error> {
    Box::new(Error::InPlace { op: op.into(), what: what.into(), remedy })
}

/// Refuses to change a gradient that a hook or a backward received: its memory may be shared.
pub(crate) fn refuse_read_only(op: &'static str, x: &Tensor) -> Result<()> {
    if !x.is_read_only() {
        return Ok(());
    }
    Err(refuse(
        op,
        "the gradient that a hook or a backward was given is read-only",
        "change a clone of it: g = g.clone()",
    ))
}

/// Refuses to change an element that was read: it is a copy, so the write would not reach the memory it came from.
fn refuse_element(op: &'static str, x: &Tensor) -> Result<()> {
    if x.view_origin() != ViewOrigin::Element || x.meta().is_some_and(|meta| meta.is_memory()) {
        return Ok(());
    }
    let what = "the tensor is one element read by x[i], which is a value of its own: nothing would be written to x";
    Err(refuse(
        op,
        what,
        "assign to the element, x[i] = value or x[i] += value, or clone() it first",
    ))
}

/// Whether writing a value to `x` is recorded, or would have to be.
pub(crate) fn recorded(x: &Tensor, value_requires_grad: bool) -> bool {
    let concerns =
        || x.requires_grad() || x.flags().has(TensorFlags::HIDES_GRAD) || x.shows_requiring_leaf();
    graph::recording() && (value_requires_grad || concerns())
}

/// Refuses a recorded change whose history cannot be represented.
pub(crate) fn admit_history(op: &'static str, x: &Tensor) -> Result<()> {
    let (what, remedy) = if x.requires_grad() && x.is_leaf() {
        (
            "a leaf that requires grad cannot be changed in place while recording",
            "change it under no_grad(), or compute a new tensor; see docs/when_it_goes_wrong.md",
        )
    } else if x.shows_requiring_leaf() {
        (
            "a view of a leaf that requires grad cannot be changed in place while recording",
            "change it under no_grad(), or change a clone() of the leaf; see docs/when_it_goes_wrong.md",
        )
    } else if let Some(both) = x.view_origin().refusal() {
        both
    } else {
        return Ok(());
    };
    Err(refuse(op, what, remedy))
}

/// Checks every change before anything is written.
pub(crate) fn admit_write(op: &'static str, x: &Tensor, recorded: bool) -> Result<()> {
    observer::check_write(x.storage(), recorded)?;
    if recorded {
        admit_history(op, x)?;
    }
    admit_memory(op, x)
}

/// Refuses changes that are invalid whatever the history: inference tensors, elements, read-only or aliased memory.
pub(crate) fn admit_memory(op: &'static str, x: &Tensor) -> Result<()> {
    if x.is_inference() && !Mode::current().has(INFERENCE) {
        return Err(Box::new(Error::Inference {
            op: op.into(),
            what: "a tensor made in inference mode cannot be changed outside it",
            remedy: "change a clone()",
        }));
    }
    refuse_read_only(op, x)?;
    refuse_element(op, x)?;
    if !x.storage().is_writable() {
        return Err(refuse(op, "the tensor's memory is read-only", "clone() it first"));
    }
    if !x.layout().is_injective() {
        return Err(refuse(op, shared_elements(x), "clone() it first"));
    }
    Ok(())
}

/// Whether an unrecorded write to the elements is allowed and none of them has a history.
#[cfg(feature = "python")]
pub(crate) fn is_plain_memory(x: &Tensor) -> bool {
    let concerns =
        x.requires_grad() || x.flags().has(TensorFlags::HIDES_GRAD) || x.shows_requiring_leaf();
    !concerns && admit_memory("numpy", x).is_ok()
}

/// Why several elements share an address: a stride of 0, or overlapping windows.
#[cold]
fn shared_elements(x: &Tensor) -> &'static str {
    let mut axes = x.shape().iter().zip(x.layout().strides());
    if axes.any(|(&dim, &stride)| dim > 1 && stride == 0) {
        "several elements of an expanded tensor share one memory location"
    } else {
        "elements of overlapping windows share one memory location"
    }
}

/// NumPy's `same_kind` casting: wider floats and integers are rounded or wrapped; floats never become integers.
pub(crate) fn admit_dtype(op: &'static str, x: &Tensor, value: &Tensor) -> Result<()> {
    if x.dtype().takes(value.dtype()) {
        return Ok(());
    }
    Err(Box::new(Error::Unsupported {
        op: op.into(),
        what: format!("the result is {} and the tensor it goes into {}", value.dtype(), x.dtype()),
        remedy: "compute a new tensor, x = x + y instead of x += y, or convert one with astype first",
    }))
}

/// The new history of a recorded write.
pub(crate) struct NewHistory {
    /// The edge of the written values; `None` for constants.
    pub(crate) edge: Option<Edge>,
    /// Whether the edge's node was made for this write only.
    pub(crate) own_node: bool,
}

/// After `region`, a view of memory of `x`, was written: bumps the version and, if recorded, notes the history.
pub(crate) fn finish_write(
    op: &'static str,
    x: &Tensor,
    region: &Tensor,
    history: Option<NewHistory>,
    varies: bool,
) {
    let version = x.changed_in_place(op);
    if let Some(NewHistory { edge, own_node }) = history {
        x.note_write(Write { op, region: Region::of(region), edge, own_node, version });
    } else if varies {
        x.set_cause(&AtomicDetachReason::here(DetachReason::NoGrad));
        if Mode::current().has(FORWARD) {
            x.note_cut_write();
        }
    }
}

/// What kind of values replaces the elements of a tensor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overwrite {
    /// Another tensor's elements, cast to the dtype; the old values get no gradient at all.
    Replacing,
    /// The same, but the old values get a gradient of zero, as in PyTorch; not in transforms, which return zeros for unused
    /// inputs anyway.
    Assigned,
    /// The result of an operation on the old elements, which carries their history.
    Computed,
    /// The same, with a node made for this change only.
    ComputedHere,
}

/// Writes `value` into `x`.
pub(crate) fn overwrite(
    op: &'static str,
    x: &Tensor,
    value: &Tensor,
    what: Overwrite,
) -> Result<()> {
    let recorded = recorded(x, value.requires_grad());
    admit_write(op, x, recorded)?;
    if !matches!(what, Overwrite::Assigned | Overwrite::Replacing) {
        admit_dtype(op, x, value)?;
    }
    let value = broadcast_to(&astype(value, x.dtype())?, x.shape())?;
    let varies = value.requires_grad() || value.is_cut();
    // Edges are taken before the version is bumped: they are the history of the old values.
    let history = match what {
        _ if !recorded => None,
        Overwrite::Assigned if !Mode::current().has(TRANSFORM) => Some(NewHistory {
            edge: record_replacement(op, x, &value)?.grad_edge(),
            own_node: true,
        }),
        Overwrite::Assigned | Overwrite::Replacing => {
            Some(NewHistory { edge: value.grad_edge(), own_node: false })
        }
        _ => {
            Some(NewHistory { edge: value.grad_edge(), own_node: what == Overwrite::ComputedHere })
        }
    };
    let writing = x.before_write(op)?;
    kernels::copy(value.view_of(), x.shared_view_mut());
    drop(writing);
    finish_write(op, x, x, history, varies);
    Ok(())
}

/// `value` recorded as the replacement of `x`, whose gradient is zero.
fn record_replacement(op: &'static str, x: &Tensor, value: &Tensor) -> Result<Tensor> {
    record_output(value.detach(), &[x, value], |out| NodeSpec {
        name: op,
        cost: move_cost(out),
        params: (),
        saved: save_none(),
        backward: |(), g, cx| {
            cx.give_with(0, |_| Tensor::zeros(g.shape(), g.dtype()))?;
            cx.give_with(1, |_| Ok(g))
        },
    })
}

/// A copy of `x` with its history, for derivatives that need the old values.
fn copy_with_history(x: &Tensor) -> Result<Tensor> {
    let copy = x.duplicate()?;
    Ok(match x.grad_edge() {
        Some(edge) => copy.attach(edge),
        None => copy,
    })
}

fn check_result_shape(op: &'static str, x: &Tensor, result: &Tensor) -> Result<()> {
    if result.shape() == x.shape() {
        return Ok(());
    }
    if result.size() == x.size() {
        return Err(Box::new(Error::Shape {
            op: op.into(),
            what: format!(
                "the result has shape {:?} and the tensor {:?}",
                result.shape(),
                x.shape()
            ),
            remedy: "a tensor keeps its shape in place; use the operation without the underscore",
        }));
    }
    Err(Box::new(Error::Broadcast { op: op.into(), a: x.shape().into(), b: result.shape().into() }))
}

/// Whether `t` can be read while `x` is written: their memories do not overlap, or the elements are the same.
pub(crate) fn can_read_during_write(x: &Tensor, t: &Tensor) -> bool {
    let range = |t: &Tensor| {
        let start = t.storage().ptr() as usize;
        (start, start + t.storage().nbytes())
    };
    let ((a, b), (c, d)) = (range(x), range(t));
    b <= c || d <= a || (a == c && same_elements(x, t))
}

/// `t` broadcast to the shape of `x`, if its dtype is equal and it can be read while `x` is written.
fn broadcast_operand<'a>(x: &Tensor, t: &'a Tensor) -> Result<Option<Cow<'a, Tensor>>> {
    if t.dtype() != x.dtype() || recorded(x, t.requires_grad()) {
        return Ok(None);
    }
    if t.shape() == x.shape() {
        return Ok(can_read_during_write(x, t).then_some(Cow::Borrowed(t)));
    }
    let readable = !t.storage().same(x.storage()) && can_read_during_write(x, t);
    if readable && x.layout().can_broadcast_from(t.layout()) {
        return broadcast_to(t, x.shape()).map(|t| Some(Cow::Owned(t)));
    }
    Ok(None)
}

/// Computes `x = op(operands…)` directly in the memory of `x`, if nothing is recorded and the operands have one dtype and
/// broadcast to its shape; returns whether it applied.
pub(super) fn compute_in_place(
    op: &'static Elementwise,
    name: &'static str,
    x: &Tensor,
    operands: &[OperandRef<'_>],
    params: &[f64],
) -> Result<bool> {
    let dtype = x.dtype();
    let mut broadcast: SmallVec<[Option<Tensor>; 2]> = SmallVec::new();
    for operand in operands {
        broadcast.push(match operand {
            OperandRef::Tensor(t) if std::ptr::eq(*t, x) => None,
            OperandRef::Tensor(t) => match broadcast_operand(x, t)? {
                Some(Cow::Owned(t)) => Some(t),
                Some(Cow::Borrowed(_)) => None,
                None => return Ok(false),
            },
            // A number may select another operation, or promote integers to floats.
            OperandRef::Scalar(Scalar::Complex(..)) => return Ok(false),
            OperandRef::Scalar(_) if dtype.is_float() && op.unary_for_scalar.is_none() => None,
            OperandRef::Scalar(_) => return Ok(false),
        });
    }
    if op.forward.mask || !op.takes(dtype) || recorded(x, false) || Mode::current().has(FORWARD) {
        return Ok(false);
    }
    let pairs = operands.iter().zip(&broadcast);
    let inputs: SmallVec<[OperandRef<'_>; 3]> = pairs
        .map(|(operand, broadcast)| broadcast.as_ref().map_or(*operand, OperandRef::Tensor))
        .collect();
    if let Some(check) = op.operand_check {
        check(&inputs, dtype, params)?;
    }
    let writing = x.before_write(name)?;
    let done = x.flat().is_some_and(|out| op.run_flat(&inputs, dtype, out, params));
    if !done {
        let ins: SmallVec<[_; 3]> = inputs.iter().map(|operand| operand.input()).collect();
        elementwise::apply(op.forward, &ins, x.shared_view_mut(), params);
    }
    drop(writing);
    finish_write(name, x, x, None, false);
    Ok(true)
}

/// `x = op(x, value)` in place.
pub fn binary_(op: &'static Elementwise, x: &Tensor, value: &Operand) -> Result<()> {
    admit_write(op.name, x, recorded(x, false))?;
    if compute_in_place(op, op.name, x, &[OperandRef::Tensor(x), OperandRef::from(value)], &[])? {
        return Ok(());
    }
    let result = binary_operands(op, &Operand::Tensor(x.clone()), value)?;
    check_result_shape(op.name, x, &result)?;
    overwrite(op.name, x, &result, Overwrite::ComputedHere)
}

/// `x = operation(x, …)` in place; `args` are those of the call, of which `x` is the first.
pub fn apply(decl: &OpDecl, name: &'static str, args: &mut [Arg]) -> Result<()> {
    let Some(Arg::Tensor(x)) = args.first() else {
        return Err(refuse(name, "the receiver is no tensor", "call it on a tensor"));
    };
    admit_write(name, x, recorded(x, false))?;
    if let Some((op, operands, params)) = elementwise_call(decl, args)
        && compute_in_place(op, name, x, &operands, &params)?
    {
        return Ok(());
    }
    let x = x.clone();
    let Output::Tensor(result) = (decl.call)(args)? else {
        return Err(refuse(name, "the result is no tensor", "use the function instead"));
    };
    check_result_shape(name, &x, &result)?;
    // The operation may have returned an operand itself.
    let result =
        if result.storage().same(x.storage()) { copy_with_history(&result)? } else { result };
    let edge = result.grad_edge();
    let has_result_edge = |arg: &Arg| matches!(arg, Arg::Tensor(t) if t.grad_edge() == edge);
    let own_node = edge.is_some() && !args.iter().any(has_result_edge);
    let what = if own_node { Overwrite::ComputedHere } else { Overwrite::Computed };
    overwrite(name, &x, &result, what)
}

/// `x[...] = value`, whatever the dtype of the value.
pub fn copy_(x: &Tensor, value: &Tensor) -> Result<()> {
    copy_named("copy_", x, value, Overwrite::Assigned)
}

/// Writes a result to `out=`.
pub fn put_result(op: &'static str, x: &Tensor, value: &Tensor) -> Result<()> {
    copy_named(op, x, value, Overwrite::Replacing)
}

/// Sets every element to one value.
pub fn fill_(x: &Tensor, value: &Operand) -> Result<()> {
    match value {
        Operand::Tensor(t) => copy_named("fill_", x, t, Overwrite::Assigned),
        Operand::Scalar(s) => {
            copy_named("fill_", x, &Tensor::full(&[], *s, x.dtype())?, Overwrite::Assigned)
        }
    }
}

fn copy_named(op: &'static str, x: &Tensor, value: &Tensor, what: Overwrite) -> Result<()> {
    let source =
        if value.storage().same(x.storage()) { copy_with_history(value)? } else { value.clone() };
    overwrite(op, x, &cast_with_warnings(&source, x.dtype())?, what)
}
