//! Sums of differences of rows: by weights of the pairs, and along each row.
//!
//! Owns: their loops, over rows of one side and columns of the other. Never multiplies a difference out: for rows that lie
//! close together the products would cancel. Invariant: the order of a sum depends on sizes only.

use super::super::launch::launch;
use super::super::view::{View, ViewMut, with_float};
use super::pairwise_distances::{Number, PIECE, WIDTH};
use crate::kernels::multiversion::leveled;
use crate::threads::parallel_for;

/// The operands as addresses: the factors, both sides, and the result.
struct Operands<T>(*const T, *const T, *const T, *mut T);
// SAFETY: made from views, which are Send + Sync; blocks write disjoint rows.
unsafe impl<T> Sync for Operands<T> {}

/// Rows of both sides, and columns.
type Sizes = (usize, usize, usize);
/// A loop over rows: the addresses of the factors and rows of the first side, those of all of the other, and the result.
type RowsLoop<T> = unsafe fn(*const T, *const T, *const T, *mut T, Sizes);

/// `out[b, i, k] = Σ_j w[b, i, j] (x[b, i, k] - y[b, k, j])` of contiguous floats of one dtype.
pub fn weighted_differences(w: View, x: View, y: View, out: ViewMut) {
    launch!("weighted_differences", [w, x, y] => [out];; {
        let sizes = sizes(&x, &y);
        assert!(w.dims == [x.dims[0], sizes.0, sizes.1] && out.dims == x.dims);
        with_float!([w, x, y, out], T => {
            all_rows::<T>([w, x, y], &out, sizes, (sizes.1, sizes.2), weigh::<T>);
        });
    });
}

/// `out[b, i, j] = Σ_k h[b, i, k] (x[b, i, k] - y[b, k, j])` of contiguous floats of one dtype.
pub fn projected_differences(h: View, x: View, y: View, out: ViewMut) {
    launch!("projected_differences", [h, x, y] => [out];; {
        let sizes = sizes(&x, &y);
        assert!(h.dims == x.dims && out.dims == [x.dims[0], sizes.0, sizes.1]);
        with_float!([h, x, y, out], T => {
            all_rows::<T>([h, x, y], &out, sizes, (sizes.2, sizes.1), project::<T>);
        });
    });
}

fn sizes(x: &View, y: &View) -> Sizes {
    assert!(x.dims.len() == 3 && y.dims.len() == 3);
    assert!(x.dims[0] == y.dims[0] && x.dims[2] == y.dims[1], "as many sets and columns");
    (x.dims[1], y.dims[2], x.dims[2])
}

/// Runs a loop over the rows of all sets; a row of factors and one of the result have so many elements.
fn all_rows<T>(
    [factors, x, y]: [View; 3],
    out: &ViewMut,
    (rows, others, columns): Sizes,
    (given, made): (usize, usize),
    run: RowsLoop<T>,
) {
    assert!([&factors, &x, &y].iter().all(|view| view.is_contiguous()) && out.is_contiguous());
    let sets = x.dims[0];
    let blocks = (rows * others * columns / PIECE).clamp(1, rows.max(1));
    let operands = &Operands::<T>(factors.at(0), x.at(0), y.at(0), out.at(0));
    parallel_for(sets * blocks, &|b| {
        let (set, block) = (b / blocks, b % blocks);
        let (start, end) = (block * rows / blocks, (block + 1) * rows / blocks);
        let first = set * rows + start;
        // SAFETY: the rows are inside the operands, and this block's own.
        unsafe {
            let (f, x) = (operands.0.add(first * given), operands.1.add(first * columns));
            let (y, out) = (operands.2.add(set * others * columns), operands.3.add(first * made));
            run(f, x, y, out, (end - start, others, columns));
        }
    });
}

leveled! {
    /// The sums over the other side of weighted differences.
    unsafe fn weigh<T: Number>(w: *const T, x: *const T, y: *const T, out: *mut T, sizes: Sizes) = weigh_body
}

/// # Safety
/// The operands have these sizes, and there is room for a row of `columns` sums for each of the first side.
#[inline(always)]
unsafe fn weigh_body<T: Number>(
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
            let mut parts = [T::default(); WIDTH];
            let whole = others - others % WIDTH;
            for first in (0..whole).step_by(WIDTH) {
                for (j, part) in parts.iter_mut().enumerate() {
                    *part = *part + *w.add(first + j) * (a - *y.add(first + j));
                }
            }
            for (j, part) in (whole..others).zip(&mut parts) {
                *part = *part + *w.add(j) * (a - *y.add(j));
            }
            let mut len = WIDTH;
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

leveled! {
    /// The sums along rows of differences.
    unsafe fn project<T: Number>(h: *const T, x: *const T, y: *const T, out: *mut T, sizes: Sizes) = project_body
}

/// # Safety
/// The operands have these sizes, and there is room for a row of `others` sums for each of the first side.
#[inline(always)]
unsafe fn project_body<T: Number>(
    h: *const T,
    x: *const T,
    y: *const T,
    out: *mut T,
    (rows, others, columns): Sizes,
) {
    for i in 0..rows {
        for first in (0..others).step_by(WIDTH) {
            let len = WIDTH.min(others - first);
            let mut sums = [T::default(); WIDTH];
            // SAFETY: the caller's contract.
            unsafe {
                for k in 0..columns {
                    let (factor, a) = (*h.add(i * columns + k), *x.add(i * columns + k));
                    let y = y.add(k * others + first);
                    if len == WIDTH {
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
