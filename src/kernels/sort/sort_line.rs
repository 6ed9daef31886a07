//! Sorts one line by the unsigned keys of its elements: with SIMD, by comparison, or by radix, whichever is
//! fastest.
//!
//! Invariant: with indices, equal elements keep their order.

use super::top_k::top_k;
use super::total_order::{SortKey, UnsignedKey};
#[cfg(target_arch = "x86_64")]
use crate::kernels::isa::{Level, level};
use crate::kernels::multiversion::multiversion;

/// A line: address of the first element, step and length.
pub(super) struct SortLine<T> {
    pub(super) first: *const T,
    pub(super) step: isize,
    pub(super) len: usize,
}

/// The bytes of the longest key that is radix-sorted.
const MAX_RADIX_BYTES: usize = 8;
/// The most elements wanted, and the longest line, for selection by insertion.
const INSERTION_LIMITS: (usize, usize) = (8, 512);
/// Below this many keys, comparison is faster than radix sort.
const MIN_RADIX_KEYS: usize = 256;

impl<T: SortKey> SortLine<T> {
    /// The keys of the elements, inverted for descending order.
    ///
    /// # Safety
    /// The elements are readable.
    pub(super) unsafe fn keys(&self, descending: bool) -> Vec<T::Key> {
        // SAFETY: the caller's contract.
        let element = |i: usize| unsafe { *self.first.offset(i as isize * self.step) };
        let mask = key_mask(descending);
        (0..self.len).map(|i| element(i).key() ^ mask).collect()
    }

    /// The keys of the first `wanted` elements in order, with their indices.
    ///
    /// # Safety
    /// The elements are readable.
    pub(super) unsafe fn first_k(&self, wanted: usize, descending: bool) -> Vec<(T::Key, usize)> {
        // SAFETY: the caller's contract.
        unsafe {
            if (1..=INSERTION_LIMITS.0).contains(&wanted) && self.len <= INSERTION_LIMITS.1 {
                return self.insertion_select(wanted, descending);
            } else if wanted > self.len / 8 {
                return sort_pairs(select_first(self.keys(descending), wanted));
            }
        }
        let mask = key_mask(descending);
        let mut order = top_k(self.len, wanted, &|start, block: &mut [T::Key]| {
            let first = self.first.wrapping_offset(start as isize * self.step);
            // SAFETY: the block is inside the line.
            unsafe {
                match self.step {
                    1 => write_keys(first, block.as_mut_ptr(), block.len(), mask),
                    step => (0..)
                        .zip(block)
                        .for_each(|(i, key)| *key = (*first.offset(i * step)).key() ^ mask),
                }
            }
        });
        order.sort_unstable();
        order
    }

    /// As `first_k`, by insertion.
    ///
    /// # Safety
    /// The elements are readable, and `wanted` is at least one.
    unsafe fn insertion_select(&self, wanted: usize, descending: bool) -> Vec<(T::Key, usize)> {
        let (mask, mut best) = (key_mask(descending), Vec::with_capacity(wanted));
        for i in 0..self.len {
            // SAFETY: the caller's contract.
            let key = unsafe { *self.first.offset(i as isize * self.step) }.key() ^ mask;
            if best.len() < wanted {
                best.push((key, i));
            } else if key >= best[wanted - 1].0 {
                continue;
            }
            let mut at = best.len() - 1;
            while at > 0 && key < best[at - 1].0 {
                best[at] = best[at - 1];
                at -= 1;
            }
            best[at] = (key, i);
        }
        best
    }

