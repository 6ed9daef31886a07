//! The node arena: slots for nodes, and the counted handles that keep them alive.
//!
//! Slots are in pages that never move, in shards owned by threads. Also the cell of a node's saved values.
//! Invariant: no handle reaches a slot with a count of zero, and its generation changes before it is reused.
//! All `unsafe` code of the graph is in this folder; `../README.md` argues why it is sound.

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
pub(super) use saved_cell::{SavedCell, SavedUse};
pub use store::Arena;
pub(super) use store::Stamps;
pub(super) use thread_state::{last_seq, next_seq, set_last_seq};
