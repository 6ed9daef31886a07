//! Buffers, their pool, shapes, strides and ndarray views: the bottom layer.
//!
//! Owns: storages, who reads them and what they remember of writes, layouts, the pool, and what a capture knows of memory.
//! Never computes with elements. Invariant: memory lives as long as a handle counts it.

mod access;
mod author;
mod bitset;
mod brief;
pub mod capture;
mod changes;
mod elements;
pub(crate) mod hash;
mod layout;
mod local;
mod pool;
mod restride;
mod seen;
mod shape;
mod snapshots;
mod storage;
mod strided_set;
mod views;

pub(crate) use access::Writing;
pub use brief::BriefLayout;
pub use changes::{Earlier, ElementLayout};
pub use elements::{Elements, ElementsMut, Word};
pub use layout::{Layout, sort_axes};
pub use local::live_bytes;
pub use pool::{afford, cached_bytes, collected, repeated, room_for, trim};
pub use shape::{
    ShapeVec, broadcast_shapes, checked_numel, is_axis_of_number, normalize_axes, normalize_axis,
};
pub use snapshots::Snapshot;
pub use storage::{Access, Owner, Storage};
pub use strided_set::StridedSet;
pub(crate) use views::{array_view, fits};
pub use views::{from_array, from_slice, from_vec};
