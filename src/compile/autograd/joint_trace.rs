//! Traces a function together with its backward pass, and splits the trace into a forward and a backward program.
//!
//! Invariant: tracing changes neither external memory nor gradients.

use std::sync::Arc;

use crate::array::{Storage, capture};
use crate::compile::host_code::foreign;
use crate::compile::leaf_state::restore_grads;
use crate::compile::traced_function::{Signature, copied_in_kind, place};
use crate::compile::{Joint, Narrowed, Program, Recorded, Recording, Taken, Told};
use crate::error::{Error, Result};
use crate::graph::{
    Flags, Foreign, GRAD, Host, Mode, ModeGuard, SERIAL, Since, TRANSFORM, frontier, next_node,
};
use crate::ops::autograd::backward::{Endpoint, Endpoints, GradOptions, grad_of};
use crate::tensor::effects;
use crate::tensor::{Edge, Tensor};
use crate::threads::Mutex;

/// A compiled function with its backward program.
pub struct JointReplay {
    pub(super) joint: Joint,
    pub(super) arguments: Vec<Signature>,
    /// Which arguments require grad.
    pub(super) requires: Vec<bool>,
    /// For each result its index among the cotangents, if it requires grad.
    pub(super) cotangents: Vec<Option<usize>>,
    /// The external memory that a node saves: first what the backward program reads, then what another call of the
    /// function reads.
    pub(super) outside: Vec<Storage>,
    /// The edges of the leaves that the function closes over.
    pub(super) closures: Vec<Edge>,
    /// For each argument, then each closure: the index of its gradient among the outputs of the backward program.
    pub(super) grads: Vec<Option<usize>>,
    /// Backward programs for subsets of the cotangents.
    narrowed: Mutex<Vec<Known>>,
}

/// Why a call runs eagerly that writes a tensor with history into external memory.
const WRITES_HISTORY: &str = "it writes what requires grad to a tensor that it closes over";

/// Which cotangents are present, and the backward program for them, if there is one.
type Known = (Vec<bool>, Option<Arc<Narrowed>>);

/// Why a function has no backward program: its calls run eagerly, or by a program without derivative.
pub enum NotJoint {
    /// No result requires grad.
    Plain,
    /// Tensors that the function computed are still referenced after the call.
    Kept,
    /// For this reason.
    Because(&'static str),
}

impl JointReplay {
    /// Calls `f` with copies of the arguments and differentiates its results. All side effects are undone afterwards:
    /// a first run of the program repeats them. `weak` and `may_keep` as in
    /// [`Program::try_trace`](crate::compile::program::Program::try_trace).
    ///
    /// # Errors
    /// What `f` raises; `Captured` if the function cannot be traced.
    pub fn record<E: From<Box<Error>>>(
        arguments: &[Tensor],
        requires: &[bool],
        (weak, may_keep): (bool, bool),
        host: &dyn Host,
        f: impl FnOnce(&[Tensor]) -> Result<Vec<Tensor>, E>,
    ) -> Result<std::result::Result<JointReplay, NotJoint>, E> {
        let hooks = next_node();
        let copies = copied_in_kind(arguments, requires)?;
        let _mode = ModeGuard::new(Mode::current().with(SERIAL | GRAD, true));
        let storages: Vec<&Storage> = copies.iter().map(Tensor::storage).collect();
        let given: Vec<&Storage> = arguments.iter().map(Tensor::storage).collect();
        let recording = Recording::begin(&storages, &given, weak)?;
        capture::begins_in_transform(Mode::current().has(TRANSFORM));
        let touched = effects::Scope::begin();
        let since = Since { nodes: next_node(), hooks };
        let results = f(&copies);
        let touched = touched.end();
        if results.is_err() || !touched.is_empty() {
            restore_grads(&touched);
        }
        if capture::was_change_refused() {
            return Ok(Err(NotJoint::Because(WRITES_HISTORY)));
        }
        let results = results?;
        if !touched.is_empty() {
            return Ok(Err(NotJoint::Because("it sets gradients of leaves and returns a history")));
        }
        Ok(derived((recording, may_keep), &copies, results, since, host)?)
    }

