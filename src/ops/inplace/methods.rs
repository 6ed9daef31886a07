//! In-place changes: `x += y`, `x.exp_()`, `copy_`, `fill_`.
//!
//! Owns: the checks that keep a change from falsifying a gradient, the write, the version and the new history.
//! Never lets a leaf that requires grad change while recording.
//! Invariant: after a change every tensor that shares the memory has the history of its new values.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::array::capture;
use crate::error::{Error, Result};
use crate::graph::{self, FORWARD, INFERENCE, Mode, TRANSFORM};
use crate::kernels;
use crate::kernels::elementwise::{self, apply_flat};
use crate::ops::core::broadcast::{astype, broadcast_to, cast_aloud};
use crate::ops::core::elementwise::{Elementwise, Slot, binary_operands};
use crate::ops::core::op_decl::{Arg, OpDecl, Operand, Output, Scalar};
use crate::ops::core::structured::{Record, finish, move_cost, nothing};
use crate::ops::inplace::loop_choice::loop_of;
use crate::tensor::{
    AtomicCause, CutCause, Edge, Region, Tensor, TensorFlags, ViewOrigin, Write, same_elements,
};

fn refuse(op: &'static str, what: &str, remedy: &'static str) -> Box<Error> {
    Box::new(Error::InPlace { op: op.into(), what: what.into(), remedy })
}

/// A gradient that user code was given shares its memory with others.
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

/// An element that was read is a value of its own: a write to it would not reach the memory that it was read from.
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

/// Whether writing something that does or does not require grad to `x` makes history, or would have to.
pub(crate) fn recorded(x: &Tensor, value_requires_grad: bool) -> bool {
    let concerns =
        || x.requires_grad() || x.flags().has(TensorFlags::HIDES_GRAD) || x.shows_requiring_leaf();
    graph::recording() && (value_requires_grad || concerns())
}

/// The refusals of a recorded change whose history could not be told.
pub(crate) fn admit_history(op: &'static str, x: &Tensor) -> Result<()> {
    let (what, remedy) = if x.requires_grad() && x.is_leaf() {
        (
            "a leaf that requires grad cannot be changed in place while recording",
            "change it under no_grad(), or compute a new tensor",
        )
    } else if x.shows_requiring_leaf() {
        (
            "a view of a leaf that requires grad cannot be changed in place while recording",
            "change it under no_grad(), or change a clone() of the leaf",
        )
    } else if let Some(both) = x.view_origin().refusal() {
        both
    } else {
        return Ok(());
    };
    Err(refuse(op, what, remedy))
}

/// What every change passes before anything is written.
pub(crate) fn admit_write(op: &'static str, x: &Tensor, recorded: bool) -> Result<()> {
    if capture::active() {
        // The history of a transform that is recorded as a whole ends with it.
        let lasts = !Mode::current().has(TRANSFORM) || capture::began_in_transform();
        capture::check_write(x.storage(), recorded && lasts)?;
    }
    if recorded {
        admit_history(op, x)?;
    }
    admit_memory(op, x)
}

/// The refusals of a change whose history does not matter.
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

/// Whether an unrecorded write to the elements would be admitted and none of them has a history.
#[cfg(feature = "python")]
pub(crate) fn is_plain_memory(x: &Tensor) -> bool {
    let concerns =
        x.requires_grad() || x.flags().has(TensorFlags::HIDES_GRAD) || x.shows_requiring_leaf();
    !concerns && admit_memory("numpy", x).is_ok()
}

/// Why several elements have one address: an axis that does not move, or windows that overlap.
#[cold]
fn shared_elements(x: &Tensor) -> &'static str {
    let mut axes = x.shape().iter().zip(x.layout().strides());
    if axes.any(|(&dim, &stride)| dim > 1 && stride == 0) {
        "several elements of an expanded tensor share one memory location"
    } else {
        "elements of overlapping windows share one memory location"
    }
}

/// What NumPy's `same_kind` lets in: wider floats and integers are rounded or wrapped, floats never become integers.
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

/// What a recorded write leaves in the history.
pub(crate) struct Written {
    /// The edge of what was written; `None` for constants.
    pub(crate) edge: Option<Edge>,
    /// Whether that is the edge of a node made for this write, and of no other tensor.
    pub(crate) own_node: bool,
}

