//! Dot products along contiguous rows: each row of a matrix with one vector, or with a row of its
//! own.
//!
//! Separate loops for rows shorter than a vector, short and long rows. Invariant: the sum of a row
//! is a tree over its lanes whose shape follows from its length alone.

use super::matrix::{Mat, MatVec};
use crate::kernels::simd::Lanes;

/// Long rows computed together, and accumulators per row.
const GROUP: usize = 4;

/// # Safety
/// As `matrix_vector::gemv`, for contiguous rows, on a CPU with these vectors.
#[inline(always)]
pub(super) unsafe fn rows<V: Lanes>(task: MatVec<V::Scalar>) {
    let (k, lanes) = (task.terms, V::LANES);
    let close = task.matrix.rs == k as isize;
    let own = task.x.rs == k as isize;
    // SAFETY: the caller's contract.
    unsafe {
        if V::AVX512 && 2 * k <= lanes && close && (own || task.x.rs == 0) {
            return match k {
                1 | 2 => packed_rows::<V, 2>(task),
                3 | 4 => packed_rows::<V, 4>(task),
                _ => packed_rows::<V, 8>(task),
            };
        }
        if k > 4 * lanes {
            return long_rows::<V>(task);
        }
        match lanes {
            16 => short_rows::<V, 16>(task),
            8 => short_rows::<V, 8>(task),
            _ => short_rows::<V, 4>(task),
        }
    }
}

/// Pairwise sums of groups of `P` adjacent lanes, for `P` vectors.
#[inline(always)]
fn reduce_lanes<V: Lanes, const P: usize>(mut sums: [V; P]) -> V {
    let (mut left, mut span) = (P, 1);
    while left > 1 {
        left /= 2;
        for i in 0..left {
            let (a, b) = (sums[2 * i], sums[2 * i + 1]);
            sums[i] = if span < V::BLOCK_LANES {
                V::pairwise_add_lanes(a, b)
            } else {
                V::pairwise_add_blocks(a, b)
            };
        }
        span *= 2;
    }
    sums[0]
}

/// Stores `count` results from `first` on.
///
/// # Safety
/// The result has that many elements.
#[inline(always)]
unsafe fn store_results<V: Lanes>(task: MatVec<V::Scalar>, first: usize, count: usize, sums: V) {
    // SAFETY: the caller's contract.
    unsafe { sums.masked_store(task.y.wrapping_add(first), V::first_n(count)) }
}

/// Rows of up to four vectors, `P` (= lanes) rows at a time.
///
/// # Safety
/// As `rows`.
#[inline(always)]
unsafe fn short_rows<V: Lanes, const P: usize>(task: MatVec<V::Scalar>) {
    let MatVec { rows, terms, matrix, x, .. } = task;
    let whole = (terms - 1) / P * P;
    let mask = V::first_n(terms - whole);
    let mut first = 0;
    while first < rows {
        // The last group overlaps the one before, so that it is full.
        let (start, count) = (first.min(rows.saturating_sub(P)), P.min(rows));
        let mut a = matrix.ptr.wrapping_offset(start as isize * matrix.rs);
        let mut b = x.ptr.wrapping_offset(start as isize * x.rs);
        let mut products = [V::zero(); P];
        // SAFETY: the caller's contract.
        unsafe {
            if V::AVX512 && whole <= P && count == P {
                // No inner loop, so that LLVM keeps the sums in registers.
                for product in &mut products {
                    let mut sum = tail_products::<V>(a, b, whole, mask);
                    if whole == P {
                        sum = V::load(a).mul_add(V::load(b), sum);
                    }
                    *product = sum;
                    (a, b) = (a.wrapping_offset(matrix.rs), b.wrapping_offset(x.rs));
                }
            } else {
                for product in &mut products[..count] {
                    let mut sum = tail_products::<V>(a, b, whole, mask);
                    let mut at = 0;
                    while at < whole {
                        let x = V::load(b.wrapping_add(at));
                        sum = V::load(a.wrapping_add(at)).mul_add(x, sum);
                        at += P;
                    }
                    *product = sum;
                    (a, b) = (a.wrapping_offset(matrix.rs), b.wrapping_offset(x.rs));
                }
            }
            store_results(task, start, count, reduce_lanes(products));
        }
        first += P;
    }
}

/// Products of the tail of two rows, from element `whole` on.
///
/// # Safety
/// The elements under the mask are readable.
#[inline(always)]
unsafe fn tail_products<V: Lanes>(
    a: *const V::Scalar,
    b: *const V::Scalar,
    whole: usize,
    mask: V::Mask,
) -> V {
    // SAFETY: the caller's contract.
    unsafe {
        let x = V::masked_load(b.wrapping_add(whole), mask);
        V::masked_load(a.wrapping_add(whole), mask).mul_add(x, V::zero())
    }
}

/// The permutation that brings row sums into the order of the rows, for rows padded to `padded`
/// lanes and 128-bit blocks of `block` lanes.
const fn lane_permutation(lanes: usize, block: usize, padded: usize) -> [u8; 16] {
    let (mut from, mut lane, per) = ([0; 16], 0, lanes / padded);
    // With at most one row in a vector there is nothing to permute.
    while per > 1 && lane < lanes {
        let (part, at) = (lane / block, lane % block);
        let (vector, row) = if padded <= block {
            let each = block / padded;
            (at / each, part * each + at % each)
        } else {
            (block * (part / per) + at, part % per)
        };
        from[vector * per + row] = lane as u8;
        lane += 1;
    }
    from
}