    /// The backward program for these cotangents, made at its first use and cached; `None` if the trace does not
    /// determine it.
    pub(super) fn narrowed(&self, given: &[bool]) -> Option<Arc<Narrowed>> {
        let mut known = self.narrowed.lock();
        if let Some((_, found)) = known.iter().find(|(of, _)| of == given) {
            return found.clone();
        }
        let made = self.joint.narrowed(given).map(Arc::new);
        known.push((given.to_vec(), made.clone()));
        made
    }

    /// Whether external memory whose contents were baked into the program has changed.
    pub fn is_stale(&self) -> bool {
        self.joint.forward.is_stale()
    }

    /// Python objects that the programs own.
    pub fn foreign(&self) -> impl Iterator<Item = &dyn Foreign> {
        // The host callbacks of both programs are listed in either.
        foreign(&self.joint.forward)
    }

    /// The steps of both programs as texts: kernel, operands read, operands written.
    pub fn described(&self) -> Vec<(&'static str, Vec<String>, Vec<String>)> {
        self.programs().into_iter().flat_map(Program::described).collect()
    }

    /// The kind and the formulas of each step of both programs.
    pub fn told(&self) -> Vec<Told> {
        self.programs().into_iter().flat_map(Program::told).collect()
    }

    /// The buffers of both programs: id, source, bytes.
    pub fn memory(&self) -> Vec<(u32, String, usize)> {
        self.programs().into_iter().flat_map(Program::memory).collect()
    }

    /// Whether a program reads tensors other than the arguments; memory that NumPy owns does not count.
    pub fn reads_outside(&self) -> bool {
        self.outside.iter().any(|memory| !memory.is_lent())
    }

    /// Bytes of temporaries that one run of both programs needs.
    pub fn temporary_bytes(&self) -> usize {
        self.programs().iter().map(|program| program.temporary_bytes()).sum()
    }

    /// Frees the memory of temporaries; the next run allocates it again.
    pub fn trim(&self) {
        self.programs().into_iter().for_each(Program::trim);
    }

    fn programs(&self) -> [&Program; 2] {
        [&self.joint.forward, &self.joint.backward]
    }

    /// Whether a run writes to the memory of this argument.
    pub fn writes_to(&self, argument: &Tensor) -> bool {
        self.joint.forward.written_outside().any(|storage| storage.same(argument.storage()))
    }

