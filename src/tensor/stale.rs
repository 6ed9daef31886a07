//! The end of a history whose values are gone: memory that another handle changed in place.
//!
//! Owns: the rule that refuses. Never computes a gradient.
//! Invariant: a gradient never flows to the producer of values that were overwritten.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::array::Storage;
use crate::error::{Error, Result};
use crate::graph::{Context, Flags, Rule, RuleRef, record};
use crate::tensor::{Edge, Tensor};

/// The rule of a node that stands where the history of changed values would go on.
pub(crate) struct Stale {
    produced_by: Cow<'static, str>,
    changed_by: &'static str,
}

impl Stale {
    /// An edge to a node that refuses, in place of an edge whose values were changed.
    #[cold]
    pub(crate) fn edge(instead_of: &Edge, storage: &Storage) -> Edge {
        let rule =
            Stale { produced_by: instead_of.node().name(), changed_by: storage.changed_by() };
        let rule = RuleRef::Boxed(Box::new(rule));
        // The old edge stays the input: whoever asks for what lies behind it meets the refusal first.
        let inputs = SmallVec::from_elem(Some(instead_of.clone()), 1);
        Edge::new(record::<Tensor>(rule, inputs, SmallVec::new(), 1, 0.0, Flags::NONE), 0)
    }
}

impl Rule<Tensor> for Stale {
    fn name(&self) -> Cow<'static, str> {
        self.produced_by.clone()
    }

    fn backward(&self, _cx: &mut Context<'_, Tensor>) -> Result<()> {
        Err(Box::new(Error::InPlace {
            op: "backward".into(),
            what: format!(
                "the result of \"{}\" was changed by \"{}\" through other memory-sharing tensors or arrays",
                self.produced_by, self.changed_by
            ),
            remedy: "change it through the tensor itself (base[index] = value), or clone() before the change",
        }))
    }
}
