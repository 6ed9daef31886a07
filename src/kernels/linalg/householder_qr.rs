//! The QR factorisation by Householder's reflections, with LAPACK's signs.
//!
//! Owns: reflections, one by one and gathered in blocks, whose work is matrix products. Never pivots.
//! Invariant: the diagonal of R is real, and a column that has no tail and a real head is not reflected.
//! Sources: LAPACK's `geqr2`, `larfg` and `ung2r` (Anderson et al., LAPACK Users' Guide, 1999); Schreiber and Van Loan,
//! SIAM J. Sci. Stat. Comput. 10 (1989), for the blocks.

use nalgebra::{DMatrix, DMatrixViewMut, DVector};

use super::gemv::{adjoint_times, squares, subtract_outer};
use super::scalar::{Field, subtract, zeros};

/// Columns reflected one by one, before their block is applied to the others.
pub(super) const WIDTH: usize = 32;
/// Reflections that are applied by wider blocks.
const MANY: usize = 256;
/// Columns up to which a whole matrix is done one by one.
const FEW: usize = 16;

/// `1 / x`, by quotients of real numbers: one by a complex number squares it.
pub(super) fn inverse<T: Field>(x: T) -> T {
    let size = x.modulus();
    x.conjugate().unscale(size).unscale(size)
}

/// Squares of smaller numbers may vanish beside each other.
const SMALL: f64 = 1e-130;

/// Turns a column into the axis `v` of a reflection `1 - factor v vᴴ`, with 1 in front, and returns the factor and what the
/// adjoint of the reflection puts in front of the column, all else being zero. A factor of zero reflects nothing.
pub(super) fn reflection<T: Field>(axis: &mut [T]) -> (T, T) {
    let head = axis[0];
    let tail = squares(T::parts(&axis[1..])).sqrt();
    if head.modulus().hypot(tail) < SMALL {
        let most = axis.iter().map(|x| x.modulus()).fold(0.0, f64::max);
        if most > 0.0 && most < SMALL {
            let up = 2f64.powi(500);
            axis.iter_mut().for_each(|x| *x = x.scale(up));
            let (factor, turned) = reflection(axis);
            return (factor, turned.unscale(up));
        }
    }
    axis[0] = T::one();
    if tail == 0.0 && head.imaginary() == 0.0 {
        return (T::zero(), head);
    }
    let turned = T::from_real(-head.modulus().hypot(tail).copysign(head.real()));
    let unit = inverse(head - turned);
    axis[1..].iter_mut().for_each(|x| *x *= unit);
    ((turned - head).unscale(turned.real()), turned)
}

/// The product `1 - v t vᴴ` of reflections whose axes are the columns of `v`.
pub(super) struct Block<T: Field> {
    v: DMatrix<T>,
    across: DMatrix<T>,
    t: DMatrix<T>,
}

impl<T: Field> Block<T> {
    /// The reflections in their order.
    pub(super) fn new(v: DMatrix<T>, factors: &[T]) -> Block<T> {
        let (across, k) = (v.adjoint(), factors.len());
        let mut overlaps = zeros(k, k);
        subtract(&mut overlaps.as_view_mut(), across.as_view(), v.as_view());
        let mut t = zeros(k, k);
        for (i, &factor) in factors.iter().enumerate() {
            let (known, column) = t.as_mut_slice().split_at_mut(i * k);
            for (j, known) in known.chunks_exact(k).enumerate() {
                let part = factor * overlaps[(j, i)];
                column.iter_mut().zip(&known[..=j]).for_each(|(x, t)| *x += *t * part);
            }
            column[i] = factor;
        }
        Block { v, across, t }
    }

    /// `c` becomes the product, or its adjoint, times itself.
    pub(super) fn apply(&self, c: &mut DMatrixViewMut<'_, T>, adjoint: bool) {
        let (k, n) = (self.t.nrows(), c.ncols());
        let mut parts = zeros(k, n);
        subtract(&mut parts.as_view_mut(), self.across.as_view(), c.as_view());
        let mut steps = zeros(k, n);
        let t = if adjoint { self.t.adjoint() } else { self.t.clone() };
        subtract(&mut steps.as_view_mut(), t.as_view(), parts.as_view());
        subtract(c, self.v.as_view(), steps.as_view());
    }
}

/// Blocks of reflections, each with the first row that it changes.
pub(super) struct Reflections<T: Field>(pub(super) Vec<(usize, Block<T>)>);

impl<T: Field> Reflections<T> {
    /// Reflections whose axes are columns of a matrix, each from `below` rows below its diagonal on.
    pub(super) fn of(axes: &DMatrix<T>, below: usize, factors: &[T]) -> Reflections<T> {
        let n = axes.nrows();
        let width = if factors.len() > MANY { 2 * WIDTH } else { WIDTH };
        let block = |(i, factors): (usize, &[T])| {
            let first = i * width;
            let mut v = zeros(n - first - below, factors.len());
            for c in 0..factors.len() {
                let axis = &axes.as_slice()[(first + c) * n..][first + c + below..n];
                v.column_mut(c).as_mut_slice()[c..].copy_from_slice(axis);
            }
            (first + below, Block::new(v, factors))
        };
        Reflections(factors.chunks(width).enumerate().map(block).collect())
    }

