//! Sorting one line by the numbers of its elements.
//!
//! Owns: the ways to sort: by vectors, by comparison, byte by byte; and which of them is taken. Never walks a tensor.
//! Invariant: where indices are asked for, equal elements keep their order.

use super::top_k::few;
use super::total_order::{Digits, Number};
#[cfg(target_arch = "x86_64")]
use crate::kernels::isa::{Level, level};
use crate::kernels::multiversion::leveled;

/// The elements of a line: where the first one lies, how far apart they are, and how many.
pub(super) struct Line<T> {
    pub(super) first: *const T,
    pub(super) step: isize,
    pub(super) len: usize,
}

/// The bytes of the longest number that is sorted byte by byte.
const MOST_BYTES: usize = 8;
/// So many first elements of a line of up to so many are found by putting each in its place.
const INSERTED: (usize, usize) = (8, 512);
/// Below this many numbers comparing them takes less time than counting their digits.
const FEW: usize = 256;

impl<T: Digits> Line<T> {
    /// The numbers of the elements, in ascending or descending order of these.
    ///
    /// # Safety
    /// The elements are there.
    pub(super) unsafe fn numbers(&self, descending: bool) -> Vec<T::Number> {
        // SAFETY: the caller's contract.
        let element = |i: usize| unsafe { *self.first.offset(i as isize * self.step) };
        let flip = flip(descending);
        (0..self.len).map(|i| element(i).number() ^ flip).collect()
    }

    /// The numbers of the first `wanted` elements in order, with their indices.
    ///
    /// # Safety
    /// The elements are there.
    pub(super) unsafe fn first(&self, wanted: usize, descending: bool) -> Vec<(T::Number, usize)> {
        // SAFETY: the caller's contract.
        unsafe {
            if (1..=INSERTED.0).contains(&wanted) && self.len <= INSERTED.1 {
                return self.inserted(wanted, descending);
            } else if wanted > self.len / 8 {
                return ordered(partly(self.numbers(descending), wanted));
            }
        }
        let flip = flip(descending);
        let mut order = few(self.len, wanted, &|start, block: &mut [T::Number]| {
            let first = self.first.wrapping_offset(start as isize * self.step);
            // SAFETY: the block lies inside the line.
            unsafe {
                match self.step {
                    1 => numbers_of(first, block.as_mut_ptr(), block.len(), flip),
                    step => (0..).zip(block).for_each(|(i, number)| {
                        *number = (*first.offset(i * step)).number() ^ flip
                    }),
                }
            }
        });
        order.sort_unstable();
        order
    }

    /// As `first`, each number being put in its place among those before it.
    ///
    /// # Safety
    /// The elements are there, and one at least is wanted.
    unsafe fn inserted(&self, wanted: usize, descending: bool) -> Vec<(T::Number, usize)> {
        let (flip, mut best) = (flip(descending), Vec::with_capacity(wanted));
        for i in 0..self.len {
            // SAFETY: the caller's contract.
            let number = unsafe { *self.first.offset(i as isize * self.step) }.number() ^ flip;
            if best.len() < wanted {
                best.push((number, i));
            } else if number >= best[wanted - 1].0 {
                continue;
            }
            let mut at = best.len() - 1;
            while at > 0 && number < best[at - 1].0 {
                best[at] = best[at - 1];
                at -= 1;
            }
            best[at] = (number, i);
        }
        best
    }

    /// Writes the elements in ascending or descending order.
    ///
    /// # Safety
    /// The elements are there; as many can be written from `to` on, and no other thread uses these.
    pub(super) unsafe fn sort(&self, descending: bool, to: *mut T, to_step: isize) {
        if !T::WHOLE && self.len > 0 {
            // SAFETY: the caller's contract; the indices are those of elements.
            unsafe {
                for (k, (_, i)) in (0..).zip(self.first(self.len, descending)) {
                    *to.offset(k * to_step) = *self.first.offset(i as isize * self.step);
                }
            }
            return;
        }
        let alike =
            size_of::<T>() == size_of::<T::Number>() && align_of::<T>() == align_of::<T::Number>();
        // SAFETY: the caller's contract.
        unsafe {
            let element = |i: usize| *self.first.offset(i as isize * self.step);
            if alike && self.step == 1 && to_step == 1 {
                return arrange(self.first, to, self.len, descending);
            }
            if alike {
                let mut elements: Vec<T> = (0..self.len).map(element).collect();
                arrange(elements.as_ptr(), elements.as_mut_ptr(), elements.len(), descending);
                for (k, element) in (0..).zip(elements) {
                    *to.offset(k * to_step) = element;
                }
                return;
            }
            let flip = flip(descending);
            let mut numbers: Vec<_> = (0..self.len).map(|i| element(i).distinct() ^ flip).collect();
            in_order(&mut numbers);
            for (k, number) in (0..).zip(numbers) {
                *to.offset(k * to_step) = T::of_distinct(number ^ flip);
            }
        }
    }
}

/// Sorts elements that are as large as their numbers, in place or to other memory.
///
/// # Safety
/// They are, and there are so many in both places.
unsafe fn arrange<T: Digits>(from: *const T, to: *mut T, n: usize, descending: bool) {
    #[cfg(target_arch = "x86_64")]
    if let (Some(sort), Level::Avx512) = (T::BY_VECTORS, level()) {
        // SAFETY: the caller's contract, and the CPU has the features of its level.
        return unsafe { sort(from, to, n, descending) };
    }
    let flip = flip(descending);
    // SAFETY: numbers that are as large as the elements may lie in their place.
    unsafe {
        to.copy_from(from, n);
        let numbers = to.cast::<T::Number>();
        distinct_of(to, n, flip);
        in_order(std::slice::from_raw_parts_mut(numbers, n));
        elements_of(to, n, flip);
    }
}

