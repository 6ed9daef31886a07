//! Traces a function together with its backward pass, and splits the trace into a forward and a backward program.
//!
//! Invariant: tracing changes neither external memory nor gradients.

use std::sync::Arc;

use crate::array::{Storage, observer};
use crate::compile::host_call::host_objects;
use crate::compile::leaf_state::restore_grads;
use crate::compile::program::{Signature, copy_arguments, traced_result};
use crate::compile::trace::buffers;
use crate::compile::{
    Executable, ForwardBackward, InputCounts, PartialBackward, StepExplanation, TracedResult,
    Tracer,
};
use crate::error::{Error, Result};
use crate::graph::{
    Flags, GRAD, Host, HostObjects, Mode, ModeGuard, NestedStart, SERIAL, TRANSFORM, frontier,
    next_node_seq,
};
use crate::ops::autograd::backward::{Endpoint, Endpoints, GradOptions, grad_of};
use crate::tensor::traced_grad_effects;
use crate::tensor::{Edge, Tensor};
use crate::threads::Mutex;

/// A compiled function with its backward program.
pub struct DifferentiableProgram {
    pub(super) executables: ForwardBackward,
    pub(super) arguments: Vec<Signature>,
    /// Which arguments require grad.
    pub(super) requires: Vec<bool>,
    /// For each result its index among the cotangents, if it requires grad.
    pub(super) cotangents: Vec<Option<usize>>,
    /// The external memory that a node saves: first what the backward program reads, then what another call of the
    /// function reads.
    pub(super) external: Vec<Storage>,
    /// The edges of the leaves that the function closes over.
    pub(super) closures: Vec<Edge>,
    /// For each argument, then each closure: the index of its gradient among the outputs of the backward program.
    pub(super) grads: Vec<Option<usize>>,
    /// Backward programs for subsets of the cotangents.
    partials: Mutex<Vec<CachedPartial>>,
}

/// Why a call runs eagerly that writes a tensor with history into external memory.
const WRITES_HISTORY: &str = "it writes what requires grad to a tensor that it closes over";

/// Which cotangents are present, and the backward program for them, if there is one.
type CachedPartial = (Vec<bool>, Option<Arc<PartialBackward>>);

/// Why a function has no backward program: its calls run eagerly, or by a program without derivative.
pub enum NotDifferentiable {
    /// No result requires grad.
    NoHistory,
    /// Tensors that the function computed are still referenced after the call.
    ValuesEscape,
    /// For this reason.
    Because(&'static str),
}

impl DifferentiableProgram {
    /// Calls `f` with copies of the arguments and differentiates its results. All side effects are undone afterwards:
    /// a first run of the program repeats them. `has_scalars` and `may_keep` as in
    /// [`Program::try_trace`](crate::compile::program::Program::try_trace).
    ///
    /// # Errors
    /// What `f` raises; `NotTraceable` if the function cannot be traced.
    pub fn trace<E: From<Box<Error>>>(
        arguments: &[Tensor],
        requires: &[bool],
        (has_scalars, may_keep): (bool, bool),
        host: &dyn Host,
        f: impl FnOnce(&[Tensor]) -> Result<Vec<Tensor>, E>,
    ) -> Result<std::result::Result<DifferentiableProgram, NotDifferentiable>, E> {
        let hooks = next_node_seq();
        let copies = copy_arguments(arguments, requires)?;
        let _mode = ModeGuard::new(Mode::current().with(SERIAL | GRAD, true));
        let storages: Vec<&Storage> = copies.iter().map(Tensor::storage).collect();
        let argument_storages: Vec<&Storage> = arguments.iter().map(Tensor::storage).collect();
        let tracer = Tracer::begin(&storages, &argument_storages, has_scalars)?;
        buffers::set_began_in_transform(Mode::current().has(TRANSFORM));
        let touched_leaves = traced_grad_effects::EffectScope::begin();
        let since = NestedStart { nodes: next_node_seq(), hooks };
        let results = f(&copies);
        let touched_leaves = touched_leaves.end();
        if results.is_err() || !touched_leaves.is_empty() {
            restore_grads(&touched_leaves);
        }
        if buffers::was_write_refused() {
            return Ok(Err(NotDifferentiable::Because(WRITES_HISTORY)));
        }
        let results = results?;
        if !touched_leaves.is_empty() {
            return Ok(Err(NotDifferentiable::Because(
                "it sets gradients of leaves and returns a history",
            )));
        }
        Ok(trace_backward((tracer, may_keep), &copies, results, since, host)?)
    }

