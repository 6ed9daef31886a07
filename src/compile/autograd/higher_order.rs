//! Higher derivatives: calls the original function in the backward pass and differentiates it.

use crate::array::Storage;
use crate::error::{Error, Result};
use crate::graph::{Context, HostObjects, ModeGuard, NestedStart, NoHost, frontier, next_node_seq};
use crate::ops::autograd::backward::{Endpoint, Endpoints, GradOptions, grad_of};
use crate::tensor::{Edge, Tensor};

const OP: &str = "compile";

/// The function that a program was traced from.
pub trait OriginalFunction: Send + Sync {
    /// Calls the function.
    ///
    /// # Errors
    /// What the function raises.
    fn call(&self, arguments: &[Tensor]) -> Result<Vec<Tensor>>;

    /// Another handle of the same function.
    fn share(&self) -> Box<dyn OriginalFunction>;

    /// Whether the function holds a copy of the contents of this foreign memory, and computes with the copy when it
    /// is called again.
    fn has_copy_of(&self, _memory: &Storage) -> bool {
        false
    }

    /// Python objects that it owns.
    fn host_objects(&self) -> Option<&dyn HostObjects> {
        None
    }
}

/// Calls the function on copies of its arguments.
pub(crate) type Call<'a> = &'a dyn Fn(&[Tensor]) -> Result<Vec<Tensor>>;

/// The targets of gradients beside the arguments.
pub(crate) enum Closures<'a> {
    /// Exactly these edges; it is an error if the function reaches other ones when it is called again.
    Exact(&'a [Edge]),
    /// These targets; gradients of anything else that the function reaches are dropped.
    Subset(&'a [Endpoint]),
}

impl Closures<'_> {
    pub(super) fn edges(&self) -> Vec<Edge> {
        match self {
            Closures::Exact(edges) => edges.to_vec(),
            Closures::Subset(ends) => ends.iter().map(|end| end.edge.clone()).collect(),
        }
    }
}

/// The gradients of arguments and closures, in this order, by calling the function. The saved values of the running
/// node begin with the arguments; `requires` says which of them require grad, `grad_results` lists the results that
/// require grad.
///
/// # Errors
/// What the function raises; `State` if it closes over other tensors than at trace time.
pub(crate) fn recompute_gradients(
    cx: &Context<'_, Tensor>,
    requires: &[bool],
    closures: &Closures<'_>,
    grad_results: &[usize],
    call: Call<'_>,
) -> Result<Vec<Option<Tensor>>> {
    let arguments = saved_arguments(cx, requires.len())?;
    let seeds: Vec<_> = grad_results.iter().map(|&k| (k, cx.grad(k).cloned())).collect();
    differentiate_call(&arguments, requires, closures, &seeds, cx.create_graph(), call)
}

/// The first `count` saved values of the running node, with their edges. Checks the version of every saved value,
/// also of those that only the forward program read.
///
/// # Errors
/// `Modified` for a value that was changed in place.
pub(crate) fn saved_arguments(cx: &Context<'_, Tensor>, count: usize) -> Result<Vec<Tensor>> {
    for saved in 0..cx.saved_count() {
        cx.saved(saved)?;
    }
    (0..count).map(|i| cx.saved_with_edge(i)).collect()
}

/// The gradients of arguments and closures, in this order, through the results of `call` on these arguments.
/// `cotangents` are pairs of a result's index and its gradient.
///
/// # Errors
/// As [`recompute_gradients`].
pub(crate) fn differentiate_call(
    arguments: &[Tensor],
    requires: &[bool],
    closures: &Closures<'_>,
    cotangents: &[(usize, Option<Tensor>)],
    create_graph: bool,
    call: Call<'_>,
) -> Result<Vec<Option<Tensor>>> {
    let closure_edges = closures.edges();
    let _mode = ModeGuard::grad(true);
    // Hooks that the function registers on the copies run; those of what it closes over are left to the pass around.
    let hooks = next_node_seq();
    let copies = arguments.iter().zip(requires).map(|(x, requires)| {
        Ok(match (requires, x.requires_grad()) {
            (true, true) => x.copied("clone")?,
            // A carried value that starts as a constant: nobody needs its gradient.
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
    let argument_edges = copies.iter().zip(requires).filter(|(_, requires)| **requires);
    let argument_edges =
        argument_edges.map(|(copy, _)| copy.grad_edge().ok_or_else(missing_history));
    let mut targets: Vec<Edge> = argument_edges.collect::<Result<_>>()?;
    let is_target = requires.iter().copied().chain(closure_edges.iter().map(|_| true));
    targets.extend(closure_edges.iter().cloned());
    if let Closures::Exact(_) = closures {
        let edges: Vec<Edge> = roots.iter().map(|root| root.edge.clone()).collect();
        if frontier(&edges, since.nodes).iter().any(|edge| !targets.contains(edge)) {
            return Err(other_closure());
        }
    }
    let options = GradOptions { allow_unused: true, create_graph, since, ..GradOptions::default() };
    let mut gradients = grad_of(roots, targets, &seeds, &options, &NoHost)?.into_iter();
    Ok(is_target
        .map(|is_target| if is_target { gradients.next().flatten() } else { None })
        .collect())
}

#[cold]
fn missing_history() -> Box<Error> {
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
