//! The computational graph: node arena, saved values, thread modes, and the backward engine.
//!
//! Generic over `V: Value`: nothing here knows tensors, dtypes, operations or Python.
//! Invariant: every node is made by `record`, and lives exactly as long as a handle or an edge counts it.
//! States, ownership and memory ordering: `README.md` in this folder.

mod arena;
mod attachments;
mod call_site;
mod engine;
mod fused_nodes;
mod hook;
mod mode;
mod node;
mod record;
mod rule;
mod rule_context;
mod saved;
mod saved_value_hooks;
mod value;

pub use arena::{Arena, Edge, NodeId, NodeRef};
pub use attachments::Extras;
pub use call_site::{Caller, here, latest, set_caller};
pub use engine::{
    Host, NoHost, Pass, Since, Targets, detach_if_long, discovered, estimate, frontier, search, vjp,
};
pub use fused_nodes::Together;
pub use hook::{AtEnd, Foreign, Hook, NodeHook, RunningPass, Sink};
pub use mode::{
    ANOMALY, CHECK_NAN, DISALLOW_SAVED_MUTATION, FORWARD, GRAD, INFERENCE, Mode, ModeGuard,
    PACKING, RECORDED_ARRAYS, SERIAL, SITES, TRACING, TRANSFORM, grad_enabled, set_grad_enabled,
};
pub use node::{Edges, Flags, Node, SavedValues};
pub use record::{next_node, record, record_plain, record_with, recording};
pub use rule::{Rule, RuleRef};
pub use rule_context::Context;
pub use saved::{Origin, Saved, SavedRef};
pub use saved_value_hooks::{Pack, PackedValue};
pub use value::Value;
