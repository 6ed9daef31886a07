//! The order of elements along one axis: full or partial, as indices, or the elements in order.
//!
//! Owns: the comparison that makes floats totally ordered, unsigned keys that sort the same way, and
//! the sorting of lines by them, digit by digit. Never records what it did.
//! Invariant: the order is stable; a NaN is above everything. Elements without indices differ from
//! that in nothing but the signs of neighbouring zeros and of NaN.

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
    /// A number that tells the two zeros apart, and the element that has it.
    fn distinct(self) -> Self::Number;
    fn of_distinct(number: Self::Number) -> Self;
}

/// An unsigned number, read digit by digit.
trait Number: Copy + Ord + std::ops::Not<Output = Self> + Default {
    const BITS: usize;
    /// The digit of `bits` bits above the lowest `low`.
    fn digit(self, low: usize, bits: usize) -> usize;
}

macro_rules! numbers {
    ($($t:ty),*) => {$(
        impl Number for $t {
            const BITS: usize = <$t>::BITS as usize;
            #[inline(always)]
            fn digit(self, low: usize, bits: usize) -> usize {
                (self >> low) as usize & ((1 << bits) - 1)
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
                // Adding zero makes the two zeros one.
                (self + 0.0).distinct()
            }
            #[inline(always)]
            fn distinct(self) -> $u {
                const SIGN: $u = 1 << (<$u>::BITS - 1);
                let bits = self.to_bits();
                let ordered = if bits & SIGN == 0 { bits | SIGN } else { !bits };
                if self.is_nan() { <$u>::MAX } else { ordered }
            }
            #[inline(always)]
            fn of_distinct(number: $u) -> $t {
                const SIGN: $u = 1 << (<$u>::BITS - 1);
                <$t>::from_bits(if number & SIGN == 0 { !number } else { number ^ SIGN })
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
            #[inline(always)]
            fn distinct(self) -> $u {
                self.number()
            }
            #[inline(always)]
            fn of_distinct(number: $u) -> $t {
                (number ^ $sign) as $t
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
    each_line(input, axis, &out, T::number, descending, |numbers, to, to_step| {
        for (k, (_, index)) in first(numbers, wanted).into_iter().enumerate() {
            // SAFETY: the view is valid for every position of its axes, and lines are disjoint.
            unsafe { *out.at::<i64>(to + k as isize * to_step) = index as i64 };
        }
    });
}

/// Calls `body` with the numbers of every line of `input`, and where its line of `out` begins and steps.
fn each_line<T: Copy, N: Number>(
    input: View,
    axis: usize,
    out: &ViewMut,
    number: impl Fn(T) -> N + Sync,
    descending: bool,
    body: impl Fn(Vec<N>, isize, isize) + Sync,
) {
    let lines = Lines::new(input.dims, axis, [input.strides, out.strides]);
    let [from_step, to_step] = lines.steps;
    lines.each(|[from, to]| {
        let read = |i: usize| {
            // SAFETY: the view is valid for every position of its axes.
            let number = number(unsafe { *input.at::<T>(from + i as isize * from_step) });
            if descending { !number } else { number }
        };
        body((0..lines.len).map(read).collect(), to, to_step);
    });
}

/// Writes the elements of each line of `input` in ascending or descending order; `out` has its dims.
pub fn sort(descending: bool, dtype: DType, input: View, axis: usize, out: ViewMut) {
    assert!(input.dims == out.dims, "sort: dims");
    match dtype {
        DType::F64 => sort_lines::<f64>(descending, input, axis, out),
        DType::F32 => sort_lines::<f32>(descending, input, axis, out),
        DType::I64 => sort_lines::<i64>(descending, input, axis, out),
        DType::I32 => sort_lines::<i32>(descending, input, axis, out),
        DType::U8 | DType::Bool => sort_lines::<u8>(descending, input, axis, out),
    }
}

fn sort_lines<T: Digits>(descending: bool, input: View, axis: usize, out: ViewMut) {
    each_line(input, axis, &out, T::distinct, descending, |mut numbers, to, to_step| {
        if numbers.len() < FEW {
            numbers.sort_unstable();
        } else {
            sort_by_digits(&mut numbers, |n| n);
        }
        for (k, n) in numbers.into_iter().enumerate() {
            let value = T::of_distinct(if descending { !n } else { n });
            // SAFETY: the view is valid for every position of its axes, and lines are disjoint.
            unsafe { *out.at::<T>(to + k as isize * to_step) = value };
        }
    });
}

/// Writes, for each line of `input`, the indices (int64) of the elements that a stable ascending sort
/// would put at `ranks`, in that order; `out` has as many along `axis`.
pub fn arg_ranks(dtype: DType, input: View, axis: usize, ranks: &[usize], out: ViewMut) {
    match dtype {
        DType::F64 => rank_lines::<f64>(input, axis, ranks, out),
        DType::F32 => rank_lines::<f32>(input, axis, ranks, out),
        DType::I64 => rank_lines::<i64>(input, axis, ranks, out),
        DType::I32 => rank_lines::<i32>(input, axis, ranks, out),
        DType::U8 | DType::Bool => rank_lines::<u8>(input, axis, ranks, out),
    }
}

fn rank_lines<T: Digits>(input: View, axis: usize, ranks: &[usize], out: ViewMut) {
    each_line(input, axis, &out, T::number, false, |numbers, to, to_step| {
        // SAFETY: the view is valid for every position of its axes, and lines are disjoint.
        let put = |k: usize, index: usize| unsafe {
            *out.at::<i64>(to + k as isize * to_step) = index as i64;
        };
        if ranks.len() > MANY_RANKS {
            let read = ranks.iter().max().map_or(0, |&rank| rank + 1);
            let order = first(numbers, read);
            return ranks.iter().enumerate().for_each(|(k, &rank)| put(k, order[rank].1));
        }
        let mut scratch = numbers.clone();
        for (k, &rank) in ranks.iter().enumerate() {
            let (number, before) = at_rank(&mut scratch, rank);
            let mut equals = numbers.iter().enumerate().filter(|(_, n)| **n == number);
            put(k, equals.nth(before).map_or(0, |(index, _)| index));
        }
    });
}

/// The number of this rank, and how many of its equals have a lower one; reorders the numbers.
fn at_rank<N: Number>(numbers: &mut [N], rank: usize) -> (N, usize) {
    let (below, &mut number, _) = numbers.select_nth_unstable(rank);
    (number, below.iter().filter(|&&n| n == number).count())
}

/// Below this many numbers comparing them takes less time than counting their digits.
const FEW: usize = 256;
/// Above this many ranks sorting takes less time than selecting each.
const MANY_RANKS: usize = 6;

/// The first `wanted` numbers in order, with their indices; equal ones keep the order of these.
fn first<N: Number>(numbers: Vec<N>, wanted: usize) -> Vec<(N, usize)> {
    let mut pairs: Vec<(N, usize)> = if wanted == 0 {
        Vec::new()
    } else if wanted < numbers.len() {
        let (limit, mut equals) = at_rank(&mut numbers.clone(), wanted - 1);
        // Of the equals of the last one, so many as come before it, and itself.
        equals += 1;
        let mut kept = Vec::with_capacity(wanted);
        for (index, &n) in numbers.iter().enumerate() {
            if n < limit {
                kept.push((n, index));
            } else if n == limit && equals > 0 {
                equals -= 1;
                kept.push((n, index));
            }
        }
        kept
    } else {
        numbers.into_iter().zip(0..).collect()
    };
    if pairs.len() < FEW {
        pairs.sort_unstable();
    } else {
        sort_by_digits(&mut pairs, |pair| pair.0);
    }
    pairs
}

/// Sorts by one digit of the key after the other, lowest first, each pass stable; a digit that all share
/// is skipped. Long lines are worth fewer and wider digits.
fn sort_by_digits<K: Copy, N: Number>(items: &mut Vec<K>, key: impl Fn(K) -> N) {
    let bits = if items.len() < 1 << 13 { 8 } else { 11 };
    let digits = N::BITS.div_ceil(bits);
    let mut counts = vec![0u32; digits << bits];
    for &item in items.iter() {
        let number = key(item);
        for at in 0..digits {
            counts[(at << bits) + number.digit(at * bits, bits)] += 1;
        }
    }
    let mut other = items.clone();
    for (at, count) in counts.chunks_exact_mut(1 << bits).enumerate() {
        if count.contains(&(items.len() as u32)) {
            continue;
        }
        let mut start = 0;
        for slot in count.iter_mut() {
            (*slot, start) = (start, start + *slot);
        }
        for &item in items.iter() {
            let slot = &mut count[key(item).digit(at * bits, bits)];
            other[*slot as usize] = item;
            *slot += 1;
        }
        std::mem::swap(items, &mut other);
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
        first(x.iter().map(|&v| number(v)).collect(), wanted).into_iter().map(|(_, i)| i).collect()
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
    fn digits_are_sorted_as_floats_are() {
        let x: Vec<f32> = line(1000).into_iter().map(|v| v as f32).collect();
        let pairs: Vec<(u32, usize)> = x.iter().map(|v| v.number()).zip(0..).collect();
        let mut sorted = pairs.clone();
        sort_by_digits(&mut sorted, |pair| pair.0);
        let mut want = pairs;
        want.sort();
        assert_eq!(sorted, want);
    }

    #[test]
    fn elements_come_back_from_their_numbers_in_order() {
        for n in [5, 300, 9000] {
            let mut numbers: Vec<u64> = line(n).into_iter().map(|v| v.distinct()).collect();
            sort_by_digits(&mut numbers, |number| number);
            let values: Vec<f64> = numbers.into_iter().map(f64::of_distinct).collect();
            assert!(values.windows(2).all(|w| w[0].order(w[1]).is_le()));
            let mut want: Vec<u64> = line(n).into_iter().map(|v| v.number()).collect();
            want.sort();
            assert!(values.iter().map(|v| v.number()).eq(want));
        }
    }
}
