//! The LU factorisation with row exchanges, by halves of the columns.
//!
//! Owns: the recursion that turns most of the work into matrix products, and the elimination of narrow panels.
//! Never refuses a matrix: a pivot of zero stays in the diagonal for the caller to see.
//! Invariant: the pivot of a column is its first largest element, as in LAPACK.

use nalgebra::DMatrix;

use super::super::leveled::leveled;
use super::product::subtract;
use super::triangle;

/// Columns up to which a panel is eliminated one by one.
const PANEL: usize = 8;

/// `l` (unit lower) and `u` in one matrix, and which row of `a` each row of `l u` is.
pub(super) struct Lu {
    pub(super) packed: DMatrix<f64>,
    pub(super) order: Vec<usize>,
    /// The sign of the exchanges.
    pub(super) sign: f64,
}

impl Lu {
    /// Factorises a square matrix.
    pub(super) fn new(a: DMatrix<f64>) -> Lu {
        let n = a.nrows();
        let mut lu = Lu { packed: a, order: (0..n).collect(), sign: 1.0 };
        lu.eliminate(0, n);
        lu
    }

    /// Eliminates the columns `first..end`, of which the rows above `first` are done.
    fn eliminate(&mut self, first: usize, end: usize) {
        if end - first <= PANEL {
            return self.panel(first, end);
        }
        let (half, n) = (first + (end - first) / 2, self.packed.nrows());
        self.eliminate(first, half);
        let (left, mut right) = self.packed.columns_range_pair_mut(first..half, half..end);
        let (mut top, mut rest) = right.rows_range_pair_mut(first..half, half..);
        triangle::unit_lower(left.rows_range(first..half), top.as_view_mut());
        subtract(&mut rest, left.rows_range(half..n), top.as_view());
        self.eliminate(half, end);
    }

    fn panel(&mut self, first: usize, end: usize) {
        let n = self.packed.nrows();
        let mut exchanges = Vec::with_capacity(end - first);
        for column in first..end {
            let below = &self.packed.as_slice()[column * n + column..(column + 1) * n];
            let pivot = column
                + below
                    .iter()
                    .enumerate()
                    .fold(0, |best, (i, x)| if x.abs() > below[best].abs() { i } else { best });
            if pivot != column {
                self.packed.columns_range_mut(first..end).swap_rows(column, pivot);
                exchanges.push((column, pivot));
                self.order.swap(column, pivot);
                self.sign = -self.sign;
            }
            if self.packed[(column, column)] == 0.0 {
                continue;
            }
            let (done, later) = self.packed.as_mut_slice().split_at_mut((column + 1) * n);
            let (pivot, own) = done[column * n + column..].split_at_mut(1);
            // SAFETY: the loop reads and writes slices.
            unsafe { shrink(own, pivot[0], &mut later[..(end - column - 1) * n], n, column) };
        }
        // The other columns one by one: each stays in the cache for all its exchanges.
        for (k, column) in self.packed.as_mut_slice().chunks_exact_mut(n.max(1)).enumerate() {
            if !(first..end).contains(&k) {
                exchanges.iter().for_each(|&(i, k)| column.swap(i, k));
            }
        }
    }
}

leveled! {
    /// Divides the column below a pivot, and takes its multiples off the later columns of the panel.
    ///
    /// # Safety
    /// None is needed.
    unsafe fn shrink(
        own: &mut [f64], pivot: f64, later: &mut [f64], n: usize, row: usize,
    ) = shrink_body
}

/// # Safety
/// None is needed; the loop of every level is an unsafe function.
#[inline(always)]
unsafe fn shrink_body(own: &mut [f64], pivot: f64, later: &mut [f64], n: usize, row: usize) {
    own.iter_mut().for_each(|x| *x /= pivot);
    for column in later.chunks_exact_mut(n.max(1)) {
        let factor = column[row];
        for (x, l) in column[row + 1..].iter_mut().zip(own.iter()) {
            *x -= l * factor;
        }
    }
}
