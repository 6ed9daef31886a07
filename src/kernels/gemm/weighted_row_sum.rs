//! Sums of the rows of a matrix, each times its element of a vector.
//!
//! Owns: narrow rows, whose sums stay in registers, and wide ones, whose sums stay in the nearest cache. The rows are the terms
//! here: a task's matrix is one whose columns lie in line. Invariant: the order of a sum follows from the number of terms and
//! the width alone.

use super::matrix_vector::Task;
use crate::kernels::simd::Lanes;

/// Bytes of sums that are kept in the cache at a time.
const NEAR_BYTES: usize = 16 << 10;
/// Running sums in registers.
const SUMS: usize = 8;

/// # Safety
/// As `ByVector::by_vector`, for columns whose elements are neighbours, one vector and a result in line, on a CPU with the
/// vectors.
#[inline(always)]
pub(super) unsafe fn rows<V: Lanes>(task: Task<V::Part>) {
    let (width, lanes) = (task.rows, V::LANES);
    // SAFETY: the caller's contract.
    unsafe {
        if V::SPREADS && 2 * width <= lanes && task.matrix.cs == width as isize && task.x.cs == 1 {
            return packed::<V>(task);
        }
        match width.div_ceil(lanes) {
            1 => narrow::<V, 1, SUMS>(task),
            2 => narrow::<V, 2, { SUMS / 2 }>(task),
            _ => wide::<V>(task),
        }
    }
}

/// Element `at` of the vector.
///
/// # Safety
/// There is one.
#[inline(always)]
unsafe fn factor<V: Lanes>(task: Task<V::Part>, at: usize) -> V {
    // SAFETY: the caller's contract.
    V::all(unsafe { *task.x.ptr.wrapping_offset(at as isize * task.x.cs) })
}

