//! Singular value decomposition of one matrix, verified.
//!
//! Bidiagonalisation, then the QR iteration for small matrices, divide and conquer for large ones;
//! if that does not multiply back to the matrix, the eigenvectors of the Hermitian matrix of twice
//! the size.
//! Invariant: vectors are orthonormal and values descend, to rounding; signs depend continuously on
//! the matrix.

use super::bidiagonal::{self, Bidiagonal};
use super::divide_conquer::merge::{self, BidiagonalSvd};
use super::gemv::adjoint_times;
use super::matrix::{Matrix, dot_product};
use super::scalar::{Double, max_abs, product, subtract};
use super::{bidiagonal_qr, dqds, hermitian_eigen, householder_qr};

/// Smallest side for divide and conquer, whose result is checked on a few vectors only.
const MIN_DIVIDE_SIDE: usize = 64;
/// Number of vectors on which a large decomposition is checked.
const PROBE_COUNT: usize = 4;

/// Left vectors (columns), descending values, right vectors (rows).
pub(super) struct Svd<T: Double> {
    pub(super) u: Matrix<T>,
    pub(super) s: Vec<f64>,
    pub(super) vt: Matrix<T>,
}

impl<T: Double> Svd<T> {
    fn transposed(self) -> Svd<T> {
        Svd { u: self.vt.adjoint(), s: self.s, vt: self.u.adjoint() }
    }

    /// Whether it multiplies back to `a` with orthonormal vectors. Large matrices are checked on a
    /// few arbitrary vectors only: these are not all nearly orthogonal to the rows of an error.
    fn is_accurate(&self, a: &Matrix<T>) -> bool {
        if self.s.len() >= MIN_DIVIDE_SIDE {
            self.is_accurate_on_probes(a)
        } else {
            self.multiplies_back(a, rounding_tolerance(a))
        }
    }

    fn is_accurate_on_probes(&self, a: &Matrix<T>) -> bool {
        let bound = f64::from(PROBE_COUNT as u32).sqrt() * rounding_tolerance(a);
        let of_adjoint = |m: &Matrix<T>, x: &Matrix<T>| {
            let parts: Vec<_> = x.column_iter().map(|x| adjoint_times(m.as_view(), x)).collect();
            Matrix::from_fn(m.ncols(), x.ncols(), |i, k| parts[k][i])
        };
        let (x, y) =
            (probe_vectors(a.ncols(), PROBE_COUNT), probe_vectors(self.s.len(), PROBE_COUNT));
        let (x, y) = (x.map(T::from_real), y.map(T::from_real));
        let mut scaled = product(&self.vt, &x);
        for column in scaled.column_iter_mut() {
            column.iter_mut().zip(&self.s).for_each(|(x, s)| *x *= T::from_real(*s));
        }
        (product(a, &x) - &product(&self.u, &scaled)).norm() <= bound * a.norm()
            && (of_adjoint(&self.u, &product(&self.u, &y)) - &y).norm() <= bound
            && (product(&self.vt, &of_adjoint(&self.vt, &y)) - &y).norm() <= bound
    }

    /// Whether it multiplies back to `a`, with an error of at most `tolerance` times the norm of
    /// `a`.
    fn multiplies_back(&self, a: &Matrix<T>, tolerance: f64) -> bool {
        let mut scaled = self.u.clone();
        for (column, s) in scaled.column_iter_mut().zip(&self.s) {
            column.iter_mut().for_each(|x| *x *= T::from_real(*s));
        }
        let close = |mut x: Matrix<T>, b: &Matrix<T>, c: &Matrix<T>, most: f64| {
            subtract(&mut x.as_view_mut(), b.as_view(), c.as_view());
            x.norm() <= most
        };
        let one = || Matrix::identity(self.s.len(), self.s.len());
        close(a.clone(), &scaled, &self.vt, tolerance * a.norm())
            && close(one(), &self.u.adjoint(), &self.u, rounding_tolerance(a))
            && close(one(), &self.vt, &self.vt.adjoint(), rounding_tolerance(a))
    }
}

/// Relative rounding error allowed in a product.
fn rounding_tolerance<T: Double>(a: &Matrix<T>) -> f64 {
    16.0 * f64::EPSILON * (a.nrows() + a.ncols()) as f64
}

/// A fixed pseudorandom matrix with elements between -1 and 1.
fn probe_vectors(rows: usize, columns: usize) -> Matrix<f64> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    Matrix::from_fn(rows, columns, |_, _| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    })
}

/// The SVD of a finite matrix with elements of about 1; `None` if no iteration converges.
pub(super) fn decompose<T: Double>(a: &Matrix<T>) -> Option<Svd<T>> {
    let mut found = decompose_any_sign(a)?;
    for k in 0..found.u.ncols() {
        let column = found.u.column_mut(k);
        let phase = phase_correction(column);
        if phase != T::one() {
            column.iter_mut().for_each(|x| *x *= phase);
            found.vt.column_iter_mut().for_each(|x| x[k] *= phase.conjugate());
        }
    }
    Some(found)
}

/// The SVD before signs (or phases) are fixed.
fn decompose_any_sign<T: Double>(a: &Matrix<T>) -> Option<Svd<T>> {
    via_square(a, &decompose_square)
}

