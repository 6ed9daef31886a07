//! Divide and conquer for eigenvalues and vectors of symmetric tridiagonal matrices, and singular
//! values and vectors of bidiagonal ones.
//!
//! Deflates values of the halves that need no work, and combines vectors by matrix products. Small
//! symmetric matrices use the QL iteration (`tridiagonal_ql.rs`). Invariant: values ascend, and vectors are
//! orthonormal to rounding.
//!
//! Sources: Cuppen, Numer. Math. 36 (1981); Gu and Eisenstat, SIAM J. Matrix Anal. Appl. 16 (1995),
//! for bidiagonal matrices; LAPACK's `laed2` and `lasd2` for the deflation.

use super::secular::Secular;
use crate::kernels::linalg::matrix::{Matrix, dot_product};
use crate::kernels::linalg::scalar::subtract;
use crate::kernels::linalg::tridiagonal_ql::{ql_iterate, rotate_columns};
use crate::kernels::sort::argsort_by;

/// Most rows of a symmetric matrix for the QL iteration.
const QL_ROWS: usize = 24;
/// Magnitude below which elements of a bidiagonal matrix of about 1 are set to zero: the squares of
/// larger ones do not underflow.
const MIN_MAGNITUDE: f64 = 1e-60;

/// Ascending eigenvalues and the eigenvectors (columns).
pub(in crate::kernels::linalg) struct Eigen {
    pub(in crate::kernels::linalg) values: Vec<f64>,
    pub(in crate::kernels::linalg) vectors: Matrix<f64>,
}

/// Ascending singular values and vectors (columns) of an upper bidiagonal matrix. If it has one
/// more column than rows, the last right vector spans its null space.
pub(in crate::kernels::linalg) struct BidiagonalSvd {
    pub(in crate::kernels::linalg) values: Vec<f64>,
    pub(in crate::kernels::linalg) left: Matrix<f64>,
    pub(in crate::kernels::linalg) right: Matrix<f64>,
}

/// The order in which values rise.
pub(in crate::kernels::linalg) fn ascending_order(values: &[f64]) -> Vec<usize> {
    argsort_by(values.len(), &|i, k| values[i].total_cmp(&values[k]))
}

/// Eigenvalues and eigenvectors of the tridiagonal matrix with diagonal `d` and off-diagonal `e`;
/// `None` without convergence.
pub(in crate::kernels::linalg) fn tridiagonal_eigen(d: &mut [f64], e: &[f64]) -> Option<Eigen> {
    let n = d.len();
    if n <= QL_ROWS {
        let (mut e, mut z) = (e.to_vec(), Matrix::identity(n, n));
        if !ql_iterate(d, &mut e, &mut z) {
            return None;
        }
        let order = ascending_order(d);
        let values = order.iter().map(|&i| d[i]).collect();
        return Some(Eigen { values, vectors: z.select_columns(&order) });
    }
    let half = n / 2;
    let coupling = e[half - 1];
    d[half - 1] -= coupling.abs();
    d[half] -= coupling.abs();
    let (left, right) = d.split_at_mut(half);
    let left = tridiagonal_eigen(left, &e[..half - 1])?;
    let right = tridiagonal_eigen(right, &e[half..])?;
    let (values, [vectors]) = merge_tridiagonal(left, right, coupling).finish();
    Some(Eigen { values, vectors })
}

/// Singular values and vectors of the bidiagonal matrix with this diagonal and superdiagonal, whose
/// elements are of about 1 at most.
pub(in crate::kernels::linalg) fn bidiagonal_svd(diagonal: &[f64], above: &[f64]) -> BidiagonalSvd {
    let clean =
        |x: &[f64]| x.iter().map(|&x| if x.abs() < MIN_MAGNITUDE { 0.0 } else { x }).collect();
    let (d, e): (Vec<f64>, Vec<f64>) = (clean(diagonal), clean(above));
    divide_bidiagonal(&d, &e, d.len())
}

