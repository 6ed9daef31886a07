//! The one trait behind every derivative, built-in or the user's.
//!
//! A rule is stateless for built-ins (`Static`) or owns its parameters (`Boxed`); the node owns edges and saved values.
//! It never touches the engine: it reads gradients and saved values from a `Context` and gives gradients back.
//! Invariant: a rule's gradients depend only on the context, so that every schedule yields the same bits.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use super::hook::Foreign;
use super::rule_context::Context;
use super::value::Value;
use crate::error::{Error, Result};

/// How a node turns the gradients of its outputs into those of its inputs.
pub trait Rule<V: Value>: Send + Sync {
    /// The operation's name, e.g. `mul`.
    fn name(&self) -> Cow<'_, str>;

    /// Gives a gradient to every input that `cx.wants`.
    fn backward(&self, cx: &mut Context<'_, V>) -> Result<()>;

    /// Whether `backward` understands gradients of a batched pass, see [`Context::batch`]; if not, it is called for
    /// each row of the batch.
    fn batches(&self) -> bool {
        false
    }

    /// Whether the gradient of an input is zero wherever there is one, as that of a step.
    fn is_zero(&self, _input: usize) -> bool {
        false
    }

    /// The rule itself, where each element of a gradient it gives follows from those at the same place of what it reads:
    /// such rules may run together, see [`Value::together`].
    fn local(&self) -> Option<&dyn Any> {
        None
    }

    /// The rule itself, for introspection of its parameters.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// Accumulator nodes only: adds a finished gradient to the leaf.
    fn commit(&self, _grad: V, _create_graph: bool) -> Result<()> {
        Err(Error::Internal {
            op: self.name().into_owned().into(),
            what: "commit called on a node that is no accumulator".into(),
        }
        .into())
    }

    /// Accumulator nodes only: commit as soon as the gradient is complete instead of after the pass.
    fn commits_at_once(&self) -> bool {
        false
    }

    /// Host-language objects that the rule owns, for the host's garbage collector.
    fn foreign(&self) -> Option<&dyn Foreign> {
        None
    }
}

/// A node's rule: built-ins cost no allocation.
pub enum RuleRef<V: Value> {
    /// A rule without state of its own.
    Static(&'static dyn Rule<V>),
    /// A rule with parameters.
    Boxed(Box<dyn Rule<V>>),
}

impl<V: Value> Deref for RuleRef<V> {
    type Target = dyn Rule<V>;

    #[inline]
    fn deref(&self) -> &(dyn Rule<V> + 'static) {
        match self {
            RuleRef::Static(rule) => *rule,
            RuleRef::Boxed(rule) => rule.as_ref(),
        }
    }
}

impl<V: Value> fmt::Debug for RuleRef<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}
