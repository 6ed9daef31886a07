//! Buffers, their pool, shapes, strides and ndarray views: the bottom layer.
//!
//! Owns: storages, who reads them and what they remember of writes, layouts, the pool, and what a capture knows of memory.
//! Never computes with elements. Invariant: memory lives as long as a handle counts it.

mod access;
mod argument_words;
mod bitset;
mod buffer_index;
pub mod capture;
mod compact_layout;
mod copy_on_write;
pub(crate) mod hash;
mod last_writer;
mod layout;
mod ndarray_bridge;
mod pool;
mod shape;
mod storage;
mod strided_set;
mod thread_cache;
mod views;
mod write_log;

pub(crate) use access::Writing;
pub use argument_words::{Elements, ElementsMut, Word};
pub use compact_layout::BriefLayout;
pub use copy_on_write::Snapshot;
pub use layout::{Layout, sort_axes};
pub(crate) use ndarray_bridge::{array_view, fits};
pub use ndarray_bridge::{from_array, from_slice, from_vec};
pub use pool::{afford, cached_bytes, collected, repeated, room_for, trim};
pub use shape::{
    ShapeVec, broadcast_shapes, checked_numel, is_axis_of_number, normalize_axes, normalize_axis,
};
pub use storage::{Access, Owner, Storage};
pub use strided_set::StridedSet;
pub use thread_cache::live_bytes;
pub use write_log::{Earlier, ElementLayout};