    /// The backward program for these cotangents, made at its first use and cached; `None` if the trace does not
    /// determine it.
    pub(super) fn for_cotangents(&self, present: &[bool]) -> Option<Arc<PartialBackward>> {
        let mut cached = self.partials.lock();
        if let Some((_, partial)) = cached.iter().find(|(of, _)| of == present) {
            return partial.clone();
        }
        let partial = self.executables.for_cotangents(present).map(Arc::new);
        cached.push((present.to_vec(), partial.clone()));
        partial
    }

    /// Whether external memory whose contents were baked into the program has changed.
    pub fn is_stale(&self) -> bool {
        self.executables.forward.is_stale()
    }

    /// Python objects that the programs own.
    pub fn host_objects(&self) -> impl Iterator<Item = &dyn HostObjects> {
        // The host callbacks of both programs are listed in either.
        host_objects(&self.executables.forward)
    }

    /// The steps of both programs as texts: kernel, operands read, operands written.
    pub fn describe_steps(&self) -> Vec<(&'static str, Vec<String>, Vec<String>)> {
        self.programs().into_iter().flat_map(Executable::describe_steps).collect()
    }

    /// The kind and the formulas of each step of both programs.
    pub fn explain(&self) -> Vec<StepExplanation> {
        self.programs().into_iter().flat_map(Executable::explain).collect()
    }

    /// The buffers of both programs: id, source, bytes.
    pub fn memory(&self) -> Vec<(u32, String, usize)> {
        self.programs().into_iter().flat_map(Executable::memory).collect()
    }

    /// Whether a program reads tensors other than the arguments; memory that NumPy owns does not count.
    pub fn reads_outside(&self) -> bool {
        self.external.iter().any(|memory| !memory.is_external_memory())
    }

    /// Bytes of temporaries that one run of both programs needs.
    pub fn temporary_bytes(&self) -> usize {
        self.programs().iter().map(|program| program.temporary_bytes()).sum()
    }

    /// Frees the memory of temporaries; the next run allocates it again.
    pub fn trim(&self) {
        self.programs().into_iter().for_each(Executable::trim);
    }

    fn programs(&self) -> [&Executable; 2] {
        [&self.executables.forward, &self.executables.backward]
    }

    /// Whether a run writes to the memory of this argument.
    pub fn writes_to(&self, argument: &Tensor) -> bool {
        self.executables.forward.external_written().any(|storage| storage.same(argument.storage()))
    }

    /// The forward program.
    pub fn forward(&self) -> &Executable {
        &self.executables.forward
    }

    /// Which arguments require grad.
    pub fn requires(&self) -> &[bool] {
        &self.requires
    }

    /// The dtypes and shapes of the arguments.
    pub fn arguments(&self) -> &[Signature] {
        &self.arguments
    }
}

/// The roots and targets of the backward pass through a traced call.
pub(crate) struct BackwardBoundary {
    pub(crate) roots: Endpoints,
    /// For each result its index among the roots, if it requires grad.
    pub(crate) cotangents: Vec<Option<usize>>,
    /// The edge of each argument that requires grad.
    pub(crate) argument_edges: Vec<Option<Edge>>,
    pub(crate) closures: Vec<Edge>,
}

impl BackwardBoundary {
    /// The roots and targets for these results.
    pub(crate) fn of(
        copies: &[Tensor],
        results: &[Tensor],
        since: NestedStart,
    ) -> BackwardBoundary {
        let mut roots = Endpoints::new();
        let mut number = |result: &Tensor| {
            roots.push(Endpoint::of(result)?);
            Some(roots.len() - 1)
        };
        let cotangents = results.iter().map(&mut number).collect();
        let argument_edges: Vec<Option<Edge>> = copies.iter().map(Tensor::grad_edge).collect();
        let edges: Vec<Edge> = roots.iter().map(|root| root.edge.clone()).collect();
        let is_own = |edge: &Edge| argument_edges.iter().flatten().any(|own| own == edge);
        let mut closures = frontier(&edges, since.nodes);
        closures.retain(|edge| !is_own(edge));
        BackwardBoundary { roots, cotangents, argument_edges, closures }
    }

    /// Whether the function can have a backward program of its own.
    fn check(&self) -> std::result::Result<(), NotDifferentiable> {
        if self.roots.is_empty() {
            return Err(NotDifferentiable::NoHistory);
        }
        self.closures
            .iter()
            .find_map(closure_refusal)
            .map_or(Ok(()), |why| Err(NotDifferentiable::Because(why)))
    }

