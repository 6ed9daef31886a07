//! Memory that was changed in place while recording: which elements, by whom, and what that means to views.
//!
//! Owns: the log of writes, the regions that it speaks of, and how a view was made.
//! Never writes to elements. Invariant: no view chain is kept; a region and an edge say everything of a write.

pub(super) mod history;
pub(super) mod region;
pub(super) mod view_origin;
