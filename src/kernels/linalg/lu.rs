//! The LU factorisation with row exchanges, by halves of the columns.
//!
//! Owns: the recursion that turns most of the work into matrix products, and the order of the rows.
//! Never refuses a matrix: a pivot of zero stays in the diagonal for the caller to see.
//! Invariant: the pivot of a column is its first largest element, as in LAPACK.

use nalgebra::DMatrix;

use super::factor::{over, scale};
use super::scalar::{Field, subtract};
use super::triangular_solve;

/// Columns of a panel that are eliminated one by one.
const PANEL: usize = 8;

/// `l` (unit lower) and `u` in one matrix, and the row that each step exchanges its own with.
pub(super) struct Lu<T: Field> {
    pub(super) packed: DMatrix<T>,
    pub(super) pivots: Vec<usize>,
    /// What `u` is to be multiplied with.
    pub(super) unit: f64,
    /// Whether rows are exchanged at all.
    choose: bool,
}

/// A complex matrix over its scale, since its quotients square the pivots; and that scale. Real matrices stay as they are.
pub(super) fn divisible<T: Field>(a: DMatrix<T>) -> (DMatrix<T>, f64) {
    if size_of::<T>() == size_of::<f64>() {
        return (a, 1.0);
    }
    let unit = scale(&a).unwrap_or(1.0);
    (over(a, unit), unit)
}

/// Where the first largest element is.
fn largest<T: Field>(x: &[T]) -> usize {
    let (mut best, mut most) = (0, x[0].norm1());
    for (i, x) in x.iter().enumerate().skip(1) {
        let size = x.norm1();
        if size > most {
            (best, most) = (i, size);
        }
    }
    best
}

/// Exchanges elements as the steps from `first` on did.
pub(super) fn exchange<T>(x: &mut [T], first: usize, pivots: &[usize]) {
    for (k, &pivot) in (first..).zip(pivots) {
        x.swap(k, pivot);
    }
}

impl<T: Field> Lu<T> {
    /// Factorises a matrix.
    pub(super) fn new(a: DMatrix<T>) -> Lu<T> {
        Lu::choosing(a, true)
    }

    /// Factorises a matrix, without exchanges unless `choose`.
    pub(super) fn choosing(a: DMatrix<T>, choose: bool) -> Lu<T> {
        let (packed, unit) = divisible(a);
        let (rows, columns) = packed.shape();
        let steps = rows.min(columns);
        let mut lu = Lu { packed, pivots: Vec::with_capacity(steps), unit, choose };
        lu.eliminate(0, steps);
        if columns > steps {
            let (left, mut right) = lu.packed.columns_range_pair_mut(..steps, steps..);
            triangular_solve::unit_lower(left.as_view(), right.as_view_mut());
        }
        lu
    }

    /// Which row of the matrix each row of `l u` is.
    pub(super) fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.packed.nrows()).collect();
        exchange(&mut order, 0, &self.pivots);
        order
    }

    /// The sign of the exchanges.
    pub(super) fn sign(&self) -> T {
        let odd = self.pivots.iter().enumerate().filter(|&(k, &pivot)| k != pivot).count() % 2;
        if odd == 1 { -T::one() } else { T::one() }
    }

    /// The determinant of a square matrix.
    pub(super) fn determinant(&self) -> T {
        let pivots = self.packed.diagonal();
        pivots.iter().fold(self.sign(), |d, &pivot| d * pivot.scale(self.unit))
    }

    /// The determinant of a square matrix as a number and the power of two to multiply it with, which may be too far for one number.
    pub(super) fn parted_determinant(&self) -> (T, i32) {
        let (mut product, mut power) = (self.sign(), 0);
        for &pivot in self.packed.diagonal().iter() {
            product *= pivot.scale(self.unit);
            let size = product.modulus();
            if size > 0.0 && size.is_finite() {
                let more = size.log2().floor().clamp(-1000.0, 1000.0);
                product = product.scale((-more).exp2());
                power += more as i32;
            }
        }
        (product, power)
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
        triangular_solve::unit_lower(left.rows_range(first..half), top.as_view_mut());
        subtract(&mut rest, left.rows_range(half..n), top.as_view());
        self.eliminate(half, end);
    }

    /// A narrow panel, column by column; the others' rows are exchanged behind it, each in one visit.
    fn panel(&mut self, first: usize, end: usize) {
        let n = self.packed.nrows();
        let (before, rest) = self.packed.as_mut_slice().split_at_mut(first * n);
        let (block, after) = rest.split_at_mut((end - first) * n);
        for k in first..end {
            let (done, rest) = block.split_at_mut((k + 1 - first) * n);
            let best = if self.choose { k + largest(&done[(k - first) * n + k..]) } else { k };
            self.pivots.push(best);
            if best != k {
                done.chunks_exact_mut(n).for_each(|column| column.swap(k, best));
            }
            let (pivot, below) = done[(k - first) * n + k..].split_at_mut(1);
            if pivot[0] != T::zero() || !self.choose {
                below.iter_mut().for_each(|x| *x /= pivot[0]);
            }
            for column in rest.chunks_exact_mut(n) {
                column.swap(k, best);
                let factor = column[k];
                column[k + 1..].iter_mut().zip(&*below).for_each(|(x, y)| *x -= *y * factor);
            }
        }
        for columns in [before, after] {
            columns
                .chunks_exact_mut(n.max(1))
                .for_each(|column| exchange(column, first, &self.pivots[first..]));
        }
    }
}
