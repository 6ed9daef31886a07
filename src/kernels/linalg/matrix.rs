//! Column-major matrices: `Matrix` owns its elements, `MatrixRef` and `MatrixMut` view a part of
//! one.
//!
//! Invariant: columns of a matrix are contiguous, those of a view are too, `stride` elements apart.

use std::marker::PhantomData;
use std::ops::{
    Add, AddAssign, Bound, Index, IndexMut, MulAssign, Range, RangeBounds, Sub, SubAssign,
};
use std::slice::{from_raw_parts, from_raw_parts_mut};

use super::scalar::{Field, Real};

/// A matrix.
#[derive(Clone)]
pub(super) struct Matrix<T> {
    elements: Vec<T>,
    rows: usize,
    columns: usize,
}

/// A part of a matrix, to read.
#[derive(Clone, Copy)]
pub(super) struct MatrixRef<'a, T> {
    ptr: *const T,
    stride: usize,
    rows: usize,
    columns: usize,
    matrix: PhantomData<&'a [T]>,
}

/// A part of a matrix, to write.
pub(super) struct MatrixMut<'a, T> {
    ptr: *mut T,
    stride: usize,
    rows: usize,
    columns: usize,
    matrix: PhantomData<&'a mut [T]>,
}

/// The range of indices below `len`.
fn indices(range: impl RangeBounds<usize>, len: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(&i) => i,
        Bound::Excluded(&i) => i + 1,
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&i) => i + 1,
        Bound::Excluded(&i) => i,
        Bound::Unbounded => len,
    };
    assert!(start <= end && end <= len, "rows or columns {start}..{end} of {len}");
    start..end
}

impl<T: Copy> Matrix<T> {
    /// From `value(row, column)`.
    pub(super) fn from_fn(
        rows: usize,
        columns: usize,
        mut value: impl FnMut(usize, usize) -> T,
    ) -> Matrix<T> {
        let mut elements = Vec::with_capacity(rows * columns);
        for k in 0..columns {
            elements.extend((0..rows).map(|i| value(i, k)));
        }
        Matrix { elements, rows, columns }
    }

    /// All elements equal.
    pub(super) fn filled(rows: usize, columns: usize, value: T) -> Matrix<T> {
        Matrix { elements: vec![value; rows * columns], rows, columns }
    }

    #[inline]
    pub(super) fn nrows(&self) -> usize {
        self.rows
    }

    #[inline]
    pub(super) fn ncols(&self) -> usize {
        self.columns
    }

    #[inline]
    pub(super) fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// The elements, column by column.
    #[inline]
    pub(super) fn as_slice(&self) -> &[T] {
        &self.elements
    }

