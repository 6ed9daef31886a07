//! Storages (counted buffers), their memory pool, layouts (shapes and strides), and the bridge to ndarray: the bottom layer.
//!
//! Also what the layers above keep with a storage: the write log, copies for saved values, and the observer of memory.

mod access;
mod bitset;
mod compact_layout;
mod copy_on_write;
mod elements;
pub(crate) mod hash;
mod last_writer;
mod layout;
mod ndarray_bridge;
pub mod observer;
mod pool;
mod shape;
mod storage;
mod strided_set;
mod thread_cache;
mod views;
mod write_log;

pub(crate) use access::WriteGuard;
pub use compact_layout::CompactLayout;
pub use copy_on_write::Snapshot;
pub use elements::{ElementWord, Elements, ElementsMut};
pub use layout::{Layout, sort_axes};
pub(crate) use ndarray_bridge::{array_view, fits};
pub use ndarray_bridge::{from_array, from_slice, from_vec};
pub use pool::{afford, cached_bytes, repeated, trim, try_collect, try_with_capacity};
pub use shape::{
    ShapeVec, broadcast_shapes, checked_numel, is_axis_of_scalar, normalize_axes, normalize_axis,
};
pub use storage::{Access, Owner, Storage};
pub use strided_set::StridedSet;
pub use thread_cache::live_bytes;
pub use write_log::{ElementLayout, VersionContents};
