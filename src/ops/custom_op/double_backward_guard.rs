//! The refusal of a second derivative that would be silently wrong.
//!
//! Owns: a node that passes the history of a custom function on and fails when a gradient arrives.
//! Never part of a first derivative: it is recorded only under `create_graph`.
//! Invariant: it has the edges of the function's inputs, so that pruning to them cannot hide it.

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::graph::{self, Context, Edges, Flags, Rule, RuleRef};
use crate::tensor::{Edge, Tensor};

struct Cut {
    op: Cow<'static, str>,
    what: String,
    remedy: &'static str,
}

impl Rule<Tensor> for Cut {
    fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed("cut")
    }

    fn backward(&self, _cx: &mut Context<'_, Tensor>) -> Result<()> {
        Err(Box::new(Error::NotDifferentiable {
            op: self.op.clone(),
            what: self.what.clone(),
            remedy: self.remedy.into(),
        }))
    }
}

/// An edge at which a gradient fails with `what`; `inputs` is where it would have gone.
pub(crate) fn refuse(
    op: Cow<'static, str>,
    what: String,
    remedy: &'static str,
    inputs: Edges<Tensor>,
) -> Edge {
    let rule = RuleRef::Boxed(Box::new(Cut { op, what, remedy }));
    let node = graph::record_plain(rule, inputs, 1, 0.0, Flags::NONE);
    Edge::new(node, 0)
}

/// The edge of an intermediate result of `op`'s forward: its history was not recorded.
#[cold]
pub(crate) fn intermediate(op: Cow<'static, str>, cx: &Context<'_, Tensor>) -> Edge {
    refuse(
        op,
        "the second derivative flows through an intermediate result that forward kept, whose history was not recorded"
            .into(),
        "keep inputs or outputs with save_for_backward and compute the intermediate again in backward, or detach() it \
         if it is a constant",
        cx.node().edges().iter().cloned().collect(),
    )
}
