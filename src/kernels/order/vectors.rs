//! Sorting of bare numbers by AVX-512.
//!
//! Owns: a quicksort in place, whose partitions and last few hundred numbers are vectors. Never sees an index: equals
//! cannot be told apart. Invariant: the result is the one sorted order, whatever the pivots were.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// For eight lanes, the lanes of a mask first and then the others.
static PARTED: [[u8; 8]; 256] = {
    let mut parted = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut low, mut high, mut lane) = (0, (mask as u32).count_ones() as usize, 0);
        while lane < 8 {
            let place = if mask >> lane & 1 == 1 { &mut low } else { &mut high };
            parted[mask][*place] = lane as u8;
            *place += 1;
            lane += 1;
        }
        mask += 1;
    }
    parted
};

macro_rules! vector_sort {
    ($name:ident, $t:ty, $mask:ty, $lanes:literal, $features:literal,
     $min:ident $max:ident $max_where:ident $all:ident $permute:ident $below:ident $load:ident $store:ident $compress:ident $test:ident) => {
        pub(super) mod $name {
            use super::*;

            /// Numbers in a register.
            const L: usize = $lanes;
            /// Registers that are sorted without a partition.
            const MOST: usize = 32;
            /// Registers that a step of a partition reads.
            const STEP: usize = 8;
            /// Registers of the sample whose middle is a pivot.
            const SAMPLE: usize = 2;

            /// The first lanes.
            #[inline(always)]
            fn first(n: usize) -> $mask {
                ((1u32 << n.min(L)) - 1) as $mask
            }

            /// The numbers of the lanes.
            #[inline]
            #[target_feature(enable = $features)]
            fn lanes() -> __m512i {
                let lanes: [$t; L] = const {
                    let (mut lanes, mut k) = ([0; L], 0);
                    while k < L {
                        lanes[k] = k as $t;
                        k += 1;
                    }
                    lanes
                };
                // SAFETY: an array of as many bytes.
                unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
            }

            /// The lane that each exchanges with.
            #[inline]
            #[target_feature(enable = $features)]
            fn partners(bits: usize) -> __m512i {
                _mm512_xor_si512(lanes(), $all(bits as _))
            }

            /// Writes the less of two registers, lane by lane, to one place and the greater to another.
            ///
            /// # Safety
            /// The places are writable.
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn exchange(less: *mut __m512i, more: *mut __m512i, a: __m512i, b: __m512i) {
                // SAFETY: the caller's contract.
                unsafe { (*less, *more) = ($min(a, b), $max(a, b)) };
            }

            /// Sorts every lane through the registers: Batcher's merge exchange. As in `merge`, plain loops over pointers:
            /// iterators are slow where they are not inlined, and so are checked subscripts.
            ///
            /// # Safety
            /// There are so many registers.
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn columns(v: *mut __m512i, r: usize) {
                let mut log = 0;
                while 1 << log < r {
                    let mut k = 1 << log;
                    while k > 0 {
                        let mut low = k % (1 << log);
                        while low + k < r {
                            let (mut i, end) = (low, if low + 2 * k < r { low + k } else { r - k });
                            while i < end {
                                if (i ^ (i + k)) >> (log + 1) == 0 {
                                    // SAFETY: both are below `r`.
                                    unsafe {
                                        let (a, b) = (v.add(i), v.add(i + k));
                                        exchange(a, b, *a, *b);
                                    }
                                }
                                i += 1;
                            }
                            low += 2 * k;
                        }
                        k /= 2;
                    }
                    log += 1;
                }
            }

            /// Merges neighbouring sequences of `width / 2` lanes, each sorted register after register, into one of
            /// `width`. Registers that are not there, up to a power of two, would be the greatest and stay where they are.
            ///
            /// # Safety
            /// As `columns`.
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn merge(v: *mut __m512i, r: usize, width: usize) {
                let (mirror, mut half) = (partners(width - 1), r.next_power_of_two() / 2);
                while half > 0 {
                    let mut middle = half;
                    while middle < r {
                        // SAFETY: as many registers as the half has, from the middle on down and up, or up to the last.
                        unsafe {
                            let (mut a, mut b) = (v.add(middle), v.add(middle));
                            let end = v.add(r.min(middle + half));
                            while b < end {
                                a = a.sub(1);
                                exchange(a, b, *a, $permute(mirror, *b));
                                b = b.add(1);
                            }
                        }
                        middle += 2 * half;
                    }
                    half /= 2;
                }
                let within = |a, bits: usize, half: usize| {
                    let b = $permute(partners(bits), a);
                    $max_where($min(a, b), $test(lanes(), $all(half as _)), a, b)
                };
                let mut i = 0;
                while i < r {
                    // SAFETY: as above.
                    let a = unsafe { &mut *v.add(i) };
                    *a = match width {
                        2 => within(*a, 1, 1),
                        4 => within(within(*a, 3, 2), 1, 1),
                        8 => within(within(within(*a, 7, 4), 2, 2), 1, 1),
                        _ => within(within(within(within(*a, 15, 8), 4, 4), 2, 2), 1, 1),
                    };
                    i += 1;
                }
            }

            /// Sorts at most `MOST` registers of numbers.
            ///
            /// # Safety
            /// The numbers are there, and the CPU has the features.
            #[target_feature(enable = $features)]
            unsafe fn few(numbers: *mut $t, n: usize) {
                let (mut room, r) = (MaybeUninit::<[__m512i; MOST]>::uninit(), n.div_ceil(L));
                assert!(r <= MOST, "as many numbers as fit");
                let v = room.as_mut_ptr().cast::<__m512i>();
                // SAFETY: the lanes that are read and written are numbers, and there are `r` registers.
                unsafe {
                    for k in 0..r {
                        *v.add(k) = $load($all(!0), first(n - k * L), numbers.add(k * L).cast());
                    }
                    columns(v, r);
                    let mut width = 2;
                    while width <= L {
                        merge(v, r, width);
                        width *= 2;
                    }
                    for k in 0..r {
                        $store(numbers.add(k * L).cast(), first(n - k * L), *v.add(k));
                    }
                }
            }

            /// Writes the lanes of a mask from `low` on and the others up to `high`, and something else between them.
            /// Returns where the next ones belong.
            ///
            /// # Safety
            /// A register can be written from `low` on, and one up to `high`.
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn put(
                p: *mut $t,
                v: __m512i,
                below: $mask,
                low: usize,
                high: usize,
            ) -> (usize, usize) {
                let ahead = below.count_ones() as usize;
                let rest = high - (L - ahead);
                // SAFETY: the caller's contract.
                unsafe {
                    if L == 8 {
                        let order = PARTED[below as usize].as_ptr();
                        let order = _mm512_cvtepu8_epi64(_mm_loadl_epi64(order.cast()));
                        let both = $permute(order, v);
                        _mm512_storeu_si512(p.add(low).cast(), both);
                        _mm512_storeu_si512(p.add(high - L).cast(), both);
                    } else {
                        _mm512_storeu_si512(p.add(low).cast(), $compress(below, v));
                        $store(p.add(rest).cast(), first(L - ahead), $compress(!below, v));
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
                p: *mut $t,
                v: __m512i,
                below: $mask,
                valid: $mask,
                low: usize,
                high: usize,
            ) -> (usize, usize) {
                let below = below & valid;
                let ahead = below.count_ones() as usize;
                let behind = valid.count_ones() as usize - ahead;
                // SAFETY: the caller's contract.
                unsafe {
                    $store(p.add(low).cast(), first(ahead), $compress(below, v));
                    $store(
                        p.add(high - behind).cast(),
                        first(behind),
                        $compress(!below & valid, v),
                    );
                }
                (low + ahead, high - behind)
            }

            /// Moves what is below the pivot to the front and says how many these are.
            ///
            /// # Safety
            /// As `few`, and there are `2 * STEP` registers of numbers at least.
            #[target_feature(enable = $features)]
            unsafe fn part(p: *mut $t, n: usize, pivot: $t) -> usize {
                let (pivot, mut low, mut high) = ($all(pivot as _), 0, n);
                let (mut left, mut right) = (STEP * L, n - STEP * L);
                // SAFETY: what is read lies between the numbers that were read before. Both ends together have room for
                // two steps, so each has it for one when the side with less room was read; the last writes are exact.
                unsafe {
                    let mut kept = [pivot; 3 * STEP];
                    for k in 0..STEP {
                        kept[k] = _mm512_loadu_si512(p.add(k * L).cast());
                        kept[STEP + k] = _mm512_loadu_si512(p.add(right + k * L).cast());
                    }
                    while right - left >= STEP * L {
                        let mut from = left;
                        if left - low <= high - right {
                            left += STEP * L;
                        } else {
                            right -= STEP * L;
                            from = right;
                        }
                        let mut step = [pivot; STEP];
                        for k in 0..STEP {
                            step[k] = _mm512_loadu_si512(p.add(from + k * L).cast());
                        }
                        for v in step {
                            (low, high) = put(p, v, $below(v, pivot), low, high);
                        }
                    }
                    let (mut k, mut valid) = (2 * STEP, [!0; 3 * STEP]);
                    while left < right {
                        valid[k] = first(right - left);
                        kept[k] = $load(pivot, valid[k], p.add(left).cast());
                        (k, left) = (k + 1, left + L);
                    }
                    for i in 0..k {
                        let (v, valid) = (kept[i], valid[i]);
                        (low, high) = put_exactly(p, v, $below(v, pivot), valid, low, high);
                    }
                }
                low
            }

            /// Sorts the numbers; after so many partitions inside each other, by the standard library.
            ///
            /// # Safety
            /// As `few`.
            #[target_feature(enable = $features)]
            pub(in super::super) unsafe fn sort(mut numbers: &mut [$t], mut depth: u32) {
                while numbers.len() > MOST * L {
                    if depth == 0 {
                        return numbers.sort_unstable();
                    }
                    depth -= 1;
                    let (n, p) = (numbers.len(), numbers.as_mut_ptr());
                    let step = n / (SAMPLE * L);
                    let mut sample: [$t; SAMPLE * L] =
                        std::array::from_fn(|k| numbers[k * step + step / 2]);
                    // SAFETY: the slices hold so many numbers.
                    let low = unsafe {
                        few(sample.as_mut_ptr(), SAMPLE * L);
                        part(p, n, sample[SAMPLE * L / 2])
                    };
                    if low == 0 {
                        // Nothing is below the pivot: those that equal it are in their places.
                        let Some(above) = sample[SAMPLE * L / 2].checked_add(1) else { return };
                        // SAFETY: as above.
                        numbers = &mut numbers[unsafe { part(p, n, above) }..];
                        continue;
                    }
                    let (front, back) = numbers.split_at_mut(low);
                    let (less, more) = if low < n / 2 { (front, back) } else { (back, front) };
                    // SAFETY: the caller's contract.
                    unsafe { sort(less, depth) };
                    numbers = more;
                }
                // SAFETY: as above.
                unsafe { few(numbers.as_mut_ptr(), numbers.len()) };
            }
        }
    };
}

vector_sort!(eights, u64, u8, 8, "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,popcnt,bmi2",
    _mm512_min_epu64 _mm512_max_epu64 _mm512_mask_max_epu64 _mm512_set1_epi64 _mm512_permutexvar_epi64
    _mm512_cmplt_epu64_mask _mm512_mask_loadu_epi64 _mm512_mask_storeu_epi64 _mm512_maskz_compress_epi64 _mm512_test_epi64_mask);
vector_sort!(sixteens, u32, u16, 16, "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,popcnt,bmi2",
    _mm512_min_epu32 _mm512_max_epu32 _mm512_mask_max_epu32 _mm512_set1_epi32 _mm512_permutexvar_epi32
    _mm512_cmplt_epu32_mask _mm512_mask_loadu_epi32 _mm512_mask_storeu_epi32 _mm512_maskz_compress_epi32 _mm512_test_epi32_mask);