    /// Writes the elements in ascending or descending order.
    ///
    /// # Safety
    /// The elements are readable; as many can be written from `to` on, and no other thread uses these.
    pub(super) unsafe fn sort(&self, descending: bool, to: *mut T, to_step: isize) {
        if !T::SORTS_BY_KEY && self.len > 0 {
            // SAFETY: the caller's contract; the indices are those of elements.
            unsafe {
                for (k, (_, i)) in (0..).zip(self.first_k(self.len, descending)) {
                    *to.offset(k * to_step) = *self.first.offset(i as isize * self.step);
                }
            }
            return;
        }
        let same_size =
            size_of::<T>() == size_of::<T::Key>() && align_of::<T>() == align_of::<T::Key>();
        // SAFETY: the caller's contract.
        unsafe {
            let element = |i: usize| *self.first.offset(i as isize * self.step);
            if same_size && self.step == 1 && to_step == 1 {
                return sort_elements(self.first, to, self.len, descending);
            }
            if same_size {
                let mut elements: Vec<T> = (0..self.len).map(element).collect();
                sort_elements(elements.as_ptr(), elements.as_mut_ptr(), elements.len(), descending);
                for (k, element) in (0..).zip(elements) {
                    *to.offset(k * to_step) = element;
                }
                return;
            }
            let mask = key_mask(descending);
            let mut keys: Vec<_> =
                (0..self.len).map(|i| element(i).signed_zero_key() ^ mask).collect();
            sort_keys(&mut keys);
            for (k, key) in (0..).zip(keys) {
                *to.offset(k * to_step) = T::from_signed_zero_key(key ^ mask);
            }
        }
    }
}

/// Sorts elements of the size of their keys, in place or to other memory.
///
/// # Safety
/// They have that size, and both places hold `n` elements.
unsafe fn sort_elements<T: SortKey>(from: *const T, to: *mut T, n: usize, descending: bool) {
    #[cfg(target_arch = "x86_64")]
    if let (Some(sort), Level::Avx512) = (T::SIMD_SORT, level()) {
        // SAFETY: the caller's contract, and the CPU has the features of its level.
        return unsafe { sort(from, to, n, descending) };
    }
    let mask = key_mask(descending);
    // SAFETY: keys of the size of the elements fit their memory.
    unsafe {
        to.copy_from(from, n);
        let keys = to.cast::<T::Key>();
        to_keys(to, n, mask);
        sort_keys(std::slice::from_raw_parts_mut(keys, n));
        from_keys(to, n, mask);
    }
}

/// The mask that inverts keys for descending order.
fn key_mask<N: UnsignedKey>(descending: bool) -> N {
    if descending { !N::default() } else { N::default() }
}

multiversion! {
    /// Writes the keys of elements to other memory.
    unsafe fn write_keys<T: SortKey>(
        from: *const T, to: *mut T::Key, n: usize, mask: T::Key,
    ) = write_keys_body, T::LEVELS
}
multiversion! {
    /// Replaces elements by their keys that distinguish the zeros: through one pointer, so that the compiler
    /// sees that there is no partial overlap.
    unsafe fn to_keys<T: SortKey>(at: *mut T, n: usize, mask: T::Key) = to_keys_body, T::LEVELS
}
multiversion! {
    /// Replaces keys by their elements.
    unsafe fn from_keys<T: SortKey>(at: *mut T, n: usize, mask: T::Key) = from_keys_body, T::LEVELS
}
#[inline(always)]
unsafe fn write_keys_body<T: SortKey>(from: *const T, to: *mut T::Key, n: usize, mask: T::Key) {
    for i in 0..n {
        // SAFETY: the caller's contract.
        unsafe { *to.add(i) = (*from.add(i)).key() ^ mask };
    }
}

#[inline(always)]
unsafe fn to_keys_body<T: SortKey>(at: *mut T, n: usize, mask: T::Key) {
    for i in 0..n {
        // SAFETY: as for `from_keys_body`.
        unsafe { *at.add(i).cast::<T::Key>() = (*at.add(i)).signed_zero_key() ^ mask };
    }
}

#[inline(always)]
unsafe fn from_keys_body<T: SortKey>(at: *mut T, n: usize, mask: T::Key) {
    for i in 0..n {
        // SAFETY: the caller's contract; a key has the size of its element.
        unsafe {
            let at = at.add(i);
            *at = T::from_signed_zero_key(*at.cast::<T::Key>() ^ mask);
        }
    }
}

