//! The attributes of a node: how the operation that made it was called.
//!
//! Owns: what a call leaves on its node, and the dict made of it when somebody asks. Keeps no tensor.
//! Never adds to a call of an operation without attributes; a call with all defaults leaves one number.
//! Invariant: a node that an operation made on its way has none, and neither has the node of an operand.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use smallvec::SmallVec;

use crate::bindings::call::signature_text::value_of;
use crate::graph;
use crate::ops::core::op_decl::{Arg, Kind, OpDecl, Output, Param, Scalar};
use crate::ops::registry;
use crate::tensor::{Node, Tensor};

/// The arguments of a call that is about to run.
pub(crate) struct Call {
    decl: &'static OpDecl,
    args: SmallVec<[Kept; 4]>,
}

/// A call with the nodes of its operands.
pub(crate) struct Pending(Box<Call>, SmallVec<[usize; 4]>);

/// An argument as a node keeps it: most are numbers, and an `Arg` has room for a tensor.
enum Kept {
    Operand,
    Missing,
    Number(Scalar),
    Other(Box<Arg>),
}

/// Whether an argument says how to compute: not an operand, save a number where an operand may be left out.
fn is_attribute(param: &Param, arg: &Arg) -> bool {
    let number =
        param.is_optional_operand() && matches!(arg, Arg::Scalar(_) | Arg::None | Arg::Missing);
    !param.kind.is_input() || number
}

/// Copies what a node is to tell of a call, if the call will be recorded.
#[inline]
pub(crate) fn before(decl: &'static OpDecl, args: &[Arg]) -> Option<Pending> {
    if !decl.has_attributes || !graph::recording() {
        return None;
    }
    let tensors = || {
        args.iter().flat_map(|arg| match arg {
            Arg::Tensor(x) => std::slice::from_ref(x),
            Arg::Tensors(all) => all,
            _ => &[],
        })
    };
    if !tensors().any(Tensor::requires_grad) {
        return None;
    }
    let mut call = Box::new(Call { decl, args: SmallVec::new() });
    for (param, arg) in decl.params.iter().zip(args) {
        call.args.push(match arg {
            arg if !is_attribute(param, arg) => Kept::Operand,
            Arg::Missing => Kept::Missing,
            Arg::Scalar(number) => Kept::Number(*number),
            other => Kept::Other(Box::new(other.clone())),
        });
    }
    let mut nodes = SmallVec::new();
    tensors().filter_map(Tensor::producer).for_each(|node| nodes.push(node));
    Some(Pending(call, nodes))
}

/// Calls `tell` with the node of the first recorded part of a result, if it is none of the operands' and was told nothing.
fn tell(parts: &[Tensor], operands: &[usize], tell: impl FnOnce(&Node)) {
    let others = || parts.iter().find_map(Tensor::grad_fn);
    let (own, found) = match parts {
        [one] => match one.own_producer() {
            Some(node) => (Some(node), None),
            None => (None, others()),
        },
        _ => (None, others()),
    };
    if let Some(node) = own.or(found.as_ref())
        && node.label() == 0
        && !operands.contains(&node.address())
    {
        tell(node);
    }
}

/// The tensors of a result.
fn parts_of(output: &Output) -> &[Tensor] {
    match output {
        Output::Tensor(out) => std::slice::from_ref(out),
        Output::Tuple(parts) | Output::List(parts) => parts,
        Output::Bool(_) => &[],
    }
}

impl Pending {
    /// Leaves the call on the node that it made.
    pub(crate) fn made(self, output: &Output) {
        let Pending(call, operands) = self;
        tell(parts_of(output), &operands, |node| node.set_call(call));
    }
}

/// The same for a call of operation number `index` with one tensor and all defaults.
#[inline]
pub(crate) fn by_default(index: usize, x: &Tensor, output: &Output) {
    label(index, x, parts_of(output));
}

/// The same for a call that gives one tensor.
#[inline]
pub(crate) fn of_default(index: usize, x: &Tensor, out: &Tensor) {
    label(index, x, std::slice::from_ref(out));
}

#[inline]
fn label(index: usize, x: &Tensor, parts: &[Tensor]) {
    tell(parts, x.producer().as_slice(), |node| node.set_label(index as u16 + 1));
}

/// The attributes of a node by name; `None` where no call is known.
pub(crate) fn attributes<'py>(
    py: Python<'py>,
    node: &Node,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let call = node.call().and_then(|call| call.downcast_ref::<Call>());
    let (decl, args) = match (call, node.label().checked_sub(1)) {
        (Some(call), _) => (call.decl, &*call.args),
        (None, Some(index)) => (registry()[usize::from(index)], &[][..]),
        (None, None) => return Ok(None),
    };
    let named = PyDict::new(py);
    for (i, param) in decl.params.iter().enumerate() {
        let arg = match (args.get(i), param.default) {
            (Some(Kept::Operand), _) => continue,
            (Some(Kept::Number(number)), _) => Arg::Scalar(*number),
            (Some(Kept::Other(arg)), _) => (**arg).clone(),
            (None | Some(Kept::Missing), Some(default)) => default(),
            (None | Some(Kept::Missing), None) => Arg::None,
        };
        if is_attribute(param, &arg) {
            named.set_item(param.name, value_of(py, &plain(param, arg))?)?;
        }
    }
    Ok(Some(named))
}

/// A value as its parameter has it: a number that stands for a truth value is one.
fn plain(param: &Param, arg: Arg) -> Arg {
    match (param.kind, arg) {
        (Kind::Bool, Arg::Scalar(number)) => Arg::Scalar(Scalar::Bool(number.as_f64() != 0.0)),
        (Kind::Float, Arg::Scalar(number)) => Arg::Scalar(Scalar::Float(number.as_f64())),
        (_, arg) => arg,
    }
}
