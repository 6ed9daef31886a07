//! Sum of the rows of a matrix, each scaled by an element of a vector (a gemv with contiguous
//! columns).
//!
//! The sums of narrow rows stay in registers, those of wide rows in the L1 cache. The rows here are
//! the columns of a `MatVec`. Invariant: the order of a sum depends only on the number of terms and
//! the width.

use super::matrix::MatVec;
use crate::kernels::simd::Lanes;

/// Bytes of sums that stay in the first cache.
const CACHED_SUM_BYTES: usize = 16 << 10;
/// Vector accumulators in registers.
const REGISTER_SUMS: usize = 8;

/// # Safety
/// As `matrix_vector::gemv`, for contiguous columns, one shared vector and a contiguous result, on a CPU
/// with these vectors.
#[inline(always)]
pub(super) unsafe fn rows<V: Lanes>(task: MatVec<V::Scalar>) {
    let (width, lanes) = (task.rows, V::LANES);
    // SAFETY: the caller's contract.
    unsafe {
        if V::AVX512 && 2 * width <= lanes && task.matrix.cs == width as isize && task.x.cs == 1 {
            return packed_rows::<V>(task);
        }
        match width.div_ceil(lanes) {
            1 => narrow_rows::<V, 1, REGISTER_SUMS>(task),
            2 => narrow_rows::<V, 2, { REGISTER_SUMS / 2 }>(task),
            _ => wide_rows::<V>(task),
        }
    }
}

/// Element `at` of the vector, in all lanes.
///
/// # Safety
/// The element exists.
#[inline(always)]
unsafe fn weight<V: Lanes>(task: MatVec<V::Scalar>, at: usize) -> V {
    // SAFETY: the caller's contract.
    V::splat(unsafe { *task.x.ptr.wrapping_offset(at as isize * task.x.cs) })
}

/// Rows of `W` vectors, `R` rows at a time.
///
/// # Safety
/// As `rows`, for rows of at most `W` vectors.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
unsafe fn narrow_rows<V: Lanes, const W: usize, const R: usize>(task: MatVec<V::Scalar>) {
    let MatVec { rows: width, terms, matrix, .. } = task;
    let mut masks = [V::first_n(0); W];
    for j in 0..W {
        masks[j] = V::first_n(width.saturating_sub(j * V::LANES).min(V::LANES));
    }
    let mut sums = [[V::zero(); W]; R];
    let whole = terms / R * R;
    let row = |at: usize| matrix.ptr.wrapping_offset(at as isize * matrix.cs);
    // SAFETY: the caller's contract; lanes beyond the width are masked off.
    unsafe {
        let mut at = 0;
        while at < whole {
            for r in 0..R {
                let (from, x) = (row(at + r), weight::<V>(task, at + r));
                for j in 0..W {
                    let a = V::masked_load(from.wrapping_add(j * V::LANES), masks[j]);
                    sums[r][j] = a.mul_add(x, sums[r][j]);
                }
            }
            at += R;
        }
        for at in whole..terms {
            let (from, x) = (row(at), weight::<V>(task, at));
            for j in 0..W {
                let a = V::masked_load(from.wrapping_add(j * V::LANES), masks[j]);
                sums[0][j] = a.mul_add(x, sums[0][j]);
            }
        }
        let mut left = R;
        while left > 1 {
            left /= 2;
            for r in 0..left {
                for j in 0..W {
                    sums[r][j] = sums[r][j].add(sums[r + left][j]);
                }
            }
        }
        for j in 0..W {
            sums[0][j].masked_store(task.y.wrapping_add(j * V::LANES), masks[j]);
        }
    }
}

