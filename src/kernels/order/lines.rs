//! The order of elements along one axis: full or partial, as indices, or the elements in order.
//!
//! Owns: the sorting of lines by their numbers, byte by byte, and the selection of a part of them.
//! Never records what it did.
//! Invariant: the order is stable; a NaN is above everything. Elements without indices differ from
//! that in nothing but the signs of neighbouring zeros and of NaN.

use super::super::cast::{lifted, lifted_out};
use super::super::launch::launch;
use super::super::scan::Lines;
use super::super::view::{View, ViewMut, with_elements};
use super::key::{Digits, Number};
use crate::dtype::DType;

/// Writes the indices (int64) of the first elements of each line of `input` in ascending or descending
/// order; as many as `out` has along `axis`, which are at most the line's length.
///
/// # Panics
/// When the other dims differ: a bug of the caller.
pub fn arg_order(descending: bool, input: View, axis: usize, out: ViewMut) {
    assert!(out.dtype == DType::I64, "arg_order writes indices");
    launch!(
        "arg_order", [input] => [out];;
        lifted(input, |input| {
            with_elements!([input], T => lines::<T>(descending, input, axis, out))
        })
    );
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
    lines.each(&|[from, to]| {
        let ([from_step, to_step], first) = (lines.steps, input.at::<T>(from));
        let read = |i: usize| {
            // SAFETY: the view is valid for every position of its axes.
            let number = number(unsafe { *first.offset(i as isize * from_step) });
            if descending { !number } else { number }
        };
        body((0..lines.len).map(read).collect(), to, to_step);
    });
}

/// Writes the elements of each line of `input` in ascending or descending order; `out` has its dims.
pub fn sort(descending: bool, input: View, axis: usize, out: ViewMut) {
    assert!(input.dims == out.dims, "sort: dims");
    launch!(
        "sort", [input] => [out];;
        lifted(input, |input| lifted_out(&out, false, |out| {
            with_elements!([input, out], T => sort_lines::<T>(descending, input, axis, out))
        }))
    );
}

fn sort_lines<T: Digits>(descending: bool, input: View, axis: usize, out: ViewMut) {
    each_line(input, axis, &out, T::distinct, descending, |numbers, to, to_step| {
        let first = out.at::<T>(to);
        for (k, n) in in_order(numbers).into_iter().enumerate() {
            let value = T::of_distinct(if descending { !n } else { n });
            // SAFETY: the view is valid for every position of its axes, and lines are disjoint.
            unsafe { *first.offset(k as isize * to_step) = value };
        }
    });
}

#[inline(always)]
fn in_order<N: Number>(mut numbers: Vec<N>) -> Vec<N> {
    // Bare numbers of eight bytes are compared faster than they are moved eight times.
    if numbers.len() < FEW || N::BYTES >= MOST_BYTES {
        numbers.sort_unstable();
        return numbers;
    }
    sort_by_bytes(numbers, |n| n)
}

/// Writes, for each line of `input`, the indices (int64) of the elements that a stable ascending sort
/// would put at `ranks`, in that order; `out` has as many along `axis`.
pub fn arg_ranks(input: View, axis: usize, ranks: &[usize], out: ViewMut) {
    assert!(out.dtype == DType::I64, "arg_ranks writes indices");
    launch!(
        "arg_ranks", [input] => [out]; ranks = ranks.to_vec();
        lifted(input, |input| {
            with_elements!([input], T => rank_lines::<T>(input, axis, &ranks, out))
        })
    );
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

/// The number of rank `wanted - 1`, and how many of its equals have a lower one.
fn last_wanted<N: Number>(numbers: &[N], wanted: usize) -> (N, usize) {
    let room = (4 * wanted).max(FEW);
    if room > numbers.len() / 2 {
        return at_rank(&mut numbers.to_vec(), wanted - 1);
    }
    // Of few wanted ones only those are kept that are not beyond the last of the ones before.
    let (mut kept, mut limit) = (Vec::with_capacity(room), !N::default());
    for &n in numbers {
        if n <= limit {
            if kept.len() == room {
                limit = at_rank(&mut kept, wanted - 1).0;
                kept.truncate(wanted);
            }
            kept.push(n);
        }
    }
    at_rank(&mut kept, wanted - 1)
}

/// The bytes of the longest number that is sorted byte by byte.
const MOST_BYTES: usize = 8;
/// Below this many numbers comparing them takes less time than counting their digits.
const FEW: usize = 256;
/// Above this many ranks sorting takes less time than selecting each.
const MANY_RANKS: usize = 6;

/// The first `wanted` numbers in order, with their indices; equal ones keep the order of these.
fn first<N: Number>(numbers: Vec<N>, wanted: usize) -> Vec<(N, usize)> {
    let mut pairs: Vec<(N, usize)> = if wanted == 0 {
        Vec::new()
    } else if wanted < numbers.len() {
        let (limit, mut equals) = last_wanted(&numbers, wanted);
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
    if pairs.len() < FEW || N::BYTES > MOST_BYTES {
        pairs.sort_unstable();
        return pairs;
    }
    sort_by_bytes(pairs, |pair| pair.0)
}

/// Sorts by one byte of the key after the other, lowest first, each pass stable; a byte that all share is
/// skipped.
#[inline(always)]
fn sort_by_bytes<K: Copy, N: Number>(mut items: Vec<K>, key: impl Fn(K) -> N) -> Vec<K> {
    let mut counts = [[0u32; 256]; MOST_BYTES];
    for &item in items.iter() {
        let number = key(item);
        for at in 0..N::BYTES.min(MOST_BYTES) {
            counts[at][number.byte(at)] += 1;
        }
    }
    let mut other = items.clone();
    for (at, count) in counts[..N::BYTES.min(MOST_BYTES)].iter_mut().enumerate() {
        if count.contains(&(items.len() as u32)) {
            continue;
        }
        let mut start = 0;
        for slot in count.iter_mut() {
            (*slot, start) = (start, start + *slot);
        }
        let to = &mut other[..];
        for &item in &items[..] {
            let slot = &mut count[key(item).byte(at)];
            to[*slot as usize] = item;
            *slot += 1;
        }
        std::mem::swap(&mut items, &mut other);
    }
    items
}

#[cfg(test)]
mod tests {
    use super::super::Key;
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
    fn bytes_are_sorted_as_floats_are() {
        let x: Vec<f32> = line(1000).into_iter().map(|v| v as f32).collect();
        let pairs: Vec<(u32, usize)> = x.iter().map(|v| v.number()).zip(0..).collect();
        let sorted = sort_by_bytes(pairs.clone(), |pair| pair.0);
        let mut want = pairs;
        want.sort();
        assert_eq!(sorted, want);
    }

    #[test]
    fn elements_come_back_from_their_numbers_in_order() {
        for n in [5, 300, 9000] {
            let numbers = line(n).into_iter().map(|v| v.distinct()).collect();
            let numbers: Vec<u64> = sort_by_bytes(numbers, |number| number);
            let values: Vec<f64> = numbers.into_iter().map(f64::of_distinct).collect();
            assert!(values.windows(2).all(|w| w[0].order(w[1]).is_le()));
            let mut want: Vec<u64> = line(n).into_iter().map(|v| v.number()).collect();
            want.sort();
            assert!(values.iter().map(|v| v.number()).eq(want));
        }
    }
}
