//! The counted arena: where nodes live, and the handles that keep them alive.
//!
//! Owns the slots (never-moving pages in shards owned by threads), their counts and generations, and the cell of a
//! node's saved values. It never runs a rule, and holds no lock while it drops a node's contents.
//! Invariant: a slot with a count of zero is reached by no handle; its generation changes before it is used again.
//! This folder holds all `unsafe` code of the graph; the argument for its soundness is in `../README.md`.

mod generation;
mod handle;
mod remote_free_list;
mod saved_cell;
mod shard;
mod slot;
mod store;
mod sync;
mod thread_state;
mod use_count;

pub(super) use handle::NodeBorrow;
pub use handle::{Edge, NodeId, NodeRef};
pub(super) use saved_cell::{InUse, SavedCell};
pub use store::Arena;
pub(super) use store::Stamps;
pub(super) use thread_state::{last_seq, next_seq, set_last_seq};
