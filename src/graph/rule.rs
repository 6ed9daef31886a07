//! `Rule`: the VJP of an operation, built-in or the user's.
//!
//! Built-in rules are static (`Static`); others own their parameters (`Boxed`). The node owns edges and saved values; the rule
//! reads gradients and saved values from a `Context` and gives gradients back.
//! Invariant: a rule's gradients depend only on the context, so that every schedule yields the same bits.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use super::hook::HostObjects;
use super::rule_context::Context;
use super::value::Value;
use crate::error::{Error, Result};

/// Computes the gradients of a node's inputs from those of its outputs.
pub trait Rule<V: Value>: Send + Sync {
    /// The operation's name, e.g. `mul`.
    fn name(&self) -> Cow<'_, str>;

    /// Gives a gradient to every input that the context wants.
    fn backward(&self, cx: &mut Context<'_, V>) -> Result<()>;

    /// Gives the tangents of the outputs: the JVP at the saved values. The context has the tangents of inputs in place of the
    /// gradients of outputs, and takes tangents of outputs in place of gradients of inputs. False, before anything is given, if
    /// the rule has no JVP of its own; then `backward` is transposed, which must be linear in the gradients.
    fn jvp(&self, _cx: &mut Context<'_, V>) -> Result<bool> {
        Ok(false)
    }

    /// Whether `backward` supports the gradients of a batched pass, see [`Context::batch`]; if not, it is called for each row
    /// of the batch.
    fn supports_batch(&self) -> bool {
        false
    }

    /// Whether the gradient of an input is zero everywhere, as for a step function.
    fn is_zero(&self, _input: usize) -> bool {
        false
    }

    /// The rule itself, if it is element-wise (each element of a gradient depends on the elements at the same index only):
    /// such rules may be fused, see [`Value::backward_fused`].
    fn elementwise(&self) -> Option<&dyn Any> {
        None
    }

    /// The rule itself, for introspection of its parameters.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// Accumulator nodes only: adds a complete gradient to the leaf.
    fn commit(&self, _grad: V, _create_graph: bool) -> Result<()> {
        Err(Error::Internal {
            op: self.name().into_owned().into(),
            what: "commit called on a node that is no accumulator".into(),
        }
        .into())
    }

    /// Accumulator nodes only: commit as soon as the gradient is complete instead of after the pass.
    fn commits_immediately(&self) -> bool {
        false
    }

    /// The host objects of the rule.
    fn host_objects(&self) -> Option<&dyn HostObjects> {
        None
    }
}

/// A node's rule; built-in rules need no allocation.
pub enum RuleRef<V: Value> {
    /// A rule without parameters.
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
