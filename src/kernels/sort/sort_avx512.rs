//! Quicksort of floats with AVX-512: SIMD partitions, and sorting networks for the last few hundred elements.
//!
//! Keys only, without indices and NaN. Invariant: the result is a sorted order of the same bits, whatever the
//! pivots were.

use std::arch::x86_64::*;

use super::sorting_network::{exchanges, flips, lanes, merge, vector_network};
use crate::kernels::workspace::{Workspace, bytes_of};

/// For each mask of eight lanes, the permutation that moves the lanes of the mask to the front, one byte per
/// lane.
static PARTITION_ORDER: [u64; 256] = {
    let mut order = [0; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut low, mut high, mut lane) = (0, (mask as u32).count_ones(), 0);
        while lane < 8 {
            let place = if mask >> lane & 1 == 1 { &mut low } else { &mut high };
            order[mask] |= lane << (8 * *place);
            *place += 1;
            lane += 1;
        }
        mask += 1;
    }
    order
};

/// The most pieces that one sample splits the numbers into.
const MAX_PIECES: usize = 8;

macro_rules! vector_sort {
    ($name:ident, $t:ty, $v:ty, $mask:ty, $lanes:literal, $features:literal,
     $min:ident $max:ident $max_where:ident $all:ident $permute:ident $below:ident $load:ident $store:ident
     $load_all:ident $store_all:ident $compress:ident $gather:ident) => {
        pub(super) mod $name {
            use super::*;

            /// Lanes of a register.
            const L: usize = $lanes;
            /// Registers that a step of a partition reads.
            const STEP: usize = 4;
            /// The most numbers sorted by a network, without a partition.
            const NETWORK_NUMBERS: usize = 16 * L;
            /// More numbers than this are partitioned in place, fewer into scratch memory.
            const SCRATCH_NUMBERS: usize = (1 << 19) / size_of::<$t>();
            /// The greatest number.
            const INFINITY: $t = <$t>::INFINITY;
            /// A sorted sample whose elements are the pivots.
            type Sample = [$t; 8 * L];

            vector_network!($t, $v, $mask, $features, $min $max $max_where $all $permute $load $store);

            /// Writes the lanes below the pivot at `low` and the others before `high`; memory between them
            /// may be overwritten. Returns the next positions.
            ///
            /// # Safety
            /// A register can be written at `low`, and one before `high`.
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn write_partitioned(
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
                        let order = _mm512_set1_epi64(PARTITION_ORDER[below as usize] as i64);
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

            /// The same for the valid lanes, without overwriting anything else.
            ///
            /// # Safety
            /// As many numbers can be written at `low`, and before `high`.
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn write_partitioned_exactly(
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

            /// Partitions: numbers below the pivot go to the start of `to.0`, the others to the end of
            /// `to.1`. Either may be `from`, but not both. Returns the number below, and, if `CHECKED`,
            /// whether there is a NaN.
            ///
            /// # Safety
            /// Each destination has space for `n` numbers, and the CPU has the features.
            #[target_feature(enable = $features)]
            unsafe fn partition_into<const CHECKED: bool>(
                from: *const $t,
                to: (*mut $t, *mut $t),
                n: usize,
                pivot: $t,
            ) -> (usize, bool) {
                let (pivot, mut ends, mut at, mut nan) = ($all(pivot), (0, n), 0, 0);
                // If both ends are in one destination, two registers of space remain at the last inexact
                // write.
                let spare = if to.0 == to.1 { L } else { 0 };
                // SAFETY: overwritten numbers were read before, and the remaining space holds the remaining
                // numbers.
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
                            ends = write_partitioned(to, v, $below::<_CMP_LT_OS>(v, pivot), ends);
                        }
                        at += STEP * L;
                    }
                    while at < n {
                        let valid = first(n - at);
                        let v = $load(pivot, valid, from.add(at).cast());
                        nan |= $below::<_CMP_UNORD_Q>(v, v);
                        ends = write_partitioned_exactly(to, v, $below::<_CMP_LT_OS>(v, pivot), valid, ends);
                        at += L;
                    }
                }
                (ends.0, nan != 0)
            }

            /// Partitions in place; returns how many numbers are below the pivot.
            ///
            /// # Safety
            /// As `sort_small`, with at least `4 * STEP` registers of numbers.
            #[target_feature(enable = $features)]
            unsafe fn partition_in_place(p: *mut $t, n: usize, pivot: $t) -> usize {
                const STEP: usize = 2 * super::$name::STEP;
                let (pivot, mut ends) = ($all(pivot), (0, n));
                let (mut left, mut right) = (STEP * L, n - STEP * L);
                // SAFETY: the numbers read are between those read before. Both ends together have space for
                // two steps: reading from the side with less space keeps one step free on each; the last
                // writes are exact.
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
                            ends = write_partitioned((p, p), v, $below::<_CMP_LT_OS>(v, pivot), ends);
                        }
                    }
                    let (mut k, mut valid) = (2 * STEP, [!0; 3 * STEP]);
                    while left < right {
                        valid[k] = first(right - left);
                        kept[k] = $load(pivot, valid[k], p.add(left).cast());
                        (k, left) = (k + 1, left + L);
                    }
                    for (&v, &valid) in kept.iter().zip(&valid).take(k) {
                        ends = write_partitioned_exactly((p, p), v, $below::<_CMP_LT_OS>(v, pivot), valid, ends);
                    }
                }
                ends.0
            }

            /// A sorted sample, and the number of pieces to split into.
            ///
            /// # Safety
            /// There are `n` numbers, more than `NETWORK_NUMBERS`, and the CPU has the features.
            #[target_feature(enable = $features)]
            unsafe fn take_sample(from: *const $t, n: usize) -> (Sample, usize) {
                let (step, mut sample) = (n / (8 * L), [INFINITY; 8 * L]);
                // SAFETY: the caller's contract.
                unsafe {
                    for (k, to) in sample.chunks_exact_mut(L).enumerate() {
                        let from = from.add(k * L * step).cast();
                        let v = $gather::<{ size_of::<$t>() as i32 }>(multiples(step), from);
                        $store_all(to.as_mut_ptr().cast(), v);
                    }
                    sort_small(sample.as_ptr(), sample.as_mut_ptr(), 8 * L);
                }
                (sample, (n / (NETWORK_NUMBERS - 4 * L) + 1).clamp(2, MAX_PIECES))
            }

            /// Sorts the numbers in `here`, into `there` if `over`; beyond `depth` nested samples, with
            /// heapsort.
            ///
            /// # Safety
            /// `here` and `there` hold `n` numbers (`there` at most `SCRATCH_NUMBERS`), and the CPU has the
            /// features.
            #[target_feature(enable = $features)]
            unsafe fn quicksort(here: *mut $t, there: *mut $t, n: usize, over: bool, depth: u32) {
                let to = if over { there } else { here };
                // SAFETY: the caller's contract.
                unsafe {
                    if n <= NETWORK_NUMBERS {
                        return sort_small(here, to, n);
                    }
                    if depth == 0 {
                        heap_sort(std::slice::from_raw_parts_mut(here, n));
                        return if over { there.copy_from_nonoverlapping(here, n) };
                    }
                    let (sample, pieces) = take_sample(here, n);
                    sort_pieces(here, there, n, over, depth - 1, &sample, (0, pieces, pieces));
                }
            }

            /// Sorts the numbers of some of the pieces that a sample splits them into.
            ///
            /// # Safety
            /// As `quicksort`.
            #[target_feature(enable = $features)]
            unsafe fn sort_pieces(
                here: *mut $t,
                there: *mut $t,
                n: usize,
                over: bool,
                depth: u32,
                sample: &Sample,
                (first, end, pieces): (usize, usize, usize),
            ) {
                // SAFETY: the caller's contract; disjoint parts have disjoint scratch memory.
                unsafe {
                    if end - first == 1 || n <= NETWORK_NUMBERS {
                        return quicksort(here, there, n, over, depth);
                    }
                    let (middle, has_scratch) = ((first + end) / 2, n <= SCRATCH_NUMBERS);
                    let pivot = sample[middle * sample.len() / pieces];
                    let low = match has_scratch {
                        true => partition_into::<false>(here, (here, there), n, pivot).0,
                        false => partition_in_place(here, n, pivot),
                    };
                    let (more, less) = if has_scratch { (there.add(low), here.add(low)) } else { (here.add(low), there) };
                    if low > 0 {
                        sort_pieces(here, there, low, over, depth, sample, (first, middle, pieces));
                        return sort_pieces(more, less, n - low, over != has_scratch, depth, sample, (middle, end, pieces));
                    }
                    // No number is below the pivot: those equal to it come first, and the others are split
                    // again.
                    let low = match pivot.next_up() {
                        _ if pivot == INFINITY => n,
                        above if has_scratch => partition_into::<false>(more, (more, less), n, above).0,
                        above => partition_in_place(more, n, above),
                    };
                    if has_scratch && !over {
                        here.copy_from_nonoverlapping(there, low);
                    }
                    if has_scratch {
                        return quicksort(here.add(low), there.add(low), n - low, over, depth);
                    }
                    quicksort(here.add(low), there, n - low, over, depth);
                }
            }

            /// Copies the first of each run of equal numbers; returns their count.
            ///
            /// # Safety
            /// `n` numbers, at least one, are readable, there is space for all, and the CPU has the features.
            #[target_feature(enable = $features)]
            pub(in crate::kernels) unsafe fn unique(from: *const $t, n: usize, to: *mut $t) -> usize {
                let (none, mut kept, mut at) = ($all(INFINITY), 1, 1);
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

            /// Sorts numbers, in place or to other memory; `false` if it met a NaN, and the result is then
            /// undefined.
            ///
            /// # Safety
            /// Both places hold `n` numbers, there is no NaN among up to `NETWORK_NUMBERS` or in place, and
            /// the CPU has the features.
            #[target_feature(enable = $features)]
            pub(in crate::kernels) unsafe fn sort(from: *const $t, to: *mut $t, n: usize) -> bool {
                // SAFETY: the caller's contract.
                unsafe {
                    if n <= NETWORK_NUMBERS {
                        sort_small(from, to, n);
                        return true;
                    }
                    let mut scratch = Workspace::new(bytes_of::<$t>(n.min(SCRATCH_NUMBERS)));
                    let there = scratch.parts().take::<$t>(n.min(SCRATCH_NUMBERS)).as_mut_ptr();
                    let depth = 2 * n.ilog2();
                    if std::ptr::eq(from, to) {
                        quicksort(to, there, n, false, depth);
                        return true;
                    }
                    // The first partition moves the numbers to the destination.
                    let (sample, pieces) = take_sample(from, n);
                    let pivot = sample[pieces / 2 * sample.len() / pieces];
                    let (low, nan) = partition_into::<true>(from, (to, to), n, pivot);
                    if !nan {
                        sort_pieces(to, there, low, false, depth, &sample, (0, pieces / 2, pieces));
                        let above = (pieces / 2, pieces, pieces);
                        sort_pieces(to.add(low), there, n - low, false, depth, &sample, above);
                    }
                    !nan
                }
            }
        }
    };
}

/// Heapsort: in place and in bounded time, for numbers with unlucky pivots.
fn heap_sort<T: Copy + PartialOrd>(numbers: &mut [T]) {
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
    use super::heap_sort;

    #[test]
    fn what_no_pivot_divides_is_sorted_by_comparisons() {
        for n in 0..200u64 {
            let mut numbers: Vec<f64> = (0..n).map(|i| (i * i % 61) as f64 - 7.0).collect();
            let mut want = numbers.clone();
            heap_sort(&mut numbers);
            want.sort_by(f64::total_cmp);
            assert_eq!(numbers, want);
        }
    }
}
