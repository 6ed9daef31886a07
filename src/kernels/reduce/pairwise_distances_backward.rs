//! Weighted sums of row differences, over pairs of rows and along rows: the derivatives of
//! `pairwise_distances`.
//!
//! `y` is transposed: its axes are set, column, row. Differences are not expanded into products, which would cancel for
//! close rows. Invariant: the order of a
//! sum depends on sizes only.

use super::super::launch::launch;
use super::super::view::{View, ViewMut, with_float};
use super::pairwise_distances::{Float, PIECE_ELEMENTS, STRIP_ROWS};
use crate::kernels::multiversion::multiversion;
use crate::threads::parallel_for;

/// The operands as addresses: factors, `x`, `y` and the result.
struct Operands<T>(*const T, *const T, *const T, *mut T);
// SAFETY: made from views, which are Send + Sync; blocks write disjoint rows.
unsafe impl<T> Sync for Operands<T> {}

/// Rows of `x`, rows of `y`, and columns.
type Sizes = (usize, usize, usize);
/// A loop over rows: the addresses of factors, rows of `x`, all of `y`, and the result.
type RowsLoopFn<T> = unsafe fn(*const T, *const T, *const T, *mut T, Sizes);

/// `out[b, i, k] = Σ_j w[b, i, j] (x[b, i, k] - y[b, k, j])` of contiguous floats of one dtype.
pub fn weighted_differences(w: View, x: View, y: View, out: ViewMut) {
    launch!("weighted_differences", [w, x, y] => [out];; {
        let sizes = sizes(&x, &y);
        assert!(w.dims == [x.dims[0], sizes.0, sizes.1] && out.dims == x.dims);
        with_float!([w, x, y, out], T => {
            all_rows::<T>([w, x, y], &out, sizes, (sizes.1, sizes.2), weighted_rows::<T>);
        });
    });
}

/// `out[b, i, j] = Σ_k h[b, i, k] (x[b, i, k] - y[b, k, j])` of contiguous floats of one dtype.
pub fn projected_differences(h: View, x: View, y: View, out: ViewMut) {
    launch!("projected_differences", [h, x, y] => [out];; {
        let sizes = sizes(&x, &y);
        assert!(h.dims == x.dims && out.dims == [x.dims[0], sizes.0, sizes.1]);
        with_float!([h, x, y, out], T => {
            all_rows::<T>([h, x, y], &out, sizes, (sizes.2, sizes.1), projected_rows::<T>);
        });
    });
}

fn sizes(x: &View, y: &View) -> Sizes {
    assert!(x.dims.len() == 3 && y.dims.len() == 3);
    assert!(x.dims[0] == y.dims[0] && x.dims[2] == y.dims[1], "as many sets and columns");
    (x.dims[1], y.dims[2], x.dims[2])
}

/// Runs a loop over the rows of all sets; `factor_row` and `out_row` are the row lengths of factors and
/// result.
fn all_rows<T>(
    [factors, x, y]: [View; 3],
    out: &ViewMut,
    (rows, others, columns): Sizes,
    (factor_row, out_row): (usize, usize),
    run: RowsLoopFn<T>,
) {
    assert!([&factors, &x, &y].iter().all(|view| view.is_contiguous()) && out.is_contiguous());
    let sets = x.dims[0];
    let blocks = (rows * others * columns / PIECE_ELEMENTS).clamp(1, rows.max(1));
    let operands = &Operands::<T>(factors.at(0), x.at(0), y.at(0), out.at(0));
    parallel_for(sets * blocks, &|b| {
        let (set, block) = (b / blocks, b % blocks);
        let (start, end) = (block * rows / blocks, (block + 1) * rows / blocks);
        let first = set * rows + start;
        // SAFETY: the rows are inside the operands, and written by this block only.
        unsafe {
            let (f, x) = (operands.0.add(first * factor_row), operands.1.add(first * columns));
            let (y, out) =
                (operands.2.add(set * others * columns), operands.3.add(first * out_row));
            run(f, x, y, out, (end - start, others, columns));
        }
    });
}

multiversion! {
    /// The weighted sums over the rows of `y`.
    unsafe fn weighted_rows<T: Float>(w: *const T, x: *const T, y: *const T, out: *mut T, sizes: Sizes) = weighted_rows_body
}

/// # Safety
/// The operands have these sizes, and there is space for a row of `columns` sums for each row of `x`.
#[inline(always)]
unsafe fn weighted_rows_body<T: Float>(
    w: *const T,
    x: *const T,
    y: *const T,
    out: *mut T,
    (rows, others, columns): Sizes,
) {
    for i in 0..rows * columns {
        // SAFETY: the caller's contract.
        unsafe {
            let (a, w, y) = (*x.add(i), w.add(i / columns * others), y.add(i % columns * others));
            let mut parts = [T::default(); STRIP_ROWS];
            let whole = others - others % STRIP_ROWS;
            for first in (0..whole).step_by(STRIP_ROWS) {
                for (j, part) in parts.iter_mut().enumerate() {
                    *part = *part + *w.add(first + j) * (a - *y.add(first + j));
                }
            }
            for (j, part) in (whole..others).zip(&mut parts) {
                *part = *part + *w.add(j) * (a - *y.add(j));
            }
            let mut len = STRIP_ROWS;
            while len > 1 {
                len /= 2;
                for j in 0..len {
                    parts[j] = parts[j] + parts[j + len];
                }
            }
            out.add(i).write(parts[0]);
        }
    }
}

multiversion! {
    /// The sums along rows of differences.
    unsafe fn projected_rows<T: Float>(h: *const T, x: *const T, y: *const T, out: *mut T, sizes: Sizes) = projected_rows_body
}

/// # Safety
/// The operands have these sizes, and there is space for a row of `others` sums for each row of `x`.
#[inline(always)]
unsafe fn projected_rows_body<T: Float>(
    h: *const T,
    x: *const T,
    y: *const T,
    out: *mut T,
    (rows, others, columns): Sizes,
) {
    for i in 0..rows {
        for first in (0..others).step_by(STRIP_ROWS) {
            let len = STRIP_ROWS.min(others - first);
            let mut sums = [T::default(); STRIP_ROWS];
            // SAFETY: the caller's contract.
            unsafe {
                for k in 0..columns {
                    let (factor, a) = (*h.add(i * columns + k), *x.add(i * columns + k));
                    let y = y.add(k * others + first);
                    if len == STRIP_ROWS {
                        for (j, sum) in sums.iter_mut().enumerate() {
                            *sum = *sum + factor * (a - *y.add(j));
                        }
                    } else {
                        for (j, sum) in sums[..len].iter_mut().enumerate() {
                            *sum = *sum + factor * (a - *y.add(j));
                        }
                    }
                }
                std::ptr::copy_nonoverlapping(sums.as_ptr(), out.add(i * others + first), len);
            }
        }
    }
}