    /// `c` becomes the product of all, the first leftmost, times itself.
    pub(super) fn apply(&self, c: &mut DMatrix<T>) {
        for (first, block) in self.0.iter().rev() {
            block.apply(&mut c.rows_range_mut(*first..), false);
        }
    }

    /// The first `k` columns of the product, of `rows` rows.
    pub(super) fn columns(&self, rows: usize, k: usize) -> DMatrix<T> {
        let mut q = DMatrix::identity(rows, k);
        for (first, block) in self.0.iter().rev() {
            block.apply(&mut q.view_range_mut(*first.., *first..), false);
        }
        q
    }
}

/// Columns of a panel that are changed by one reflection at a time.
const NARROW: usize = 8;

/// Eliminates the columns of a panel below their diagonals.
fn panel<T: Field>(mut a: DMatrixViewMut<'_, T>) -> Block<T> {
    let (m, n) = a.shape();
    let (mut v, mut factors) = (zeros(m, n), Vec::with_capacity(n));
    for first in (0..n).step_by(NARROW) {
        let end = (first + NARROW).min(n);
        for i in first..end {
            let (mut column, mut others) = a.columns_range_pair_mut(i, i + 1..end);
            let axis = &mut v.as_mut_slice()[i * m + i..(i + 1) * m];
            axis.copy_from_slice(&column.as_slice()[i..]);
            let (factor, turned) = reflection(axis);
            column[i] = turned;
            let mut others = others.rows_range_mut(i..);
            if factor != T::zero() && others.ncols() > 0 {
                let mut steps = adjoint_times(others.as_view(), axis);
                steps *= factor;
                subtract_outer(&mut others, axis, steps.as_slice());
            }
            factors.push(factor);
        }
        if end < n {
            let mut part = zeros(m - first, end - first);
            for (to, from) in part.as_mut_slice().chunks_exact_mut(m - first).zip(first..) {
                to.copy_from_slice(&v.as_slice()[from * m + first..(from + 1) * m]);
            }
            let mut rest = a.view_range_mut(first.., end..);
            Block::new(part, &factors[first..]).apply(&mut rest, true);
        }
    }
    Block::new(v, &factors)
}

/// The reflections, and `r` in the upper triangle of `a`; what is below it means nothing.
pub(super) fn eliminate<T: Field>(a: &mut DMatrix<T>) -> Reflections<T> {
    let size = a.nrows().min(a.ncols());
    let mut blocks = Vec::new();
    for first in (0..size).step_by(WIDTH) {
        let end = (first + WIDTH).min(size);
        let (mut left, mut right) = a.columns_range_pair_mut(first..end, end..);
        let block = panel(left.rows_range_mut(first..));
        if right.ncols() > 0 {
            block.apply(&mut right.rows_range_mut(first..), true);
        }
        blocks.push((first, block));
    }
    Reflections(blocks)
}

/// Columns `from..` of `a` from row `at` on become `(1 - factor v vᴴ)` times themselves.
fn reflect<T: Field>(a: &mut DMatrix<T>, v: &DVector<T>, at: usize, from: usize, factor: T) {
    if factor == T::zero() {
        return;
    }
    for k in from..a.ncols() {
        let mut column = a.column_mut(k);
        let mut part = column.rows_range_mut(at..);
        let step = factor * v.dotc(&part);
        part.axpy(-step, v, T::one());
    }
}

/// Reflects the columns of a narrow matrix, or a low one, one by one; returns the axes and factors.
fn one_by_one<T: Field>(a: &mut DMatrix<T>) -> Vec<(DVector<T>, T)> {
    let size = a.nrows().min(a.ncols());
    let mut axes = Vec::with_capacity(size);
    for i in 0..size {
        let mut axis = a.column(i).rows_range(i..).into_owned();
        let (factor, turned) = reflection(axis.as_mut_slice());
        a[(i, i)] = turned;
        reflect(a, &axis, i, i + 1, factor.conjugate());
        axes.push((axis, factor));
    }
    axes
}

/// `q`, m by k, and `r`, k by n, with `q r = a`, k being the smaller of m and n; `q` has no rows where it is not wanted. Below the
/// diagonal `r` means nothing.
pub(super) fn factors<T: Field>(mut a: DMatrix<T>, wanted: bool) -> (DMatrix<T>, DMatrix<T>) {
    let m = a.nrows();
    let size = m.min(a.ncols());
    let mut q = DMatrix::identity(if wanted { m } else { 0 }, size);
    if size > FEW {
        let reflections = eliminate(&mut a);
        if wanted {
            q = reflections.columns(m, size);
        }
    } else {
        let axes = one_by_one(&mut a);
        for (i, (axis, factor)) in axes.iter().enumerate().rev().filter(|_| wanted) {
            reflect(&mut q, axis, i, i, *factor);
        }
    }
    (q, a.resize_vertically(size, T::zero()))
}
