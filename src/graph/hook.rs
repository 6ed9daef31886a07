//! Callbacks that others attach to nodes, and the view of host objects that a garbage collector needs.
//!
//! Declares traits only; the bindings and the tensor layer implement them.
//! Invariant: hooks are called with no lock held, on the lane that runs the node.

use std::any::Any;
use std::sync::Weak;

use super::arena::NodeId;
use super::value::Value;
use crate::error::Result;

/// The pass that calls a hook.
pub trait RunningPass<V: Value> {
    /// Alive until the pass ends: tells this pass from all others.
    fn token(&self) -> Weak<()>;

    /// Whether this pass computes the gradient of an output (unless every derivative on the way gives none).
    fn reaches(&self, node: &NodeId<V>, output: u32) -> bool;

    /// For each of these leaves with hooks, whether this pass is to add to its gradient; `None` if the pass hands
    /// gradients to its caller.
    fn commits(&self, leaves: &[NodeId<V>]) -> Option<Vec<bool>>;

    /// Calls a function after the last commit, unless the pass fails.
    fn at_end(&self, then: AtEnd);
}

/// What is left to do at the end of a pass.
pub type AtEnd = Box<dyn FnOnce() -> Result<()> + Send>;

/// A hook on one output's gradient; it may replace the gradient.
pub trait Hook<V: Value>: Send + Sync {
    /// Sees the finished gradient; `Some` replaces it.
    fn call(&self, grad: V, pass: &dyn RunningPass<V>) -> Result<Option<V>>;

    /// Host-language objects that the hook owns.
    fn foreign(&self) -> Option<&dyn Foreign> {
        None
    }
}

/// A hook on a whole node: before its rule (`inputs` is `None`) or after it.
pub trait NodeHook<V>: Send + Sync {
    /// Before: may replace the gradients of the outputs. After: may replace those of the inputs.
    fn call(
        &self,
        inputs: Option<&[Option<V>]>,
        outputs: &[Option<V>],
    ) -> Result<Option<Vec<Option<V>>>>;

    /// Host-language objects that the hook owns.
    fn foreign(&self) -> Option<&dyn Foreign> {
        None
    }
}

/// Where a retained intermediate gradient goes once the pass has succeeded.
pub trait Sink<V>: Send + Sync {
    /// Stores the gradient.
    fn store(&self, grad: V, create_graph: bool) -> Result<()>;
}

/// Objects of a host language that a rule or hook owns.
pub trait Foreign: Send + Sync {
    /// Calls `visit` with each object.
    fn visit(&self, visit: &mut dyn FnMut(&dyn Any));

    /// Drops the objects (the collector found a cycle).
    fn clear(&self);

    /// For an owner that several nodes share: what identifies it, and how many hold it.
    fn shared(&self) -> Option<(usize, usize)> {
        None
    }
}
