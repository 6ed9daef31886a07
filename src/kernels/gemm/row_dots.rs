//! Sums of products along rows: each row of a matrix with a vector, or with a row of its own.
//!
//! Owns: short rows, of which several are one vector, and long ones. Invariant: the sum of a row is a tree over its lanes,
//! whose shape follows from its length alone.

use super::matrix_vector::Task;
use super::product::Mat;
use crate::kernels::simd::Lanes;

/// Rows of a group of long ones, and the running sums of each.
const GROUP: usize = 4;

/// # Safety
/// As `ByVector::by_vector`, for rows whose elements are neighbours, on a CPU with the vectors.
#[inline(always)]
pub(super) unsafe fn rows<V: Lanes>(task: Task<V::Part>) {
    let (k, lanes) = (task.terms, V::LANES);
    let close = task.matrix.rs == k as isize;
    let own = task.x.rs == k as isize;
    // SAFETY: the caller's contract.
    unsafe {
        if V::SPREADS && 2 * k <= lanes && close && (own || task.x.rs == 0) {
            return match k {
                1 | 2 => spread::<V, 2>(task),
                3 | 4 => spread::<V, 4>(task),
                _ => spread::<V, 8>(task),
            };
        }
        if k > 4 * lanes {
            return long::<V>(task);
        }
        match lanes {
            16 => short::<V, 16>(task),
            8 => short::<V, 8>(task),
            _ => short::<V, 4>(task),
        }
    }
}

/// The sums of `P` neighbouring lanes each, of `P` vectors.
#[inline(always)]
fn tree<V: Lanes, const P: usize>(mut sums: [V; P]) -> V {
    let (mut left, mut span) = (P, 1);
    while left > 1 {
        left /= 2;
        for i in 0..left {
            let (a, b) = (sums[2 * i], sums[2 * i + 1]);
            sums[i] = if span < V::NEAR { V::near(a, b) } else { V::far(a, b) };
        }
        span *= 2;
    }
    sums[0]
}

/// Writes results of a task from `first` on.
///
/// # Safety
/// There are so many.
#[inline(always)]
unsafe fn put<V: Lanes>(task: Task<V::Part>, first: usize, count: usize, sums: V) {
    // SAFETY: the caller's contract.
    unsafe { sums.write_some(task.y.wrapping_add(first), V::first(count)) }
}

/// Rows of a few vectors, `P` at a time: as many as there are lanes.
///
/// # Safety
/// As `rows`.
#[inline(always)]
unsafe fn short<V: Lanes, const P: usize>(task: Task<V::Part>) {
    let Task { rows, terms, matrix, x, .. } = task;
    let whole = (terms - 1) / P * P;
    let mask = V::first(terms - whole);
    let mut first = 0;
    while first < rows {
        // The last rows are, with some that were before, as many as the others.
        let (start, count) = (first.min(rows.saturating_sub(P)), P.min(rows));
        let mut a = matrix.ptr.wrapping_offset(start as isize * matrix.rs);
        let mut b = x.ptr.wrapping_offset(start as isize * x.rs);
        let mut products = [V::zero(); P];
        // SAFETY: the caller's contract.
        unsafe {
            if V::SPREADS && whole <= P && count == P {
                // Without a loop inside, and so without memory between the rows and their sums.
                for product in &mut products {
                    let mut sum = times::<V>(a, b, whole, mask);
                    if whole == P {
                        sum = V::read(a).fused(V::read(b), sum);
                    }
                    *product = sum;
                    (a, b) = (a.wrapping_offset(matrix.rs), b.wrapping_offset(x.rs));
                }
            } else {
                for product in &mut products[..count] {
                    let mut sum = times::<V>(a, b, whole, mask);
                    let mut at = 0;
                    while at < whole {
                        let x = V::read(b.wrapping_add(at));
                        sum = V::read(a.wrapping_add(at)).fused(x, sum);
                        at += P;
                    }
                    *product = sum;
                    (a, b) = (a.wrapping_offset(matrix.rs), b.wrapping_offset(x.rs));
                }
            }
            put(task, start, count, tree(products));
        }
        first += P;
    }
}

/// The products of what follows on `whole` elements of two rows.
///
/// # Safety
/// The elements of the mask are readable.
#[inline(always)]
unsafe fn times<V: Lanes>(a: *const V::Part, b: *const V::Part, whole: usize, mask: V::Mask) -> V {
    // SAFETY: the caller's contract.
    unsafe {
        let x = V::read_some(b.wrapping_add(whole), mask);
        V::read_some(a.wrapping_add(whole), mask).fused(x, V::zero())
    }
}

/// The lanes of `lanes` in which the sums of rows end that are `per` to a vector, of `near` lanes in 16 bytes: what the order
/// of the rows picks from them.
const fn order(lanes: usize, near: usize, padded: usize) -> [u8; 16] {
    let (mut from, mut lane, per) = ([0; 16], 0, lanes / padded);
    // Of one row or less in a vector, nothing is asked.
    while per > 1 && lane < lanes {
        let (part, at) = (lane / near, lane % near);
        let (vector, row) = if padded <= near {
            let each = near / padded;
            (at / each, part * each + at % each)
        } else {
            (near * (part / per) + at, part % per)
        };
        from[vector * per + row] = lane as u8;
        lane += 1;
    }
    from
}