/// Adjacent rows of at most `P` elements: several rows in a vector, each padded to `P` lanes.
///
/// # Safety
/// As `rows`, for rows without gaps; and `AVX512`.
#[inline(always)]
unsafe fn packed_rows<V: Lanes, const P: usize>(task: MatVec<V::Scalar>) {
    let (k, per) = (task.terms, V::LANES / P);
    let all = (1u32 << V::LANES) - 1;
    let keep = all / ((1 << P) - 1) * ((1 << k) - 1);
    let mut fixed = None;
    if task.x.rs == 0 {
        let mut repeated = [V::Scalar::default(); 16];
        // SAFETY: the caller's contract; the array has an element for every lane.
        unsafe {
            for (i, to) in repeated[..per * k].iter_mut().enumerate() {
                *to = *task.x.ptr.wrapping_add(i % k);
            }
            fixed = Some(V::expand_load(repeated.as_ptr(), keep as u16));
        }
    }
    let MatVec { rows, matrix, .. } = task;
    let whole = k == P;
    let mut first = 0;
    while first < rows {
        let count = V::LANES.min(rows - first);
        let mut products = [V::zero(); P];
        for (i, product) in products.iter_mut().enumerate() {
            let row = first + i * per;
            let (a, x) = (matrix.ptr.wrapping_add(row * k), task.x.ptr.wrapping_add(row * k));
            // Missing rows are masked off.
            let left = per.min(count.saturating_sub(i * per));
            let bits = (keep & ((1 << (left * P)) - 1)) as u16;
            let whole = whole && count == V::LANES;
            // SAFETY: the caller's contract.
            unsafe {
                let x = match fixed {
                    Some(x) => x,
                    None => load_packed::<V>(x, whole, bits),
                };
                *product = load_packed::<V>(a, whole, bits).mul_add(x, V::zero());
            }
        }
        // SAFETY: as above.
        unsafe {
            let from = const { &lane_permutation(V::LANES, V::BLOCK_LANES, P) };
            store_results(task, first, count, reduce_lanes(products).permute(from));
        }
        first += V::LANES;
    }
}

/// Loads short rows into a vector, padded unless they are `whole`.
///
/// # Safety
/// As `packed_rows`.
#[inline(always)]
unsafe fn load_packed<V: Lanes>(from: *const V::Scalar, whole: bool, bits: u16) -> V {
    // SAFETY: the caller's contract.
    unsafe { if whole { V::load(from) } else { V::expand_load(from, bits) } }
}

/// Rows of more than four vectors, a group at a time.
///
/// # Safety
/// As `rows`.
#[inline(always)]
unsafe fn long_rows<V: Lanes>(task: MatVec<V::Scalar>) {
    let grouped = task.rows / GROUP * GROUP;
    // SAFETY: the caller's contract.
    unsafe {
        let mut first = 0;
        while first < grouped {
            row_group::<V, GROUP>(task, first);
            first += GROUP;
        }
        for row in grouped..task.rows {
            row_group::<V, 1>(task, row);
        }
    }
}

/// `G` rows with `GROUP` accumulators each.
///
/// # Safety
/// As `rows`, for `G` rows from `first` on.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
unsafe fn row_group<V: Lanes, const G: usize>(task: MatVec<V::Scalar>, first: usize) {
    let MatVec { terms: k, matrix, x, .. } = task;
    let lanes = V::LANES;
    let mut sums = [[V::zero(); GROUP]; G];
    let row_pointer =
        |of: Mat<*const V::Scalar>, r: usize| of.ptr.wrapping_offset((first + r) as isize * of.rs);
    let (mut a, mut b) = ([matrix.ptr; G], [x.ptr; G]);
    for r in 0..G {
        (a[r], b[r]) = (row_pointer(matrix, r), row_pointer(x, r));
    }
    let whole = k - k % (GROUP * lanes);
    // SAFETY: the caller's contract.
    unsafe {
        let mut at = 0;
        while at < whole {
            for u in 0..GROUP {
                let at = at + u * lanes;
                for r in 0..G {
                    let x = V::load(b[r].wrapping_add(at));
                    sums[r][u] = V::load(a[r].wrapping_add(at)).mul_add(x, sums[r][u]);
                }
            }
            at += GROUP * lanes;
        }
        for u in 0..GROUP {
            let at = whole + u * lanes;
            if at >= k {
                break;
            }
            let mask = V::first_n(lanes.min(k - at));
            for r in 0..G {
                let x = V::masked_load(b[r].wrapping_add(at), mask);
                sums[r][u] = V::masked_load(a[r].wrapping_add(at), mask).mul_add(x, sums[r][u]);
            }
        }
        let mut each = [V::zero(); GROUP];
        for r in 0..G {
            let [p, q, s, t] = sums[r];
            each[r] = p.add(q).add(s.add(t));
        }
        let mut total = reduce_lanes::<V, GROUP>(each);
        let mut span = GROUP;
        while span < lanes {
            total = V::pairwise_add_blocks(total, total);
            span *= 2;
        }
        store_results(task, first, G, total);
    }
}
