//! A subprogram of a loop or a switch: a body or a branch, traced together with its backward pass.
//!
//! Invariant: external memory that it reads is an input of its executables, so that the enclosing program can rebind
//! it.

use crate::array::{Storage, capture};
use crate::compile::autograd::{Ends, cotangents, numbered};
use crate::compile::leaf_state::restore_grads;
use crate::compile::traced_function::{Signature, copied, in_order, place};
use crate::compile::{Joint, Recorded, Recording, Taken};
use crate::dtype::{DType, Half};
use crate::error::{Error, Result};
use crate::graph::{Context, Host, Mode, ModeGuard, SERIAL, Saved, SavedValues, Since, next_node};
use crate::ops::autograd::backward::{Endpoint, GradOptions, grad_of};
use crate::ops::custom_op::Spec;
use crate::tensor::effects;
use crate::tensor::{Edge, Tensor};

/// A function of tensors that can be traced.
pub type Traced<'a, E> = &'a dyn Fn(&[Tensor]) -> std::result::Result<Vec<Tensor>, E>;

/// A traced body or branch.
pub(super) struct Part {
    pub(super) joint: Joint,
    pub(super) arguments: Vec<Signature>,
    pub(super) results: Vec<Signature>,
    /// Which arguments require grad.
    pub(super) requires: Vec<bool>,
    /// For each result its index among the cotangents, if it requires grad.
    pub(super) cotangents: Vec<Option<usize>>,
    /// The targets of gradients beside the arguments.
    pub(super) closures: Vec<Endpoint>,
    /// For each argument, then each closure: the index of its gradient among the outputs of the backward program.
    pub(super) grads: Vec<Option<usize>>,
}

impl Part {
    /// Calls `f` with copies of the arguments and differentiates the results. The backward program takes cotangents,
    /// then the running gradient sum of each closure.
    ///
    /// # Errors
    /// What `f` raises; `Captured` if it cannot be traced.
    pub(super) fn record<E: From<Box<Error>>>(
        arguments: &[Tensor],
        requires: &[bool],
        host: &dyn Host,
        f: Traced<'_, E>,
    ) -> std::result::Result<Part, E> {
        let hooks = next_node();
        let copies = {
            // The copies are no part of the enclosing trace.
            let _paused = capture::Pause::new();
            copied(arguments, requires)?
        };
        let _mode = ModeGuard::new(Mode::current().with(SERIAL, true));
        let storages: Vec<&Storage> = copies.iter().map(Tensor::storage).collect();
        let recording = Recording::begin_part(&storages);
        let touched = effects::Scope::begin();
        let since = Since { nodes: next_node(), hooks };
        let results = f(&copies);
        let touched = touched.end();
        if !touched.is_empty() {
            restore_grads(&touched);
        }
        let results = results?;
        if !touched.is_empty() {
            return Err(sets_gradients().into());
        }
        // Copy the results: each gets memory of its own.
        let own = |result: Tensor| result.copied("clone");
        let results: Vec<Tensor> = results.into_iter().map(own).collect::<Result<_>>()?;
        Ok(Part::finish(recording, &copies, results, since, host)?)
    }

    fn finish(
        mut recording: Recording,
        copies: &[Tensor],
        results: Vec<Tensor>,
        since: Since,
        host: &dyn Host,
    ) -> Result<Part> {
        let mut ends = Ends::of(copies, &results, since);
        if ends.closures.iter().any(|edge| edge.node().extras().is_some()) {
            return Err(has_hooks());
        }
        recording.split();
        let closures = closures(&ends, host, since)?;
        let mut roots = std::mem::take(&mut ends.roots);
        let histories = roots.len();
        roots.extend(closures.iter().cloned());
        let seeds = cotangents(&roots, copies.len())?;
        let targets = || ends.own.iter().map(Option::as_ref).chain(closures.iter().map(of));
        let found = if histories == 0 {
            Vec::new()
        } else {
            let options = GradOptions { allow_unused: true, since, ..GradOptions::default() };
            grad_of(roots, targets().flatten().cloned().collect(), &seeds, &options, host)?
        };
        let found: Vec<Option<Tensor>> = found
            .into_iter()
            .map(|gradient| gradient.map(|gradient| gradient.duplicate()).transpose())
            .collect::<Result<_>>()?;
        let grads = numbered(targets(), &found);
        // Drop the graph before the tracer looks for tensors that are still referenced.
        let results: Vec<Tensor> = results.into_iter().map(Tensor::without_history).collect();
        let places: Vec<Recorded<'_>> = results.iter().map(place).collect();
        let derived: Vec<Recorded<'_>> = found.iter().flatten().map(place).collect();
        let sums = closures.len();
        let taken = Taken { arguments: copies.len(), cotangents: histories, sums };
        let joint =
            recording.finish_joint(taken, &places, &derived, &[], false)?.ok_or_else(lost)?;
        let arguments = copies.iter().map(Signature::of).collect();
        let results = results.iter().map(Signature::of).collect();
        let requires = ends.own.iter().map(Option::is_some).collect();
        let cotangents = ends.cotangents;
        Ok(Part { joint, arguments, results, requires, cotangents, closures, grads })
    }
}

