//! Indexed access: gather, scatter and scatter-add by precomputed offsets.

mod offsets;
mod part;
mod recorded;
mod rows;

pub use offsets::{Indexed, Offsets, offsets, offsets_along, offsets_where};
pub use part::add_part;
pub use rows::{add_at, mark_last, put, take, take_checked};