/// The recursion. `columns` is the number of rows or one more; the middle row couples the two
/// halves.
fn divide_bidiagonal(d: &[f64], e: &[f64], columns: usize) -> BidiagonalSvd {
    let n = d.len();
    if n == 0 {
        let right = Matrix::identity(columns, columns);
        return BidiagonalSvd { values: Vec::new(), left: Matrix::zeros(0, 0), right };
    }
    let half = n / 2;
    let coupling = [d[half], e.get(half).copied().unwrap_or(0.0)];
    let upper = divide_bidiagonal(&d[..half], &e[..half], half + 1);
    let lower =
        divide_bidiagonal(&d[half + 1..], e.get(half + 1..).unwrap_or(&[]), columns - half - 1);
    let (values, [right, left]) = merge_bidiagonal(&upper, &lower, coupling).finish();
    BidiagonalSvd { values, left, right }
}

/// The rows in which a column is nonzero.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Support {
    Top,
    Bottom,
    Both,
}

/// Vectors (columns) of the two halves, and their nonzero rows.
struct MergeBasis {
    q: Matrix<f64>,
    supports: Vec<Support>,
}

/// A problem of two halves with values `d`, coupled by weights `z`, in the basis of their vectors.
/// Symmetric: `diag(d) + rho z zᵀ`, with one basis. Bidiagonal: `diag(d)` with first row `z` (and
/// first `d` zero), a basis of right and one of left vectors, and `rho` = 1.
struct Merge<const SIDES: usize> {
    half: usize,
    d: Vec<f64>,
    z: Vec<f64>,
    rho: f64,
    bases: [MergeBasis; SIDES],
}

/// Sets up the merge of two halves of a tridiagonal matrix.
fn merge_tridiagonal(left: Eigen, right: Eigen, coupling: f64) -> Merge<1> {
    let (half, n) = (left.values.len(), left.values.len() + right.values.len());
    let mut q = Matrix::zeros(n, n);
    q.view_mut(..half, ..half).copy_from(left.vectors.as_view());
    q.view_mut(half.., half..).copy_from(right.vectors.as_view());
    let root = std::f64::consts::FRAC_1_SQRT_2;
    let last = (0..half).map(|k| q[(half - 1, k)] * root);
    let first = (half..n).map(|k| q[(half, k)] * root.copysign(coupling));
    let z = last.chain(first).collect();
    let d = left.values.into_iter().chain(right.values).collect();
    let support = |i: usize| if i < half { Support::Top } else { Support::Bottom };
    let basis = MergeBasis { q, supports: (0..n).map(support).collect() };
    Merge { half, d, z, rho: 2.0 * coupling.abs(), bases: [basis] }
}

/// Sets up the merge of two bidiagonal halves with the row `coupling` between them, which comes first.
fn merge_bidiagonal(upper: &BidiagonalSvd, lower: &BidiagonalSvd, coupling: [f64; 2]) -> Merge<2> {
    let (k, below) = (upper.values.len(), lower.values.len());
    let (n, half) = (k + 1 + below, k + 1);
    let columns = half + lower.right.ncols();
    let last = lower.right.ncols() > below;
    // Rotate the two null vectors so that the coupling row is zero in one of them.
    let weights = [
        coupling[0] * upper.right[(k, k)],
        if last { coupling[1] * lower.right[(0, below)] } else { 0.0 },
    ];
    let length = weights[0].hypot(weights[1]);
    let [c, s] = if length > 0.0 { weights.map(|w| w / length) } else { [1.0, 0.0] };
    let (mut q, mut u) = (Matrix::zeros(columns, columns), Matrix::zeros(n, n));
    q.view_mut(..half, 1..half).copy_from(upper.right.view(.., ..k));
    q.view_mut(half.., half..n).copy_from(lower.right.view(.., ..below));
    let scaled = |out: &mut [f64], factor: f64, x: &[f64]| {
        out.iter_mut().zip(x).for_each(|(out, x)| *out = factor * x);
    };
    scaled(&mut q.column_mut(0)[..half], c, upper.right.column(k));
    if last {
        scaled(&mut q.column_mut(0)[half..], s, lower.right.column(below));
        scaled(&mut q.column_mut(n)[..half], -s, upper.right.column(k));
        scaled(&mut q.column_mut(n)[half..], c, lower.right.column(below));
    }
    u[(k, 0)] = 1.0;
    u.view_mut(..k, 1..half).copy_from(upper.left.as_view());
    u.view_mut(half.., half..).copy_from(lower.left.as_view());
    let mut z = vec![length];
    z.extend((0..k).map(|i| coupling[0] * upper.right[(k, i)]));
    z.extend((0..below).map(|i| coupling[1] * lower.right[(0, i)]));
    let d = [0.0].iter().chain(&upper.values).chain(&lower.values).copied().collect();
    let support = |i: usize| if i < half { Support::Top } else { Support::Bottom };
    let supports: Vec<Support> = (0..n).map(support).collect();
    let mut right = MergeBasis { q, supports: supports.clone() };
    if last {
        right.supports[0] = Support::Both;
    }
    Merge { half, d, z, rho: 1.0, bases: [right, MergeBasis { q: u, supports }] }
}

