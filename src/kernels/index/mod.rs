//! Indexed access: gather, scatter and scatter-add by precomputed offsets.
//!
//! Owns: offsets, and the loops that move rows by them. Never parses an index expression.
//! Invariant: an offset lies inside the axis that it was made for.

mod offsets;
mod part;
mod recorded;
mod rows;

pub use offsets::{Indexed, Offsets, offsets, offsets_along, offsets_where};
pub use part::add_part;
pub use rows::{add_at, mark_last, put, take, take_checked};
