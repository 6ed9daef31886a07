//! Gather, scatter and scatter-add by precomputed offsets.
//!
//! Invariant: an offset is inside the axis that it was made for.

mod add_to_slice;
mod along_axis;
mod gather_rows;
mod offsets;
mod put_backward;
mod scatter_reduce;
mod traced_offsets;

pub use add_to_slice::add_to_slice;
pub use along_axis::{WriteMode, supports_write_checked, take_checked, write_checked};
pub use gather_rows::{add_at, put, take};
pub use offsets::{Indexed, Offsets, offsets, offsets_along, offsets_where};
pub use put_backward::take_last;
pub use scatter_reduce::{ScatterReduction, products_of_others, reduce_at};
