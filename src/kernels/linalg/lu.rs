//! LU factorisation with partial pivoting, recursive over halves of the columns.
//!
//! A zero pivot stays on the diagonal for the caller to see. Invariant: the pivot of a column is
//! its first largest element, as in LAPACK.

use super::factor::{divide_by, power_of_two_scale};
use super::matrix::Matrix;
use super::scalar::{Field, Real, subtract};
use super::triangular_solve;

/// Columns of a panel, eliminated column by column.
const PANEL_COLUMNS: usize = 8;

/// LU factors: `l` (unit lower) and `u` in one matrix, and the row swapped with each row, in order.
pub(super) struct Lu<T: Field> {
    pub(super) packed: Matrix<T>,
    pub(super) pivots: Vec<usize>,
    /// Scale that `u` must be multiplied with.
    pub(super) unit: T::Real,
    /// Whether to pivot.
    pivoting: bool,
}

/// Divides a complex matrix by its scale, because complex division squares the pivots; also returns
/// the scale. Real matrices are unchanged.
pub(super) fn scale_complex<T: Field>(a: Matrix<T>) -> (Matrix<T>, T::Real) {
    if !T::COMPLEX {
        return (a, T::Real::ONE);
    }
    let unit = power_of_two_scale(&a).unwrap_or(T::Real::ONE);
    (divide_by(a, unit), unit)
}

/// Index of the first largest element.
fn pivot_index<T: Field>(x: &[T]) -> usize {
    let (mut best, mut most) = (0, x[0].norm1());
    for (i, x) in x.iter().enumerate().skip(1) {
        let size = x.norm1();
        if size > most {
            (best, most) = (i, size);
        }
    }
    best
}

/// Applies the row swaps of the steps from `first` on.
pub(super) fn apply_pivots<T>(x: &mut [T], first: usize, pivots: &[usize]) {
    for (k, &pivot) in (first..).zip(pivots) {
        x.swap(k, pivot);
    }
}

impl<T: Field> Lu<T> {
    /// Factorises a matrix with partial pivoting.
    pub(super) fn new(a: Matrix<T>) -> Lu<T> {
        Lu::with_pivoting(a, true)
    }

    /// Factorises a matrix, with partial pivoting if `pivoting`.
    pub(super) fn with_pivoting(a: Matrix<T>, pivoting: bool) -> Lu<T> {
        let (packed, unit) = scale_complex(a);
        let (rows, columns) = packed.shape();
        let steps = rows.min(columns);
        let mut lu = Lu { packed, pivots: Vec::with_capacity(steps), unit, pivoting };
        lu.factor_columns(0, steps);
        if columns > steps {
            let (left, mut right) = lu.packed.split_columns(0..steps, steps..);
            triangular_solve::unit_lower(left.as_view(), right.as_view_mut());
        }
        lu
    }

    /// The row of the matrix in each row of `l u`.
    pub(super) fn row_order(&self) -> Vec<usize> {
        let mut row_order: Vec<usize> = (0..self.packed.nrows()).collect();
        apply_pivots(&mut row_order, 0, &self.pivots);
        row_order
    }

    /// The sign of the permutation.
    pub(super) fn sign(&self) -> T {
        let odd = self.pivots.iter().enumerate().filter(|&(k, &pivot)| k != pivot).count() % 2;
        if odd == 1 { -T::one() } else { T::one() }
    }

    /// The determinant of a square matrix, in double precision.
    pub(super) fn determinant(&self) -> T::Double {
        let (pivots, unit) = (self.packed.diagonal(), self.unit.to_f64());
        pivots.fold(self.sign().to_double(), |d, pivot| d * pivot.to_double().scale(unit))
    }

    /// The determinant of a square matrix as a number and a power of two to multiply it with, since
    /// it may not be representable as one number.
    pub(super) fn scaled_determinant(&self) -> (T::Double, i32) {
        let (mut product, mut power) = (self.sign().to_double(), 0);
        for pivot in self.packed.diagonal() {
            product *= pivot.to_double().scale(self.unit.to_f64());
            let size = product.modulus();
            if size > 0.0 && size.is_finite() {
                let more = size.log2().floor().clamp(-1000.0, 1000.0);
                product = product.scale((-more).exp2());
                power += more as i32;
            }
        }
        (product, power)
    }

    /// Factorises the columns `first..end`, whose rows above `first` are done.
    fn factor_columns(&mut self, first: usize, end: usize) {
        if end - first <= PANEL_COLUMNS {
            return self.factor_panel(first, end);
        }
        let (half, n) = (first + (end - first) / 2, self.packed.nrows());
        self.factor_columns(first, half);
        let (left, mut right) = self.packed.split_columns(first..half, half..end);
        let (mut top, mut rest) = right.split_rows(first..half, half..);
        let left = left.as_view();
        triangular_solve::unit_lower(left.view(first..half, ..), top.as_view_mut());
        subtract(&mut rest, left.view(half..n, ..), top.as_view());
        self.factor_columns(half, end);
    }

    /// Factorises a panel column by column; the rows of the other columns are swapped afterwards,
    /// in one pass.
    fn factor_panel(&mut self, first: usize, end: usize) {
        let n = self.packed.nrows();
        let (before, rest) = self.packed.as_mut_slice().split_at_mut(first * n);
        let (block, after) = rest.split_at_mut((end - first) * n);
        for k in first..end {
            let (done, rest) = block.split_at_mut((k + 1 - first) * n);
            let best =
                if self.pivoting { k + pivot_index(&done[(k - first) * n + k..]) } else { k };
            self.pivots.push(best);
            if best != k {
                done.chunks_exact_mut(n).for_each(|column| column.swap(k, best));
            }
            let (pivot, below) = done[(k - first) * n + k..].split_at_mut(1);
            if pivot[0] != T::zero() || !self.pivoting {
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
                .for_each(|column| apply_pivots(column, first, &self.pivots[first..]));
        }
    }
}
