//! The joint recording: a function and the pass from its results, cut into two programs.
//!
//! Owns: `JointReplay`, and which tensors beside the arguments gradients go to. Never runs a program.
//! Invariant: a recording changes nothing, neither memory outside nor gradients.

use std::sync::Arc;

use crate::array::{Storage, capture};
use crate::compile::host_code::foreign;
use crate::compile::leaf_state::restore_grads;
use crate::compile::traced_function::{Signature, copied_in_kind, place};
use crate::compile::{Joint, Narrowed, Program, Recorded, Recording, Taken, Told};
use crate::error::{Error, Result};
use crate::graph::{
    Flags, Foreign, GRAD, Host, Mode, ModeGuard, NestedStart, SERIAL, TRANSFORM, frontier,
    next_node_seq,
};
use crate::ops::autograd::backward::{Endpoint, Endpoints, GradOptions, grad_of};
use crate::tensor::effects;
use crate::tensor::{Edge, Tensor};
use crate::threads::Mutex;

/// A recorded function with its derivative.
pub struct JointReplay {
    pub(super) joint: Joint,
    pub(super) arguments: Vec<Signature>,
    /// Which arguments require grad.
    pub(super) requires: Vec<bool>,
    /// The number of each result among the cotangents, if it has a history.
    pub(super) cotangents: Vec<Option<usize>>,
    /// The memory outside that a node saves: what the backward program reads, then what a new run of the function reads.
    pub(super) outside: Vec<Storage>,
    /// Where gradients go beside the arguments: to the leaves that the function closes over.
    pub(super) closures: Vec<Edge>,
    /// For each argument and each closure, the number of its gradient among the results of the backward program.
    pub(super) grads: Vec<Option<usize>>,
    /// Backward programs for gradients of some results, by which of them have one.
    narrowed: Mutex<Vec<Known>>,
}

/// Why a call runs eagerly that writes a history to memory which it did not make.
const WRITES_HISTORY: &str = "it writes what requires grad to a tensor that it closes over";

/// Which results have a gradient, and the backward program for those, if there is one.
type Known = (Vec<bool>, Option<Arc<Narrowed>>);

/// Why a function has no joint program: its calls run eagerly, or have a plain program.
pub enum NotJoint {
    /// No result has a history.
    Plain,
    /// Somebody keeps tensors that it computed.
    Kept,
    /// For this reason.
    Because(&'static str),
}

impl JointReplay {
    /// Calls `f` with copies of the arguments, of which some are leaves, and then differentiates its results. Nothing has
    /// changed after that, and no program has run. `weak` and `may_keep` as in [`Replay`](crate::ops::derive::replay).
    ///
    /// # Errors
    /// What `f` reports; `Captured` when the function cannot be recorded.
    pub fn record<E: From<Box<Error>>>(
        arguments: &[Tensor],
        requires: &[bool],
        (weak, may_keep): (bool, bool),
        host: &dyn Host,
        f: impl FnOnce(&[Tensor]) -> Result<Vec<Tensor>, E>,
    ) -> Result<std::result::Result<JointReplay, NotJoint>, E> {
        let hooks = next_node_seq();
        let copies = copied_in_kind(arguments, requires)?;
        let _mode = ModeGuard::new(Mode::current().with(SERIAL | GRAD, true));
        let storages: Vec<&Storage> = copies.iter().map(Tensor::storage).collect();
        let given: Vec<&Storage> = arguments.iter().map(Tensor::storage).collect();
        let recording = Recording::begin(&storages, &given, weak)?;
        capture::set_began_in_transform(Mode::current().has(TRANSFORM));
        let touched = effects::EffectScope::begin();
        let since = NestedStart { nodes: next_node_seq(), hooks };
        let results = f(&copies);
        let touched = touched.end();
        if results.is_err() || !touched.is_empty() {
            restore_grads(&touched);
        }
        if capture::was_write_refused() {
            return Ok(Err(NotJoint::Because(WRITES_HISTORY)));
        }
        let results = results?;
        if !touched.is_empty() {
            return Ok(Err(NotJoint::Because("it sets gradients of leaves and returns a history")));
        }
        Ok(derived((recording, may_keep), &copies, results, since, host)?)
    }

    /// The backward program for gradients of those results, which is made when it is first asked for; none where it cannot
    /// be told from the recording.
    pub(super) fn narrowed(&self, given: &[bool]) -> Option<Arc<Narrowed>> {
        let mut known = self.narrowed.lock();
        if let Some((_, found)) = known.iter().find(|(of, _)| of == given) {
            return found.clone();
        }
        let made = self.joint.narrowed(given).map(Arc::new);
        known.push((given.to_vec(), made.clone()));
        made
    }

    /// Whether memory that Python read as numbers has changed since the recording.
    pub fn is_stale(&self) -> bool {
        self.joint.forward.is_stale()
    }

    /// Objects of the host language that the programs own.
    pub fn foreign(&self) -> impl Iterator<Item = &dyn Foreign> {
        // Both programs have the host code of both.
        foreign(&self.joint.forward)
    }

