//! A node that makes a double backward fail where it would be silently wrong. Recorded only under `create_graph`.
//!
//! Invariant: it has the edges of the function's inputs, so that pruning to them does not skip it.

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::graph::{self, Context, Edges, Flags, Rule, RuleRef, forward_ad};
use crate::tensor::{Edge, Tensor};

struct DoubleBackwardGuard {
    op: Cow<'static, str>,
    what: String,
    remedy: &'static str,
}

impl Rule<Tensor> for DoubleBackwardGuard {
    fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed("cut")
    }

    fn backward(&self, _cx: &mut Context<'_, Tensor>) -> Result<()> {
        Err(self.error())
    }

    fn jvp(&self, _cx: &mut Context<'_, Tensor>) -> Result<bool> {
        Err(self.error())
    }
}

impl DoubleBackwardGuard {
    fn error(&self) -> Box<Error> {
        Box::new(Error::NotDifferentiable {
            op: self.op.clone(),
            what: self.what.clone(),
            remedy: self.remedy.into(),
        })
    }
}

/// The edge of a new node that fails with `what` when a gradient arrives; `inputs` is where the gradient would have gone.
pub(crate) fn guard_edge(
    op: Cow<'static, str>,
    what: String,
    remedy: &'static str,
    inputs: Edges<Tensor>,
) -> Edge {
    let rule = RuleRef::Boxed(Box::new(DoubleBackwardGuard { op, what, remedy }));
    let node = graph::record_plain(rule, inputs, 1, 0.0, Flags::NONE);
    Edge::new(forward_ad::with_tangents_or_error(node), 0)
}

/// The edge for an intermediate result of `op`'s forward, whose history was not recorded.
#[cold]
pub(crate) fn intermediate_edge(op: Cow<'static, str>, cx: &Context<'_, Tensor>) -> Edge {
    guard_edge(
        op,
        "the second derivative flows through an intermediate result that forward kept, whose history was not recorded"
            .into(),
        "keep inputs or outputs with save_for_backward and compute the intermediate again in backward, or detach() it \
         if it is a constant",
        cx.node().edges().iter().cloned().collect(),
    )
}
