//! The way back from programs to the function that they were recorded of: higher derivatives.
//!
//! Owns: the call of the original within a pass, and its gradients. Never runs a program.
//! Invariant: a gradient that is computed so has a history when the pass records, through arguments and closures.

use crate::array::Storage;
use crate::error::{Error, Result};
use crate::graph::{Context, Foreign, ModeGuard, NestedStart, NoHost, frontier, next_node_seq};
use crate::ops::autograd::backward::{Endpoint, Endpoints, GradOptions, grad_of};
use crate::tensor::{Edge, Tensor};

const OP: &str = "compile";

/// The function that a joint program was recorded of.
pub trait Original: Send + Sync {
    /// Calls it.
    ///
    /// # Errors
    /// Whatever the function reports.
    fn call(&self, arguments: &[Tensor]) -> Result<Vec<Tensor>>;

    /// The same function for another owner.
    fn share(&self) -> Box<dyn Original>;

    /// Whether it has a copy of what this memory of others held, which it computes with when it is called again.
    fn keeps(&self, _memory: &Storage) -> bool {
        false
    }

    /// Host-language objects that it owns.
    fn foreign(&self) -> Option<&dyn Foreign> {
        None
    }
}

/// The function on copies of its arguments.
pub(crate) type Call<'a> = &'a dyn Fn(&[Tensor]) -> Result<Vec<Tensor>>;

/// Where gradients go beside the arguments.
pub(crate) enum Closures<'a> {
    /// To these edges, and the function must not lead elsewhere when it is called again.
    Exactly(&'a [Edge]),
    /// To these ends; where else the function leads, there is no gradient.
    Reached(&'a [Endpoint]),
}

impl Closures<'_> {
    pub(super) fn edges(&self) -> Vec<Edge> {
        match self {
            Closures::Exactly(edges) => edges.to_vec(),
            Closures::Reached(ends) => ends.iter().map(|end| end.edge.clone()).collect(),
        }
    }
}

/// The gradients of arguments and closures by the function itself, in the order of both. The running node saved the
/// arguments first; `requires` says which require grad, `histories` which of its results have a history.
///
/// # Errors
/// What the function reports; `State` when it closes over other tensors than it did.
pub(crate) fn computed(
    cx: &Context<'_, Tensor>,
    requires: &[bool],
    closures: &Closures<'_>,
    histories: &[usize],
    call: Call<'_>,
) -> Result<Vec<Option<Tensor>>> {
    let arguments = arguments(cx, requires.len())?;
    let seeds: Vec<_> = histories.iter().map(|&k| (k, cx.grad(k).cloned())).collect();
    gradients(&arguments, requires, closures, &seeds, cx.create_graph(), call)
}

/// The first `count` values that the running node saved, with their histories. All that it saved must be what it was, also
/// what only the forward program read.
///
/// # Errors
/// `Modified` for a value that was changed.
pub(crate) fn arguments(cx: &Context<'_, Tensor>, count: usize) -> Result<Vec<Tensor>> {
    for saved in 0..cx.saved_count() {
        cx.saved(saved)?;
    }
    (0..count).map(|i| cx.saved_with_edge(i)).collect()
}

/// The gradients, in the order of arguments and closures, of the results that `call` gives for these arguments.
/// `cotangents` are those of results by their number.
///
/// # Errors
/// As [`computed`].
pub(crate) fn gradients(
    arguments: &[Tensor],
    requires: &[bool],
    closures: &Closures<'_>,
    cotangents: &[(usize, Option<Tensor>)],
    create_graph: bool,
    call: Call<'_>,
) -> Result<Vec<Option<Tensor>>> {
    let closed = closures.edges();
    let _mode = ModeGuard::grad(true);
    // Hooks that the function registers on the copies run; those of what it closes over are left to the pass around.
    let hooks = next_node_seq();
    let copies = arguments.iter().zip(requires).map(|(x, requires)| {
        Ok(match (requires, x.requires_grad()) {
            (true, true) => x.copied("clone")?,
            // A carried value that begins as a constant: its gradient goes nowhere.
            (true, false) => x.duplicate()?.with_grad(),
            (false, _) => x.clone(),
        })
    });
    let copies = copies.collect::<Result<Vec<Tensor>>>()?;
    let since = NestedStart { nodes: next_node_seq(), hooks };
    let results = call(&copies)?;
    let (mut roots, mut seeds) = (Endpoints::new(), Vec::new());
    for (k, cotangent) in cotangents {
        if let (Some(seed), Some(root)) = (cotangent, results.get(*k).and_then(Endpoint::of)) {
            roots.push(root);
            seeds.push(Some(seed.clone()));
        }
    }
    let own = copies.iter().zip(requires).filter(|(_, requires)| **requires);
    let own = own.map(|(copy, _)| copy.grad_edge().ok_or_else(lost));
    let mut targets: Vec<Edge> = own.collect::<Result<_>>()?;
    let wanted = requires.iter().copied().chain(closed.iter().map(|_| true));
    targets.extend(closed.iter().cloned());
    if let Closures::Exactly(_) = closures {
        let edges: Vec<Edge> = roots.iter().map(|root| root.edge.clone()).collect();
        if frontier(&edges, since.nodes).iter().any(|edge| !targets.contains(edge)) {
            return Err(other_closure());
        }
    }
    let options = GradOptions { allow_unused: true, create_graph, since, ..GradOptions::default() };
    let mut found = grad_of(roots, targets, &seeds, &options, &NoHost)?.into_iter();
    Ok(wanted.map(|wanted| if wanted { found.next().flatten() } else { None }).collect())
}

#[cold]
fn lost() -> Box<Error> {
    Box::new(Error::Internal { op: OP.into(), what: "a copy of an argument has no history".into() })
}

#[cold]
fn other_closure() -> Box<Error> {
    Box::new(Error::State {
        op: OP.into(),
        what: "the function closes over other tensors than when it was recorded".into(),
        remedy: "pass them as arguments, or call clear() when they change",
    })
}