    /// The forward program.
    pub fn forward(&self) -> &Program {
        &self.joint.forward
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
pub(crate) struct Ends {
    pub(crate) roots: Endpoints,
    /// For each result its index among the roots, if it requires grad.
    pub(crate) cotangents: Vec<Option<usize>>,
    /// The edge of each argument that requires grad.
    pub(crate) own: Vec<Option<Edge>>,
    pub(crate) closures: Vec<Edge>,
}

impl Ends {
    /// The roots and targets for these results.
    pub(crate) fn of(copies: &[Tensor], results: &[Tensor], since: Since) -> Ends {
        let mut roots = Endpoints::new();
        let mut number = |result: &Tensor| {
            roots.push(Endpoint::of(result)?);
            Some(roots.len() - 1)
        };
        let cotangents = results.iter().map(&mut number).collect();
        let own: Vec<Option<Edge>> = copies.iter().map(Tensor::grad_edge).collect();
        let edges: Vec<Edge> = roots.iter().map(|root| root.edge.clone()).collect();
        let is_own = |edge: &Edge| own.iter().flatten().any(|own| own == edge);
        let mut closures = frontier(&edges, since.nodes);
        closures.retain(|edge| !is_own(edge));
        Ends { roots, cotangents, own, closures }
    }

    /// Whether the function can have a backward program of its own.
    fn check(&self) -> std::result::Result<(), NotJoint> {
        if self.roots.is_empty() {
            return Err(NotJoint::Plain);
        }
        self.closures.iter().find_map(refused).map_or(Ok(()), |why| Err(NotJoint::Because(why)))
    }

    /// The edge of each argument and each closure; `None` for an argument that does not require grad.
    fn targets(&self) -> impl Iterator<Item = Option<&Edge>> {
        self.own.iter().map(Option::as_ref).chain(self.closures.iter().map(Some))
    }
}

/// Traces the backward pass, and ends the trace.
fn derived(
    (mut recording, may_keep): (Recording, bool),
    copies: &[Tensor],
    results: Vec<Tensor>,
    since: Since,
    host: &dyn Host,
) -> Result<std::result::Result<JointReplay, NotJoint>> {
    let mut ends = Ends::of(copies, &results, since);
    if let Err(why) = ends.check() {
        return Ok(Err(why));
    }
    recording.split();
    let roots = std::mem::take(&mut ends.roots);
    let seeds = cotangents(&roots, copies.len())?;
    let targets: Vec<Edge> = ends.targets().flatten().cloned().collect();
    let options = GradOptions { allow_unused: true, since, ..GradOptions::default() };
    let found = grad_of(roots, targets, &seeds, &options, host)?;
    let grads = numbered(ends.targets(), &found);
    // Drop the graph before the tracer looks for tensors that are still referenced.
    let results: Vec<Tensor> = results.into_iter().map(Tensor::without_history).collect();
    let places: Vec<Recorded<'_>> = results.iter().map(place).collect();
    let derived: Vec<Recorded<'_>> = found.iter().flatten().map(place).collect();
    let taken = Taken { arguments: copies.len(), cotangents: seeds.len(), sums: 0 };
    let held: Vec<&Storage> = copies.iter().chain(&results).map(Tensor::storage).collect();
    let Some(joint) = recording.finish_joint(taken, &places, &derived, &held, may_keep)? else {
        return Ok(Err(NotJoint::Kept));
    };
    let Ends { cotangents, own, closures, .. } = ends;
    let arguments = copies.iter().map(Signature::of).collect();
    let requires = own.iter().map(Option::is_some).collect();
    let outside = saved_outside(&joint);
    let narrowed = Mutex::default();
    Ok(Ok(JointReplay {
        joint,
        arguments,
        requires,
        cotangents,
        outside,
        closures,
        grads,
        narrowed,
    }))
}

/// The external memory that the programs read; that of the backward program first.
fn saved_outside(joint: &Joint) -> Vec<Storage> {
    let before = joint.backward.inputs() - joint.outside.len();
    let read = |(k, _): &(usize, &Storage)| joint.backward.reads_input(before + k);
    let taken = joint.outside.iter().enumerate().filter(read).map(|(_, storage)| storage);
    let first: Vec<&Storage> = taken.chain(joint.backward.read_where_it_lies()).collect();
    let is_new = |storage: &&Storage| !first.iter().any(|other| other.same(storage));
    let rest = joint.forward.read_where_it_lies().iter().filter(is_new);
    first.iter().copied().chain(rest).cloned().collect()
}

/// For each target that requires grad, the index of its gradient among the gradients found.
pub(crate) fn numbered<'a>(
    targets: impl Iterator<Item = Option<&'a Edge>>,
    found: &[Option<Tensor>],
) -> Vec<Option<usize>> {
    let mut found = found.iter();
    let mut next = 0;
    let number = |target: Option<&Edge>| {
        let there = target.is_some() && found.next().is_some_and(Option::is_some);
        next += usize::from(there);
        there.then(|| next - 1)
    };
    targets.map(number).collect()
}

/// Seeds of the backward pass: inputs of the trace, numbered from `first`. Their values do not matter.
pub(crate) fn cotangents(roots: &[Endpoint], first: usize) -> Result<Vec<Option<Tensor>>> {
    let _paused = capture::Pause::new();
    let seed = |(number, root): (usize, &Endpoint)| {
        let seed = Tensor::ones(&root.spec.dims, root.spec.dtype)?;
        capture::input(seed.storage(), number);
        Ok(Some(seed))
    };
    (first..).zip(roots).map(seed).collect()
}

/// Why a program cannot pass gradients to this closure, if it cannot.
fn refused(edge: &Edge) -> Option<&'static str> {
    if !edge.node().flags().has(Flags::ACCUMULATOR) {
        Some("it closes over a tensor with a history; pass that as an argument")
    } else if edge.node().extras().is_some() {
        Some("it closes over a leaf that has hooks")
    } else {
        None
    }
}
