//! Reductions over any set of axes: sum, prod, max, min, any, all, count, argmax, argmin.
//!
//! Owns: the folds, the plans over strides, and their loops. Never weights an element.
//! Invariant: the order in which elements are merged depends on dims, strides and dtype only.

mod arg;
mod complex;
mod differences;
mod extremes;
mod fold;
mod inner;
mod kinds;
mod lexical;
mod loops;
mod outer;
mod pairs;
mod run;
mod scaled_sum_of_squares;
mod turned;
mod whole;

pub use arg::arg_reduce;
pub use differences::{projected_differences, weighted_differences};
pub(super) use fold::{Fold, LEAF, Tree, rows as fold_rows};
pub(super) use kinds::{Max, Sum};
pub use pairs::{squared_distances, squared_distances_within};
pub use run::{Reduction, reduce};
pub use scaled_sum_of_squares::{Range, are_within, scaled_sum_of_squares};
pub use whole::{RowLoop, WHOLE_LEAF, Whole, of_rows, whole};