/// Rows of `W` vectors, of which `R` are under way at a time.
///
/// # Safety
/// As `rows`, for so narrow ones.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
unsafe fn narrow<V: Lanes, const W: usize, const R: usize>(task: Task<V::Part>) {
    let Task { rows: width, terms, matrix, .. } = task;
    let mut masks = [V::first(0); W];
    for j in 0..W {
        masks[j] = V::first(width.saturating_sub(j * V::LANES).min(V::LANES));
    }
    let mut sums = [[V::zero(); W]; R];
    let whole = terms / R * R;
    let row = |at: usize| matrix.ptr.wrapping_offset(at as isize * matrix.cs);
    // SAFETY: the caller's contract; lanes beyond the width are neither read nor written.
    unsafe {
        let mut at = 0;
        while at < whole {
            for r in 0..R {
                let (from, x) = (row(at + r), factor::<V>(task, at + r));
                for j in 0..W {
                    let a = V::read_some(from.wrapping_add(j * V::LANES), masks[j]);
                    sums[r][j] = a.fused(x, sums[r][j]);
                }
            }
            at += R;
        }
        for at in whole..terms {
            let (from, x) = (row(at), factor::<V>(task, at));
            for j in 0..W {
                let a = V::read_some(from.wrapping_add(j * V::LANES), masks[j]);
                sums[0][j] = a.fused(x, sums[0][j]);
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
            sums[0][j].write_some(task.y.wrapping_add(j * V::LANES), masks[j]);
        }
    }
}

/// Rows of which several, which follow on each other, are one vector.
///
/// # Safety
/// As `rows`, for such ones; and `SPREADS`.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
unsafe fn packed<V: Lanes>(task: Task<V::Part>) {
    const WAYS: usize = 4;
    let Task { rows: width, terms, matrix, x, .. } = task;
    let per = V::LANES / width;
    let mut owner = [0; 16];
    for (lane, row) in owner[..per * width].iter_mut().enumerate() {
        *row = (lane / width) as u8;
    }
    let all = V::first(per * width);
    let mut sums = [V::zero(); WAYS];
    let whole = terms / (WAYS * per) * (WAYS * per);
    // SAFETY: the caller's contract; lanes beyond the rows are not read.
    unsafe {
        let mut first = 0;
        while first < whole {
            for w in 0..WAYS {
                let at = first + w * per;
                let a = V::read_some(matrix.ptr.wrapping_add(at * width), all);
                let x = V::read_some(x.ptr.wrapping_add(at), V::first(per));
                sums[w] = a.fused(x.picked(&owner), sums[w]);
            }
            first += WAYS * per;
        }
        let mut at = whole;
        while at < terms {
            let count = per.min(terms - at);
            let some = V::first(count * width);
            let a = V::read_some(matrix.ptr.wrapping_add(at * width), some);
            let x = V::read_some(x.ptr.wrapping_add(at), V::first(count));
            // Lanes without a row would multiply what is not there.
            sums[0] = a.fused(x.picked(&owner), sums[0]);
            at += per;
        }
        let sum = sums[0].add(sums[1]).add(sums[2].add(sums[3]));
        let mut each = [V::Part::default(); 16];
        sum.write_some(each.as_mut_ptr(), V::first(V::LANES));
        for j in 0..width {
            let mut total = each[j];
            for row in 1..per {
                total = total + each[row * width + j];
            }
            *task.y.wrapping_add(j) = total;
        }
    }
}

/// Rows wider than some vectors: a stretch of sums after the other.
///
/// # Safety
/// As `rows`.
#[inline(always)]
unsafe fn wide<V: Lanes>(task: Task<V::Part>) {
    let Task { rows: width, terms, .. } = task;
    let stretch = NEAR_BYTES / size_of::<V::Part>();
    let mut first = 0;
    while first < width {
        let last = width.min(first + stretch);
        let mut at = 0;
        // SAFETY: the caller's contract; zeros are numbers.
        unsafe {
            task.y.wrapping_add(first).write_bytes(0, last - first);
            while at + SUMS <= terms {
                added::<V, SUMS>(task, at, first, last);
                at += SUMS;
            }
            while at < terms {
                added::<V, 1>(task, at, first, last);
                at += 1;
            }
        }
        first += stretch;
    }
}

/// Adds `R` rows, from the term `at` on, to the sums of a stretch.
///
/// # Safety
/// As `rows`, for terms and columns that there are.
#[inline(always)]
unsafe fn added<V: Lanes, const R: usize>(
    task: Task<V::Part>,
    at: usize,
    first: usize,
    last: usize,
) {
    let Task { matrix, y, .. } = task;
    let (mut from, mut x) = ([matrix.ptr; R], [V::zero(); R]);
    for r in 0..R {
        from[r] = matrix.ptr.wrapping_offset((at + r) as isize * matrix.cs);
        // SAFETY: the caller's contract, here and below.
        x[r] = unsafe { factor::<V>(task, at + r) };
    }
    let whole = last - (last - first) % V::LANES;
    let mut column = first;
    while column < whole {
        // SAFETY: as above.
        unsafe { stepped(from, x, column, y, None) };
        column += V::LANES;
    }
    if whole < last {
        // SAFETY: as above; lanes beyond the width are neither read nor written.
        unsafe { stepped(from, x, whole, y, Some(V::first(last - whole))) };
    }
}

/// Adds a vector of each of some rows to the sums below it.
///
/// # Safety
/// The column, and those after it that the mask has or a vector, are inside the rows.
#[inline(always)]
unsafe fn stepped<V: Lanes, const R: usize>(
    from: [*const V::Part; R],
    x: [V; R],
    column: usize,
    y: *mut V::Part,
    mask: Option<V::Mask>,
) {
    let to = y.wrapping_add(column);
    // SAFETY: the caller's contract.
    unsafe {
        let mut sum = read(to, mask);
        for r in 0..R {
            sum = read::<V>(from[r].wrapping_add(column), mask).fused(x[r], sum);
        }
        match mask {
            Some(mask) => sum.write_some(to, mask),
            None => sum.write(to),
        }
    }
}

/// # Safety
/// The elements of the mask, or of a vector, are readable.
#[inline(always)]
unsafe fn read<V: Lanes>(from: *const V::Part, mask: Option<V::Mask>) -> V {
    // SAFETY: the caller's contract.
    unsafe {
        match mask {
            Some(mask) => V::read_some(from, mask),
            None => V::read(from),
        }
    }
}