/// Rows of at most `P` elements, which follow on each other: each takes `P` lanes.
///
/// # Safety
/// As `rows`, for rows that are as far apart as they are long; and `SPREADS`.
#[inline(always)]
unsafe fn spread<V: Lanes, const P: usize>(task: Task<V::Part>) {
    let (k, per) = (task.terms, V::LANES / P);
    let all = (1u32 << V::LANES) - 1;
    let keep = all / ((1 << P) - 1) * ((1 << k) - 1);
    let mut fixed = None;
    if task.x.rs == 0 {
        let mut repeated = [V::Part::default(); 16];
        // SAFETY: the caller's contract; the array has room for every lane.
        unsafe {
            for (i, to) in repeated[..per * k].iter_mut().enumerate() {
                *to = *task.x.ptr.wrapping_add(i % k);
            }
            fixed = Some(V::spread(repeated.as_ptr(), keep as u16));
        }
    }
    let Task { rows, matrix, .. } = task;
    let whole = k == P;
    let mut first = 0;
    while first < rows {
        let count = V::LANES.min(rows - first);
        let mut products = [V::zero(); P];
        for (i, product) in products.iter_mut().enumerate() {
            let row = first + i * per;
            let (a, x) = (matrix.ptr.wrapping_add(row * k), task.x.ptr.wrapping_add(row * k));
            // Rows that are not there are left out.
            let left = per.min(count.saturating_sub(i * per));
            let bits = (keep & ((1 << (left * P)) - 1)) as u16;
            let whole = whole && count == V::LANES;
            // SAFETY: the caller's contract.
            unsafe {
                let x = match fixed {
                    Some(x) => x,
                    None => spread_of::<V>(x, whole, bits),
                };
                *product = spread_of::<V>(a, whole, bits).fused(x, V::zero());
            }
        }
        // SAFETY: as above.
        unsafe {
            let from = const { &order(V::LANES, V::NEAR, P) };
            put(task, first, count, tree(products).picked(from));
        }
        first += V::LANES;
    }
}

/// A vector of short rows; `whole` ones fill it.
///
/// # Safety
/// As `spread`.
#[inline(always)]
unsafe fn spread_of<V: Lanes>(from: *const V::Part, whole: bool, bits: u16) -> V {
    // SAFETY: the caller's contract.
    unsafe { if whole { V::read(from) } else { V::spread(from, bits) } }
}

/// Rows longer than some vectors, a group at a time.
///
/// # Safety
/// As `rows`.
#[inline(always)]
unsafe fn long<V: Lanes>(task: Task<V::Part>) {
    let grouped = task.rows / GROUP * GROUP;
    // SAFETY: the caller's contract.
    unsafe {
        let mut first = 0;
        while first < grouped {
            group::<V, GROUP>(task, first);
            first += GROUP;
        }
        for row in grouped..task.rows {
            group::<V, 1>(task, row);
        }
    }
}

/// `G` rows, each in as many running sums.
///
/// # Safety
/// As `rows`, for so many rows from `first` on.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
unsafe fn group<V: Lanes, const G: usize>(task: Task<V::Part>, first: usize) {
    let Task { terms: k, matrix, x, .. } = task;
    let lanes = V::LANES;
    let mut sums = [[V::zero(); GROUP]; G];
    let place =
        |of: Mat<*const V::Part>, r: usize| of.ptr.wrapping_offset((first + r) as isize * of.rs);
    let (mut a, mut b) = ([matrix.ptr; G], [x.ptr; G]);
    for r in 0..G {
        (a[r], b[r]) = (place(matrix, r), place(x, r));
    }
    let whole = k - k % (GROUP * lanes);
    // SAFETY: the caller's contract.
    unsafe {
        let mut at = 0;
        while at < whole {
            for u in 0..GROUP {
                let at = at + u * lanes;
                for r in 0..G {
                    let x = V::read(b[r].wrapping_add(at));
                    sums[r][u] = V::read(a[r].wrapping_add(at)).fused(x, sums[r][u]);
                }
            }
            at += GROUP * lanes;
        }
        for u in 0..GROUP {
            let at = whole + u * lanes;
            if at >= k {
                break;
            }
            let mask = V::first(lanes.min(k - at));
            for r in 0..G {
                let x = V::read_some(b[r].wrapping_add(at), mask);
                sums[r][u] = V::read_some(a[r].wrapping_add(at), mask).fused(x, sums[r][u]);
            }
        }
        let mut each = [V::zero(); GROUP];
        for r in 0..G {
            let [p, q, s, t] = sums[r];
            each[r] = p.add(q).add(s.add(t));
        }
        let mut total = tree::<V, GROUP>(each);
        let mut span = GROUP;
        while span < lanes {
            total = V::far(total, total);
            span *= 2;
        }
        put(task, first, G, total);
    }
}