impl MergeBasis {
    /// Rotates two columns: `c p + s j` and `c j - s p`.
    fn rotate(&mut self, p: usize, j: usize, c: f64, s: f64) {
        match p < j {
            true => rotate_columns(&mut self.q, p, j, c, -s),
            false => rotate_columns(&mut self.q, j, p, c, s),
        }
        if self.supports[p] != self.supports[j] {
            (self.supports[p], self.supports[j]) = (Support::Both, Support::Both);
        }
    }

    /// The kept columns times the inner vectors, for the upper and the lower rows separately,
    /// skipping columns that are zero there.
    fn product(&self, half: usize, remaining: &[usize], inner: &Matrix<f64>) -> Matrix<f64> {
        let (n, k) = (self.q.nrows(), inner.ncols());
        let mut out = Matrix::zeros(n, k);
        for (rows, zero_in) in [(0..half, Support::Bottom), (half..n, Support::Top)] {
            let some: Vec<usize> =
                (0..remaining.len()).filter(|&i| self.supports[remaining[i]] != zero_in).collect();
            if rows.is_empty() || some.is_empty() {
                continue;
            }
            let mut columns = Matrix::zeros(rows.len(), some.len());
            for (&i, to) in some.iter().zip(columns.as_mut_slice().chunks_exact_mut(rows.len())) {
                to.copy_from_slice(&self.q.as_slice()[remaining[i] * n..][rows.clone()]);
            }
            let mut factors = Matrix::zeros(some.len(), k);
            let inner = inner.as_slice().chunks_exact(remaining.len());
            for (from, to) in inner.zip(factors.as_mut_slice().chunks_exact_mut(some.len())) {
                some.iter().zip(to).for_each(|(&i, to)| *to = -from[i]);
            }
            subtract(&mut out.view_mut(rows, ..), columns.as_view(), factors.as_view());
        }
        out
    }
}

impl<const SIDES: usize> Merge<SIDES> {
    /// Whether this is the column of the coupling row of a bidiagonal matrix.
    fn is_coupling_column(&self, j: usize) -> bool {
        SIDES == 2 && j == 0
    }

    /// Deflation. Columns with a negligible weight, or with nearly equal values after a rotation
    /// that makes the weight zero, need no work. Returns the remaining columns, by ascending value,
    /// and the deflated ones.
    fn deflate(&mut self) -> (Vec<usize>, Vec<usize>) {
        let most = |x: &[f64]| x.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let noise = 8.0 * f64::EPSILON * most(&self.d).max(most(&self.z));
        if SIDES == 2 {
            // The coupling row is never deflated: without a weight it could not be told apart.
            self.z[0] = self.z[0].max(2.0 * noise);
        }
        let (mut remaining, mut deflated, mut before) = (Vec::new(), Vec::new(), None);
        for j in ascending_order(&self.d) {
            if self.rho * self.z[j].abs() <= noise {
                deflated.push(j);
                continue;
            }
            let Some(p) = before.replace(j) else { continue };
            let length = self.z[p].hypot(self.z[j]);
            let (c, s) = (self.z[j] / length, -self.z[p] / length);
            let left = self.d[j] * c * if self.is_coupling_column(p) { 1.0 } else { s };
            if (left - self.d[p] * c * s).abs() > noise {
                remaining.push(p);
                continue;
            }
            if self.is_coupling_column(p) {
                (self.z[p], self.z[j]) = (length, 0.0);
                self.bases[0].rotate(p, j, -s, c);
                self.d[j] *= s.abs();
                before = Some(p);
                deflated.push(j);
                continue;
            }
            (self.z[j], self.z[p]) = (length, 0.0);
            self.bases.iter_mut().for_each(|basis| basis.rotate(p, j, c, s));
            let (x, y) = (self.d[p], self.d[j]);
            self.d[p] = x * c * c + y * s * s;
            self.d[j] = x * s * s + y * c * c;
            deflated.push(p);
        }
        remaining.extend(before);
        (remaining, deflated)
    }