    /// As `as_slice`, to write.
    #[inline]
    pub(super) fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.elements
    }

    #[inline]
    pub(super) fn column(&self, k: usize) -> &[T] {
        &self.elements[k * self.rows..(k + 1) * self.rows]
    }

    #[inline]
    pub(super) fn column_mut(&mut self, k: usize) -> &mut [T] {
        &mut self.elements[k * self.rows..(k + 1) * self.rows]
    }

    /// The columns, in order; none if they have no rows.
    pub(super) fn column_iter(&self) -> impl Iterator<Item = &[T]> {
        self.elements.chunks_exact(self.rows.max(1))
    }

    /// As `column_iter`, to write.
    pub(super) fn column_iter_mut(&mut self) -> impl Iterator<Item = &mut [T]> {
        self.elements.chunks_exact_mut(self.rows.max(1))
    }

    /// The diagonal.
    pub(super) fn diagonal(&self) -> impl Iterator<Item = T> {
        (0..self.rows.min(self.columns)).map(|i| self[(i, i)])
    }

    #[inline]
    pub(super) fn as_view(&self) -> MatrixRef<'_, T> {
        let Matrix { rows, columns, .. } = *self;
        let ptr = self.elements.as_ptr();
        MatrixRef { ptr, stride: rows, rows, columns, matrix: PhantomData }
    }

    #[inline]
    pub(super) fn as_view_mut(&mut self) -> MatrixMut<'_, T> {
        let Matrix { rows, columns, .. } = *self;
        MatrixMut::of_columns(&mut self.elements, (rows, columns), rows)
    }

    /// The part with these rows and columns.
    #[inline]
    pub(super) fn view(
        &self,
        rows: impl RangeBounds<usize>,
        columns: impl RangeBounds<usize>,
    ) -> MatrixRef<'_, T> {
        self.as_view().view(rows, columns)
    }

    /// As `view`, to write.
    #[inline]
    pub(super) fn view_mut(
        &mut self,
        rows: impl RangeBounds<usize>,
        columns: impl RangeBounds<usize>,
    ) -> MatrixMut<'_, T> {
        self.as_view_mut().into_view(rows, columns)
    }

    /// Two parts with different columns.
    pub(super) fn split_columns(
        &mut self,
        first: Range<usize>,
        second: impl RangeBounds<usize>,
    ) -> (MatrixMut<'_, T>, MatrixMut<'_, T>) {
        let second = indices(second, self.columns);
        assert!(first.end <= second.start, "columns {first:?} and {second:?} overlap");
        let rows = self.rows;
        let (left, right) = self.elements.split_at_mut(second.start * rows);
        (
            MatrixMut::of_columns(&mut left[first.start * rows..], (rows, first.len()), rows),
            MatrixMut::of_columns(right, (rows, second.len()), rows),
        )
    }

    /// `of` of every element.
    #[inline]
    pub(super) fn map<U>(&self, of: impl FnMut(T) -> U) -> Matrix<U> {
        let elements = self.elements.iter().copied().map(of).collect();
        Matrix { elements, rows: self.rows, columns: self.columns }
    }

    /// Updates every element with that of a matrix of the same shape.
    #[inline]
    fn zip_apply(&mut self, other: &Matrix<T>, update: impl Fn(&mut T, T)) {
        assert!(self.shape() == other.shape(), "the shapes do not agree");
        self.elements.iter_mut().zip(&other.elements).for_each(|(x, y)| update(x, *y));
    }

    pub(super) fn transpose(&self) -> Matrix<T> {
        self.as_view().transpose_map(|x| x)
    }

    /// The columns with these indices.
    pub(super) fn select_columns(&self, order: &[usize]) -> Matrix<T> {
        let elements = order.iter().flat_map(|&k| self.column(k)).copied().collect();
        Matrix { elements, rows: self.rows, columns: order.len() }
    }

    pub(super) fn swap_columns(&mut self, k: usize, j: usize) {
        if k != j {
            let (left, right) = self.elements.split_at_mut(k.max(j) * self.rows);
            left[k.min(j) * self.rows..][..self.rows].swap_with_slice(&mut right[..self.rows]);
        }
    }
}

impl<T> Default for Matrix<T> {
    fn default() -> Matrix<T> {
        Matrix { elements: Vec::new(), rows: 0, columns: 0 }
    }
}

impl<T: Field> Matrix<T> {
    #[inline]
    pub(super) fn zeros(rows: usize, columns: usize) -> Matrix<T> {
        Matrix::filled(rows, columns, T::zero())
    }

    /// Ones on the diagonal.
    pub(super) fn identity(rows: usize, columns: usize) -> Matrix<T> {
        let mut out = Matrix::zeros(rows, columns);
        out.fill_diagonal(T::one());
        out
    }

    /// The conjugate transpose.
    pub(super) fn adjoint(&self) -> Matrix<T> {
        self.as_view().adjoint()
    }

    pub(super) fn fill_diagonal(&mut self, value: T) {
        (0..self.rows.min(self.columns)).for_each(|i| self[(i, i)] = value);
    }

    /// A copy with zeros below the diagonal.
    pub(super) fn upper_triangle(&self) -> Matrix<T> {
        let mut out = self.clone();
        out.clear_lower(0);
        out
    }

    /// A copy with zeros above the diagonal.
    pub(super) fn lower_triangle(&self) -> Matrix<T> {
        let mut out = self.clone();
        out.clear_upper();
        out
    }

    /// Sets what is more than `below` rows below the diagonal to zero.
    pub(super) fn clear_lower(&mut self, below: usize) {
        for (k, column) in self.column_iter_mut().enumerate() {
            let first = (k + 1 + below).min(column.len());
            column[first..].fill(T::zero());
        }
    }

    /// Sets what is above the diagonal to zero.
    pub(super) fn clear_upper(&mut self) {
        for (k, column) in self.column_iter_mut().enumerate() {
            let end = k.min(column.len());
            column[..end].fill(T::zero());
        }
    }

    /// The first rows, or with rows of zeros more.
    pub(super) fn with_rows(self, rows: usize) -> Matrix<T> {
        if rows == self.rows {
            return self;
        }
        let kept = rows.min(self.rows);
        let mut out = Matrix::zeros(rows, self.columns);
        for (to, from) in out.column_iter_mut().zip(self.column_iter()) {
            to[..kept].copy_from_slice(&from[..kept]);
        }
        out
    }