/// Adjacent rows, several of which fit in a vector.
///
/// # Safety
/// As `rows`, for such rows; and `AVX512`.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
unsafe fn packed_rows<V: Lanes>(task: MatVec<V::Scalar>) {
    const ACCUMULATORS: usize = 4;
    let MatVec { rows: width, terms, matrix, x, .. } = task;
    let per = V::LANES / width;
    let mut owner = [0; 16];
    for (lane, row) in owner[..per * width].iter_mut().enumerate() {
        *row = (lane / width) as u8;
    }
    let all = V::first_n(per * width);
    let mut sums = [V::zero(); ACCUMULATORS];
    let whole = terms / (ACCUMULATORS * per) * (ACCUMULATORS * per);
    // SAFETY: the caller's contract; lanes beyond the rows are masked off.
    unsafe {
        let mut first = 0;
        while first < whole {
            for w in 0..ACCUMULATORS {
                let at = first + w * per;
                let a = V::masked_load(matrix.ptr.wrapping_add(at * width), all);
                let x = V::masked_load(x.ptr.wrapping_add(at), V::first_n(per));
                sums[w] = a.mul_add(x.permute(&owner), sums[w]);
            }
            first += ACCUMULATORS * per;
        }
        let mut at = whole;
        while at < terms {
            let count = per.min(terms - at);
            let some = V::first_n(count * width);
            let a = V::masked_load(matrix.ptr.wrapping_add(at * width), some);
            let x = V::masked_load(x.ptr.wrapping_add(at), V::first_n(count));
            // Also masks the vector: it has no elements beyond the last row.
            sums[0] = a.mul_add(x.permute(&owner), sums[0]);
            at += per;
        }
        let sum = sums[0].add(sums[1]).add(sums[2].add(sums[3]));
        let mut each = [V::Scalar::default(); 16];
        sum.masked_store(each.as_mut_ptr(), V::first_n(V::LANES));
        for j in 0..width {
            let mut total = each[j];
            for row in 1..per {
                total = total + each[row * width + j];
            }
            *task.y.wrapping_add(j) = total;
        }
    }
}

/// Wide rows: one cached chunk of sums after another.
///
/// # Safety
/// As `rows`.
#[inline(always)]
unsafe fn wide_rows<V: Lanes>(task: MatVec<V::Scalar>) {
    let MatVec { rows: width, terms, .. } = task;
    let chunk = CACHED_SUM_BYTES / size_of::<V::Scalar>();
    let mut first = 0;
    while first < width {
        let last = width.min(first + chunk);
        let mut at = 0;
        // SAFETY: the caller's contract; zeros are numbers.
        unsafe {
            task.y.wrapping_add(first).write_bytes(0, last - first);
            while at + REGISTER_SUMS <= terms {
                add_rows::<V, REGISTER_SUMS>(task, at, first, last);
                at += REGISTER_SUMS;
            }
            while at < terms {
                add_rows::<V, 1>(task, at, first, last);
                at += 1;
            }
        }
        first += chunk;
    }
}

/// Adds `R` rows, from the term `at` on, to a chunk of the sums.
///
/// # Safety
/// As `rows`, for existing terms and columns.
#[inline(always)]
unsafe fn add_rows<V: Lanes, const R: usize>(
    task: MatVec<V::Scalar>,
    at: usize,
    first: usize,
    last: usize,
) {
    let MatVec { matrix, y, .. } = task;
    let (mut from, mut x) = ([matrix.ptr; R], [V::zero(); R]);
    for r in 0..R {
        from[r] = matrix.ptr.wrapping_offset((at + r) as isize * matrix.cs);
        // SAFETY: the caller's contract, here and below.
        x[r] = unsafe { weight::<V>(task, at + r) };
    }
    let whole = last - (last - first) % V::LANES;
    let mut column = first;
    while column < whole {
        // SAFETY: as above.
        unsafe { add_vector(from, x, column, y, None) };
        column += V::LANES;
    }
    if whole < last {
        // SAFETY: as above; lanes beyond the width are masked off.
        unsafe { add_vector(from, x, whole, y, Some(V::first_n(last - whole))) };
    }
}

/// Adds one vector of each of `R` rows to the sums.
///
/// # Safety
/// A whole vector, or the elements under the mask, lie inside the rows.
#[inline(always)]
unsafe fn add_vector<V: Lanes, const R: usize>(
    from: [*const V::Scalar; R],
    x: [V; R],
    column: usize,
    y: *mut V::Scalar,
    mask: Option<V::Mask>,
) {
    let to = y.wrapping_add(column);
    // SAFETY: the caller's contract.
    unsafe {
        let mut sum = load(to, mask);
        for r in 0..R {
            sum = load::<V>(from[r].wrapping_add(column), mask).mul_add(x[r], sum);
        }
        match mask {
            Some(mask) => sum.masked_store(to, mask),
            None => sum.store(to),
        }
    }
}

/// # Safety
/// A whole vector, or the elements under the mask, are readable.
#[inline(always)]
unsafe fn load<V: Lanes>(from: *const V::Scalar, mask: Option<V::Mask>) -> V {
    // SAFETY: the caller's contract.
    unsafe {
        match mask {
            Some(mask) => V::masked_load(from, mask),
            None => V::load(from),
        }
    }
}