/// Sorts keys without indices.
pub(super) fn sort_keys<N: UnsignedKey>(keys: &mut [N]) {
    if keys.is_sorted() {
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if let (Some(sort), Level::Avx512) = (N::SIMD_SORT, level()) {
        // SAFETY: the CPU has the features of its level.
        return unsafe { sort(keys) };
    }
    // 8-byte keys are compared faster than they are moved eight times.
    if keys.len() < MIN_RADIX_KEYS || N::BYTES >= MAX_RADIX_BYTES {
        return keys.sort_unstable();
    }
    keys.copy_from_slice(&radix_sort(keys.to_vec(), |n| n));
}

/// The first `wanted` of many keys, with their indices in ascending order.
fn select_first<N: UnsignedKey>(keys: Vec<N>, wanted: usize) -> Vec<(N, usize)> {
    if wanted == keys.len() {
        return keys.into_iter().zip(0..).collect();
    }
    let Some(last) = wanted.checked_sub(1) else {
        return Vec::new();
    };
    let (limit, before) = select_rank(&mut keys.clone(), last);
    // Of the keys equal to the last one, as many as come before it, and itself.
    let mut equals = before + 1;
    let mut kept = Vec::with_capacity(wanted);
    for (index, &n) in keys.iter().enumerate() {
        if n < limit {
            kept.push((n, index));
        } else if n == limit && equals > 0 {
            equals -= 1;
            kept.push((n, index));
        }
    }
    kept
}

/// The key of this rank, and how many equal keys have a lower rank; reorders the keys.
pub(super) fn select_rank<N: UnsignedKey>(keys: &mut [N], rank: usize) -> (N, usize) {
    let (below, &mut key, _) = keys.select_nth_unstable(rank);
    (key, below.iter().filter(|&&n| n == key).count())
}

/// Sorts keys with their indices, which ascend; equal keys keep that order.
fn sort_pairs<N: UnsignedKey>(mut pairs: Vec<(N, usize)>) -> Vec<(N, usize)> {
    if pairs.len() < MIN_RADIX_KEYS || N::BYTES > MAX_RADIX_BYTES {
        pairs.sort_unstable();
        return pairs;
    }
    radix_sort(pairs, |pair| pair.0)
}

/// Radix sort: one byte of the key after the other, lowest first, each pass stable; a byte that all keys
/// share is skipped.
#[inline(always)]
fn radix_sort<K: Copy, N: UnsignedKey>(mut items: Vec<K>, key: impl Fn(K) -> N) -> Vec<K> {
    let mut counts = [[0u32; 256]; MAX_RADIX_BYTES];
    for &item in items.iter() {
        let key = key(item);
        for at in 0..N::BYTES.min(MAX_RADIX_BYTES) {
            counts[at][key.byte(at)] += 1;
        }
    }
    let mut other = items.clone();
    for (at, count) in counts[..N::BYTES.min(MAX_RADIX_BYTES)].iter_mut().enumerate() {
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
    use crate::kernels::sort::TotalOrder;

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
        let line = SortLine { first: x.as_ptr(), step: 1, len: x.len() };
        // SAFETY: the elements of a slice.
        unsafe { line.first_k(wanted, descending) }.into_iter().map(|(_, i)| i).collect()
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
        assert!(x.windows(2).all(|w| w[0].key() < w[1].key()));
        let x = [i32::MIN, -5, 0, 7, i32::MAX];
        assert!(x.windows(2).all(|w| w[0].key() < w[1].key()));
        let x = [0u8, 1, 127, 128, 255];
        assert!(x.windows(2).all(|w| w[0].key() < w[1].key()));
    }

    #[test]
    fn bytes_are_sorted_as_floats_are() {
        let x: Vec<f32> = line(1000).into_iter().map(|v| v as f32).collect();
        let pairs: Vec<(u32, usize)> = x.iter().map(|v| v.key()).zip(0..).collect();
        let sorted = radix_sort(pairs.clone(), |pair| pair.0);
        let mut want = pairs;
        want.sort();
        assert_eq!(sorted, want);
    }

    #[test]
    fn elements_come_back_from_their_numbers_in_order() {
        for n in [5, 300, 9000] {
            let x = line(n);
            let mut values = vec![0.0; n];
            let line = SortLine { first: x.as_ptr(), step: 1, len: n };
            // SAFETY: the elements of slices of one length.
            unsafe { line.sort(false, values.as_mut_ptr(), 1) };
            assert!(values.windows(2).all(|w| w[0].order(w[1]).is_le()));
            let mut want: Vec<u64> = x.into_iter().map(|v| v.key()).collect();
            want.sort();
            assert!(values.iter().map(|v| v.key()).eq(want));
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
                sort_keys(&mut long);
                want_long.sort_unstable();
                want_short.sort_unstable();
                sort_keys(&mut short);
                assert!(long == want_long && short == want_short, "{n} numbers");
            }
        }
    }
}
