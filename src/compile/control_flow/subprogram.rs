//! A subprogram of a loop or a switch: a body or a branch, traced together with its backward pass.
//!
//! Invariant: external memory that it reads is an input of its executables, so that the enclosing program can rebind
//! it.

use crate::array::{Storage, observer};
use crate::compile::autograd::{BackwardBoundary, gradient_indices, traced_seeds};
use crate::compile::leaf_state::restore_grads;
use crate::compile::program::{Signature, copy_tensors, to_contiguous, traced_result};
use crate::compile::{ForwardBackward, InputCounts, TracedResult, Tracer};
use crate::dtype::{DType, Half};
use crate::error::{Error, Result};
use crate::graph::{
    Context, Host, Mode, ModeGuard, NestedStart, SERIAL, Saved, SavedValues, next_node_seq,
};
use crate::ops::autograd::backward::{Endpoint, GradOptions, grad_of};
use crate::ops::core::shape_dtype::ShapeDType;
use crate::tensor::traced_grad_effects;
use crate::tensor::{Edge, Tensor};

/// A function of tensors that can be traced.
pub type Traced<'a, E> = &'a dyn Fn(&[Tensor]) -> std::result::Result<Vec<Tensor>, E>;

/// A traced body or branch.
pub(super) struct Subprogram {
    pub(super) executables: ForwardBackward,
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

impl Subprogram {
    /// Calls `f` with copies of the arguments and differentiates the results. The backward program takes cotangents,
    /// then the running gradient sum of each closure.
    ///
    /// # Errors
    /// What `f` raises; `NotTraceable` if it cannot be traced.
    pub(super) fn trace<E: From<Box<Error>>>(
        arguments: &[Tensor],
        requires: &[bool],
        host: &dyn Host,
        f: Traced<'_, E>,
    ) -> std::result::Result<Subprogram, E> {
        let hooks = next_node_seq();
        let copies = {
            // The copies are no part of the enclosing trace.
            let _paused = observer::Pause::new();
            copy_tensors(arguments, requires)?
        };
        let _mode = ModeGuard::new(Mode::current().with(SERIAL, true));
        let storages: Vec<&Storage> = copies.iter().map(Tensor::storage).collect();
        let tracer = Tracer::begin_subprogram(&storages);
        let touched_leaves = traced_grad_effects::EffectScope::begin();
        let since = NestedStart { nodes: next_node_seq(), hooks };
        let results = f(&copies);
        let touched_leaves = touched_leaves.end();
        if !touched_leaves.is_empty() {
            restore_grads(&touched_leaves);
        }
        let results = results?;
        if !touched_leaves.is_empty() {
            return Err(sets_gradients().into());
        }
        // Copy the results: each gets memory of its own.
        let copy = |result: Tensor| result.copied("clone");
        let results: Vec<Tensor> = results.into_iter().map(copy).collect::<Result<_>>()?;
        Ok(Subprogram::finish(tracer, &copies, results, since, host)?)
    }