    /// Values and vectors of the merged problem.
    fn finish(mut self) -> (Vec<f64>, [Matrix<f64>; SIDES]) {
        let (remaining, deflated) = self.deflate();
        let of = |x: &[f64]| remaining.iter().map(|&j| x[j]).collect::<Vec<f64>>();
        let (d, z) = (of(&self.d), of(&self.z));
        let square = |x: &[f64]| x.iter().map(|x| x * x).collect::<Vec<f64>>();
        let (squares, poles) = (square(&z), if SIDES == 2 { square(&d) } else { d.clone() });
        let equation = Secular { d: &poles, squares: &squares, constant: 1.0 / self.rho };
        let (mut all, first, weights) = equation.solve(&z);
        let mut inner = [first, Matrix::zeros(0, 0)];
        if SIDES == 2 {
            inner[1] = left_vectors(&inner[0], &d, &all, weights.first().copied().unwrap_or(1.0));
            all.iter_mut().for_each(|square| *square = square.sqrt());
        }
        let roots = all.len();
        all.extend(deflated.iter().map(|&j| self.d[j]));
        let order = ascending_order(&all);
        let mut inner = inner.iter();
        let vectors = self.bases.map(|basis| {
            let found = basis.product(self.half, &remaining, inner.next().expect("a side"));
            let mut out = Matrix::zeros(basis.q.nrows(), basis.q.ncols());
            for (column, k) in out.column_iter_mut().zip(0..) {
                match order.get(k) {
                    Some(&from) if from < roots => column.copy_from_slice(found.column(from)),
                    Some(&from) => {
                        column.copy_from_slice(basis.q.column(deflated[from - roots]));
                    }
                    None => column.copy_from_slice(basis.q.column(k)),
                }
            }
            out
        });
        (order.iter().map(|&i| all[i]).collect(), vectors)
    }
}

/// Left singular vectors of `diag(d)` with first row `z`, whose first element is `weight`: the
/// normalised images of the right ones. An image is `d` times the vector below its first element,
/// which the secular equation gives.
fn left_vectors(right: &Matrix<f64>, d: &[f64], squares: &[f64], weight: f64) -> Matrix<f64> {
    let mut left = right.clone();
    for (column, square) in left.column_iter_mut().zip(squares) {
        column.iter_mut().zip(d).skip(1).for_each(|(x, d)| *x *= d);
        column[0] *= square / weight;
        let length = dot_product(column, column).sqrt();
        column.iter_mut().for_each(|x| *x /= length);
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::linalg::scalar::product;
    use crate::kernels::linalg::test_rng::uniform_numbers;

    /// Uncoupled rows, equal values and values of very different magnitudes.
    #[test]
    fn pairs_multiply_back() {
        let mut next = uniform_numbers();
        for (n, kind) in
            [1, 2, 3, 10, 65, 130].into_iter().flat_map(|n| (0..6).map(move |k| (n, k)))
        {
            let mut of = |i: usize| match kind {
                0 => next() - 0.5,
                1 => 1.0,
                2 => 0.5f64.powi(i as i32),
                3 => f64::from(i.is_multiple_of(3)),
                4 => (next() - 0.6).max(0.0) * 1e-200f64.powi(i as i32 % 2),
                _ => 0.0,
            };
            let d: Vec<f64> = (0..n).map(&mut of).collect();
            let e: Vec<f64> = (1..n).map(&mut of).collect();
            let b = Matrix::from_fn(n, n, |i, k| match k {
                k if k == i => d[i],
                k if k == i + 1 => e[i],
                _ => 0.0,
            });
            let BidiagonalSvd { values, left, right } = bidiagonal_svd(&d, &e);
            let scaled = Matrix::from_fn(n, n, |i, k| left[(i, k)] * values[k]);
            let noise = 1e-15 * (n as f64 + 4.0);
            assert!((product(&scaled, &right.transpose()) - &b).norm() < noise, "{n}, kind {kind}");
            for q in [left, right] {
                let off = product(&q.transpose(), &q) - &Matrix::identity(n, n);
                assert!(off.norm() < noise, "{n}, kind {kind}");
            }
            assert!(values.windows(2).all(|pair| pair[0] <= pair[1]));
        }
    }
}
