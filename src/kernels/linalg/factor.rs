//! Cholesky, QR, singular values and symmetric eigenvalues.
//!
//! Owns: the conventions that users of LAPACK know: signs of R, falling singular values, rising eigenvalues.
//! Never iterates for ever: a limit on the sweeps makes a matrix fail instead.
//! Invariant: an item that fails is named by its index, and its output is not read.

use nalgebra::DMatrix;

use super::super::launch::launch;
use super::super::view::{View, ViewMut};
use super::batch::{Stack, each, each_of};
use super::batched_small;
use super::gemv::add_times;
use super::golub_kahan;
use super::golub_kahan::{Singular, turn};
use super::scalar::{Field, largest, subtract, with_field};
use super::{hermitian_eigen, householder_qr};

/// The sweeps after which an iteration is given up.
pub(super) fn limit(n: usize) -> usize {
    1000 + 100 * n
}

/// A power of two by which all elements become about 1 at most in magnitude, and what undoes it; `None` for NaN and infinity.
pub(super) fn scale<T: Field>(a: &DMatrix<T>) -> Option<f64> {
    match largest(T::parts(a.as_slice())) {
        m if m.is_nan() => None,
        0.0 => Some(1.0),
        m => Some(m.log2().ceil().clamp(-1000.0, 1000.0).exp2()),
    }
}

/// `a` over its scale. A quotient of complex numbers squares its divisor, which a far power of two does not survive; the
/// product with its inverse is exact.
pub(super) fn over<T: Field>(mut a: DMatrix<T>, unit: f64) -> DMatrix<T> {
    if unit != 1.0 {
        a *= T::from_real(unit.recip());
    }
    a
}

/// The lower factor `l` of `a = l lᴴ`, reading the lower triangle; the error is the index of a matrix that is not
/// positive definite.
pub fn cholesky(a: View, out: ViewMut) -> Result<(), usize> {
    launch!("cholesky", [a] => [out];; with_field!(a.dtype, T => cholesky_of::<T>(a, out)))
}

fn cholesky_of<T: Field>(a: View, out: ViewMut) -> Result<(), usize> {
    let (a, out) = (Stack::matrices(a), Stack::matrices_mut(out));
    let four = |at| batched_small::cholesky(&a, &out, at);
    each_of::<T>(&[&a], a.rows.pow(3), four, |index| {
        let mut matrix = a.load::<T>(index);
        if !lower_factor(&mut matrix, 0, a.rows) {
            return false;
        }
        out.store(index, |i, k| if i < k { T::zero() } else { matrix[(i, k)] });
        true
    })
}

/// Columns that are factorised one by one.
const LEAF: usize = 16;
/// Rows up to which a column is changed by one of them at a time.
const FEW: usize = 40;

/// The columns `first..end` of the lower triangle, without what the ones between them take off: those of the Cholesky factor. Of
/// a diagonal the real part is read, as LAPACK does; false when the matrix is not positive definite.
fn leaf<T: Field>(a: &mut DMatrix<T>, first: usize, end: usize) -> bool {
    let n = a.nrows();
    for k in first..end {
        if n - k > FEW {
            let row: Vec<T> = (first..k).map(|c| -a[(k, c)].conjugate()).collect();
            let (mut column, known) = a.columns_range_pair_mut(k, first..k);
            add_times(&mut column.as_mut_slice()[k..], known.rows_range(k..).as_view(), &row);
        }
        let (known, rest) = a.as_mut_slice().split_at_mut(k * n);
        let below = &mut rest[k..n];
        if below.len() <= FEW {
            for known in known[first * n..].chunks_exact(n) {
                let factor = known[k].conjugate();
                below.iter_mut().zip(&known[k..]).for_each(|(x, y)| *x -= *y * factor);
            }
        }
        let pivot = below[0].real();
        if pivot.is_nan() || pivot <= 0.0 {
            return false;
        }
        let root = pivot.sqrt();
        below[0] = T::from_real(root);
        below[1..].iter_mut().for_each(|x| *x = x.unscale(root));
    }
    true
}

