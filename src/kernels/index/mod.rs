//! Gather, scatter and scatter-add by precomputed offsets.
//!
//! Invariant: an offset is inside the axis that it was made for.

mod add_to_slice;
mod along_axis;
mod gather_rows;
mod last_write;
mod offsets;
mod row_reductions;
mod traced_offsets;

pub use add_to_slice::add_to_slice;
pub use along_axis::{WriteMode, supports_write_checked, take_checked, write_checked};
pub use gather_rows::{add_at, put, take};
pub use last_write::take_last;
pub use offsets::{Indexed, Offsets, offsets, offsets_along, offsets_where};
pub use row_reductions::{ScatterReduction, products_of_others, reduce_at};
