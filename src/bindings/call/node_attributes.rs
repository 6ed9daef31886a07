//! The attributes of a node (`grad_fn.attrs`): the non-tensor arguments of the call that made it.
//! Calls with all defaults store only the operation's number; no tensor is kept.
//!
//! Invariant: nodes of intermediate results, and of operands, get no attributes.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use smallvec::SmallVec;

use crate::bindings::call::signature_text::to_python_value;
use crate::graph;
use crate::ops::core::op_decl::{Arg, Kind, OpDecl, Output, Param, Scalar};
use crate::ops::registry;
use crate::tensor::{Node, Tensor};

/// The arguments of a call that is about to be recorded.
pub(crate) struct SavedCall {
    decl: &'static OpDecl,
    args: SmallVec<[SavedArg; 4]>,
}

/// A call, and the addresses of its operands' nodes.
pub(crate) struct PendingCall(Box<SavedCall>, SmallVec<[usize; 4]>);

/// A stored argument; smaller than an `Arg`, which has space for a tensor.
enum SavedArg {
    Operand,
    Missing,
    Number(Scalar),
    Other(Box<Arg>),
}

/// Whether an argument is an attribute: not an operand, except a number where the operand is optional.
fn is_attribute(param: &Param, arg: &Arg) -> bool {
    let number =
        param.is_optional_operand() && matches!(arg, Arg::Scalar(_) | Arg::None | Arg::Missing);
    !param.kind.is_input() || number
}

/// Copies the arguments of a call, if the call will be recorded.
#[inline]
pub(crate) fn capture_call(decl: &'static OpDecl, args: &[Arg]) -> Option<PendingCall> {
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
    let mut call = Box::new(SavedCall { decl, args: SmallVec::new() });
    for (param, arg) in decl.params.iter().zip(args) {
        call.args.push(match arg {
            arg if !is_attribute(param, arg) => SavedArg::Operand,
            Arg::Missing => SavedArg::Missing,
            Arg::Scalar(number) => SavedArg::Number(*number),
            other => SavedArg::Other(Box::new(other.clone())),
        });
    }
    let mut nodes = SmallVec::new();
    tensors().filter_map(Tensor::producer).for_each(|node| nodes.push(node));
    Some(PendingCall(call, nodes))
}

/// Calls `set` with the node of the first recorded result, unless it is an operand's node or has a number already.
fn annotate_node(parts: &[Tensor], operands: &[usize], set: impl FnOnce(&Node)) {
    let others = || parts.iter().find_map(Tensor::grad_fn);
    let (own, found) = match parts {
        [one] => match one.own_producer() {
            Some(node) => (Some(node), None),
            None => (None, others()),
        },
        _ => (None, others()),
    };
    if let Some(node) = own.or(found.as_ref())
        && node.operation_number() == 0
        && !operands.contains(&node.address())
    {
        set(node);
    }
}

fn parts_of(output: &Output) -> &[Tensor] {
    match output {
        Output::Tensor(out) => std::slice::from_ref(out),
        Output::Tuple(parts) | Output::List(parts) => parts,
        Output::Bool(_) => &[],
    }
}

impl PendingCall {
    /// Stores the call on the node that it made.
    pub(crate) fn attach_to(self, output: &Output) {
        let PendingCall(call, operands) = self;
        annotate_node(parts_of(output), &operands, |node| node.set_call(call));
    }
}

/// Numbers the node of a call of operation `index` with one tensor and all defaults.
#[inline]
pub(crate) fn number_output(index: usize, x: &Tensor, output: &Output) {
    set_number(index, x, parts_of(output));
}

/// The same for a call that returns one tensor.
#[inline]
pub(crate) fn number_tensor(index: usize, x: &Tensor, out: &Tensor) {
    set_number(index, x, std::slice::from_ref(out));
}

#[inline]
fn set_number(index: usize, x: &Tensor, parts: &[Tensor]) {
    annotate_node(parts, x.producer().as_slice(), |node| {
        node.set_operation_number(index as u16 + 1)
    });
}

/// The attributes of a node by name; `None` if no call is stored.
pub(crate) fn attributes<'py>(
    py: Python<'py>,
    node: &Node,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let call = node.call().and_then(|call| call.downcast_ref::<SavedCall>());
    let (decl, args) = match (call, node.operation_number().checked_sub(1)) {
        (Some(call), _) => (call.decl, &*call.args),
        (None, Some(index)) => (registry()[usize::from(index)], &[][..]),
        (None, None) => return Ok(None),
    };
    let named = PyDict::new(py);
    for (i, param) in decl.params.iter().enumerate() {
        let arg = match (args.get(i), param.default) {
            (Some(SavedArg::Operand), _) => continue,
            (Some(SavedArg::Number(number)), _) => Arg::Scalar(*number),
            (Some(SavedArg::Other(arg)), _) => (**arg).clone(),
            (None | Some(SavedArg::Missing), Some(default)) => default(),
            (None | Some(SavedArg::Missing), None) => Arg::None,
        };
        if is_attribute(param, &arg) {
            named.set_item(param.name, to_python_value(py, &normalized(param, arg))?)?;
        }
    }
    Ok(Some(named))
}

/// Converts a number to its parameter's kind: a bool parameter gets a bool.
fn normalized(param: &Param, arg: Arg) -> Arg {
    match (param.kind, arg) {
        (Kind::Bool, Arg::Scalar(number)) => Arg::Scalar(Scalar::Bool(number.as_f64() != 0.0)),
        (Kind::Float, Arg::Scalar(number)) => Arg::Scalar(Scalar::Float(number.as_f64())),
        (_, arg) => arg,
    }
}
