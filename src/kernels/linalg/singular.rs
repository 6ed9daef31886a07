//! Singular values and vectors, checked.
//!
//! Owns: the decomposition of one matrix, its verification, and the ways to it: the library's iteration for small
//! matrices, which can settle on wrong values for those of low rank, and `divide` for large ones.
//! Never returns a decomposition that does not multiply back to its matrix.
//! Invariant: vectors are orthonormal and values fall, to rounding; their signs follow the matrix without jumps.

use nalgebra::{DMatrix, SVD};

use super::bidiagonal::{self, Bidiagonal};
use super::factor::{limit, scale};
use super::field::{Field, product, subtract};
use super::vectors::adjoint_times;
use super::{divide, hermitian, quotients, reflections};

/// Rows and columns from which a matrix is divided.
const LARGE: usize = 64;
/// What a singular value is of the largest at least, for the halves of an eigenvector to be singular vectors to rounding.
const REACH: f64 = 1.0 / 64.0;
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
    let holds = |found: &Singular<T>| found.holds(a);
    if n >= LARGE
        && let Some(found) = by_halves(a).filter(holds)
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
    by_eigenvectors(a).filter(holds).or_else(|| first.filter(holds))
}

/// Falling singular values alone, of a finite matrix with elements of about 1; `None` without convergence.
pub(super) fn values<T: Field>(a: DMatrix<T>) -> Option<Vec<f64>> {
    let (m, n) = a.shape();
    if m.min(n) < LARGE {
        return checked(&a).map(|found| found.s);
    }
    let mut tall = if m < n { a.adjoint() } else { a };
    if m != n {
        reflections::eliminate(&mut tall);
        tall = tall.resize_vertically(m.min(n), T::zero()).upper_triangle();
    }
    let Bidiagonal { diagonal, above, .. } = bidiagonal::reduce(tall);
    let mut found = quotients::values(&diagonal, &above).or_else(|| {
        let paired = divide::values(vec![0.0; 2 * diagonal.len()], alternating(&diagonal, &above))?;
        Some(paired[diagonal.len()..].iter().map(|s| s.max(0.0)).collect())
    })?;
    found.sort_by(f64::total_cmp);
    found.reverse();
    Some(found)
}

/// What stands beside the diagonal, of zeros, of the tridiagonal form of `[[0, bᵀ], [b, 0]]`.
fn alternating(diagonal: &[f64], above: &[f64]) -> Vec<f64> {
    let at = |i: usize| if i.is_multiple_of(2) { diagonal[i / 2] } else { above[i / 2] };
    (0..2 * diagonal.len() - 1).map(at).collect()
}

/// The decomposition by way of a bidiagonal matrix.
fn by_halves<T: Field>(a: &DMatrix<T>) -> Option<Singular<T>> {
    let (m, n) = a.shape();
    if m < n {
        return by_halves(&a.adjoint()).map(Singular::transposed);
    }
    if m > n {
        let (q, r) = reflections::factors(a.clone());
        let found = by_halves(&r.upper_triangle())?;
        return Some(Singular { u: product(&q, &found.u), ..found });
    }
    let Bidiagonal { diagonal, above, q, p } = bidiagonal::reduce(a.clone());
    let (u, s, v) = of_bidiagonal(&diagonal, &above)?;
    let (mut u, mut v) = (u.map(T::from_real), v.map(T::from_real));
    q.apply(&mut u);
    p.apply(&mut v);
    Some(Singular { u, s, vt: v.adjoint() })
}

