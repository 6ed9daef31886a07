//! Traits of hooks and of their host objects, implemented by the tensor layer and the bindings.
//!
//! Invariant: hooks are called with no lock held, on the thread that runs the node.

use std::any::Any;
use std::sync::Weak;

use super::arena::NodeId;
use super::value::Value;
use crate::error::Result;

/// The pass that calls a hook.
pub trait RunningPass<V: Value> {
    /// Alive until the pass ends; identifies the pass.
    fn token(&self) -> Weak<()>;

    /// Whether the pass computes the gradient of an output (unless every derivative on the path gives none).
    fn reaches(&self, node: &NodeId<V>, output: u32) -> bool;

    /// For each of these leaves with hooks, whether the pass will add to its gradient; `None` if the pass returns gradients to
    /// its caller.
    fn commits(&self, leaves: &[NodeId<V>]) -> Option<Vec<bool>>;

    /// Calls `then` after the last commit, unless the pass fails.
    fn at_end(&self, then: AtEnd);
}

/// A callback at the end of a pass.
pub type AtEnd = Box<dyn FnOnce() -> Result<()> + Send>;

/// A hook on one output's gradient; it may replace the gradient.
pub trait Hook<V: Value>: Send + Sync {
    /// Called with the complete gradient; `Some` replaces it.
    fn call(&self, grad: V, pass: &dyn RunningPass<V>) -> Result<Option<V>>;

    /// The host objects of the hook.
    fn host_objects(&self) -> Option<&dyn HostObjects> {
        None
    }
}

/// A hook on a node: before its rule (`inputs` is `None`) or after it.
pub trait NodeHook<V>: Send + Sync {
    /// Before: may replace the gradients of the outputs. After: may replace those of the inputs.
    fn call(
        &self,
        inputs: Option<&[Option<V>]>,
        outputs: &[Option<V>],
    ) -> Result<Option<Vec<Option<V>>>>;

    /// The host objects of the hook.
    fn host_objects(&self) -> Option<&dyn HostObjects> {
        None
    }
}

/// Stores a retained gradient of a non-leaf once the pass has succeeded.
pub trait RetainGradHook<V>: Send + Sync {
    /// Stores the gradient.
    fn store(&self, grad: V, create_graph: bool) -> Result<()>;
}

/// Host-language objects owned by a rule or a hook, for the host's garbage collector.
pub trait HostObjects: Send + Sync {
    /// Calls `visit` with each object.
    fn visit(&self, visit: &mut dyn FnMut(&dyn Any));

    /// Drops the objects (the collector found a cycle).
    fn clear(&self);

    /// For an owner shared by several nodes: its identity, and the number of nodes that hold it.
    fn shared(&self) -> Option<(usize, usize)> {
        None
    }
}