/// The same by halves.
fn lower_factor<T: Field>(a: &mut DMatrix<T>, first: usize, end: usize) -> bool {
    if end - first <= LEAF {
        return leaf(a, first, end);
    }
    let half = first + (end - first) / 2;
    if !lower_factor(a, first, half) {
        return false;
    }
    let (left, mut right) = a.columns_range_pair_mut(first..half, half..end);
    let across = left.rows_range(half..end).adjoint();
    // In two parts, since a quarter of the square on the diagonal is never read.
    let middle = half + (end - half) / 2;
    for part in [half..middle, middle..end] {
        let columns = part.start - half..part.end - half;
        subtract(
            &mut right.view_range_mut(part.start.., columns.clone()),
            left.rows_range(part.start..),
            across.columns_range(columns),
        );
    }
    lower_factor(a, half, end)
}

/// `q` with orthonormal columns and upper triangular `r`, both reduced, with `q r = a`.
pub fn qr(a: View, q: ViewMut, r: ViewMut) {
    launch!("qr", [a] => [q, r];; with_field!(a.dtype, T => qr_of::<T>(a, q, r)));
}

/// The triangles alone.
pub fn qr_upper(a: View, r: ViewMut) {
    launch!("qr_upper", [a] => [r];; with_field!(a.dtype, T => qr_upper_of::<T>(a, r)));
}

fn qr_of<T: Field>(a: View, q: ViewMut, r: ViewMut) {
    let (a, q) = (Stack::matrices(a), Stack::matrices_mut(q));
    let r = Stack::matrices_mut(r);
    let work = a.rows * a.columns * a.rows.min(a.columns);
    let four = |at| batched_small::qr(&a, &q, &r, at);
    let _ = each_of::<T>(&[&a], work, four, |index| {
        q.put(index, &factor::<T>(&a, index, &r, true));
        true
    });
}

fn qr_upper_of<T: Field>(a: View, r: ViewMut) {
    let (a, r) = (Stack::matrices(a), Stack::matrices_mut(r));
    let work = a.rows * a.columns * a.rows.min(a.columns);
    let _ = each(a.count(), work, |index| {
        factor::<T>(&a, index, &r, false);
        true
    });
}

/// Writes the triangle of item `index` and returns the other factor, if it is wanted.
fn factor<T: Field>(a: &Stack<'_>, index: usize, r: &Stack<'_>, wanted: bool) -> DMatrix<T> {
    let matrix = a.load::<T>(index);
    let unit = scale(&matrix).unwrap_or(1.0);
    let (q, upper) = householder_qr::factors(over(matrix, unit), wanted);
    r.store(index, |i, k| if i > k { T::zero() } else { upper[(i, k)] * T::from_real(unit) });
    q
}

/// Orthonormal columns completed to an orthogonal matrix, whose first columns they are.
pub fn complete(u: View, out: ViewMut) {
    launch!("complete", [u] => [out];; with_field!(u.dtype, T => complete_of::<T>(u, out)));
}

fn complete_of<T: Field>(u: View, out: ViewMut) {
    let (u, out) = (Stack::matrices(u), Stack::matrices_mut(out));
    let _ = each(out.count(), u.rows.pow(3), |index| {
        let given = u.load::<T>(index);
        let known = given.ncols();
        let square = given.clone().resize(u.rows, u.rows, T::zero());
        let whole = if known == 0 {
            DMatrix::identity(u.rows, u.rows)
        } else {
            householder_qr::factors(square, true).0
        };
        out.store(index, |i, k| if k < known { given[(i, k)] } else { whole[(i, k)] });
        true
    });
}

