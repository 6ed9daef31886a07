//! The node of a backward program: that of a compiled function, a loop or a branch.
//!
//! Owns: the node's edges, and the choice between the program and the function that it was recorded of. Never runs a
//! program. Invariant: a node gives gradients to arguments first, then to what the function closes over.

use std::borrow::Cow;

use super::higher_order::{Closures, computed};
use crate::array::Storage;
use crate::compile::traced_function::in_order;
use crate::error::{Error, Result};
use crate::graph::{self, Context, Edges, Flags, Foreign, Rule, RuleRef, SavedValues};
use crate::tensor::{Edge, Tensor};

/// A backward program with what its node needs.
pub(crate) trait BackwardProgram: Send + Sync + 'static {
    /// The node's name.
    fn name(&self) -> &'static str;

    /// The estimated cost of a pass, in nanoseconds.
    fn cost(&self) -> f32;

    /// Which arguments require grad.
    fn requires(&self) -> &[bool];

    /// Where gradients go beside the arguments.
    fn closures(&self) -> Closures<'_>;

    /// The memory that the function closes over. The node saves it whole, from this value on.
    fn outside(&self) -> (usize, &[Storage]);

    /// Whether the function has a copy of what this memory held.
    fn keeps(&self, memory: &Storage) -> bool;

    /// The numbers of the results that have a history.
    fn histories(&self) -> Vec<usize>;

    /// The gradients of arguments and closures; `None` where no program gives those of the results that have one.
    ///
    /// # Errors
    /// `Diverged` where the program would decide otherwise than when it was recorded.
    fn replayed(&self, cx: &Context<'_, Tensor>) -> Result<Option<Vec<Option<Tensor>>>>;

    /// The results by the function that the program was recorded of, with a history of their own.
    ///
    /// # Errors
    /// What it reports.
    fn call_again(&self, arguments: &[Tensor]) -> Result<Vec<Tensor>>;

    /// Objects of a host language that this function owns.
    fn foreign(&self) -> Option<&dyn Foreign>;

    /// The gradients of arguments and closures with a history of their own.
    ///
    /// # Errors
    /// What the function reports.
    fn derived(&self, cx: &Context<'_, Tensor>) -> Result<Vec<Option<Tensor>>> {
        self.computed(cx)
    }

    /// The gradients by the function.
    ///
    /// # Errors
    /// What it reports.
    fn computed(&self, cx: &Context<'_, Tensor>) -> Result<Vec<Option<Tensor>>> {
        let call = |copies: &[Tensor]| self.call_again(copies);
        computed(cx, self.requires(), &self.closures(), &self.histories(), &call)
    }
}

/// Records the node of results that a forward program computed from these arguments, and attaches it to those of them
/// that have a history. The first values of `saved` are the arguments.
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

/// Refuses to call a function again where memory that it closes over has changed: it would compute something else.
fn refuse_changed(cx: &Context<'_, Tensor>, program: &impl BackwardProgram) -> Result<()> {
    let (first, outside) = program.outside();
    for (saved, memory) in (first..).zip(outside) {
        let same = match cx.payload(saved) {
            Some(kept) => kept.equals_memory(memory),
            // A hook packed it.
            None => in_order(&cx.saved(saved)?)?.equals_memory(memory),
        };
        let kept = same || (memory.is_external_memory() && program.keeps(memory));
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
    /// The gradients by the program; `None` where the function itself must give them: for higher derivatives, where there
    /// is no program for those results that have a gradient, and where the program would decide otherwise.
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