    /// The Frobenius norm.
    pub(super) fn norm(&self) -> T::Real {
        let zero = T::Real::ZERO;
        self.column_iter().fold(zero, |sum, x| sum + dot_product(x, x).real()).sqrt()
    }

    /// Multiplies every element.
    #[inline]
    pub(super) fn scale(&mut self, factor: T::Real) {
        self.elements.iter_mut().for_each(|x| *x = x.scale(factor));
    }
}

impl<T> Index<(usize, usize)> for Matrix<T> {
    type Output = T;

    #[inline]
    fn index(&self, (i, k): (usize, usize)) -> &T {
        debug_assert!(i < self.rows);
        &self.elements[k * self.rows + i]
    }
}

impl<T> IndexMut<(usize, usize)> for Matrix<T> {
    #[inline]
    fn index_mut(&mut self, (i, k): (usize, usize)) -> &mut T {
        debug_assert!(i < self.rows);
        &mut self.elements[k * self.rows + i]
    }
}

impl<T: Field> AddAssign<&Matrix<T>> for Matrix<T> {
    fn add_assign(&mut self, other: &Matrix<T>) {
        self.zip_apply(other, |x, y| *x += y);
    }
}

impl<T: Field> SubAssign<&Matrix<T>> for Matrix<T> {
    fn sub_assign(&mut self, other: &Matrix<T>) {
        self.zip_apply(other, |x, y| *x -= y);
    }
}

impl<T: Field> Add<&Matrix<T>> for Matrix<T> {
    type Output = Matrix<T>;

    fn add(mut self, other: &Matrix<T>) -> Matrix<T> {
        self += other;
        self
    }
}

impl<T: Field> Sub<&Matrix<T>> for Matrix<T> {
    type Output = Matrix<T>;

    fn sub(mut self, other: &Matrix<T>) -> Matrix<T> {
        self -= other;
        self
    }
}

impl<T: Field> MulAssign<T> for Matrix<T> {
    fn mul_assign(&mut self, factor: T) {
        self.elements.iter_mut().for_each(|x| *x *= factor);
    }
}

impl<'a, T: Copy> MatrixRef<'a, T> {
    #[inline]
    pub(super) fn nrows(&self) -> usize {
        self.rows
    }

    #[inline]
    pub(super) fn ncols(&self) -> usize {
        self.columns
    }

    #[inline]
    pub(super) fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// Elements from one column to the next.
    #[inline]
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    #[inline]
    pub(super) fn as_ptr(&self) -> *const T {
        self.ptr
    }

    #[inline]
    pub(super) fn column(&self, k: usize) -> &'a [T] {
        assert!(k < self.columns);
        // SAFETY: the column lies inside the matrix, which is borrowed for `'a`.
        unsafe { from_raw_parts(self.ptr.add(k * self.stride), self.rows) }
    }

    /// The part with these rows and columns.
    #[inline]
    pub(super) fn view(
        &self,
        rows: impl RangeBounds<usize>,
        columns: impl RangeBounds<usize>,
    ) -> MatrixRef<'a, T> {
        let (rows, columns) = (indices(rows, self.rows), indices(columns, self.columns));
        let ptr = self.ptr.wrapping_add(columns.start * self.stride + rows.start);
        MatrixRef { ptr, rows: rows.len(), columns: columns.len(), ..*self }
    }

    /// A copy.
    pub(super) fn to_matrix(self) -> Matrix<T> {
        let elements = (0..self.columns).flat_map(|k| self.column(k)).copied().collect();
        Matrix { elements, rows: self.rows, columns: self.columns }
    }

    fn transpose_map(&self, of: impl Fn(T) -> T) -> Matrix<T> {
        let mut elements = Vec::with_capacity(self.rows * self.columns);
        for i in 0..self.rows {
            elements.extend((0..self.columns).map(|k| of(self.at(i, k))));
        }
        Matrix { elements, rows: self.columns, columns: self.rows }
    }

    /// The element in row `i` of column `k`.
    #[inline]
    pub(super) fn at(&self, i: usize, k: usize) -> T {
        assert!(i < self.rows && k < self.columns);
        // SAFETY: the element lies inside the matrix.
        unsafe { *self.ptr.add(k * self.stride + i) }
    }
}

impl<T: Field> MatrixRef<'_, T> {
    /// The conjugate transpose.
    pub(super) fn adjoint(&self) -> Matrix<T> {
        self.transpose_map(T::conjugate)
    }
}

