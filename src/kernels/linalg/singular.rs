//! Singular values and vectors, checked.
//!
//! Owns: the decomposition of one matrix, its verification, and the second way when the first fails it: the
//! library's iteration can settle on wrong values for matrices of low rank.
//! Never returns a decomposition that does not multiply back to its matrix.
//! Invariant: vectors are orthonormal and values fall, to rounding; their signs follow the matrix without jumps.

use nalgebra::{DMatrix, QR, SVD, SymmetricEigen};

use super::super::order::sorted;
use super::factor::limit;
use super::field::Field;

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

    /// Whether it multiplies back to `a` and its vectors are orthonormal.
    fn holds(&self, a: &DMatrix<T>) -> bool {
        let rounding = 16.0 * f64::EPSILON * (a.nrows() + a.ncols()) as f64;
        let mut product = self.u.clone();
        for (mut column, s) in product.column_iter_mut().zip(&self.s) {
            column *= T::from_real(*s);
        }
        let close = |x: DMatrix<T>, size: f64| x.norm() <= rounding * size;
        let k = self.s.len();
        close(product * &self.vt - a, a.norm())
            && close(self.u.ad_mul(&self.u) - DMatrix::identity(k, k), 1.0)
            && close(&self.vt * self.vt.adjoint() - DMatrix::identity(k, k), 1.0)
    }
}

/// The decomposition of a finite matrix with elements of about 1; `None` when no iteration converges.
pub(super) fn decompose<T: Field>(a: &DMatrix<T>) -> Option<Singular<T>> {
    let n = a.nrows().min(a.ncols());
    let first = SVD::try_new(a.clone(), true, true, 5.0 * f64::EPSILON, limit(n)).and_then(|svd| {
        let s = svd.singular_values.iter().copied().collect();
        Some(Singular { u: svd.u?, s, vt: svd.v_t? })
    });
    let mut found = first
        .filter(|found| found.holds(a))
        .or_else(|| by_eigenvectors(a).filter(|found| found.holds(a)))?;
    for (k, mut column) in found.u.column_iter_mut().enumerate() {
        let turn = turn(column.as_slice());
        if turn != T::one() {
            column *= turn;
            found.vt.row_mut(k).iter_mut().for_each(|x| *x *= turn.conjugate());
        }
    }
    Some(found)
}

/// What to multiply a vector with that is known up to its sign, or its phase: its first large component is to be
/// positive. Which component that is changes seldom, since neither equal nor simply related ones compete.
pub(super) fn turn<T: Field>(vector: &[T]) -> T {
    let largest = vector.iter().fold(0.0, |m: f64, x| m.max(x.modulus()));
    let first = vector.iter().find(|x| x.modulus() > 0.37 * largest);
    first.map_or(T::one(), |x| x.signum().conjugate())
}

/// The decomposition from the eigenvectors of `[[0, r], [rᴴ, 0]]`, where `a = q r`: they are the pairs of singular
/// vectors, for both signs of the value.
fn by_eigenvectors<T: Field>(a: &DMatrix<T>) -> Option<Singular<T>> {
    if a.nrows() < a.ncols() {
        return by_eigenvectors(&a.adjoint()).map(Singular::transposed);
    }
    let n = a.ncols();
    let (q, r) = QR::new(a.clone()).unpack();
    let mut paired = DMatrix::zeros(2 * n, 2 * n);
    paired.view_mut((0, n), (n, n)).copy_from(&r);
    paired.view_mut((n, 0), (n, n)).copy_from(&r.adjoint());
    let eigen = SymmetricEigen::try_new(paired, f64::EPSILON, limit(2 * n))?;
    let order = sorted(2 * n, &|i, k| eigen.eigenvalues[k].total_cmp(&eigen.eigenvalues[i]));
    let half = |start: usize| {
        orthonormal(DMatrix::from_fn(n, n, |i, k| eigen.eigenvectors[(start + i, order[k])]))
    };
    let s = order[..n].iter().map(|&i| eigen.eigenvalues[i].max(0.0)).collect();
    Some(Singular { u: q * half(0), s, vt: half(n).adjoint() })
}

/// The columns made orthonormal, each without what the ones before it hold.
fn orthonormal<T: Field>(x: DMatrix<T>) -> DMatrix<T> {
    let factors = QR::new(x.clone());
    let mut q = factors.q();
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

    /// Ranks and sizes at which the library alone returns wrong values now and then.
    #[test]
    fn low_ranks_multiply_back() {
        let mut state = 88_172_645_463_325_252_u64;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
        };
        for (m, n, rank) in
            [(4, 3, 2), (3, 4, 2), (8, 3, 2), (4, 4, 1), (5, 5, 3), (2, 2, 1), (6, 6, 0)]
        {
            for _ in 0..400 {
                let left = DMatrix::from_fn(m, rank, |_, _| next());
                let right = DMatrix::from_fn(rank, n, |_, _| next());
                let a = left * right;
                let found = decompose(&a).unwrap();
                assert!(found.holds(&a));
                assert!(by_eigenvectors(&a).unwrap().holds(&a));
                assert!(found.s.windows(2).all(|pair| pair[0] >= pair[1]));
            }
        }
    }
}
