//! In-place writes: the history of written memory, regions of elements, and how views were made.
//!
//! No chain of views is kept: a write is a region and an edge.

pub(super) mod history;
pub(super) mod region;
pub(super) mod view_origin;
