//! Cholesky, QR, singular values and symmetric eigenvalues.
//!
//! Owns: the conventions that users of LAPACK know: signs of R, falling singular values, rising eigenvalues.
//! Never iterates for ever: a limit on the sweeps makes a matrix fail instead.
//! Invariant: an item that fails is named by its index, and its output is not read.

use nalgebra::{Cholesky, DMatrix, DMatrixViewMut, QR, SymmetricEigen};

use super::super::launch::launch;
use super::super::order::sorted;
use super::super::view::{View, ViewMut};
use super::product::subtract;
use super::singular::{self, Singular, turned};
use super::stack::{Stack, each};
use super::triangle;

/// The sweeps after which an iteration is given up.
pub(super) fn limit(n: usize) -> usize {
    1000 + 100 * n
}

/// A power of two by which all elements become at most 1 in magnitude, and what undoes it; `None` for NaN and infinity.
fn scale(a: &DMatrix<f64>) -> Option<f64> {
    if !a.iter().all(|x| x.is_finite()) {
        return None;
    }
    match a.iter().fold(0.0f64, |m, x| m.max(x.abs())) {
        0.0 => Some(1.0),
        m => Some(m.log2().ceil().clamp(-1000.0, 1000.0).exp2()),
    }
}

/// The lower factor `l` of `a = l lᵀ`, reading the lower triangle; the error is the index of a matrix that is not
/// positive definite.
pub fn cholesky(a: View, out: ViewMut) -> Result<(), usize> {
    launch!("cholesky", [a] => [out];; cholesky_of(a, out))
}

fn cholesky_of(a: View, out: ViewMut) -> Result<(), usize> {
    let (a, out) = (Stack::matrices(a), Stack::matrices_mut(out));
    each(out.count(), a.rows.pow(3), |index| {
        let mut matrix = a.load(index);
        if !lower_factor(matrix.as_view_mut()) {
            return false;
        }
        out.store(index, |i, k| if i < k { 0.0 } else { matrix[(i, k)] });
        true
    })
}

/// Rows up to which the library's own factorisation runs.
const LEAF: usize = 24;

/// The lower triangle becomes its Cholesky factor, by halves; false when the matrix is not positive definite.
fn lower_factor(mut a: DMatrixViewMut<'_, f64>) -> bool {
    let n = a.nrows();
    if n <= LEAF {
        let Some(factor) = Cholesky::new(a.clone_owned()) else { return false };
        a.copy_from(factor.l_dirty());
        return true;
    }
    let half = n / 2;
    let (mut left, mut right) = a.columns_range_pair_mut(..half, half..);
    let (mut first, mut below) = left.rows_range_pair_mut(..half, half..);
    if !lower_factor(first.as_view_mut()) {
        return false;
    }
    let mut across = below.transpose();
    if !triangle::lower(first.as_view(), across.as_view_mut()) {
        return false;
    }
    below.copy_from(&across.transpose());
    let mut last = right.rows_range_mut(half..);
    subtract(&mut last, below.as_view(), across.as_view());
    lower_factor(last)
}

/// What to multiply column `i` of Q and row `i` of R with, so that their signs are LAPACK's.
fn signs(packed: &DMatrix<f64>, r: &DMatrix<f64>) -> Vec<f64> {
    let mut past = 1.0;
    let count = packed.nrows().min(packed.ncols());
    let flip = |i: usize| {
        if r[(i, i)] == 0.0 {
            return 1.0;
        }
        // The reflection's axis has the sign of the pivot; without a tail LAPACK does not reflect.
        let pivot = packed[(i, i)].signum() * past;
        let tail = (i + 1..packed.nrows()).any(|k| packed[(k, i)] != 0.0);
        past *= -packed[(i, i)].signum();
        if tail { -pivot } else { pivot }
    };
    (0..count).map(flip).collect()
}

/// `q` with orthonormal columns and upper triangular `r`, both reduced, with `q r = a`.
pub fn qr(a: View, q: ViewMut, r: ViewMut) {
    launch!("qr", [a] => [q, r];; qr_of(a, q, r));
}

fn qr_of(a: View, q: ViewMut, r: ViewMut) {
    let (a, q) = (Stack::matrices(a), Stack::matrices_mut(q));
    let r = Stack::matrices_mut(r);
    let work = a.rows * a.columns * a.rows.min(a.columns);
    let _ = each(a.count(), work, |index| {
        let matrix = a.load(index);
        let unit = scale(&matrix).unwrap_or(1.0);
        let factors = QR::new(matrix / unit);
        let upper = factors.r();
        let sign = signs(factors.qr_internal(), &upper);
        let orthonormal = factors.q();
        q.store(index, |i, k| orthonormal[(i, k)] * sign[k]);
        r.store(index, |i, k| if i > k { 0.0 } else { upper[(i, k)] * sign[i] * unit });
        true
    });
}

