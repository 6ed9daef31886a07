//! The node of a backward program: that of a compiled function, a loop or a branch.
//!
//! Shared by compiled calls, loops and branches: `record_node` records the node, `ProgramRule` is its VJP rule. The
//! rule runs the backward program, or differentiates the original function where there is no program.
//!
//! Invariant: the edges are those of the arguments first, then those of the closures.

use std::borrow::Cow;

use super::higher_order::{Closures, recompute_gradients};
use crate::array::Storage;
use crate::compile::program::to_contiguous;
use crate::error::{Error, Result};
use crate::graph::{
    self, Context, Edges, Flags, HostObjects, Rule, RuleRef, SavedValues, forward_ad,
};
use crate::tensor::{Edge, Tensor};

/// A backward program with what its autograd node needs.
pub(crate) trait BackwardProgram: Send + Sync + 'static {
    /// The node's name.
    fn name(&self) -> &'static str;

    /// The estimated cost of the backward pass, in nanoseconds.
    fn cost(&self) -> f32;

    /// Which arguments require grad.
    fn requires(&self) -> &[bool];

    /// The targets of gradients beside the arguments.
    fn closures(&self) -> Closures<'_>;

    /// The external memory that the function reads: the index of the first saved value of it, and the memory. The
    /// node saves all of it.
    fn external(&self) -> (usize, &[Storage]);

    /// Whether the function holds a copy of the contents of this memory.
    fn has_copy_of(&self, memory: &Storage) -> bool;

    /// The indices of the results that require grad.
    fn grad_results(&self) -> Vec<usize>;

    /// Runs the backward program: the gradients of arguments and closures; `None` if no program fits the gradients
    /// that are present.
    ///
    /// # Errors
    /// `Diverged` if a decision of the program (`Action::Decision`) differs from the one made at trace time.
    fn run_program(&self, cx: &Context<'_, Tensor>) -> Result<Option<Vec<Option<Tensor>>>>;

    /// Calls the original function eagerly and records it in the graph, for higher derivatives.
    ///
    /// # Errors
    /// What the function raises.
    fn call_original(&self, arguments: &[Tensor]) -> Result<Vec<Tensor>>;

    /// Python objects that this function owns, for the garbage collector.
    fn host_objects(&self) -> Option<&dyn HostObjects>;

    /// The gradients of arguments and closures, differentiable again.
    ///
    /// # Errors
    /// What the function raises.
    fn differentiable_gradients(&self, cx: &Context<'_, Tensor>) -> Result<Vec<Option<Tensor>>> {
        self.gradients_by_original(cx)
    }

    /// The gradients by calling the original function and differentiating it.
    ///
    /// # Errors
    /// What the function raises.
    fn gradients_by_original(&self, cx: &Context<'_, Tensor>) -> Result<Vec<Option<Tensor>>> {
        let call = |copies: &[Tensor]| self.call_original(copies);
        recompute_gradients(cx, self.requires(), &self.closures(), &self.grad_results(), &call)
    }
}

/// Records the node of results that a forward program computed from these arguments, and attaches it to the results
/// that require grad. The first values of `saved` are the arguments.
///
/// # Errors
/// As [`graph::record`].
pub(crate) fn record_node<P: BackwardProgram>(
    program: P,
    arguments: &[Tensor],
    saved: SavedValues<Tensor>,
    results: Vec<Tensor>,
) -> Result<Vec<Tensor>> {
    let (grad_results, cost) = (program.grad_results(), program.cost());
    let argument_edges = arguments.iter().zip(program.requires());
    let argument_edges = argument_edges.map(|(x, requires)| x.grad_edge().filter(|_| *requires));
    let closure_edges = program.closures().edges().into_iter().map(Some);
    let edges: Edges<Tensor> = argument_edges.chain(closure_edges).collect();
    let rule = RuleRef::Boxed(Box::new(ProgramRule(program)));
    let node = graph::record(rule, edges, saved, results.len() as u32, cost, Flags::HOST_OBJECTS)?;
    let node = forward_ad::with_tangents(node, &results)?;
    let attach = |(k, result): (usize, Tensor)| match grad_results.contains(&k) {
        true => result.attach(Edge::new(node.clone(), k as u32)),
        false => result,
    };
    Ok(results.into_iter().enumerate().map(attach).collect())
}

/// Refuses to call the function again if memory that it closes over has changed: it would compute something else.
fn refuse_changed(cx: &Context<'_, Tensor>, program: &impl BackwardProgram) -> Result<()> {
    let (first, external) = program.external();
    for (saved, memory) in (first..).zip(external) {
        let same = match cx.payload(saved) {
            Some(value) => value.equals_memory(memory),
            // A hook packed it.
            None => to_contiguous(&cx.saved(saved)?)?.equals_memory(memory),
        };
        let unchanged = same || (memory.is_external_memory() && program.has_copy_of(memory));
        if !unchanged {
            return Err(changed_error());
        }
    }
    Ok(())
}

#[cold]
fn changed_error() -> Box<Error> {
    Box::new(Error::State {
        op: "backward".into(),
        what: "this backward calls the function of a compiled call, a loop or a branch again (create_graph is \
               set, or some results have no gradient), and a tensor that it closes over was changed meanwhile"
            .into(),
        remedy: "pass that tensor as an argument, or change a copy of it",
    })
}

struct ProgramRule<P>(P);

impl<P: BackwardProgram> ProgramRule<P> {
    /// Runs the backward program. `None` if the original function must be differentiated: with `create_graph`,
    /// without a program for the gradients that are present, or after a diverged decision.
    fn run_program(&self, cx: &Context<'_, Tensor>) -> Result<Option<Vec<Option<Tensor>>>> {
        if cx.create_graph() {
            return Ok(None);
        }
        match self.0.run_program(cx) {
            Err(error) if matches!(*error, Error::Diverged { .. }) => Ok(None),
            gradients => gradients,
        }
    }
}

impl<P: BackwardProgram> Rule<Tensor> for ProgramRule<P> {
    fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(self.0.name())
    }

    fn backward(&self, cx: &mut Context<'_, Tensor>) -> Result<()> {
        let grads = match self.run_program(cx)? {
            Some(grads) => grads,
            None => {
                refuse_changed(cx, &self.0)?;
                self.0.differentiable_gradients(cx)?
            }
        };
        for (i, grad) in grads.into_iter().enumerate() {
            if let Some(grad) = grad {
                cx.give(i, grad)?;
            }
        }
        Ok(())
    }

    fn host_objects(&self) -> Option<&dyn HostObjects> {
        self.0.host_objects()
    }
}