/// After the bytes of `region` (a handle on memory of `x`) were written: the version and the history, if it is recorded.
pub(crate) fn finish_write(
    op: &'static str,
    x: &Tensor,
    region: &Tensor,
    history: Option<Written>,
    varies: bool,
) {
    let version = x.changed_in_place(op);
    if let Some(Written { edge, own_node }) = history {
        x.note_write(Write { op, region: Region::of(region), edge, own_node, version });
    } else if varies {
        x.set_cause(&AtomicCause::here(CutCause::NoGrad));
        if Mode::current().has(FORWARD) {
            x.note_cut_write();
        }
    }
}

/// What a tensor is given in place of its elements.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    /// Another tensor's elements, cast to its dtype: nothing leads to what was there.
    Replacing,
    /// The same, but what was there gets a gradient of zero, as in PyTorch. In a transform, which gives zeros anyway, nothing
    /// leads there.
    Assigned,
    /// What an operation made of its old elements, of the kind of its dtype; all their history is in it.
    Computed,
    /// The same, by a node that belongs to this change alone.
    ComputedHere,
}

/// Writes `value` into `x`.
pub(crate) fn overwrite(op: &'static str, x: &Tensor, value: &Tensor, what: Value) -> Result<()> {
    let recorded = recorded(x, value.requires_grad());
    admit_write(op, x, recorded)?;
    if !matches!(what, Value::Assigned | Value::Replacing) {
        admit_dtype(op, x, value)?;
    }
    let value = broadcast_to(&astype(value, x.dtype())?, x.shape())?;
    let varies = value.requires_grad() || value.is_cut();
    // Edges are taken before the version moves: they are the history of the values until then.
    let history = match what {
        _ if !recorded => None,
        Value::Assigned if !Mode::current().has(TRANSFORM) => {
            Some(Written { edge: replaced(op, x, &value)?.grad_edge(), own_node: true })
        }
        Value::Assigned | Value::Replacing => {
            Some(Written { edge: value.grad_edge(), own_node: false })
        }
        _ => Some(Written { edge: value.grad_edge(), own_node: what == Value::ComputedHere }),
    };
    let writing = x.before_write(op)?;
    kernels::copy(value.view_of(), x.shared_view_mut());
    drop(writing);
    finish_write(op, x, x, history, varies);
    Ok(())
}

/// `value` as what took the place of `x`, whose gradient is zero.
fn replaced(op: &'static str, x: &Tensor, value: &Tensor) -> Result<Tensor> {
    finish(value.detach(), &[x, value], |out| Record {
        name: op,
        cost: move_cost(out),
        params: (),
        saved: nothing(),
        backward: |(), g, cx| {
            cx.give_with(0, |_| Tensor::zeros(g.shape(), g.dtype()))?;
            cx.give_with(1, |_| Ok(g))
        },
    })
}

/// A copy of `x` with its history: what a derivative keeps of it outlives the change.
fn kept(x: &Tensor) -> Result<Tensor> {
    let copy = x.duplicate()?;
    Ok(match x.grad_edge() {
        Some(edge) => copy.attach(edge),
        None => copy,
    })
}

fn fits(op: &'static str, x: &Tensor, result: &Tensor) -> Result<()> {
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

/// Whether the memory of `t` neither overlaps that of `x` nor is it, or the elements are the same ones.
pub(crate) fn reads_apart(x: &Tensor, t: &Tensor) -> bool {
    let range = |t: &Tensor| {
        let start = t.storage().ptr() as usize;
        (start, start + t.storage().nbytes())
    };
    let ((a, b), (c, d)) = (range(x), range(t));
    b <= c || d <= a || (a == c && same_elements(x, t))
}

/// `t` in the shape of `x`, if it is of its dtype, broadcasts to that shape, and can be read while `x` is written.
fn beside<'a>(x: &Tensor, t: &'a Tensor) -> Result<Option<Cow<'a, Tensor>>> {
    if t.dtype() != x.dtype() || recorded(x, t.requires_grad()) {
        return Ok(None);
    }
    if t.shape() == x.shape() {
        return Ok(reads_apart(x, t).then_some(Cow::Borrowed(t)));
    }
    let apart = !t.storage().same(x.storage()) && reads_apart(x, t);
    if apart && x.layout().can_broadcast_from(t.layout()) {
        return broadcast_to(t, x.shape()).map(|t| Some(Cow::Owned(t)));
    }
    Ok(None)
}

