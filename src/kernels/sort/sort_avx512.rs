//! Sorting of floats by AVX-512.
//!
//! Owns: a quicksort whose partitions and last few hundred numbers are vectors. Never sees an index: equals
//! cannot be told apart, and no NaN. Invariant: the result is one sorted order of the same bits, whatever the pivots were.

use std::arch::x86_64::*;

use super::sorting_network::{exchanges, flips, lanes, merge, vector_network};
use crate::kernels::workspace::{Room, bytes_of};

/// For eight lanes, the lanes of a mask first and then the others, a byte for each.
static PARTED: [u64; 256] = {
    let mut parted = [0; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut low, mut high, mut lane) = (0, (mask as u32).count_ones(), 0);
        while lane < 8 {
            let place = if mask >> lane & 1 == 1 { &mut low } else { &mut high };
            parted[mask] |= lane << (8 * *place);
            *place += 1;
            lane += 1;
        }
        mask += 1;
    }
    parted
};

/// Pieces that one sample divides numbers into, at most.
const PIECES: usize = 8;

macro_rules! vector_sort {
    ($name:ident, $t:ty, $v:ty, $mask:ty, $lanes:literal, $features:literal,
     $min:ident $max:ident $max_where:ident $all:ident $permute:ident $below:ident $load:ident $store:ident
     $load_all:ident $store_all:ident $compress:ident $gather:ident) => {
        pub(super) mod $name {
            use super::*;

            /// Numbers in a register.
            const L: usize = $lanes;
            /// Registers that a step of a partition reads.
            const STEP: usize = 4;
            /// Numbers that are sorted without a partition.
            const FEW: usize = 16 * L;
            /// More numbers than this are parted where they lie, fewer into the room beside them.
            const ROOM: usize = (1 << 19) / size_of::<$t>();
            /// The greatest number.
            const MOST: $t = <$t>::INFINITY;
            /// What divides numbers into pieces: a sorted sample of them.
            type Sample = [$t; 8 * L];

            vector_network!($t, $v, $mask, $features, $min $max $max_where $all $permute $load $store);

            /// Moves the lanes that are below to the place of `low` and the others up to that of `high`, and something else
            /// between them. Returns where the next ones belong.
            ///
            /// # Safety
            /// A register can be written from `low` on, and one up to `high`.
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn put(
                (low_to, high_to): (*mut $t, *mut $t),
                v: $v,
                below: $mask,
                (low, high): (usize, usize),
            ) -> (usize, usize) {
                let ahead = below.count_ones() as usize;
                let rest = high - (L - ahead);
                // SAFETY: the caller's contract.
                unsafe {
                    if L == 8 {
                        let order = _mm512_set1_epi64(PARTED[below as usize] as i64);
                        let both = $permute(_mm512_srlv_epi64(order, multiples(8)), v);
                        $store_all(low_to.add(low).cast(), both);
                        $store_all(high_to.add(high - L).cast(), both);
                    } else {
                        $store_all(low_to.add(low).cast(), $compress(below, v));
                        $store(high_to.add(rest).cast(), first(L - ahead), $compress(!below, v));
                    }
                }
                (low + ahead, rest)
            }

            /// The same of valid lanes, and of nothing else.
            ///
            /// # Safety
            /// As many numbers can be written from `low` on, and up to `high`.
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn put_exactly(
                (low_to, high_to): (*mut $t, *mut $t),
                v: $v,
                below: $mask,
                valid: $mask,
                (low, high): (usize, usize),
            ) -> (usize, usize) {
                let (below, above) = (below & valid, !below & valid);
                let (ahead, behind) = (below.count_ones() as usize, above.count_ones() as usize);
                // SAFETY: the caller's contract.
                unsafe {
                    $store(low_to.add(low).cast(), first(ahead), $compress(below, v));
                    let to = high_to.add(high - behind);
                    $store(to.cast(), first(behind), $compress(above, v));
                }
                (low + ahead, high - behind)
            }

            /// Moves what is below the pivot to the front of one memory, which may be where it was read, and the others to the
            /// end of one, which may be the same unless it is that. Says how many are below and, if asked, whether one is NaN.
            ///
            /// # Safety
            /// There is room for as many numbers in each, and the CPU has the features.
            #[target_feature(enable = $features)]
            unsafe fn spread<const CHECKED: bool>(
                from: *const $t,
                to: (*mut $t, *mut $t),
                n: usize,
                pivot: $t,
            ) -> (usize, bool) {
                let (pivot, mut ends, mut at, mut nan) = ($all(pivot), (0, n), 0, 0);
                // Between both ends of one memory there is room for two registers at the last write that is not exact.
                let spare = if to.0 == to.1 { L } else { 0 };
                // SAFETY: what is written over was read before, and what is left has room for what is read.
                unsafe {
                    while at + STEP * L + spare <= n {
                        let mut step = [pivot; STEP];
                        for (k, v) in step.iter_mut().enumerate() {
                            *v = $load_all(from.add(at + k * L).cast());
                        }
                        for v in step {
                            if CHECKED {
                                nan |= $below::<_CMP_UNORD_Q>(v, v);
                            }
                            ends = put(to, v, $below::<_CMP_LT_OS>(v, pivot), ends);
                        }
                        at += STEP * L;
                    }
                    while at < n {
                        let valid = first(n - at);
                        let v = $load(pivot, valid, from.add(at).cast());
                        nan |= $below::<_CMP_UNORD_Q>(v, v);
                        ends = put_exactly(to, v, $below::<_CMP_LT_OS>(v, pivot), valid, ends);
                        at += L;
                    }
                }
                (ends.0, nan != 0)
            }

            /// Moves what is below the pivot to the front and says how many these are.
            ///
            /// # Safety
            /// As `few`, and there are `4 * STEP` registers of numbers at least.
            #[target_feature(enable = $features)]
            unsafe fn part(p: *mut $t, n: usize, pivot: $t) -> usize {
                const STEP: usize = 2 * super::$name::STEP;
                let (pivot, mut ends) = ($all(pivot), (0, n));
                let (mut left, mut right) = (STEP * L, n - STEP * L);
                // SAFETY: what is read lies between the numbers that were read before. Both ends together have room for
                // two steps, so each has it for one when the side with less room was read; the last writes are exact.
                unsafe {
                    let mut kept = [pivot; 3 * STEP];
                    for k in 0..STEP {
                        kept[k] = $load_all(p.add(k * L).cast());
                        kept[STEP + k] = $load_all(p.add(right + k * L).cast());
                    }
                    while right - left >= STEP * L {
                        let mut from = left;
                        if left - ends.0 <= ends.1 - right {
                            left += STEP * L;
                        } else {
                            right -= STEP * L;
                            from = right;
                        }
                        let mut step = [pivot; STEP];
                        for (k, v) in step.iter_mut().enumerate() {
                            *v = $load_all(p.add(from + k * L).cast());
                        }
                        for v in step {
                            ends = put((p, p), v, $below::<_CMP_LT_OS>(v, pivot), ends);
                        }
                    }
                    let (mut k, mut valid) = (2 * STEP, [!0; 3 * STEP]);
                    while left < right {
                        valid[k] = first(right - left);
                        kept[k] = $load(pivot, valid[k], p.add(left).cast());
                        (k, left) = (k + 1, left + L);
                    }
                    for (&v, &valid) in kept.iter().zip(&valid).take(k) {
                        ends = put_exactly((p, p), v, $below::<_CMP_LT_OS>(v, pivot), valid, ends);
                    }
                }
                ends.0
            }

            /// A sample of numbers, and into how many pieces it is to divide them.
            ///
            /// # Safety
            /// There are so many, more than `FEW`, and the CPU has the features.
            #[target_feature(enable = $features)]
            unsafe fn sampled(from: *const $t, n: usize) -> (Sample, usize) {
                let (step, mut sample) = (n / (8 * L), [MOST; 8 * L]);
                // SAFETY: the caller's contract.
                unsafe {
                    for (k, to) in sample.chunks_exact_mut(L).enumerate() {
                        let from = from.add(k * L * step).cast();
                        let v = $gather::<{ size_of::<$t>() as i32 }>(multiples(step), from);
                        $store_all(to.as_mut_ptr().cast(), v);
                    }
                    few(sample.as_ptr(), sample.as_mut_ptr(), 8 * L);
                }
                (sample, (n / (FEW - 4 * L) + 1).clamp(2, PIECES))
            }

            /// Sorts the numbers here, to there if `over`; after so many samples inside each other, by comparisons.
            ///
            /// # Safety
            /// As many numbers are here and there (more than `ROOM` only here), and the CPU has the features.
            #[target_feature(enable = $features)]
            unsafe fn sort_here(here: *mut $t, there: *mut $t, n: usize, over: bool, depth: u32) {
                let to = if over { there } else { here };
                // SAFETY: the caller's contract.
                unsafe {
                    if n <= FEW {
                        return few(here, to, n);
                    }
                    if depth == 0 {
                        by_heap(std::slice::from_raw_parts_mut(here, n));
                        return if over { there.copy_from_nonoverlapping(here, n) };
                    }
                    let (sample, pieces) = sampled(here, n);
                    split(here, there, n, over, depth - 1, &sample, (0, pieces, pieces));
                }
            }

            /// Sorts the numbers of some of the pieces that a sample divides them into.
            ///
            /// # Safety
            /// As `sort_here`.
            #[target_feature(enable = $features)]
            unsafe fn split(
                here: *mut $t,
                there: *mut $t,
                n: usize,
                over: bool,
                depth: u32,
                sample: &Sample,
                (first, end, pieces): (usize, usize, usize),
            ) {
                // SAFETY: the caller's contract; parts of numbers that fit have their own part of the room.
                unsafe {
                    if end - first == 1 || n <= FEW {
                        return sort_here(here, there, n, over, depth);
                    }
                    let (middle, apart) = ((first + end) / 2, n <= ROOM);
                    let pivot = sample[middle * sample.len() / pieces];
                    let low = match apart {
                        true => spread::<false>(here, (here, there), n, pivot).0,
                        false => part(here, n, pivot),
                    };
                    let (more, less) = if apart { (there.add(low), here.add(low)) } else { (here.add(low), there) };
                    if low > 0 {
                        split(here, there, low, over, depth, sample, (first, middle, pieces));
                        return split(more, less, n - low, over != apart, depth, sample, (middle, end, pieces));
                    }
                    // Nothing is below the pivot: those that equal it come first, and then the others are divided anew.
                    let low = match pivot.next_up() {
                        _ if pivot == MOST => n,
                        above if apart => spread::<false>(more, (more, less), n, above).0,
                        above => part(more, n, above),
                    };
                    if apart && !over {
                        here.copy_from_nonoverlapping(there, low);
                    }
                    if apart {
                        return sort_here(here.add(low), there.add(low), n - low, over, depth);
                    }
                    sort_here(here.add(low), there, n - low, over, depth);
                }
            }

            /// Copies the first of each run of equal numbers and says how many these are.
            ///
            /// # Safety
            /// There are so many numbers, one at least, and room for all; and the CPU has the features.
            #[target_feature(enable = $features)]
            pub(in crate::kernels) unsafe fn firsts(from: *const $t, n: usize, to: *mut $t) -> usize {
                let (none, mut kept, mut at) = ($all(MOST), 1, 1);
                // SAFETY: the caller's contract.
                unsafe {
                    *to = *from;
                    while at < n {
                        let valid = first(n - at);
                        let v = $load(none, valid, from.add(at).cast());
                        let before = $load(none, valid, from.add(at - 1).cast());
                        let differ = $below::<_CMP_NEQ_UQ>(v, before) & valid;
                        let found = differ.count_ones() as usize;
                        $store(to.add(kept).cast(), first(found), $compress(differ, v));
                        (kept, at) = (kept + found, at + L);
                    }
                }
                kept
            }

            /// Sorts numbers, in place or to other memory; `false` where a NaN was met on the way there, which has no place.
            ///
            /// # Safety
            /// As many numbers are in both places, no NaN among up to `FEW` or in place, and the CPU has the features.
            #[target_feature(enable = $features)]
            pub(in crate::kernels) unsafe fn sort(from: *const $t, to: *mut $t, n: usize) -> bool {
                // SAFETY: the caller's contract.
                unsafe {
                    if n <= FEW {
                        few(from, to, n);
                        return true;
                    }
                    let mut room = Room::new(bytes_of::<$t>(n.min(ROOM)));
                    let there = room.parts().take::<$t>(n.min(ROOM)).as_mut_ptr();
                    let depth = 2 * n.ilog2();
                    if std::ptr::eq(from, to) {
                        sort_here(to, there, n, false, depth);
                        return true;
                    }
                    // The numbers are divided on their way.
                    let (sample, pieces) = sampled(from, n);
                    let pivot = sample[pieces / 2 * sample.len() / pieces];
                    let (low, nan) = spread::<true>(from, (to, to), n, pivot);
                    if !nan {
                        split(to, there, low, false, depth, &sample, (0, pieces / 2, pieces));
                        let above = (pieces / 2, pieces, pieces);
                        split(to.add(low), there, n - low, false, depth, &sample, above);
                    }
                    !nan
                }
            }
        }
    };
}

