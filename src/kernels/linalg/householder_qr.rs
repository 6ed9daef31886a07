//! Householder QR factorisation with LAPACK's signs, and block reflectors.
//!
//! Reflectors are gathered in blocks (the compact WY form), whose work is matrix products.
//! Invariant: the diagonal of R is real, and a column with a zero tail and a real head is not
//! reflected.
//!
//! Sources: LAPACK's `geqr2`, `larfg` and `ung2r` (Anderson et al., LAPACK Users' Guide, 1999);
//! Schreiber and Van Loan, SIAM J. Sci. Stat. Comput. 10 (1989), for the blocks.

use super::gemv::{adjoint_times, squares, subtract_outer};
use super::matrix::{Matrix, MatrixMut, dot_product};
use super::scalar::{Field, Real, subtract};

/// Columns of a panel, whose reflectors form one block.
pub(super) const PANEL_COLUMNS: usize = 32;
/// Number of reflectors from which blocks are twice as wide.
const MIN_REFLECTORS_FOR_WIDE_BLOCKS: usize = 256;
/// Most columns of a matrix for the unblocked algorithm.
const MAX_COLUMNS_UNBLOCKED: usize = 16;

/// `1 / x` by real divisions: complex division would square `x`.
pub(super) fn reciprocal<T: Field>(x: T) -> T {
    let size = x.modulus();
    x.conjugate().unscale(size).unscale(size)
}

/// LAPACK's `larfg`: turns a column into the vector `v` (with a leading 1) of a reflector `1 - tau
/// v vᴴ`. Returns tau, and the first element of the adjoint reflector times the column, whose other
/// elements are zero. A tau of zero is the identity.
pub(super) fn make_reflector<T: Field>(reflector: &mut [T]) -> (T, T) {
    let head = reflector[0];
    let tail = squares(T::as_reals(&reflector[1..])).sqrt();
    let (zero, safe) = (T::Real::ZERO, T::Real::MIN_SAFE_MAGNITUDE);
    if head.modulus().hypot(tail) < safe {
        let most = reflector.iter().map(|x| x.modulus()).fold(zero, T::Real::max);
        if most > zero && most < safe {
            reflector.iter_mut().for_each(|x| *x = x.scale(T::Real::LIFT));
            let (tau, beta) = make_reflector(reflector);
            return (tau, beta.unscale(T::Real::LIFT));
        }
    }
    reflector[0] = T::one();
    if tail == zero && head.imaginary() == zero {
        return (T::zero(), head);
    }
    let beta = T::from_real(-head.modulus().hypot(tail).copysign(head.real()));
    let unit = reciprocal(head - beta);
    reflector[1..].iter_mut().for_each(|x| *x *= unit);
    ((beta - head).unscale(beta.real()), beta)
}

/// A block reflector `1 - v t vᴴ`: the product of reflectors whose vectors are the columns of `v`.
pub(super) struct BlockReflector<T: Field> {
    v: Matrix<T>,
    adjoint_v: Matrix<T>,
    t: Matrix<T>,
}

impl<T: Field> BlockReflector<T> {
    /// From the vectors and taus, in their order.
    pub(super) fn new(v: Matrix<T>, taus: &[T]) -> BlockReflector<T> {
        let (adjoint_v, k) = (v.adjoint(), taus.len());
        let mut overlaps = Matrix::zeros(k, k);
        subtract(&mut overlaps.as_view_mut(), adjoint_v.as_view(), v.as_view());
        let mut t = Matrix::zeros(k, k);
        for (i, &tau) in taus.iter().enumerate() {
            let (known, column) = t.as_mut_slice().split_at_mut(i * k);
            for (j, known) in known.chunks_exact(k).enumerate() {
                let part = tau * overlaps[(j, i)];
                column.iter_mut().zip(&known[..=j]).for_each(|(x, t)| *x += *t * part);
            }
            column[i] = tau;
        }
        BlockReflector { v, adjoint_v, t }
    }

    /// Multiplies `c` from the left by the block reflector, or by its adjoint.
    pub(super) fn apply(&self, c: &mut MatrixMut<'_, T>, adjoint: bool) {
        let (k, n) = (self.t.nrows(), c.ncols());
        let mut products = Matrix::zeros(k, n);
        subtract(&mut products.as_view_mut(), self.adjoint_v.as_view(), c.as_view());
        let mut steps = Matrix::zeros(k, n);
        let t = if adjoint { self.t.adjoint() } else { self.t.clone() };
        subtract(&mut steps.as_view_mut(), t.as_view(), products.as_view());
        subtract(c, self.v.as_view(), steps.as_view());
    }
}

/// Block reflectors, each with the first row that it changes.
pub(super) struct Reflections<T: Field>(pub(super) Vec<(usize, BlockReflector<T>)>);

impl<T: Field> Reflections<T> {
    /// From vectors stored in the columns of a matrix, each beginning `below` rows below the
    /// diagonal.
    pub(super) fn of(reflectors: &Matrix<T>, below: usize, taus: &[T]) -> Reflections<T> {
        let n = reflectors.nrows();
        let width = if taus.len() > MIN_REFLECTORS_FOR_WIDE_BLOCKS {
            2 * PANEL_COLUMNS
        } else {
            PANEL_COLUMNS
        };
        let block = |(i, taus): (usize, &[T])| {
            let first = i * width;
            let mut v = Matrix::zeros(n - first - below, taus.len());
            for c in 0..taus.len() {
                let reflector = &reflectors.as_slice()[(first + c) * n..][first + c + below..n];
                v.column_mut(c)[c..].copy_from_slice(reflector);
            }
            (first + below, BlockReflector::new(v, taus))
        };
        Reflections(taus.chunks(width).enumerate().map(block).collect())
    }

