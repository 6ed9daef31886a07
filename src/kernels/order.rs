//! The order of elements along one axis: full or partial, as indices.
//!
//! Owns: the comparison that makes floats totally ordered, unsigned keys that sort the same way, and
//! the sorting of lines by them, digit by digit. Never moves the elements themselves.
//! Invariant: the order is stable; a NaN is above everything.

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

/// An element as an unsigned number in the order of `Key`.
trait Digits: Copy + Sync {
    type Number: Number;
    fn number(self) -> Self::Number;
}

/// An unsigned number, read byte by byte.
trait Number: Copy + Ord + std::ops::Not<Output = Self> + Default {
    const BYTES: usize;
    /// The byte of weight `256^at`.
    fn byte(self, at: usize) -> usize;
}

macro_rules! numbers {
    ($($t:ty),*) => {$(
        impl Number for $t {
            const BYTES: usize = size_of::<$t>();
            #[inline(always)]
            fn byte(self, at: usize) -> usize {
                (self >> (8 * at)) as usize & 0xff
            }
        }
    )*};
}
numbers!(u64, u32);

macro_rules! float_digits {
    ($($t:ty => $u:ty),*) => {$(
        impl Digits for $t {
            type Number = $u;
            #[inline(always)]
            fn number(self) -> $u {
                const SIGN: $u = 1 << (<$u>::BITS - 1);
                // Adding zero makes the two zeros one.
                let bits = (self + 0.0).to_bits();
                let ordered = if bits & SIGN == 0 { bits | SIGN } else { !bits };
                if self.is_nan() { <$u>::MAX } else { ordered }
            }
        }
    )*};
}
float_digits!(f64 => u64, f32 => u32);

macro_rules! int_digits {
    ($($t:ty => $u:ty, $sign:expr);*) => {$(
        impl Digits for $t {
            type Number = $u;
            #[inline(always)]
            fn number(self) -> $u {
                self as $u ^ $sign
            }
        }
    )*};
}
int_digits!(i64 => u64, 1 << 63; i32 => u32, 1 << 31; u8 => u32, 0);

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

fn lines<T: Digits>(descending: bool, input: View, axis: usize, out: ViewMut) {
    let fits = (0..out.dims.len()).all(|a| a == axis || out.dims[a] == input.dims[a]);
    let wanted = out.dims[axis];
    assert!(fits && wanted <= input.dims[axis], "arg_order: dims");
    let lines = Lines::new(input.dims, axis, [input.strides, out.strides]);
    let [from_step, to_step] = lines.steps;
    lines.each(|[from, to]| {
        let read = |i: usize| {
            // SAFETY: the view is valid for every position of its axes.
            let number = unsafe { *input.at::<T>(from + i as isize * from_step) }.number();
            if descending { !number } else { number }
        };
        let pairs = (0..lines.len).map(|i| (read(i), i)).collect();
        for (k, (_, index)) in first(pairs, wanted).into_iter().enumerate() {
            // SAFETY: as above, and lines are disjoint in `out`.
            unsafe { *out.at::<i64>(to + k as isize * to_step) = index as i64 };
        }
    });
}

/// Below this many pairs comparing them takes less time than counting their digits.
const FEW: usize = 256;

/// The first `wanted` pairs in order; equal numbers keep the order of their indices.
fn first<N: Number>(mut pairs: Vec<(N, usize)>, wanted: usize) -> Vec<(N, usize)> {
    if wanted < pairs.len() {
        pairs = smallest(pairs, wanted);
    }
    if pairs.len() < FEW {
        pairs.sort_unstable();
    } else {
        sort_by_bytes(&mut pairs);
    }
    pairs
}