/// Orthonormal columns completed to an orthogonal matrix, whose first columns they are.
pub fn complete(u: View, out: ViewMut) {
    launch!("complete", [u] => [out];; complete_of(u, out));
}

fn complete_of(u: View, out: ViewMut) {
    let (u, out) = (Stack::matrices(u), Stack::matrices_mut(out));
    let _ = each(out.count(), u.rows.pow(3), |index| {
        let given = u.load(index);
        let known = given.ncols();
        let square = given.clone().resize(u.rows, u.rows, 0.0);
        let whole =
            if known == 0 { DMatrix::identity(u.rows, u.rows) } else { QR::new(square).q() };
        out.store(index, |i, k| if k < known { given[(i, k)] } else { whole[(i, k)] });
        true
    });
}

/// Singular vectors and falling singular values; `None` for NaN and infinity, or without convergence.
fn decompose(a: DMatrix<f64>) -> Option<Singular> {
    let unit = scale(&a)?;
    let mut found = singular::decompose(&(a / unit))?;
    found.s.iter_mut().for_each(|s| *s *= unit);
    Some(found)
}

/// `a = u diag(s) vt`, reduced; the error is the index of a matrix with NaN or infinity, or whose iteration did
/// not converge.
pub fn svd(a: View, u: ViewMut, s: ViewMut, vt: ViewMut) -> Result<(), usize> {
    launch!("svd", [a] => [u, s, vt];; svd_of(a, u, s, vt))
}

fn svd_of(a: View, u: ViewMut, s: ViewMut, vt: ViewMut) -> Result<(), usize> {
    let (a, u) = (Stack::matrices(a), Stack::matrices_mut(u));
    let (s, vt) = (Stack::columns_mut(s), Stack::matrices_mut(vt));
    if s.rows == 0 {
        return Ok(());
    }
    let work = 8 * a.rows * a.columns * a.rows.min(a.columns);
    each(a.count(), work, |index| match decompose(a.load(index)) {
        Some(found) => {
            u.store(index, |i, k| found.u[(i, k)]);
            s.store(index, |i, _| found.s[i]);
            vt.store(index, |i, k| found.vt[(i, k)]);
            true
        }
        None => false,
    })
}

/// Rising eigenvalues and orthonormal eigenvectors (columns) of symmetric matrices, of which one triangle is read;
/// the error is as in `svd`.
pub fn eigh(a: View, lower: bool, w: ViewMut, v: ViewMut) -> Result<(), usize> {
    launch!("eigh", [a] => [w, v];; eigh_of(a, lower, w, v))
}

fn eigh_of(a: View, lower: bool, w: ViewMut, v: ViewMut) -> Result<(), usize> {
    let a = Stack::matrices(a);
    let (w, v) = (Stack::columns_mut(w), Stack::matrices_mut(v));
    if a.rows == 0 {
        return Ok(());
    }
    each(a.count(), 8 * a.rows.pow(3), |index| {
        let mut matrix = a.load(index);
        if lower {
            matrix.fill_upper_triangle_with_lower_triangle();
        } else {
            matrix.fill_lower_triangle_with_upper_triangle();
        }
        let Some(unit) = scale(&matrix) else {
            return false;
        };
        let Some(eigen) = SymmetricEigen::try_new(matrix / unit, f64::EPSILON, limit(a.rows))
        else {
            return false;
        };
        let order = sorted(a.rows, &|i, k| eigen.eigenvalues[i].total_cmp(&eigen.eigenvalues[k]));
        w.store(index, |i, _| eigen.eigenvalues[order[i]] * unit);
        let vectors = &eigen.eigenvectors;
        let signs: Vec<f64> = (0..a.rows)
            .map(|k| if turned(vectors.column(order[k]).as_slice()) { -1.0 } else { 1.0 })
            .collect();
        v.store(index, |i, k| signs[k] * vectors[(i, order[k])]);
        true
    })
}

/// The matrix of cofactors, `det(a) a⁻ᵀ` continued to singular matrices: the derivative of the determinant.
pub fn cofactor(a: View, out: ViewMut) -> Result<(), usize> {
    launch!("cofactor", [a] => [out];; cofactor_of(a, out))
}

fn cofactor_of(a: View, out: ViewMut) -> Result<(), usize> {
    let (a, out) = (Stack::matrices(a), Stack::matrices_mut(out));
    let n = a.rows;
    if n == 0 {
        return Ok(());
    }
    each(out.count(), 8 * n.pow(3), |index| {
        let Some(Singular { u, s, vt }) = decompose(a.load(index)) else {
            return false;
        };
        let sign = u.determinant().signum() * vt.determinant().signum();
        let others = |i: usize| (0..n).filter(|&k| k != i).map(|k| s[k]).product::<f64>();
        let weights: Vec<f64> = (0..n).map(|i| sign * others(i)).collect();
        out.store(index, |i, k| (0..n).map(|p| u[(i, p)] * weights[p] * vt[(p, k)]).sum());
        true
    })
}
