//! Singular values and vectors, checked.
//!
//! Owns: the decomposition of one matrix, its verification, and the ways to it: the library's iteration for small
//! matrices, which can settle on wrong values for those of low rank, and `divide` for large ones.
//! Never returns a decomposition that does not multiply back to its matrix.
//! Invariant: vectors are orthonormal and values fall, to rounding; their signs follow the matrix without jumps.

use nalgebra::{DMatrix, SVD};

use super::divide_conquer::bidiagonal;
use super::divide_conquer::bidiagonal::Bidiagonal;
use super::divide_conquer::dqds;
use super::divide_conquer::merge;
use super::divide_conquer::merge::Pairs;
use super::factor::limit;
use super::gemv::adjoint_times;
use super::scalar::{Field, largest, product, subtract, zeros};
use super::{hermitian_eigen, householder_qr};

/// Rows and columns from which a matrix is divided.
const LARGE: usize = 64;
/// Vectors on which a large decomposition is checked.
const PROBES: usize = 4;

/// Left vectors (columns), falling values, right vectors (rows).
pub(super) struct Singular<T: Field> {
    pub(super) u: DMatrix<T>,
    pub(super) s: Vec<f64>,
    pub(super) vt: DMatrix<T>,
}

impl<T: Field> Singular<T> {
    fn transposed(self) -> Singular<T> {
        Singular { u: self.vt.adjoint(), s: self.s, vt: self.u.adjoint() }
    }

    /// Whether it multiplies back to `a` and its vectors are orthonormal; of large matrices, what they do to a few vectors of
    /// arbitrary numbers is looked at, which are not all nearly orthogonal to the rows of an error.
    fn holds(&self, a: &DMatrix<T>) -> bool {
        if self.s.len() >= LARGE {
            self.seems_to_hold(a)
        } else {
            self.multiplies_back(a, rounding(a))
        }
    }

    fn seems_to_hold(&self, a: &DMatrix<T>) -> bool {
        let bound = f64::from(PROBES as u32).sqrt() * rounding(a);
        let of_adjoint = |m: &DMatrix<T>, x: &DMatrix<T>| {
            let parts: Vec<_> =
                x.column_iter().map(|x| adjoint_times(m.as_view(), x.as_slice())).collect();
            DMatrix::from_fn(m.ncols(), x.ncols(), |i, k| parts[k][i])
        };
        let (x, y) = (arbitrary(a.ncols(), PROBES), arbitrary(self.s.len(), PROBES));
        let (x, y) = (x.map(T::from_real), y.map(T::from_real));
        let mut scaled = product(&self.vt, &x);
        for (mut row, s) in scaled.row_iter_mut().zip(&self.s) {
            row *= T::from_real(*s);
        }
        (product(a, &x) - product(&self.u, &scaled)).norm() <= bound * a.norm()
            && (of_adjoint(&self.u, &product(&self.u, &y)) - &y).norm() <= bound
            && (product(&self.vt, &of_adjoint(&self.vt, &y)) - &y).norm() <= bound
    }

    /// The product may be off by `most` of the norm of `a`.
    fn multiplies_back(&self, a: &DMatrix<T>, most: f64) -> bool {
        let mut scaled = self.u.clone();
        for (mut column, s) in scaled.column_iter_mut().zip(&self.s) {
            column *= T::from_real(*s);
        }
        let close = |mut x: DMatrix<T>, b: &DMatrix<T>, c: &DMatrix<T>, most: f64| {
            subtract(&mut x.as_view_mut(), b.as_view(), c.as_view());
            x.norm() <= most
        };
        let one = || DMatrix::identity(self.s.len(), self.s.len());
        close(a.clone(), &scaled, &self.vt, most * a.norm())
            && close(one(), &self.u.adjoint(), &self.u, rounding(a))
            && close(one(), &self.vt, &self.vt.adjoint(), rounding(a))
    }
}

/// What a product may be off by, of the norm of its matrix.
fn rounding<T: Field>(a: &DMatrix<T>) -> f64 {
    16.0 * f64::EPSILON * (a.nrows() + a.ncols()) as f64
}

/// Numbers between -1 and 1, the same each time.
fn arbitrary(rows: usize, columns: usize) -> DMatrix<f64> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    DMatrix::from_fn(rows, columns, |_, _| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    })
}

/// The decomposition of a finite matrix with elements of about 1; `None` when no iteration converges.
pub(super) fn decompose<T: Field>(a: &DMatrix<T>) -> Option<Singular<T>> {
    let mut found = checked(a)?;
    for (k, mut column) in found.u.column_iter_mut().enumerate() {
        let turn = turn(column.as_slice());
        if turn != T::one() {
            column *= turn;
            found.vt.row_mut(k).iter_mut().for_each(|x| *x *= turn.conjugate());
        }
    }
    Some(found)
}

/// The same with any signs.
fn checked<T: Field>(a: &DMatrix<T>) -> Option<Singular<T>> {
    let n = a.nrows().min(a.ncols());
    squared(a, if n < LARGE { 2 * n } else { n }, &of_tall)
}

/// The decomposition by way of that of the triangle of a matrix with more than `most` rows, or of the adjoint of a wide one.
fn squared<T: Field>(
    a: &DMatrix<T>,
    most: usize,
    way: &dyn Fn(&DMatrix<T>) -> Option<Singular<T>>,
) -> Option<Singular<T>> {
    let (m, n) = a.shape();
    if m < n {
        return squared(&a.adjoint(), most, way).map(Singular::transposed);
    }
    if m <= most {
        return way(a);
    }
    let (q, r) = householder_qr::factors(a.clone(), true);
    let found = way(&r.upper_triangle())?;
    Some(Singular { u: product(&q, &found.u), ..found })
}

