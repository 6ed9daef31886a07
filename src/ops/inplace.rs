//! In-place changes: `x += y`, `copy_`, `fill_`.
//!
//! Owns: the checks that keep a change from falsifying a gradient, the write, the version and the new history.
//! Never lets a leaf that requires grad change while recording.
//! Invariant: after a change the handle's history is that of its new value, and the version has moved on.

use crate::error::{Error, Result};
use crate::graph;
use crate::kernels;
use crate::ops::cast::astype;
use crate::ops::declare::Operand;
use crate::ops::elementwise::{Elementwise, Source, binary_operands};
use crate::ops::shape::broadcast_to;
use crate::tensor::Tensor;

fn refuse(op: &'static str, what: &str, remedy: &'static str) -> Box<Error> {
    Box::new(Error::InPlace { op: op.into(), what: what.into(), remedy })
}

/// The checks every change passes before anything is written.
pub(crate) fn admit_write(op: &'static str, x: &Tensor) -> Result<()> {
    if graph::recording() && x.requires_grad() && x.is_leaf() {
        return Err(refuse(
            op,
            "a leaf that requires grad cannot be changed in place while recording",
            "change it under no_grad(), or compute a new tensor",
        ));
    }
    if !x.storage().is_writable() {
        return Err(refuse(op, "the tensor's memory is read-only", "clone() it first"));
    }
    let strides = x.layout().strides().iter().zip(x.shape());
    if strides.clone().any(|(&s, &d)| s == 0 && d > 1) {
        return Err(refuse(
            op,
            "several elements of an expanded tensor share one memory location",
            "clone() it first",
        ));
    }
    Ok(())
}

/// The checks of a change whose value must not lose by its conversion.
fn admit(op: &'static str, x: &Tensor, value: &Tensor) -> Result<()> {
    admit_write(op, x)?;
    if value.dtype() != x.dtype() && x.dtype().promote(value.dtype()) != x.dtype() {
        return Err(Box::new(Error::DType {
            op: op.into(),
            got: value.dtype(),
            remedy: "the result does not fit the tensor's dtype; convert it with astype first",
        }));
    }
    Ok(())
}

/// A part of a constant must not gain a history that the constant itself would not know of.
pub(crate) fn refuse_part_of_constant(op: &'static str, x: &Tensor) -> Result<()> {
    let part = x.size() * x.dtype().size() < x.storage().nbytes() && !x.storage().is_unique();
    if !part || x.requires_grad() {
        return Ok(());
    }
    Err(refuse(
        op,
        "the tensor is a view of a constant, which would not learn of the gradient",
        "write to the constant itself: base[index] = value",
    ))
}

/// Writes `value` (recorded or not) into `x` and moves its history there.
pub(crate) fn overwrite(op: &'static str, x: &Tensor, value: &Tensor) -> Result<()> {
    admit(op, x, value)?;
    let value = broadcast_to(&astype(value, x.dtype())?, x.shape())?;
    // The source may overlap the target (x[1:] = x[:-1]): then it is copied out first.
    let source =
        if value.storage().same(x.storage()) { value.duplicate()? } else { value.detach() };
    // Edges are taken before the version moves. Changed without recording, a handle keeps its history.
    let recorded = graph::recording() && (x.requires_grad() || value.requires_grad());
    if recorded {
        refuse_part_of_constant(op, x)?;
    }
    let history = if recorded { value.grad_edge() } else { x.producer_edge() };
    kernels::copy(x.dtype(), source.view_of(), x.view_mut());
    x.storage().bump_version(op);
    if recorded || history.is_some() {
        x.rebase(history);
    }
    Ok(())
}

/// `x` as an operand whose values a derivative may keep: a copy where the change would overtake them.
fn operand(op: &'static Elementwise, x: &Tensor) -> Result<Operand> {
    let keeps = op.saves.iter().any(|source| matches!(source, Source::Input(_)));
    if !keeps || !graph::recording() {
        return Ok(Operand::Tensor(x.clone()));
    }
    let copy = x.duplicate()?;
    Ok(Operand::Tensor(match x.grad_edge() {
        Some(edge) => copy.attach(edge),
        None => copy,
    }))
}

/// `x = op(x, value)` in place.
pub fn binary_(op: &'static Elementwise, x: &Tensor, value: &Operand) -> Result<()> {
    let result = match value {
        Operand::Tensor(v) if v.storage().same(x.storage()) => {
            binary_operands(op, &operand(op, x)?, &operand(op, v)?)?
        }
        _ => binary_operands(op, &operand(op, x)?, value)?,
    };
    if result.shape() != x.shape() {
        return Err(Box::new(Error::Broadcast {
            op: op.name.into(),
            a: x.shape().into(),
            b: result.shape().into(),
        }));
    }
    overwrite(op.name, x, &result)
}

/// `x[...] = value` for all elements.
pub fn copy_(x: &Tensor, value: &Tensor) -> Result<()> {
    overwrite("copy_", x, value)
}

/// Every element set to one value.
pub fn fill_(x: &Tensor, value: &Operand) -> Result<()> {
    match value {
        Operand::Tensor(t) => overwrite("fill_", x, t),
        Operand::Scalar(s) => overwrite("fill_", x, &Tensor::full(&[], *s, x.dtype())?),
    }
}