/// Singular vectors and falling singular values; `None` for NaN and infinity, or without convergence.
pub(super) fn decompose<T: Field>(a: DMatrix<T>) -> Option<Singular<T>> {
    let unit = scale(&a)?;
    let mut found = golub_kahan::decompose(&over(a, unit))?;
    found.s.iter_mut().for_each(|s| *s *= unit);
    Some(found)
}

/// `a = u diag(s) vt`, reduced; the error is the index of a matrix with NaN or infinity, or whose iteration did
/// not converge.
pub fn svd(a: View, u: ViewMut, s: ViewMut, vt: ViewMut) -> Result<(), usize> {
    launch!("svd", [a] => [u, s, vt];; with_field!(a.dtype, T => svd_of::<T>(a, u, s, vt)))
}

fn svd_of<T: Field>(a: View, u: ViewMut, s: ViewMut, vt: ViewMut) -> Result<(), usize> {
    let (a, u) = (Stack::matrices(a), Stack::matrices_mut(u));
    let (s, vt) = (Stack::columns_mut(s), Stack::matrices_mut(vt));
    if s.rows == 0 {
        return Ok(());
    }
    let work = 8 * a.rows * a.columns * a.rows.min(a.columns);
    let four = |at| batched_small::svd(&a, &u, &s, &vt, at);
    each_of::<T>(&[&a], work, four, |index| match decompose::<T>(a.load(index)) {
        Some(found) => {
            u.put(index, &found.u);
            s.store(index, |i, _| found.s[i]);
            vt.put(index, &found.vt);
            true
        }
        None => false,
    })
}

/// Falling singular values alone; the error is as in `svd`.
pub fn singular_values(a: View, s: ViewMut) -> Result<(), usize> {
    launch!("svdvals", [a] => [s];; with_field!(a.dtype, T => singular_values_of::<T>(a, s)))
}

fn singular_values_of<T: Field>(a: View, s: ViewMut) -> Result<(), usize> {
    let (a, s) = (Stack::matrices(a), Stack::columns_mut(s));
    if s.rows == 0 {
        return Ok(());
    }
    let four = |at| batched_small::singular_values(&a, &s, at);
    each_of::<T>(&[&a], 4 * a.rows * a.columns * s.rows, four, |index| {
        let matrix = a.load::<T>(index);
        let Some(unit) = scale(&matrix) else { return false };
        let Some(found) = golub_kahan::values(over(matrix, unit)) else { return false };
        s.store(index, |i, _| found[i] * unit);
        true
    })
}

/// Rising eigenvalues and orthonormal eigenvectors (columns) of Hermitian matrices, of which one triangle is read;
/// the error is as in `svd`.
pub fn eigh(a: View, lower: bool, w: ViewMut, v: ViewMut) -> Result<(), usize> {
    launch!("eigh", [a] => [w, v];; with_field!(a.dtype, T => eigh_of::<T>(a, lower, w, v)))
}

fn eigh_of<T: Field>(a: View, lower: bool, w: ViewMut, v: ViewMut) -> Result<(), usize> {
    let a = Stack::matrices(a);
    let (w, v) = (Stack::columns_mut(w), Stack::matrices_mut(v));
    if a.rows == 0 {
        return Ok(());
    }
    let four = |at| batched_small::eigh(&a, lower, &w, &v, at);
    each_of::<T>(&[&a], 8 * a.rows.pow(3), four, |index| {
        let mut matrix = a.load::<T>(index);
        if !lower {
            matrix.adjoint_mut();
        }
        hermitian_eigen::without_upper(&mut matrix);
        let Some(unit) = scale(&matrix) else {
            return false;
        };
        let Some((values, mut vectors)) = hermitian_eigen::eigen(over(matrix, unit)) else {
            return false;
        };
        w.store(index, |i, _| values[i] * unit);
        for mut column in vectors.column_iter_mut() {
            let turn = turn(column.as_slice());
            if turn != T::one() {
                column *= turn;
            }
        }
        v.put(index, &vectors);
        true
    })
}