/// The decomposition of a matrix that is not wide, square if it is large; it multiplies back.
fn of_tall<T: Field>(a: &DMatrix<T>) -> Option<Singular<T>> {
    let n = a.ncols();
    let holds = |found: &Singular<T>| found.holds(a);
    if n >= LARGE
        && let Some(found) = Some(by_halves(a)).filter(holds)
    {
        return Some(found);
    }
    let library = SVD::try_new(a.clone(), true, true, 5.0 * f64::EPSILON, limit(n));
    let first = library.and_then(|svd| {
        let s = svd.singular_values.iter().copied().collect();
        Some(Singular { u: svd.u?, s, vt: svd.v_t? })
    });
    // Where values repeat, the library may stop hundreds of roundings away from them.
    let near = 4.0 * f64::EPSILON * ((a.nrows() + a.ncols()) as f64).sqrt();
    if first.as_ref().is_some_and(|found| found.multiplies_back(a, near)) {
        return first;
    }
    squared(a, n, &by_eigenvectors).filter(holds).or_else(|| first.filter(holds))
}

/// Falling singular values alone, of a finite matrix with elements of about 1; `None` without convergence.
pub(super) fn values<T: Field>(a: DMatrix<T>) -> Option<Vec<f64>> {
    let (m, n) = a.shape();
    let mut tall = if m < n { a.adjoint() } else { a };
    if m != n {
        householder_qr::eliminate(&mut tall);
        tall = tall.resize_vertically(m.min(n), T::zero()).upper_triangle();
    }
    let Bidiagonal { diagonal, above, .. } = bidiagonal::reduce(tall);
    let mut found =
        dqds::values(&diagonal, &above).unwrap_or_else(|| merge::pairs(&diagonal, &above).values);
    found.sort_by(f64::total_cmp);
    found.reverse();
    found.iter().all(|s| s.is_finite()).then_some(found)
}

/// The decomposition of a square matrix by way of a bidiagonal one.
fn by_halves<T: Field>(a: &DMatrix<T>) -> Singular<T> {
    let n = a.nrows();
    let form = bidiagonal::reduce(a.clone());
    let Pairs { values, left, right } = merge::pairs(&form.diagonal, &form.above);
    let falling = |x: DMatrix<f64>| DMatrix::from_fn(n, n, |i, k| T::from_real(x[(i, n - 1 - k)]));
    let (mut u, mut v) = (falling(left), falling(right));
    form.q().apply(&mut u);
    form.p().apply(&mut v);
    Singular { u, s: values.into_iter().rev().collect(), vt: v.adjoint() }
}

/// What to multiply a vector with that is known up to its sign, or its phase: its first large component is to be
/// positive. Which component that is changes seldom, since neither equal nor simply related ones compete.
pub(super) fn turn<T: Field>(vector: &[T]) -> T {
    let parts = T::parts(vector);
    let most = if parts.len() == vector.len() {
        largest(parts)
    } else {
        vector.iter().fold(0.0, |m: f64, x| m.max(x.modulus()))
    };
    let first = vector.iter().find(|x| x.modulus() > 0.37 * most);
    first.map_or(T::one(), |x| x.signum().conjugate())
}

/// The decomposition of a square matrix from the eigenvectors of `[[0, a], [aᴴ, 0]]`: they are the pairs of singular vectors, for
/// both signs of the value.
fn by_eigenvectors<T: Field>(a: &DMatrix<T>) -> Option<Singular<T>> {
    let n = a.nrows();
    let mut paired = zeros(2 * n, 2 * n);
    paired.view_mut((0, n), (n, n)).copy_from(a);
    paired.view_mut((n, 0), (n, n)).copy_from(&a.adjoint());
    let (values, vectors) = hermitian_eigen::eigen(paired)?;
    let half = |start: usize| {
        orthonormal(DMatrix::from_fn(n, n, |i, k| vectors[(start + i, 2 * n - 1 - k)]))
    };
    let s = values[n..].iter().rev().map(|s| s.max(0.0)).collect();
    Some(Singular { u: half(0), s, vt: half(n).adjoint() })
}

/// The columns made orthonormal, each without what the ones before it hold.
fn orthonormal<T: Field>(x: DMatrix<T>) -> DMatrix<T> {
    let (mut q, _) = householder_qr::factors(x.clone(), true);
    for (mut column, given) in q.column_iter_mut().zip(x.column_iter()) {
        if column.dotc(&given).real() < 0.0 {
            column.neg_mut();
        }
    }
    q
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::linalg::test_matrices::draws;

    /// Ranks and sizes at which the library alone returns wrong values now and then.
    #[test]
    fn low_ranks_multiply_back() {
        let mut draw = draws();
        let mut next = || draw() * 2.0 - 1.0;
        let small = [(4, 3, 2), (3, 4, 2), (8, 3, 2), (4, 4, 1), (5, 5, 3), (2, 2, 1), (6, 6, 0)];
        let large = [(80, 70, 30), (65, 90, 1), (64, 64, 0), (90, 90, 45)];
        for ((m, n, rank), times) in
            small.map(|d| (d, 400)).into_iter().chain(large.map(|d| (d, 2)))
        {
            for _ in 0..times {
                let left = DMatrix::from_fn(m, rank, |_, _| next());
                let right = DMatrix::from_fn(rank, n, |_, _| next());
                let a = left * right;
                let found = decompose(&a).unwrap();
                assert!(found.holds(&a));
                assert!(squared(&a, m.min(n), &by_eigenvectors).unwrap().holds(&a));
                assert!(found.s.windows(2).all(|pair| pair[0] >= pair[1]));
            }
        }
    }
}