    /// The edge of each argument and each closure; `None` for an argument that does not require grad.
    fn targets(&self) -> impl Iterator<Item = Option<&Edge>> {
        self.argument_edges.iter().map(Option::as_ref).chain(self.closures.iter().map(Some))
    }
}

/// Traces the backward pass, and ends the trace.
fn trace_backward(
    (mut tracer, may_keep): (Tracer, bool),
    copies: &[Tensor],
    results: Vec<Tensor>,
    since: NestedStart,
    host: &dyn Host,
) -> Result<std::result::Result<DifferentiableProgram, NotDifferentiable>> {
    let mut boundary = BackwardBoundary::of(copies, &results, since);
    if let Err(why) = boundary.check() {
        return Ok(Err(why));
    }
    tracer.split();
    let roots = std::mem::take(&mut boundary.roots);
    let seeds = traced_seeds(&roots, copies.len())?;
    let targets: Vec<Edge> = boundary.targets().flatten().cloned().collect();
    let options = GradOptions { allow_unused: true, since, ..GradOptions::default() };
    let gradients = grad_of(roots, targets, &seeds, &options, host)?;
    let grads = gradient_indices(boundary.targets(), &gradients);
    // Drop the graph before the tracer looks for tensors that are still referenced.
    let results: Vec<Tensor> = results.into_iter().map(Tensor::without_history).collect();
    let traced_results: Vec<TracedResult<'_>> = results.iter().map(traced_result).collect();
    let traced_gradients: Vec<TracedResult<'_>> =
        gradients.iter().flatten().map(traced_result).collect();
    let counts = InputCounts { arguments: copies.len(), cotangents: seeds.len(), sums: 0 };
    let held: Vec<&Storage> = copies.iter().chain(&results).map(Tensor::storage).collect();
    let Some(executables) =
        tracer.finish_with_backward(counts, &traced_results, &traced_gradients, &held, may_keep)?
    else {
        return Ok(Err(NotDifferentiable::ValuesEscape));
    };
    let BackwardBoundary { cotangents, argument_edges, closures, .. } = boundary;
    let arguments = copies.iter().map(Signature::of).collect();
    let requires = argument_edges.iter().map(Option::is_some).collect();
    let external = saved_external(&executables);
    let partials = Mutex::default();
    Ok(Ok(DifferentiableProgram {
        executables,
        arguments,
        requires,
        cotangents,
        external,
        closures,
        grads,
        partials,
    }))
}

/// The external memory that the programs read; that of the backward program first.
fn saved_external(executables: &ForwardBackward) -> Vec<Storage> {
    let first_external = executables.backward.inputs() - executables.external.len();
    let read = |(k, _): &(usize, &Storage)| executables.backward.reads_input(first_external + k);
    let read_externals =
        executables.external.iter().enumerate().filter(read).map(|(_, storage)| storage);
    let first: Vec<&Storage> = read_externals.chain(executables.backward.external_read()).collect();
    let is_new = |storage: &&Storage| !first.iter().any(|other| other.same(storage));
    let rest = executables.forward.external_read().iter().filter(is_new);
    first.iter().copied().chain(rest).cloned().collect()
}

/// For each target that requires grad, the index of its gradient among the gradients found.
pub(crate) fn gradient_indices<'a>(
    targets: impl Iterator<Item = Option<&'a Edge>>,
    gradients: &[Option<Tensor>],
) -> Vec<Option<usize>> {
    let mut gradients = gradients.iter();
    let mut next = 0;
    let number = |target: Option<&Edge>| {
        let is_present = target.is_some() && gradients.next().is_some_and(Option::is_some);
        next += usize::from(is_present);
        is_present.then(|| next - 1)
    };
    targets.map(number).collect()
}

/// Seeds of the backward pass: inputs of the trace, numbered from `first`. Their values do not matter.
pub(crate) fn traced_seeds(roots: &[Endpoint], first: usize) -> Result<Vec<Option<Tensor>>> {
    let _paused = observer::Pause::new();
    let seed = |(number, root): (usize, &Endpoint)| {
        let seed = Tensor::ones(&root.spec.dims, root.spec.dtype)?;
        buffers::register_input(seed.storage(), number);
        Ok(Some(seed))
    };
    (first..).zip(roots).map(seed).collect()
}

/// Why a program cannot pass gradients to this closure, if it cannot.
fn closure_refusal(edge: &Edge) -> Option<&'static str> {
    if !edge.node().flags().has(Flags::ACCUMULATOR) {
        Some("it closes over a tensor with a history; pass that as an argument")
    } else if edge.node().attachments().is_some() {
        Some("it closes over a leaf that has hooks")
    } else {
        None
    }
}