/// The `wanted` smallest pairs, in the order they came: byte by byte from the top, those that are
/// certainly among them are kept and those that share the byte of the last one are looked at again.
fn smallest<N: Number>(pairs: Vec<(N, usize)>, wanted: usize) -> Vec<(N, usize)> {
    let mut limit = N::default();
    let mut open: Vec<N> = pairs.iter().map(|p| p.0).collect();
    let mut left = wanted;
    for at in (0..N::BYTES).rev() {
        if left == 0 {
            break;
        }
        let mut counts = [0usize; 256];
        open.iter().for_each(|n| counts[n.byte(at)] += 1);
        let mut byte = 0;
        while counts[byte] < left {
            left -= counts[byte];
            byte += 1;
        }
        open.retain(|n| n.byte(at) == byte);
        limit = open[0];
    }
    // `limit` is now the largest number wanted, and `left` says how many that equal it are.
    let mut kept = Vec::with_capacity(wanted);
    for pair in pairs {
        if pair.0 < limit && wanted > 0 {
            kept.push(pair);
        } else if pair.0 == limit && left > 0 {
            left -= 1;
            kept.push(pair);
        }
    }
    kept
}

/// Sorts by one byte after the other, lowest first, each pass stable; a byte that all share is skipped.
fn sort_by_bytes<N: Number>(pairs: &mut Vec<(N, usize)>) {
    let mut counts = vec![[0usize; 256]; N::BYTES];
    for (number, _) in pairs.iter() {
        for (at, count) in counts.iter_mut().enumerate() {
            count[number.byte(at)] += 1;
        }
    }
    let mut other = pairs.clone();
    for (at, count) in counts.iter_mut().enumerate() {
        if count.contains(&pairs.len()) {
            continue;
        }
        let mut start = 0;
        for slot in count.iter_mut() {
            (*slot, start) = (start, start + *slot);
        }
        for &pair in pairs.iter() {
            let slot = &mut count[pair.0.byte(at)];
            other[*slot] = pair;
            *slot += 1;
        }
        std::mem::swap(pairs, &mut other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers with many equals, zeros of both signs, infinities and NaN.
    fn line(n: usize) -> Vec<f64> {
        let mut state = 7u64;
        (0..n)
            .map(|i| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                match state >> 60 {
                    0 => f64::NAN,
                    1 => -0.0,
                    2 => 0.0,
                    3 => f64::INFINITY,
                    4 => f64::NEG_INFINITY,
                    5..9 => (i % 7) as f64 - 3.0,
                    _ => (state as i64 as f64) * 1e-300,
                }
            })
            .collect()
    }

    fn by_comparison(x: &[f64], descending: bool) -> Vec<usize> {
        let mut order: Vec<usize> = (0..x.len()).collect();
        order.sort_by(|&a, &b| if descending { x[b].order(x[a]) } else { x[a].order(x[b]) });
        order
    }

    fn by_number(x: &[f64], wanted: usize, descending: bool) -> Vec<usize> {
        let number = |v: f64| if descending { !v.number() } else { v.number() };
        let pairs = x.iter().enumerate().map(|(i, &v)| (number(v), i)).collect();
        first(pairs, wanted).into_iter().map(|(_, i)| i).collect()
    }

    #[test]
    fn any_part_of_the_order_is_that_of_a_stable_comparison_sort() {
        for n in [0, 1, 2, 5, 255, 256, 257, 3000] {
            let x = line(n);
            for descending in [false, true] {
                let order = by_comparison(&x, descending);
                for wanted in [0, 1, n / 3, n.saturating_sub(1), n] {
                    let wanted = wanted.min(n);
                    let got = by_number(&x, wanted, descending);
                    assert_eq!(got, order[..wanted], "{wanted} of {n}, descending: {descending}");
                }
            }
        }
    }

    #[test]
    fn integers_keep_their_order_as_numbers() {
        let x = [i64::MIN, -5, -1, 0, 1, 7, i64::MAX];
        assert!(x.windows(2).all(|w| w[0].number() < w[1].number()));
        let x = [i32::MIN, -5, 0, 7, i32::MAX];
        assert!(x.windows(2).all(|w| w[0].number() < w[1].number()));
        let x = [0u8, 1, 127, 128, 255];
        assert!(x.windows(2).all(|w| w[0].number() < w[1].number()));
    }

    #[test]
    fn bytes_are_sorted_as_floats_are() {
        let x: Vec<f32> = line(1000).into_iter().map(|v| v as f32).collect();
        let pairs: Vec<(u32, usize)> = x.iter().map(|v| v.number()).zip(0..).collect();
        let mut sorted = pairs.clone();
        sort_by_bytes(&mut sorted);
        let mut want = pairs;
        want.sort();
        assert_eq!(sorted, want);
    }
}