/// What makes numbers descend.
fn flip<N: Number>(descending: bool) -> N {
    if descending { !N::default() } else { N::default() }
}

leveled! {
    /// Writes the numbers of elements, which lie elsewhere.
    unsafe fn numbers_of<T: Digits>(
        from: *const T, to: *mut T::Number, n: usize, flip: T::Number,
    ) = number_loop, T::LEVELS
}
leveled! {
    /// Writes over elements their numbers that tell the two zeros apart: from one pointer, so that the compiler sees that no
    /// two places meet.
    unsafe fn distinct_of<T: Digits>(at: *mut T, n: usize, flip: T::Number) = distinct_loop, T::LEVELS
}
leveled! {
    /// Writes elements over their numbers.
    unsafe fn elements_of<T: Digits>(at: *mut T, n: usize, flip: T::Number) = element_loop, T::LEVELS
}
#[inline(always)]
unsafe fn number_loop<T: Digits>(from: *const T, to: *mut T::Number, n: usize, flip: T::Number) {
    for i in 0..n {
        // SAFETY: the caller's contract.
        unsafe { *to.add(i) = (*from.add(i)).number() ^ flip };
    }
}

#[inline(always)]
unsafe fn distinct_loop<T: Digits>(at: *mut T, n: usize, flip: T::Number) {
    for i in 0..n {
        // SAFETY: as for `element_loop`.
        unsafe { *at.add(i).cast::<T::Number>() = (*at.add(i)).distinct() ^ flip };
    }
}

#[inline(always)]
unsafe fn element_loop<T: Digits>(at: *mut T, n: usize, flip: T::Number) {
    for i in 0..n {
        // SAFETY: the caller's contract; a number is as large as its element.
        unsafe {
            let at = at.add(i);
            *at = T::of_distinct(*at.cast::<T::Number>() ^ flip);
        }
    }
}

/// Sorts bare numbers.
pub(super) fn in_order<N: Number>(numbers: &mut [N]) {
    if numbers.is_sorted() {
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if let (Some(sort), Level::Avx512) = (N::BY_VECTORS, level()) {
        // SAFETY: the CPU has the features of its level.
        return unsafe { sort(numbers) };
    }
    // Bare numbers of eight bytes are compared faster than they are moved eight times.
    if numbers.len() < FEW || N::BYTES >= MOST_BYTES {
        return numbers.sort_unstable();
    }
    numbers.copy_from_slice(&sort_by_bytes(numbers.to_vec(), |n| n));
}

/// The first `wanted` of many numbers, with their indices, which ascend.
fn partly<N: Number>(numbers: Vec<N>, wanted: usize) -> Vec<(N, usize)> {
    if wanted == numbers.len() {
        return numbers.into_iter().zip(0..).collect();
    }
    let Some(last) = wanted.checked_sub(1) else {
        return Vec::new();
    };
    let (limit, before) = at_rank(&mut numbers.clone(), last);
    // Of the equals of the last one, so many as come before it, and itself.
    let mut equals = before + 1;
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
}

/// The number of this rank, and how many of its equals have a lower one; reorders the numbers.
pub(super) fn at_rank<N: Number>(numbers: &mut [N], rank: usize) -> (N, usize) {
    let (below, &mut number, _) = numbers.select_nth_unstable(rank);
    (number, below.iter().filter(|&&n| n == number).count())
}

/// Sorts numbers with their indices, which ascend; equal ones keep the order of these.
fn ordered<N: Number>(mut pairs: Vec<(N, usize)>) -> Vec<(N, usize)> {
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
    use super::*;
    use crate::kernels::sort::Key;

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
        let line = Line { first: x.as_ptr(), step: 1, len: x.len() };
        // SAFETY: the elements of a slice.
        unsafe { line.first(wanted, descending) }.into_iter().map(|(_, i)| i).collect()
    }

    #[test]
    fn any_part_of_the_order_is_that_of_a_stable_comparison_sort() {
        for n in [0, 1, 2, 5, 255, 256, 257, 3000] {
            let x = line(n);
            for descending in [false, true] {
                let order = by_comparison(&x, descending);
                for wanted in [0, 1, n / 10, n / 3, n.saturating_sub(1), n] {
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
            let x = line(n);
            let mut values = vec![0.0; n];
            let line = Line { first: x.as_ptr(), step: 1, len: n };
            // SAFETY: the elements of slices of one length.
            unsafe { line.sort(false, values.as_mut_ptr(), 1) };
            assert!(values.windows(2).all(|w| w[0].order(w[1]).is_le()));
            let mut want: Vec<u64> = x.into_iter().map(|v| v.number()).collect();
            want.sort();
            assert!(values.iter().map(|v| v.number()).eq(want));
        }
    }

    #[test]
    fn every_length_and_kind_of_bare_numbers_is_sorted() {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 16
        };
        for n in (0..1100).chain([4000, 20_011]) {
            let kinds: [&mut dyn FnMut(u64) -> u64; 6] = [
                &mut |_| next() << 16,
                &mut |i| i % 7,
                &mut |i| !i,
                &mut |i| i ^ 1,
                &mut |i| if i % 3 == 0 { u64::MAX } else { i.pow(2) % 97 },
                &mut |i| (1 << 63) + i * i % 1009 - 500,
            ];
            for kind in kinds {
                let mut long: Vec<u64> = (0..n).map(kind).collect();
                let mut short: Vec<u32> = long.iter().map(|&n| (n >> 3) as u32).collect();
                let (mut want_long, mut want_short) = (long.clone(), short.clone());
                in_order(&mut long);
                want_long.sort_unstable();
                want_short.sort_unstable();
                in_order(&mut short);
                assert!(long == want_long && short == want_short, "{n} numbers");
            }
        }
    }
}
