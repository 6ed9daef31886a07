//! The node of a backward program: that of a compiled function, a loop or a branch.
//!
//! Shared by compiled calls, loops and branches: `record_node` records the node, `ProgramRule` is its VJP rule. The
//! rule runs the backward program, or differentiates the original function where there is no program.
//!
//! Invariant: the edges are those of the arguments first, then those of the closures.

use std::borrow::Cow;

use super::higher_order::{Closures, computed};
use crate::array::Storage;
use crate::compile::traced_function::in_order;
use crate::error::{Error, Result};
use crate::graph::{self, Context, Edges, Flags, Foreign, Rule, RuleRef, SavedValues};
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
    fn outside(&self) -> (usize, &[Storage]);

    /// Whether the function holds a copy of the contents of this memory.
    fn keeps(&self, memory: &Storage) -> bool;

    /// The indices of the results that require grad.
    fn histories(&self) -> Vec<usize>;

    /// Runs the backward program: the gradients of arguments and closures; `None` if no program fits the gradients
    /// that are present.
    ///
    /// # Errors
    /// `Diverged` if a decision of the program (`Action::Decision`) differs from the one made at trace time.
    fn replayed(&self, cx: &Context<'_, Tensor>) -> Result<Option<Vec<Option<Tensor>>>>;

    /// Calls the original function eagerly and records it in the graph, for higher derivatives.
    ///
    /// # Errors
    /// What the function raises.
    fn call_again(&self, arguments: &[Tensor]) -> Result<Vec<Tensor>>;

    /// Python objects that this function owns, for the garbage collector.
    fn foreign(&self) -> Option<&dyn Foreign>;

    /// The gradients of arguments and closures, differentiable again.
    ///
    /// # Errors
    /// What the function raises.
    fn derived(&self, cx: &Context<'_, Tensor>) -> Result<Vec<Option<Tensor>>> {
        self.computed(cx)
    }

    /// The gradients by calling the original function and differentiating it.
    ///
    /// # Errors
    /// What the function raises.
    fn computed(&self, cx: &Context<'_, Tensor>) -> Result<Vec<Option<Tensor>>> {
        let call = |copies: &[Tensor]| self.call_again(copies);
        computed(cx, self.requires(), &self.closures(), &self.histories(), &call)
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
    let (histories, cost) = (program.histories(), program.cost());
    let own = arguments.iter().zip(program.requires());
    let own = own.map(|(x, requires)| x.grad_edge().filter(|_| *requires));
    let closed = program.closures().edges().into_iter().map(Some);
    let edges: Edges<Tensor> = own.chain(closed).collect();
    let rule = RuleRef::Boxed(Box::new(ProgramRule(program)));
    let node = graph::record(rule, edges, saved, results.len() as u32, cost, Flags::FOREIGN)?;
    let attach = |(k, result): (usize, Tensor)| match histories.contains(&k) {
        true => result.attach(Edge::new(node.clone(), k as u32)),
        false => result,
    };
    Ok(results.into_iter().enumerate().map(attach).collect())
}

/// Refuses to call the function again if memory that it closes over has changed: it would compute something else.
fn refuse_changed(cx: &Context<'_, Tensor>, program: &impl BackwardProgram) -> Result<()> {
    let (first, outside) = program.outside();
    for (saved, memory) in (first..).zip(outside) {
        let same = match cx.payload(saved) {
            Some(kept) => kept.is_in(memory),
            // A saved-tensor hook packed the value.
            None => in_order(&cx.saved(saved)?)?.is_in(memory),
        };
        let kept = same || (memory.is_lent() && program.keeps(memory));
        if !kept {
            return Err(changed());
        }
    }
    Ok(())
}

#[cold]
fn changed() -> Box<Error> {
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
    fn replayed(&self, cx: &Context<'_, Tensor>) -> Result<Option<Vec<Option<Tensor>>>> {
        if cx.create_graph() {
            return Ok(None);
        }
        match self.0.replayed(cx) {
            Err(error) if matches!(*error, Error::Diverged { .. }) => Ok(None),
            replayed => replayed,
        }
    }
}

impl<P: BackwardProgram> Rule<Tensor> for ProgramRule<P> {
    fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(self.0.name())
    }

    fn backward(&self, cx: &mut Context<'_, Tensor>) -> Result<()> {
        let grads = match self.replayed(cx)? {
            Some(grads) => grads,
            None => {
                refuse_changed(cx, &self.0)?;
                self.0.derived(cx)?
            }
        };
        for (i, grad) in grads.into_iter().enumerate() {
            if let Some(grad) = grad {
                cx.give(i, grad)?;
            }
        }
        Ok(())
    }

    fn foreign(&self) -> Option<&dyn Foreign> {
        self.0.foreign()
    }
}
