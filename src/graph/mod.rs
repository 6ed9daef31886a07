//! The computational graph: node arena, saved values, thread modes, and the backward engine.
//!
//! Generic over `V: Value`: nothing here knows tensors, dtypes, operations or Python.
//! Invariant: every node is made by `record`, and lives exactly as long as a handle or an edge counts it.
//! States, ownership and memory ordering: `README.md` in this folder.

mod arena;
mod attachments;
mod call_site;
mod engine;
pub mod forward_ad;
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
pub use attachments::Attachments;
pub use call_site::{CallStack, current_call_site, innermost_line, set_call_stack};
pub use engine::{
    Host, NestedStart, NoHost, Pass, Targets, detach_if_long, discovered, estimate, frontier,
    search, vjp,
};
pub use fused_nodes::FusedNodes;
pub use hook::{AtEnd, Hook, HostObjects, NodeHook, RetainGradHook, RunningPass};
pub use mode::{
    ANOMALY, CALL_SITES, CHECK_NAN, DISALLOW_SAVED_MUTATION, DUAL, FORWARD, GRAD, INFERENCE, Mode,
    ModeGuard, PACKING, RECORDED_ARRAYS, SERIAL, TRACING, TRANSFORM, grad_enabled,
    set_grad_enabled,
};
pub use node::{Edges, Flags, Node, SavedValues};
pub use record::{next_node_seq, record, record_plain, record_with, recording};
pub use rule::{Rule, RuleRef};
pub use rule_context::Context;
pub use saved::{Saved, SavedOrigin, SavedRef};
pub use saved_value_hooks::{Pack, PackedValue};
pub use value::Value;