    /// Multiplies `c` from the left by the product of all, the first one leftmost.
    pub(super) fn apply(&self, c: &mut Matrix<T>) {
        for (first, block) in self.0.iter().rev() {
            block.apply(&mut c.view_mut(*first.., ..), false);
        }
    }

    /// The first `k` columns of the product, as a matrix of `rows` rows.
    pub(super) fn columns(&self, rows: usize, k: usize) -> Matrix<T> {
        let mut q = Matrix::identity(rows, k);
        for (first, block) in self.0.iter().rev() {
            block.apply(&mut q.view_mut(*first.., *first..), false);
        }
        q
    }
}

/// Columns of a subpanel, updated by one reflector at a time.
const SUBPANEL_COLUMNS: usize = 8;

/// QR factorisation of a panel.
fn panel<T: Field>(mut a: MatrixMut<'_, T>) -> BlockReflector<T> {
    let (m, n) = a.shape();
    let (mut v, mut taus) = (Matrix::zeros(m, n), Vec::with_capacity(n));
    for first in (0..n).step_by(SUBPANEL_COLUMNS) {
        let end = (first + SUBPANEL_COLUMNS).min(n);
        for i in first..end {
            let column = a.column_mut(i);
            let reflector = &mut v.as_mut_slice()[i * m + i..(i + 1) * m];
            reflector.copy_from_slice(&column[i..]);
            let (tau, beta) = make_reflector(reflector);
            column[i] = beta;
            let mut others = a.view_mut(i.., i + 1..end);
            if tau != T::zero() && others.ncols() > 0 {
                let mut steps = adjoint_times(others.as_view(), reflector);
                steps.iter_mut().for_each(|step| *step *= tau);
                subtract_outer(&mut others, reflector, &steps);
            }
            taus.push(tau);
        }
        if end < n {
            let mut part = Matrix::zeros(m - first, end - first);
            for (to, from) in part.as_mut_slice().chunks_exact_mut(m - first).zip(first..) {
                to.copy_from_slice(&v.as_slice()[from * m + first..(from + 1) * m]);
            }
            let mut rest = a.view_mut(first.., end..);
            BlockReflector::new(part, &taus[first..]).apply(&mut rest, true);
        }
    }
    BlockReflector::new(v, &taus)
}

/// Blocked QR factorisation: returns the reflectors and leaves `r` in the upper triangle of `a`.
/// The lower triangle is unspecified.
pub(super) fn eliminate<T: Field>(a: &mut Matrix<T>) -> Reflections<T> {
    let size = a.nrows().min(a.ncols());
    let mut blocks = Vec::new();
    for first in (0..size).step_by(PANEL_COLUMNS) {
        let end = (first + PANEL_COLUMNS).min(size);
        let (mut left, mut right) = a.split_columns(first..end, end..);
        let block = panel(left.view_mut(first.., ..));
        if right.ncols() > 0 {
            block.apply(&mut right.view_mut(first.., ..), true);
        }
        blocks.push((first, block));
    }
    Reflections(blocks)
}

/// Applies a reflector to rows `at..` of the columns `from..` of `a`.
fn reflect<T: Field>(a: &mut Matrix<T>, v: &[T], at: usize, from: usize, tau: T) {
    if tau == T::zero() {
        return;
    }
    for k in from..a.ncols() {
        let part = &mut a.column_mut(k)[at..];
        let step = -(tau * dot_product(v, part));
        part.iter_mut().zip(v).for_each(|(x, v)| *x = step * *v + *x);
    }
}

/// Unblocked QR factorisation, for few rows or columns. Returns the vectors and taus.
fn qr_unblocked<T: Field>(a: &mut Matrix<T>) -> Vec<(Vec<T>, T)> {
    let size = a.nrows().min(a.ncols());
    let mut reflectors = Vec::with_capacity(size);
    for i in 0..size {
        let mut reflector = a.column(i)[i..].to_vec();
        let (tau, beta) = make_reflector(&mut reflector);
        a[(i, i)] = beta;
        reflect(a, &reflector, i, i + 1, tau.conjugate());
        reflectors.push((reflector, tau));
    }
    reflectors
}

/// Reduced QR factorisation: `q` (m × k) and `r` (k × n) with `q r = a`, k = min(m, n). `q` has no
/// rows unless `wanted`. `r` is unspecified below the diagonal.
pub(super) fn qr<T: Field>(mut a: Matrix<T>, wanted: bool) -> (Matrix<T>, Matrix<T>) {
    let m = a.nrows();
    let size = m.min(a.ncols());
    let mut q = Matrix::identity(if wanted { m } else { 0 }, size);
    if size > MAX_COLUMNS_UNBLOCKED {
        let reflections = eliminate(&mut a);
        if wanted {
            q = reflections.columns(m, size);
        }
    } else {
        let reflectors = qr_unblocked(&mut a);
        for (i, (reflector, tau)) in reflectors.iter().enumerate().rev().filter(|_| wanted) {
            reflect(&mut q, reflector, i, i, *tau);
        }
    }
    (q, a.with_rows(size))
}