impl<'a, T: Copy> MatrixMut<'a, T> {
    /// A view of columns `stride` elements apart.
    #[inline]
    pub(super) fn of_columns(
        x: &'a mut [T],
        (rows, columns): (usize, usize),
        stride: usize,
    ) -> MatrixMut<'a, T> {
        let needed = if columns == 0 { 0 } else { (columns - 1) * stride + rows };
        assert!(rows <= stride && needed <= x.len(), "columns outside the matrix");
        MatrixMut { ptr: x.as_mut_ptr(), stride, rows, columns, matrix: PhantomData }
    }

    #[inline]
    pub(super) fn ncols(&self) -> usize {
        self.columns
    }

    #[inline]
    pub(super) fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// Elements from one column to the next.
    #[inline]
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    #[inline]
    pub(super) fn as_mut_ptr(&mut self) -> *mut T {
        self.ptr
    }

    #[inline]
    pub(super) fn as_view(&self) -> MatrixRef<'_, T> {
        let MatrixMut { ptr, stride, rows, columns, .. } = *self;
        MatrixRef { ptr, stride, rows, columns, matrix: PhantomData }
    }

    #[inline]
    pub(super) fn as_view_mut(&mut self) -> MatrixMut<'_, T> {
        MatrixMut { matrix: PhantomData, ..*self }
    }

    #[inline]
    pub(super) fn column(&self, k: usize) -> &[T] {
        self.as_view().column(k)
    }

    #[inline]
    pub(super) fn column_mut(&mut self, k: usize) -> &mut [T] {
        assert!(k < self.columns);
        // SAFETY: the column lies inside the matrix, which is borrowed mutably.
        unsafe { from_raw_parts_mut(self.ptr.add(k * self.stride), self.rows) }
    }

    /// The part with these rows and columns.
    #[inline]
    pub(super) fn into_view(
        self,
        rows: impl RangeBounds<usize>,
        columns: impl RangeBounds<usize>,
    ) -> MatrixMut<'a, T> {
        let (rows, columns) = (indices(rows, self.rows), indices(columns, self.columns));
        let ptr = self.ptr.wrapping_add(columns.start * self.stride + rows.start);
        MatrixMut { ptr, rows: rows.len(), columns: columns.len(), ..self }
    }

    /// As `into_view`, borrowed from this view.
    #[inline]
    pub(super) fn view_mut(
        &mut self,
        rows: impl RangeBounds<usize>,
        columns: impl RangeBounds<usize>,
    ) -> MatrixMut<'_, T> {
        self.as_view_mut().into_view(rows, columns)
    }

    /// Two parts of all columns, with different rows.
    pub(super) fn split_rows(
        &mut self,
        first: Range<usize>,
        second: impl RangeBounds<usize>,
    ) -> (MatrixMut<'_, T>, MatrixMut<'_, T>) {
        let second = indices(second, self.rows);
        assert!(first.end <= second.start, "rows {first:?} and {second:?} overlap");
        let whole = MatrixMut { matrix: PhantomData, ..*self };
        (self.as_view_mut().into_view(first, ..), whole.into_view(second, ..))
    }

    /// Copies the elements of a matrix of the same shape.
    pub(super) fn copy_from(&mut self, from: MatrixRef<'_, T>) {
        assert!(self.shape() == from.shape(), "the shapes do not agree");
        (0..self.columns).for_each(|k| self.column_mut(k).copy_from_slice(from.column(k)));
    }
}

/// Accumulators of `dot_product`.
const DOT_LANES: usize = 8;

/// `xᴴ y`, with the remaining elements added one by one.
#[inline]
pub(super) fn dot_product<T: Field>(x: &[T], y: &[T]) -> T {
    let mut sums = [T::zero(); DOT_LANES];
    let (mut xs, mut ys) = (x.chunks_exact(DOT_LANES), y.chunks_exact(DOT_LANES));
    for (x, y) in xs.by_ref().zip(ys.by_ref()) {
        sums.iter_mut().zip(x.iter().zip(y)).for_each(|(sum, (x, y))| *sum += x.conjugate() * *y);
    }
    let pairs = (0..DOT_LANES / 2).fold(T::zero(), |sum, l| sum + (sums[l] + sums[l + 4]));
    let rest = xs.remainder().iter().zip(ys.remainder());
    rest.fold(pairs, |sum, (x, y)| sum + x.conjugate() * *y)
}
