//! Cholesky, QR, SVD and Hermitian eigenvalue decompositions of stacks of matrices, with LAPACK's
//! conventions.
//!
//! Signs of R, descending singular values and ascending eigenvalues are LAPACK's. Invariant: a
//! failing item is named by its index, and its output is not read.

use super::super::launch::launch;
use super::super::view::{View, ViewMut};
use super::batch::{Stack, for_each_grouped, for_each_item};
use super::batched_small;
use super::gemv::add_times;
use super::matrix::Matrix;
use super::scalar::{Double, Field, Real, max_abs, subtract, with_double, with_field};
use super::svd::{self, Svd, phase_correction};
use super::{hermitian_eigen, householder_qr};

/// The power of two that scales all elements to magnitudes of about 1 at most; `None` for NaN and
/// infinity.
pub(super) fn power_of_two_scale<T: Field>(a: &Matrix<T>) -> Option<T::Real> {
    let most = max_abs(T::as_reals(a.as_slice()));
    if most.is_nan() {
        return None;
    }
    if most == T::Real::ZERO {
        return Some(T::Real::ONE);
    }
    let limit = T::Real::MAX_SCALE_EXPONENT;
    Some(T::Real::from_f64(most.to_f64().log2().ceil().clamp(-limit, limit).exp2()))
}

/// `a / unit`. Complex division would square the divisor, which may overflow; multiplying with the
/// inverse of a power of two is exact.
pub(super) fn divide_by<T: Field>(mut a: Matrix<T>, unit: T::Real) -> Matrix<T> {
    if unit != T::Real::ONE {
        a *= T::from_real(T::Real::ONE / unit);
    }
    a
}

/// The lower Cholesky factor of `a`, of which the lower triangle is read. The error is the index of
/// a matrix that is not positive definite.
pub fn cholesky(a: View, out: ViewMut) -> Result<(), usize> {
    launch!("cholesky", [a] => [out];; with_field!(a, T => cholesky_of::<T>(a, out)))
}

fn cholesky_of<T: Field>(a: View, out: ViewMut) -> Result<(), usize> {
    let (a, out) = (Stack::matrices(a), Stack::matrices_mut(out));
    let small = |at| batched_small::cholesky(&a, &out, at);
    for_each_grouped::<T>(&[&a], a.rows.pow(3), small, |index| {
        let mut matrix = a.load::<T>(index);
        if !cholesky_recursive(&mut matrix, 0, a.rows) {
            return false;
        }
        out.store(index, |i, k| if i < k { T::zero() } else { matrix[(i, k)] });
        true
    })
}

/// Most columns of a panel, factorised column by column.
const PANEL_COLUMNS: usize = 16;
/// Most rows for which a column is updated by one earlier column at a time.
const SHORT_COLUMN_ROWS: usize = 40;

/// Cholesky factorisation of the columns `first..end` of the lower triangle, already updated by the
/// columns before. As in LAPACK, only the real part of the diagonal is read. False if the matrix is
/// not positive definite.
fn cholesky_panel<T: Field>(a: &mut Matrix<T>, first: usize, end: usize) -> bool {
    let n = a.nrows();
    for k in first..end {
        if n - k > SHORT_COLUMN_ROWS {
            let row: Vec<T> = (first..k).map(|c| -a[(k, c)].conjugate()).collect();
            let (known, mut column) = a.split_columns(first..k, k..k + 1);
            add_times(&mut column.column_mut(0)[k..], known.as_view().view(k.., ..), &row);
        }
        let (known, rest) = a.as_mut_slice().split_at_mut(k * n);
        let below = &mut rest[k..n];
        if below.len() <= SHORT_COLUMN_ROWS {
            for known in known[first * n..].chunks_exact(n) {
                let scale_by = known[k].conjugate();
                below.iter_mut().zip(&known[k..]).for_each(|(x, y)| *x -= *y * scale_by);
            }
        }
        let pivot = below[0].real();
        if pivot.is_nan() || pivot <= T::Real::ZERO {
            return false;
        }
        let root = pivot.sqrt();
        below[0] = T::from_real(root);
        below[1..].iter_mut().for_each(|x| *x = x.unscale(root));
    }
    true
}