/// The SVD through the R factor of a tall matrix, or through the adjoint of a wide one.
fn via_square<T: Double>(
    a: &Matrix<T>,
    decompose_square: &dyn Fn(&Matrix<T>) -> Option<Svd<T>>,
) -> Option<Svd<T>> {
    let (m, n) = a.shape();
    if m < n {
        return via_square(&a.adjoint(), decompose_square).map(Svd::transposed);
    }
    if m == n {
        return decompose_square(a);
    }
    let (q, r) = householder_qr::qr(a.clone(), true);
    let found = decompose_square(&r.upper_triangle())?;
    Some(Svd { u: product(&q, &found.u), ..found })
}

/// The verified SVD of a square matrix.
fn decompose_square<T: Double>(a: &Matrix<T>) -> Option<Svd<T>> {
    let verified = |found: &Svd<T>| found.is_accurate(a);
    let first = Some(by_bidiagonal_form(a)).filter(verified);
    first.or_else(|| by_eigenvectors(a).filter(verified))
}

/// Descending singular values only, of a finite matrix with elements of about 1; `None` without
/// convergence.
pub(super) fn values<T: Double>(a: Matrix<T>) -> Option<Vec<f64>> {
    let (m, n) = a.shape();
    let mut tall = if m < n { a.adjoint() } else { a };
    if m != n {
        householder_qr::eliminate(&mut tall);
        tall = tall.with_rows(m.min(n)).upper_triangle();
    }
    let Bidiagonal { diagonal, above, .. } = bidiagonal::reduce(tall);
    let mut found = dqds::values(&diagonal, &above)
        .unwrap_or_else(|| merge::bidiagonal_svd(&diagonal, &above).values);
    found.sort_by(f64::total_cmp);
    found.reverse();
    found.iter().all(|s| s.is_finite()).then_some(found)
}

/// The SVD of a square matrix by its bidiagonal form.
fn by_bidiagonal_form<T: Double>(a: &Matrix<T>) -> Svd<T> {
    let n = a.nrows();
    let form = bidiagonal::reduce(a.clone());
    let iterated =
        (n < MIN_DIVIDE_SIDE).then(|| bidiagonal_qr::svd(&form.diagonal, &form.above)).flatten();
    let BidiagonalSvd { values, left, right } =
        iterated.unwrap_or_else(|| merge::bidiagonal_svd(&form.diagonal, &form.above));
    let falling = |x: Matrix<f64>| Matrix::from_fn(n, n, |i, k| T::from_real(x[(i, n - 1 - k)]));
    let (mut u, mut v) = (falling(left), falling(right));
    form.q().apply(&mut u);
    form.p().apply(&mut v);
    Svd { u, s: values.into_iter().rev().collect(), vt: v.adjoint() }
}

/// The factor that fixes the sign (or phase) of a vector: it makes the first large component
/// positive. Which component that is changes seldom, because near-equal magnitudes do not compete.
pub(super) fn phase_correction<T: Double>(vector: &[T]) -> T {
    let parts = T::as_reals(vector);
    let most = if parts.len() == vector.len() {
        max_abs(parts)
    } else {
        vector.iter().fold(0.0, |m: f64, x| m.max(x.modulus()))
    };
    let first = vector.iter().find(|x| x.modulus() > 0.37 * most);
    first.map_or(T::one(), |x| x.signum().conjugate())
}

/// The SVD of a square matrix from the eigenvectors of `[[0, a], [aᴴ, 0]]`, which are the pairs of
/// singular vectors for both signs of a value.
fn by_eigenvectors<T: Double>(a: &Matrix<T>) -> Option<Svd<T>> {
    let n = a.nrows();
    let mut paired = Matrix::zeros(2 * n, 2 * n);
    paired.view_mut(n.., ..n).copy_from(a.adjoint().as_view());
    let (values, vectors) = hermitian_eigen::eigen(paired)?;
    let half = |start: usize| {
        orthonormal(Matrix::from_fn(n, n, |i, k| vectors[(start + i, 2 * n - 1 - k)]))
    };
    let s = values[n..].iter().rev().map(|s| s.max(0.0)).collect();
    Some(Svd { u: half(0), s, vt: half(n).adjoint() })
}

/// Gram-Schmidt by QR, with the signs of the given columns.
fn orthonormal<T: Double>(x: Matrix<T>) -> Matrix<T> {
    let (mut q, _) = householder_qr::qr(x.clone(), true);
    for (column, given) in q.column_iter_mut().zip(x.column_iter()) {
        if dot_product(column, given).real() < 0.0 {
            column.iter_mut().for_each(|x| *x = -*x);
        }
    }
    q
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::linalg::test_rng::uniform_numbers;

    /// Low ranks, at which iterations easily return wrong values.
    #[test]
    fn low_ranks_multiply_back() {
        let mut draw = uniform_numbers();
        let mut next = || draw() * 2.0 - 1.0;
        let small = [(4, 3, 2), (3, 4, 2), (8, 3, 2), (4, 4, 1), (5, 5, 3), (2, 2, 1), (6, 6, 0)];
        let large = [(80, 70, 30), (65, 90, 1), (64, 64, 0), (90, 90, 45)];
        for ((m, n, rank), times) in
            small.map(|d| (d, 400)).into_iter().chain(large.map(|d| (d, 2)))
        {
            for _ in 0..times {
                let left = Matrix::from_fn(m, rank, |_, _| next());
                let right = Matrix::from_fn(rank, n, |_, _| next());
                let a = product(&left, &right);
                let found = decompose(&a).unwrap();
                assert!(found.is_accurate(&a));
                assert!(via_square(&a, &by_eigenvectors).unwrap().is_accurate(&a));
                assert!(found.s.windows(2).all(|pair| pair[0] >= pair[1]));
            }
        }
    }
}