/// `x = op(operands…)` straight into the memory of `x`, where nothing is recorded and the operands are of one dtype and
/// broadcast to its shape; says whether it was done.
pub(super) fn over(
    op: &'static Elementwise,
    name: &'static str,
    x: &Tensor,
    operands: &[Slot<'_>],
    params: &[f64],
) -> Result<bool> {
    let dtype = x.dtype();
    let mut shaped: SmallVec<[Option<Tensor>; 2]> = SmallVec::new();
    for operand in operands {
        shaped.push(match operand {
            Slot::Tensor(t) if std::ptr::eq(*t, x) => None,
            Slot::Tensor(t) => match beside(x, t)? {
                Some(Cow::Owned(t)) => Some(t),
                Some(Cow::Borrowed(_)) => None,
                None => return Ok(false),
            },
            // A number may stand for another operation, or make floats of integers.
            Slot::Scalar(Scalar::Complex(..)) => return Ok(false),
            Slot::Scalar(_) if dtype.is_float() && op.beside_number.is_none() => None,
            Slot::Scalar(_) => return Ok(false),
        });
    }
    if op.forward.mask || !op.takes(dtype) || recorded(x, false) || Mode::current().has(FORWARD) {
        return Ok(false);
    }
    let given = operands.iter().zip(&shaped);
    let slots: SmallVec<[Slot<'_>; 3]> =
        given.map(|(slot, shaped)| shaped.as_ref().map_or(*slot, Slot::Tensor)).collect();
    if let Some(guard) = op.guard {
        guard(&slots, dtype, params)?;
    }
    let writing = x.before_write(name)?;
    let small: Option<SmallVec<[_; 3]>> = slots.iter().map(|slot| slot.flat()).collect();
    let done = match (small, x.flat()) {
        (Some(ins), Some(out)) => apply_flat(op.forward, &ins, out, params),
        _ => false,
    };
    if !done {
        let ins: SmallVec<[_; 3]> = slots.iter().map(|slot| slot.input()).collect();
        elementwise::apply(op.forward, &ins, x.shared_view_mut(), params);
    }
    drop(writing);
    finish_write(name, x, x, None, false);
    Ok(true)
}

/// `x = op(x, value)` in place.
pub fn binary_(op: &'static Elementwise, x: &Tensor, value: &Operand) -> Result<()> {
    admit_write(op.name, x, recorded(x, false))?;
    if over(op, op.name, x, &[Slot::Tensor(x), Slot::from(value)], &[])? {
        return Ok(());
    }
    let result = binary_operands(op, &Operand::Tensor(x.clone()), value)?;
    fits(op.name, x, &result)?;
    overwrite(op.name, x, &result, Value::ComputedHere)
}

/// `x = operation(x, …)` in place, for the arguments of a call whose first is `x`.
pub fn apply(decl: &OpDecl, name: &'static str, args: &mut [Arg]) -> Result<()> {
    let Some(Arg::Tensor(x)) = args.first() else {
        return Err(refuse(name, "the receiver is no tensor", "call it on a tensor"));
    };
    admit_write(name, x, recorded(x, false))?;
    if let Some((op, operands, params)) = loop_of(decl, args)
        && over(op, name, x, &operands, &params)?
    {
        return Ok(());
    }
    let x = x.clone();
    let Output::Tensor(result) = (decl.call)(args)? else {
        return Err(refuse(name, "the result is no tensor", "use the function instead"));
    };
    fits(name, &x, &result)?;
    // An operation without an effect may hand an operand back.
    let result = if result.storage().same(x.storage()) { kept(&result)? } else { result };
    let edge = result.grad_edge();
    let handed_back = |arg: &Arg| matches!(arg, Arg::Tensor(t) if t.grad_edge() == edge);
    let own_node = edge.is_some() && !args.iter().any(handed_back);
    let what = if own_node { Value::ComputedHere } else { Value::Computed };
    overwrite(name, &x, &result, what)
}

/// `x[...] = value` for all elements, whatever the dtype of the value.
pub fn copy_(x: &Tensor, value: &Tensor) -> Result<()> {
    copy_named("copy_", x, value, Value::Assigned)
}

/// A result written to the place that was named for it.
pub fn put_result(op: &'static str, x: &Tensor, value: &Tensor) -> Result<()> {
    copy_named(op, x, value, Value::Replacing)
}

/// Every element set to one value.
pub fn fill_(x: &Tensor, value: &Operand) -> Result<()> {
    match value {
        Operand::Tensor(t) => copy_named("fill_", x, t, Value::Assigned),
        Operand::Scalar(s) => {
            copy_named("fill_", x, &Tensor::full(&[], *s, x.dtype())?, Value::Assigned)
        }
    }
}

fn copy_named(op: &'static str, x: &Tensor, value: &Tensor, what: Value) -> Result<()> {
    let source = if value.storage().same(x.storage()) { kept(value)? } else { value.clone() };
    overwrite(op, x, &cast_aloud(&source, x.dtype())?, what)
}