    fn finish(
        mut tracer: Tracer,
        copies: &[Tensor],
        results: Vec<Tensor>,
        since: NestedStart,
        host: &dyn Host,
    ) -> Result<Subprogram> {
        let mut boundary = BackwardBoundary::of(copies, &results, since);
        if boundary.closures.iter().any(|edge| edge.node().attachments().is_some()) {
            return Err(has_hooks());
        }
        tracer.split();
        let closures = closures(&boundary, host, since)?;
        let mut roots = std::mem::take(&mut boundary.roots);
        let grad_results = roots.len();
        roots.extend(closures.iter().cloned());
        let seeds = traced_seeds(&roots, copies.len())?;
        let targets = || {
            boundary.argument_edges.iter().map(Option::as_ref).chain(closures.iter().map(edge_of))
        };
        let gradients = if grad_results == 0 {
            Vec::new()
        } else {
            let options = GradOptions { allow_unused: true, since, ..GradOptions::default() };
            grad_of(roots, targets().flatten().cloned().collect(), &seeds, &options, host)?
        };
        let gradients: Vec<Option<Tensor>> = gradients
            .into_iter()
            .map(|gradient| gradient.map(|gradient| gradient.duplicate()).transpose())
            .collect::<Result<_>>()?;
        let grads = gradient_indices(targets(), &gradients);
        // Drop the graph before the tracer looks for tensors that are still referenced.
        let results: Vec<Tensor> = results.into_iter().map(Tensor::without_history).collect();
        let traced_results: Vec<TracedResult<'_>> = results.iter().map(traced_result).collect();
        let derived: Vec<TracedResult<'_>> =
            gradients.iter().flatten().map(traced_result).collect();
        let sums = closures.len();
        let counts = InputCounts { arguments: copies.len(), cotangents: grad_results, sums };
        let executables = tracer
            .finish_with_backward(counts, &traced_results, &derived, &[], false)?
            .ok_or_else(missing_program)?;
        let arguments = copies.iter().map(Signature::of).collect();
        let results = results.iter().map(Signature::of).collect();
        let requires = boundary.argument_edges.iter().map(Option::is_some).collect();
        let cotangents = boundary.cotangents;
        Ok(Subprogram { executables, arguments, results, requires, cotangents, closures, grads })
    }
}

/// The saved values of the node of a loop or a switch: arguments, external memory, the tape.
pub(super) fn saved_values(
    arguments: &[Tensor],
    external: &[Tensor],
    tape: &Tensor,
) -> SavedValues<Tensor> {
    let arguments = (0..).zip(arguments).map(|(i, x)| Saved::input(x, i));
    arguments.chain(external.iter().map(Saved::value)).chain([Saved::value(tape)]).collect()
}

/// A contiguous saved value; an empty tensor if the backward program does not read it, so that it may have been
/// changed since.
pub(super) fn saved_or_empty(
    cx: &Context<'_, Tensor>,
    index: usize,
    is_read: bool,
) -> Result<Tensor> {
    if is_read { to_contiguous(&cx.saved(index)?) } else { Tensor::empty(&[0], DType::U8) }
}

/// The contiguous cotangents of these results. A missing one is an empty tensor if `may_miss`, else zeros.
pub(super) fn cotangents_of(
    cx: &Context<'_, Tensor>,
    results: impl Iterator<Item = (usize, ShapeDType)>,
    may_miss: bool,
) -> Result<Vec<Tensor>> {
    let nothing =
        |spec: &ShapeDType| if may_miss { Tensor::empty(&[0], DType::U8) } else { spec.zeros() };
    results.map(|(k, spec)| cx.grad(k).map_or_else(|| nothing(&spec), to_contiguous)).collect()
}

fn edge_of(target: &Endpoint) -> Option<&Edge> {
    Some(&target.edge)
}

/// The closures that gradients reach, with their shapes: those of the gradients, which a first pass finds.
fn closures(
    boundary: &BackwardBoundary,
    host: &dyn Host,
    since: NestedStart,
) -> Result<Vec<Endpoint>> {
    if boundary.closures.is_empty() {
        return Ok(Vec::new());
    }
    let _paused = observer::Pause::new();
    let seed = |root: &Endpoint| Tensor::ones(&root.spec.dims, root.spec.dtype).map(Some);
    let seeds: Vec<Option<Tensor>> = boundary.roots.iter().map(seed).collect::<Result<_>>()?;
    let retain_graph = Some(true);
    let options = GradOptions { retain_graph, allow_unused: true, since, ..Default::default() };
    let gradients =
        grad_of(boundary.roots.clone(), boundary.closures.clone(), &seeds, &options, host)?;
    let target = |(edge, gradient): (&Edge, Option<Tensor>)| {
        Some(Endpoint { edge: edge.clone(), spec: ShapeDType::of(&gradient?) })
    };
    Ok(boundary.closures.iter().zip(gradients).filter_map(target).collect())
}

/// The identity element of addition for this gradient: minus zeros, since -0.0 + x has the bits of x.
pub(super) fn minus_zeros(target: &Endpoint) -> Vec<u8> {
    let count: usize = target.spec.dims.iter().product();
    let dtype = target.spec.dtype;
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
    Box::new(Error::NotTraceable {
        op: "compile".into(),
        what: "the body of a loop or a branch closes over a tensor that has hooks".into(),
        remedy: "pass it as an argument of the body",
    })
}

#[cold]
fn missing_program() -> Box<Error> {
    let what = "a part that keeps nothing has no program".into();
    Box::new(Error::Internal { op: "compile".into(), what })
}

#[cold]
fn sets_gradients() -> Box<Error> {
    Box::new(Error::NotTraceable {
        op: "compile".into(),
        what: "the body of a loop or a branch sets gradients of leaves".into(),
        remedy: "return them instead",
    })
}