/// Recursive Cholesky factorisation by halves of the columns.
fn cholesky_recursive<T: Field>(a: &mut Matrix<T>, first: usize, end: usize) -> bool {
    if end - first <= PANEL_COLUMNS {
        return cholesky_panel(a, first, end);
    }
    let half = first + (end - first) / 2;
    if !cholesky_recursive(a, first, half) {
        return false;
    }
    let (left, mut right) = a.split_columns(first..half, half..end);
    let left = left.as_view();
    let across = left.view(half..end, ..).adjoint();
    // In two parts, which skips the quarter above the diagonal.
    let middle = half + (end - half) / 2;
    for part in [half..middle, middle..end] {
        let columns = part.start - half..part.end - half;
        subtract(
            &mut right.view_mut(part.start.., columns.clone()),
            left.view(part.start.., ..),
            across.view(.., columns),
        );
    }
    cholesky_recursive(a, half, end)
}

/// Reduced QR factorisation: `q` with orthonormal columns and upper triangular `r`, with `q r = a`.
pub fn qr(a: View, q: ViewMut, r: ViewMut) {
    launch!("qr", [a] => [q, r];; with_field!(a, T => qr_of::<T>(a, q, r)));
}

/// The upper factors of the QR factorisation only.
pub fn qr_upper(a: View, r: ViewMut) {
    launch!("qr_upper", [a] => [r];; with_field!(a, T => qr_upper_of::<T>(a, r)));
}

fn qr_of<T: Field>(a: View, q: ViewMut, r: ViewMut) {
    let (a, q) = (Stack::matrices(a), Stack::matrices_mut(q));
    let r = Stack::matrices_mut(r);
    let work = a.rows * a.columns * a.rows.min(a.columns);
    let small = |at| batched_small::qr(&a, &q, &r, at);
    let _ = for_each_grouped::<T>(&[&a], work, small, |index| {
        q.store_matrix(index, &qr_item::<T>(&a, index, &r, true));
        true
    });
}

fn qr_upper_of<T: Field>(a: View, r: ViewMut) {
    let (a, r) = (Stack::matrices(a), Stack::matrices_mut(r));
    let work = a.rows * a.columns * a.rows.min(a.columns);
    let _ = for_each_item(a.count(), work, |index| {
        qr_item::<T>(&a, index, &r, false);
        true
    });
}

/// Stores the upper factor of item `index` and returns `q`, which is empty unless `wanted`.
fn qr_item<T: Field>(a: &Stack<'_>, index: usize, r: &Stack<'_>, wanted: bool) -> Matrix<T> {
    let matrix = a.load::<T>(index);
    let unit = power_of_two_scale(&matrix).unwrap_or(T::Real::ONE);
    let (q, upper) = householder_qr::qr(divide_by(matrix, unit), wanted);
    r.store(index, |i, k| if i > k { T::zero() } else { upper[(i, k)] * T::from_real(unit) });
    q
}

/// Completes orthonormal columns to an orthogonal matrix.
pub fn complete_basis(u: View, out: ViewMut) {
    launch!("complete", [u] => [out];; with_field!(u, T => complete_basis_of::<T>(u, out)));
}

fn complete_basis_of<T: Field>(u: View, out: ViewMut) {
    let (u, out) = (Stack::matrices(u), Stack::matrices_mut(out));
    let _ = for_each_item(out.count(), u.rows.pow(3), |index| {
        let given = u.load::<T>(index);
        let known = given.ncols();
        let column = |i, k| if k < known { given[(i, k)] } else { T::zero() };
        let square = Matrix::from_fn(u.rows, u.rows, column);
        let whole = if known == 0 {
            Matrix::identity(u.rows, u.rows)
        } else {
            householder_qr::qr(square, true).0
        };
        out.store(index, |i, k| if k < known { given[(i, k)] } else { whole[(i, k)] });
        true
    });
}