/// The saved values of the node of a loop or a switch: arguments, external memory, the tape.
pub(super) fn saved(
    arguments: &[Tensor],
    outside: &[Tensor],
    tape: &Tensor,
) -> SavedValues<Tensor> {
    let arguments = (0..).zip(arguments).map(|(i, x)| Saved::input(x, i));
    arguments.chain(outside.iter().map(Saved::value)).chain([Saved::value(tape)]).collect()
}

/// A contiguous saved value; an empty tensor if the backward program does not read it, so that it may have been
/// changed since.
pub(super) fn restored(cx: &Context<'_, Tensor>, saved: usize, is_read: bool) -> Result<Tensor> {
    if is_read { in_order(&cx.saved(saved)?) } else { Tensor::empty(&[0], DType::U8) }
}

/// The contiguous cotangents of these results. A missing one is an empty tensor if `may_miss`, else zeros.
pub(super) fn cotangents_of(
    cx: &Context<'_, Tensor>,
    results: impl Iterator<Item = (usize, Spec)>,
    may_miss: bool,
) -> Result<Vec<Tensor>> {
    let nothing =
        |spec: &Spec| if may_miss { Tensor::empty(&[0], DType::U8) } else { spec.zeros() };
    results.map(|(k, spec)| cx.grad(k).map_or_else(|| nothing(&spec), in_order)).collect()
}

fn of(point: &Endpoint) -> Option<&Edge> {
    Some(&point.edge)
}

/// The closures that gradients reach, with shape and dtype, found by a first backward pass.
fn closures(ends: &Ends, host: &dyn Host, since: Since) -> Result<Vec<Endpoint>> {
    if ends.closures.is_empty() {
        return Ok(Vec::new());
    }
    let _paused = capture::Pause::new();
    let seed = |root: &Endpoint| Tensor::ones(&root.spec.dims, root.spec.dtype).map(Some);
    let seeds: Vec<Option<Tensor>> = ends.roots.iter().map(seed).collect::<Result<_>>()?;
    let retain_graph = Some(true);
    let options = GradOptions { retain_graph, allow_unused: true, since, ..Default::default() };
    let found = grad_of(ends.roots.clone(), ends.closures.clone(), &seeds, &options, host)?;
    let point = |(edge, found): (&Edge, Option<Tensor>)| {
        Some(Endpoint { edge: edge.clone(), spec: Spec::of(&found?) })
    };
    Ok(ends.closures.iter().zip(found).filter_map(point).collect())
}

/// The identity element of addition for this gradient: minus zeros, since -0.0 + x has the bits of x.
pub(super) fn minus_zeros(point: &Endpoint) -> Vec<u8> {
    let count: usize = point.spec.dims.iter().product();
    let dtype = point.spec.dtype;
    // A complex number has two components.
    let parts = count * (dtype.size() / dtype.real().size());
    match dtype.real() {
        DType::F16 => Half::NEG_ZERO.to_ne_bytes().repeat(parts),
        DType::F32 => (-0.0f32).to_ne_bytes().repeat(parts),
        _ => (-0.0f64).to_ne_bytes().repeat(parts),
    }
}

#[cold]
fn has_hooks() -> Box<Error> {
    Box::new(Error::Captured {
        op: "compile".into(),
        what: "the body of a loop or a branch closes over a tensor that has hooks".into(),
        remedy: "pass it as an argument of the body",
    })
}

#[cold]
fn lost() -> Box<Error> {
    let what = "a part that keeps nothing has no program".into();
    Box::new(Error::Internal { op: "compile".into(), what })
}

#[cold]
fn sets_gradients() -> Box<Error> {
    Box::new(Error::Captured {
        op: "compile".into(),
        what: "the body of a loop or a branch sets gradients of leaves".into(),
        remedy: "return them instead",
    })
}
