//! Indexed access: gather, scatter and scatter-add by precomputed offsets.
//!
//! Owns: offsets, and the loops that move and fold rows by them. Never parses an index expression.
//! Invariant: an offset lies inside the axis that it was made for.

mod along;
mod folds;
mod last;
mod offsets;
mod part;
mod recorded;
mod rows;

pub use along::{Way, take_checked, write_checked, writes_checked};
pub use folds::{Folding, fold_at, others_at};
pub use last::take_last;
pub use offsets::{Indexed, Offsets, offsets, offsets_along, offsets_where};
pub use part::add_part;
pub use rows::{add_at, put, take};