/// Left vectors, falling values and right vectors (columns) of an upper bidiagonal matrix `b`: the eigenvectors of `[[0, bᵀ], [b, 0]]`, which is tridiagonal when rows and columns
/// alternate. Their halves are singular vectors where the value is not small; for the rest, `b` is taken between the
/// complements of those.
fn of_bidiagonal(
    diagonal: &[f64],
    above: &[f64],
) -> Option<(DMatrix<f64>, Vec<f64>, DMatrix<f64>)> {
    let n = diagonal.len();
    if diagonal.iter().chain(above).all(|&x| x == 0.0) {
        return Some((DMatrix::identity(n, n), vec![0.0; n], DMatrix::identity(n, n)));
    }
    let eigen = divide::eigen(vec![0.0; 2 * n], &alternating(diagonal, above), n)?;
    let mut s: Vec<f64> = eigen.values[n..].iter().rev().map(|s| s.max(0.0)).collect();
    let good = s.iter().take_while(|&&x| x > REACH * s[0]).count();
    let root = std::f64::consts::SQRT_2;
    let half = |odd: usize| {
        DMatrix::from_fn(n, good, |i, k| root * eigen.vectors[(2 * i + odd, n - 1 - k)])
    };
    let (mut u, mut v) = (half(1), half(0));
    if good < n {
        let (left, right) = (complement(&u), complement(&v));
        let row = |i: usize, k: usize| {
            let next = if i + 1 < n { above[i] * right[(i + 1, k)] } else { 0.0 };
            diagonal[i] * right[(i, k)] + next
        };
        let inner = product(&left.transpose(), &DMatrix::from_fn(n, n - good, row));
        let unit = scale(&inner)?;
        let rest = checked(&(inner / unit))?;
        let least = s[..good].last().copied().unwrap_or(f64::INFINITY);
        s.truncate(good);
        s.extend(rest.s.iter().map(|x| (x * unit).min(least)));
        u = beside_each_other(u, product(&left, &rest.u));
        v = beside_each_other(v, product(&right, &rest.vt.transpose()));
    }
    Some((u, s, v))
}

fn beside_each_other(a: DMatrix<f64>, b: DMatrix<f64>) -> DMatrix<f64> {
    let (n, k) = a.shape();
    let mut out = a.resize_horizontally(k + b.ncols(), 0.0);
    out.view_range_mut(..n, k..).copy_from(&b);
    out
}

/// Orthonormal columns that complete those of `u`: arbitrary numbers without what `u` holds of them, twice.
fn complement(u: &DMatrix<f64>) -> DMatrix<f64> {
    let (n, k) = u.shape();
    let mut out = arbitrary(n, n - k);
    let across = u.transpose();
    for _ in 0..2 {
        let held = product(&across, &out);
        subtract(&mut out.as_view_mut(), u.as_view(), held.as_view());
        out = reflections::factors(out).0;
    }
    out
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
    let (q, r) = reflections::factors(a.clone());
    let r = r.upper_triangle();
    let mut paired = DMatrix::zeros(2 * n, 2 * n);
    paired.view_mut((0, n), (n, n)).copy_from(&r);
    paired.view_mut((n, 0), (n, n)).copy_from(&r.adjoint());
    let (values, vectors) = hermitian::eigen(paired)?;
    let half = |start: usize| {
        orthonormal(DMatrix::from_fn(n, n, |i, k| vectors[(start + i, 2 * n - 1 - k)]))
    };
    let s = values[n..].iter().rev().map(|s| s.max(0.0)).collect();
    Some(Singular { u: q * half(0), s, vt: half(n).adjoint() })
}

/// The columns made orthonormal, each without what the ones before it hold.
fn orthonormal<T: Field>(x: DMatrix<T>) -> DMatrix<T> {
    let (mut q, _) = reflections::factors(x.clone());
    for (mut column, given) in q.column_iter_mut().zip(x.column_iter()) {
        if column.dotc(&given).real() < 0.0 {
            column.neg_mut();
        }
    }
    q
}

#[cfg(test)]
mod tests {
    use super::super::draws::draws;
    use super::*;

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
                assert!(by_eigenvectors(&a).unwrap().holds(&a));
                assert!(found.s.windows(2).all(|pair| pair[0] >= pair[1]));
            }
        }
    }
}