/// SVD with descending values; `None` for NaN and infinity, or without convergence.
pub(super) fn decompose<T: Double>(a: Matrix<T>) -> Option<Svd<T>> {
    let unit = power_of_two_scale(&a)?;
    let mut found = svd::decompose(&divide_by(a, unit))?;
    found.s.iter_mut().for_each(|s| *s *= unit);
    Some(found)
}

/// Reduced SVD, `a = u diag(s) vt`. The error is the index of a matrix with NaN or infinity, or
/// without convergence.
pub fn svd(a: View, u: ViewMut, s: ViewMut, vt: ViewMut) -> Result<(), usize> {
    launch!("svd", [a] => [u, s, vt];; with_double!(a.dtype, T => svd_of::<T>(a, u, s, vt)))
}

fn svd_of<T: Double>(a: View, u: ViewMut, s: ViewMut, vt: ViewMut) -> Result<(), usize> {
    let (a, u) = (Stack::matrices(a), Stack::matrices_mut(u));
    let (s, vt) = (Stack::columns_mut(s), Stack::matrices_mut(vt));
    if s.rows == 0 {
        return Ok(());
    }
    let work = 8 * a.rows * a.columns * a.rows.min(a.columns);
    let small = |at| batched_small::svd(&a, &u, &s, &vt, at);
    for_each_grouped::<T>(&[&a], work, small, |index| match decompose::<T>(a.load(index)) {
        Some(found) => {
            u.store_matrix(index, &found.u);
            s.store(index, |i, _| found.s[i]);
            vt.store_matrix(index, &found.vt);
            true
        }
        None => false,
    })
}

/// Descending singular values only; the error is as in `svd`.
pub fn singular_values(a: View, s: ViewMut) -> Result<(), usize> {
    launch!("svdvals", [a] => [s];; with_double!(a.dtype, T => singular_values_of::<T>(a, s)))
}

fn singular_values_of<T: Double>(a: View, s: ViewMut) -> Result<(), usize> {
    let (a, s) = (Stack::matrices(a), Stack::columns_mut(s));
    if s.rows == 0 {
        return Ok(());
    }
    let small = |at| batched_small::singular_values(&a, &s, at);
    for_each_grouped::<T>(&[&a], 4 * a.rows * a.columns * s.rows, small, |index| {
        let matrix = a.load::<T>(index);
        let Some(unit) = power_of_two_scale(&matrix) else { return false };
        let Some(found) = svd::values(divide_by(matrix, unit)) else { return false };
        s.store(index, |i, _| found[i] * unit);
        true
    })
}

/// Ascending eigenvalues and orthonormal eigenvectors (columns) of Hermitian matrices, of which one
/// triangle is read. The error is as in `svd`.
pub fn eigh(a: View, lower: bool, w: ViewMut, v: ViewMut) -> Result<(), usize> {
    launch!("eigh", [a] => [w, v];; with_double!(a.dtype, T => eigh_of::<T>(a, lower, w, v)))
}

fn eigh_of<T: Double>(a: View, lower: bool, w: ViewMut, v: ViewMut) -> Result<(), usize> {
    let a = Stack::matrices(a);
    let (w, v) = (Stack::columns_mut(w), Stack::matrices_mut(v));
    if a.rows == 0 {
        return Ok(());
    }
    let small = |at| batched_small::eigh(&a, lower, &w, &v, at);
    for_each_grouped::<T>(&[&a], 8 * a.rows.pow(3), small, |index| {
        let mut matrix = a.load::<T>(index);
        if !lower {
            matrix = matrix.adjoint();
        }
        hermitian_eigen::clear_upper(&mut matrix);
        let Some(unit) = power_of_two_scale(&matrix) else {
            return false;
        };
        let Some((values, mut vectors)) = hermitian_eigen::eigen(divide_by(matrix, unit)) else {
            return false;
        };
        w.store(index, |i, _| values[i] * unit);
        for column in vectors.column_iter_mut() {
            let phase = phase_correction(column);
            if phase != T::one() {
                column.iter_mut().for_each(|x| *x *= phase);
            }
        }
        v.store_matrix(index, &vectors);
        true
    })
}