    /// The steps of the forward and of the backward program as texts: name, what is read, what is written.
    pub fn described(&self) -> Vec<(&'static str, Vec<String>, Vec<String>)> {
        self.programs().into_iter().flat_map(Program::described).collect()
    }

    /// The kind of each step, and what it computes.
    pub fn told(&self) -> Vec<Told> {
        self.programs().into_iter().flat_map(Program::told).collect()
    }

    /// The memory that the forward and the backward program use: number, where it comes from, bytes.
    pub fn memory(&self) -> Vec<(u32, String, usize)> {
        self.programs().into_iter().flat_map(Program::memory).collect()
    }

    /// Whether one of the programs reads tensors that are no arguments.
    pub fn reads_outside(&self) -> bool {
        self.outside.iter().any(|memory| !memory.is_external_memory())
    }

    /// Bytes of temporaries of one run of both programs.
    pub fn temporary_bytes(&self) -> usize {
        self.programs().iter().map(|program| program.temporary_bytes()).sum()
    }

    /// Gives the memory of temporaries back; the next run takes new memory.
    pub fn trim(&self) {
        self.programs().into_iter().for_each(Program::trim);
    }

    fn programs(&self) -> [&Program; 2] {
        [&self.joint.forward, &self.joint.backward]
    }

    /// Whether an argument is memory that a call writes.
    pub fn writes_to(&self, argument: &Tensor) -> bool {
        self.joint.forward.written_outside().any(|storage| storage.same(argument.storage()))
    }

    /// The program of a call.
    pub fn forward(&self) -> &Program {
        &self.joint.forward
    }

    /// Which arguments require grad.
    pub fn requires(&self) -> &[bool] {
        &self.requires
    }

    /// What the arguments are like.
    pub fn arguments(&self) -> &[Signature] {
        &self.arguments
    }
}

/// Where a pass through a recorded call begins and ends.
pub(crate) struct Ends {
    pub(crate) roots: Endpoints,
    /// The number of each result among the roots, if it has a history.
    pub(crate) cotangents: Vec<Option<usize>>,
    /// The arguments that require grad.
    pub(crate) own: Vec<Option<Edge>>,
    pub(crate) closures: Vec<Edge>,
}

impl Ends {
    /// The ends of a pass from these results.
    pub(crate) fn of(copies: &[Tensor], results: &[Tensor], since: NestedStart) -> Ends {
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

    /// Why there is no program of such a call by itself.
    fn check(&self) -> std::result::Result<(), NotJoint> {
        if self.roots.is_empty() {
            return Err(NotJoint::Plain);
        }
        self.closures.iter().find_map(refused).map_or(Ok(()), |why| Err(NotJoint::Because(why)))
    }

    /// For each argument and each closure, whether it is a target.
    fn targets(&self) -> impl Iterator<Item = Option<&Edge>> {
        self.own.iter().map(Option::as_ref).chain(self.closures.iter().map(Some))
    }
}

/// The second half of a recording: the gradients of the results.
fn derived(
    (mut recording, may_keep): (Recording, bool),
    copies: &[Tensor],
    results: Vec<Tensor>,
    since: NestedStart,
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
    // The graph goes before the recording asks what is kept.
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

/// Memory outside that the programs read, that of the backward program first.
fn saved_outside(joint: &Joint) -> Vec<Storage> {
    let before = joint.backward.inputs() - joint.outside.len();
    let read = |(k, _): &(usize, &Storage)| joint.backward.reads_input(before + k);
    let taken = joint.outside.iter().enumerate().filter(read).map(|(_, storage)| storage);
    let first: Vec<&Storage> = taken.chain(joint.backward.read_where_it_lies()).collect();
    let is_new = |storage: &&Storage| !first.iter().any(|other| other.same(storage));
    let rest = joint.forward.read_where_it_lies().iter().filter(is_new);
    first.iter().copied().chain(rest).cloned().collect()
}

/// For each target that there is, the number of its gradient among those that were found.
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

/// Gradients of the roots, which are the arguments of the recording from number `first` on. Their values do not matter:
/// programs depend on none.
pub(crate) fn cotangents(roots: &[Endpoint], first: usize) -> Result<Vec<Option<Tensor>>> {
    let _paused = capture::Pause::new();
    let seed = |(number, root): (usize, &Endpoint)| {
        let seed = Tensor::ones(&root.spec.dims, root.spec.dtype)?;
        capture::register_input(seed.storage(), number);
        Ok(Some(seed))
    };
    (first..).zip(roots).map(seed).collect()
}

/// Why a program cannot lead gradients to a tensor that the function closes over.
fn refused(edge: &Edge) -> Option<&'static str> {
    if !edge.node().flags().has(Flags::ACCUMULATOR) {
        Some("it closes over a tensor with a history; pass that as an argument")
    } else if edge.node().attachments().is_some() {
        Some("it closes over a leaf that has hooks")
    } else {
        None
    }
}