/// Sorts by comparisons, in place and in bounded time: what pivots were chosen badly for.
fn by_heap<T: Copy + PartialOrd>(numbers: &mut [T]) {
    let sink = |heap: &mut [T], mut at: usize| {
        while 2 * at + 1 < heap.len() {
            let (left, right) = (2 * at + 1, (2 * at + 2).min(heap.len() - 1));
            let child = if heap[left] < heap[right] { right } else { left };
            if heap[child] <= heap[at] {
                return;
            }
            heap.swap(at, child);
            at = child;
        }
    };
    (0..numbers.len() / 2).rev().for_each(|at| sink(numbers, at));
    for end in (1..numbers.len()).rev() {
        numbers.swap(0, end);
        sink(&mut numbers[..end], 0);
    }
}

vector_sort!(doubles, f64, __m512d, u8, 8, "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,popcnt,bmi2",
    _mm512_min_pd _mm512_max_pd _mm512_mask_max_pd _mm512_set1_pd _mm512_permutexvar_pd
    _mm512_cmp_pd_mask _mm512_mask_loadu_pd _mm512_mask_storeu_pd
    _mm512_loadu_pd _mm512_storeu_pd _mm512_maskz_compress_pd _mm512_i64gather_pd);
vector_sort!(singles, f32, __m512, u16, 16, "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,popcnt,bmi2",
    _mm512_min_ps _mm512_max_ps _mm512_mask_max_ps _mm512_set1_ps _mm512_permutexvar_ps
    _mm512_cmp_ps_mask _mm512_mask_loadu_ps _mm512_mask_storeu_ps
    _mm512_loadu_ps _mm512_storeu_ps _mm512_maskz_compress_ps _mm512_i32gather_ps);

#[cfg(test)]
mod tests {
    use super::by_heap;

    #[test]
    fn what_no_pivot_divides_is_sorted_by_comparisons() {
        for n in 0..200u64 {
            let mut numbers: Vec<f64> = (0..n).map(|i| (i * i % 61) as f64 - 7.0).collect();
            let mut want = numbers.clone();
            by_heap(&mut numbers);
            want.sort_by(f64::total_cmp);
            assert_eq!(numbers, want);
        }
    }
}
