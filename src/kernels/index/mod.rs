//! Indexed access: gather, scatter and scatter-add by precomputed offsets.
//!
//! Owns: offsets, and the loops that move and fold rows by them. Never parses an index expression.
//! Invariant: an offset lies inside the axis that it was made for.

mod add_to_slice;
mod along_axis;
mod last_write;
mod offsets;
mod row_reductions;
mod rows;
mod traced_offsets;

pub use add_to_slice::add_part;
pub use along_axis::{Way, take_checked, write_checked, writes_checked};
pub use last_write::take_last;
pub use offsets::{Indexed, Offsets, offsets, offsets_along, offsets_where};
pub use row_reductions::{Folding, fold_at, others_at};
pub use rows::{add_at, put, take};
