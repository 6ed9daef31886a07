//! The order of elements along one axis: full or partial, as indices.
//!
//! Owns: the comparison that makes floats totally ordered, and the sorting of lines by it.
//! Never moves the elements themselves. Invariant: the order is stable; a NaN is above everything.

use std::cmp::Ordering;

use super::scan::Lines;
use super::view::{View, ViewMut};
use crate::dtype::DType;

/// An element with a total order.
pub trait Key: Copy + Send + Sync {
    /// Ascending order, NaN last.
    fn order(self, other: Self) -> Ordering;
}

macro_rules! float_keys {
    ($($t:ty),*) => {$(
        impl Key for $t {
            #[inline]
            fn order(self, other: $t) -> Ordering {
                match self.partial_cmp(&other) {
                    Some(order) => order,
                    None => self.is_nan().cmp(&other.is_nan()),
                }
            }
        }
    )*};
}
float_keys!(f64, f32);

macro_rules! plain_keys {
    ($($t:ty),*) => {$(
        impl Key for $t {
            #[inline]
            fn order(self, other: $t) -> Ordering {
                self.cmp(&other)
            }
        }
    )*};
}
plain_keys!(i64, i32, u8, bool);

/// Writes the indices (int64) of the first elements of each line of `input` in ascending or descending
/// order; as many as `out` has along `axis`, which are at most the line's length.
///
/// # Panics
/// When the other dims differ: a bug of the caller.
pub fn arg_order(descending: bool, dtype: DType, input: View, axis: usize, out: ViewMut) {
    match dtype {
        DType::F64 => lines::<f64>(descending, input, axis, out),
        DType::F32 => lines::<f32>(descending, input, axis, out),
        DType::I64 => lines::<i64>(descending, input, axis, out),
        DType::I32 => lines::<i32>(descending, input, axis, out),
        DType::U8 | DType::Bool => lines::<u8>(descending, input, axis, out),
    }
}

fn lines<T: Key>(descending: bool, input: View, axis: usize, out: ViewMut) {
    let fits = (0..out.dims.len()).all(|a| a == axis || out.dims[a] == input.dims[a]);
    let wanted = out.dims[axis];
    assert!(fits && wanted <= input.dims[axis], "arg_order: dims");
    let lines = Lines::new(input.dims, axis, [input.strides, out.strides]);
    let [from_step, to_step] = lines.steps;
    lines.each(|[from, to]| {
        // SAFETY: the view is valid for every position of its axes.
        let read = |i: usize| unsafe { *input.at::<T>(from + i as isize * from_step) };
        let pairs: Vec<(T, usize)> = (0..lines.len).map(|i| (read(i), i)).collect();
        for (k, index) in ordered(pairs, wanted, descending).enumerate() {
            // SAFETY: as above, and lines are disjoint in `out`.
            unsafe { *out.at::<i64>(to + k as isize * to_step) = index as i64 };
        }
    });
}

/// The indices of the first `wanted` pairs in order; equal elements keep the order of their indices.
fn ordered<T: Key>(
    mut pairs: Vec<(T, usize)>,
    wanted: usize,
    descending: bool,
) -> impl Iterator<Item = usize> {
    let compare = |a: &(T, usize), b: &(T, usize)| {
        let order = if descending { b.0.order(a.0) } else { a.0.order(b.0) };
        order.then(a.1.cmp(&b.1))
    };
    if wanted > 0 && wanted < pairs.len() {
        pairs.select_nth_unstable_by(wanted - 1, compare);
    }
    pairs.truncate(wanted);
    pairs.sort_unstable_by(compare);
    pairs.into_iter().map(|(_, index)| index)
}
