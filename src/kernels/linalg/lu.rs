//! The LU factorisation with row exchanges, by halves of the columns.
//!
//! Owns: the recursion that turns most of the work into matrix products, and the order of the rows.
//! Never eliminates a column itself, and never refuses a matrix: a pivot of zero stays in the diagonal for the caller to see.
//! Invariant: the pivot of a column is its first largest element, as in LAPACK.

use nalgebra::{DMatrix, DVector, LU};

use super::factor::{over, scale};
use super::field::{Field, subtract};
use super::triangle;

/// Columns of a panel that the library eliminates one by one.
const PANEL: usize = 8;

/// `l` (unit lower) and `u` in one matrix, and which row of `a` each row of `l u` is.
pub(super) struct Lu<T: Field> {
    pub(super) packed: DMatrix<T>,
    pub(super) order: DVector<usize>,
    /// The sign of the exchanges.
    pub(super) sign: T,
    /// What `u` is to be multiplied with.
    pub(super) unit: f64,
}

/// A complex matrix over its scale, since the library divides by its pivots in a way that squares them; and that scale. Real
/// matrices stay as they are.
pub(super) fn divisible<T: Field>(a: DMatrix<T>) -> (DMatrix<T>, f64) {
    if size_of::<T>() == size_of::<f64>() {
        return (a, 1.0);
    }
    let unit = scale(&a).unwrap_or(1.0);
    (over(a, unit), unit)
}

impl<T: Field> Lu<T> {
    /// Factorises a square matrix.
    pub(super) fn new(a: DMatrix<T>) -> Lu<T> {
        let n = a.nrows();
        let (packed, unit) = divisible(a);
        let order = DVector::from_fn(n, |i, _| i);
        let mut lu = Lu { packed, order, sign: T::one(), unit };
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

    /// A narrow panel is nalgebra's: its pivots exchange the rows of all columns.
    fn panel(&mut self, first: usize, end: usize) {
        let n = self.packed.nrows();
        let factor = LU::new(self.packed.view_range(first..n, first..end).into_owned());
        self.packed.view_range_mut(first..n, first..end).copy_from(factor.lu_internal());
        for columns in [0..first, end..n] {
            factor.p().permute_rows(&mut self.packed.view_range_mut(first..n, columns));
        }
        factor.p().permute_rows(&mut self.order.rows_range_mut(first..n));
        self.sign *= factor.p().determinant::<T>();
    }
}
