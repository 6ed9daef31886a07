//! A part of another program: a body or a branch, recorded with its derivative as a function of everything that it reads.
//!
//! Owns: `Part`. Never a node: those of loops and branches are in the files beside. Invariant: what a part reads beside its
//! arguments is an input of its programs, so that the program around it may place that memory anew.

use crate::array::{Storage, capture};
use crate::compile::autograd::{Ends, cotangents, numbered};
use crate::compile::leaf_state::restore_grads;
use crate::compile::traced_function::{Signature, copied, in_order, place};
use crate::compile::{Joint, Recorded, Recording, Taken};
use crate::dtype::{DType, Half};
use crate::error::{Error, Result};
use crate::graph::{
    Context, Host, Mode, ModeGuard, NestedStart, SERIAL, Saved, SavedValues, next_node_seq,
};
use crate::ops::autograd::backward::{Endpoint, GradOptions, grad_of};
use crate::ops::custom_op::Spec;
use crate::tensor::effects;
use crate::tensor::{Edge, Tensor};

/// A function of tensors, as the core calls it.
pub type Traced<'a, E> = &'a dyn Fn(&[Tensor]) -> std::result::Result<Vec<Tensor>, E>;

/// A recorded part.
pub(super) struct Part {
    pub(super) joint: Joint,
    pub(super) arguments: Vec<Signature>,
    pub(super) results: Vec<Signature>,
    /// Which arguments require grad.
    pub(super) requires: Vec<bool>,
    /// The number of each result among the cotangents, if it has a history.
    pub(super) cotangents: Vec<Option<usize>>,
    /// Where gradients go beside the arguments.
    pub(super) closures: Vec<Endpoint>,
    /// For each argument and each closure, the number of its gradient among the results of the backward program.
    pub(super) grads: Vec<Option<usize>>,
}

impl Part {
    /// Calls `f` with copies of the arguments, and differentiates what it gives. The backward program takes cotangents, then
    /// for each closure the sum of what came before.
    ///
    /// # Errors
    /// What `f` reports; `Captured` when it cannot be recorded.
    pub(super) fn record<E: From<Box<Error>>>(
        arguments: &[Tensor],
        requires: &[bool],
        host: &dyn Host,
        f: Traced<'_, E>,
    ) -> std::result::Result<Part, E> {
        let hooks = next_node_seq();
        let copies = {
            // They belong to the part alone.
            let _paused = capture::Pause::new();
            copied(arguments, requires)?
        };
        let _mode = ModeGuard::new(Mode::current().with(SERIAL, true));
        let storages: Vec<&Storage> = copies.iter().map(Tensor::storage).collect();
        let recording = Recording::begin_part(&storages);
        let touched = effects::EffectScope::begin();
        let since = NestedStart { nodes: next_node_seq(), hooks };
        let results = f(&copies);
        let touched = touched.end();
        if !touched.is_empty() {
            restore_grads(&touched);
        }
        let results = results?;
        if !touched.is_empty() {
            return Err(sets_gradients().into());
        }
        // Copies: every result has memory of its own, and the recording holds no other.
        let own = |result: Tensor| result.copied("clone");
        let results: Vec<Tensor> = results.into_iter().map(own).collect::<Result<_>>()?;
        Ok(Part::finish(recording, &copies, results, since, host)?)
    }

    fn finish(
        mut recording: Recording,
        copies: &[Tensor],
        results: Vec<Tensor>,
        since: NestedStart,
        host: &dyn Host,
    ) -> Result<Part> {
        let mut ends = Ends::of(copies, &results, since);
        if ends.closures.iter().any(|edge| edge.node().attachments().is_some()) {
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
        // The graph goes before the recording asks what is kept.
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

/// What the node of a loop or a choice keeps: arguments, memory outside, the tape.
pub(super) fn saved(
    arguments: &[Tensor],
    outside: &[Tensor],
    tape: &Tensor,
) -> SavedValues<Tensor> {
    let arguments = (0..).zip(arguments).map(|(i, x)| Saved::input(x, i));
    arguments.chain(outside.iter().map(Saved::value)).chain([Saved::value(tape)]).collect()
}

/// A value that the node saved, in C order; nothing where its backward program does not read it, so that it may have
/// changed.
pub(super) fn restored(cx: &Context<'_, Tensor>, saved: usize, is_read: bool) -> Result<Tensor> {
    if is_read { in_order(&cx.saved(saved)?) } else { Tensor::empty(&[0], DType::U8) }
}

/// The gradients of these results, in C order. Where one is missing, there is nothing if `may_miss`, else zeros.
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

/// The closures that gradients reach, with their shapes: those of the gradients, which a first pass finds.
fn closures(ends: &Ends, host: &dyn Host, since: NestedStart) -> Result<Vec<Endpoint>> {
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

/// The bytes of a gradient to which another one can be added without a change of a bit: minus zeros.
pub(super) fn minus_zeros(point: &Endpoint) -> Vec<u8> {
    let count: usize = point.spec.dims.iter().product();
    let dtype = point.spec.dtype;
    // A complex number is two of its parts.
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
