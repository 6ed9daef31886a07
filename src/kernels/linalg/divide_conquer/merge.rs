//! Eigenvalues and eigenvectors of real symmetric tridiagonal matrices, and singular values and vectors of bidiagonal ones, by
//! dividing them in halves.
//!
//! Owns: the division, which values of the halves need no work, and the vectors put together by matrix products; for
//! few rows of a symmetric matrix the implicit QL iteration. Never iterates for ever.
//! Invariant: values rise, and vectors are orthonormal to rounding.
//! Sources: Cuppen, Numer. Math. 36 (1981); Gu and Eisenstat, SIAM J. Matrix Anal. Appl. 16 (1995), for bidiagonal matrices;
//! LAPACK's `laed2` and `lasd2` for the deflation; EISPACK's `tql2` for the iteration.

use nalgebra::DMatrix;

use super::secular::Secular;
use crate::kernels::linalg::gemv::turn;
use crate::kernels::linalg::scalar::{subtract, zeros};
use crate::kernels::sort::argsort_by;

/// Rows up to which a symmetric matrix is not divided.
const LEAF: usize = 24;
/// Steps of the iteration per eigenvalue.
const STEPS: usize = 60;
/// What counts as zero in a bidiagonal matrix with elements of about 1: squares of what is more do not vanish.
const ZERO: f64 = 1e-60;

/// Rising eigenvalues and the eigenvectors (columns).
pub(in crate::kernels::linalg) struct Eigen {
    pub(in crate::kernels::linalg) values: Vec<f64>,
    pub(in crate::kernels::linalg) vectors: DMatrix<f64>,
}

/// Rising singular values with the vectors (columns) of an upper bidiagonal matrix; where it has a column more than rows,
/// what it maps to zero is the last one on the right.
pub(in crate::kernels::linalg) struct Pairs {
    pub(in crate::kernels::linalg) values: Vec<f64>,
    pub(in crate::kernels::linalg) left: DMatrix<f64>,
    pub(in crate::kernels::linalg) right: DMatrix<f64>,
}

/// Turns two columns, of which the first comes first: `c x - s y` and `s x + c y`.
fn turn_columns(z: &mut DMatrix<f64>, first: usize, second: usize, c: f64, s: f64) {
    let n = z.nrows();
    let (left, right) = z.as_mut_slice().split_at_mut(second * n);
    turn(&mut left[first * n..(first + 1) * n], &mut right[..n], c, s);
}

/// One step of the iteration with an implicit shift on the rows `first..=last`; `z` turns with it.
fn step(d: &mut [f64], e: &mut [f64], first: usize, last: usize, z: &mut DMatrix<f64>) {
    let half = (d[first + 1] - d[first]) / (2.0 * e[first]);
    let length = half.hypot(1.0).copysign(half);
    let mut g = d[last] - d[first] + e[first] / (half + length);
    let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
    for i in (first..last).rev() {
        let (f, b) = (s * e[i], c * e[i]);
        let r = (f * f + g * g).sqrt();
        if i + 1 < last {
            e[i + 1] = r;
        }
        if r == 0.0 {
            d[i + 1] -= p;
            return;
        }
        (s, c) = (f / r, g / r);
        g = d[i + 1] - p;
        let t = (d[i] - g) * s + 2.0 * c * b;
        p = s * t;
        d[i + 1] = g + p;
        g = c * t - b;
        turn_columns(z, i, i + 1, c, s);
    }
    d[first] -= p;
    e[first] = g;
}

/// The iteration: eigenvalues in `d`, in no order, and `z` times the eigenvectors; false without convergence.
fn iterate(d: &mut [f64], e: &mut [f64], z: &mut DMatrix<f64>) -> bool {
    let size = d.iter().chain(e.iter()).fold(0.0f64, |m, x| m.max(x.abs()));
    for first in 0..d.len() {
        for turn in 0.. {
            // What is small beside the whole matrix counts as zero too: values may all be zero here.
            let small = |i: usize| {
                e[i].abs() <= f64::EPSILON * (size / 2.0).max(d[i].abs() + d[i + 1].abs())
            };
            let last = (first..e.len()).find(|&i| small(i)).unwrap_or(e.len());
            if last == first {
                break;
            }
            if turn == STEPS {
                return false;
            }
            step(d, e, first, last, z);
        }
    }
    true
}

/// The order in which values rise.
fn rising(values: &[f64]) -> Vec<usize> {
    argsort_by(values.len(), &|i, k| values[i].total_cmp(&values[k]))
}

/// The eigenvalues and eigenvectors of a diagonal and what is beside it; `None` without convergence.
pub(in crate::kernels::linalg) fn eigen(d: &mut [f64], e: &[f64]) -> Option<Eigen> {
    let n = d.len();
    if n <= LEAF {
        let (mut e, mut z) = (e.to_vec(), DMatrix::identity(n, n));
        if !iterate(d, &mut e, &mut z) {
            return None;
        }
        let order = rising(d);
        let values = order.iter().map(|&i| d[i]).collect();
        return Some(Eigen { values, vectors: z.select_columns(&order) });
    }
    let half = n / 2;
    let tie = e[half - 1];
    d[half - 1] -= tie.abs();
    d[half] -= tie.abs();
    let (left, right) = d.split_at_mut(half);
    let left = eigen(left, &e[..half - 1])?;
    let right = eigen(right, &e[half..])?;
    let (values, [vectors]) = tied(left, right, tie).finish();
    Some(Eigen { values, vectors })
}

/// The singular values and vectors of a diagonal, with elements of about 1 at most, and what is above it.
pub(in crate::kernels::linalg) fn pairs(diagonal: &[f64], above: &[f64]) -> Pairs {
    let clean = |x: &[f64]| x.iter().map(|&x| if x.abs() < ZERO { 0.0 } else { x }).collect();
    let (d, e): (Vec<f64>, Vec<f64>) = (clean(diagonal), clean(above));
    divided(&d, &e, d.len())
}

/// The same of a matrix with so many columns, of which the row in the middle ties two others.
fn divided(d: &[f64], e: &[f64], columns: usize) -> Pairs {
    let n = d.len();
    if n == 0 {
        let right = DMatrix::identity(columns, columns);
        return Pairs { values: Vec::new(), left: zeros(0, 0), right };
    }
    let half = n / 2;
    let tie = [d[half], e.get(half).copied().unwrap_or(0.0)];
    let upper = divided(&d[..half], &e[..half], half + 1);
    let lower = divided(&d[half + 1..], e.get(half + 1..).unwrap_or(&[]), columns - half - 1);
    let (values, [right, left]) = joined(&upper, &lower, tie).finish();
    Pairs { values, left, right }
}

/// Where the column of a vector of the halves is not zero.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Top,
    Bottom,
    Both,
}

/// Vectors (columns) of two halves, and where they are not zero.
struct Basis {
    q: DMatrix<f64>,
    parts: Vec<Part>,
}

/// Two halves `d` of a matrix that weights `z` tie, in terms of their vectors. Of a symmetric one, `diag(d) + rho z zᵀ` with one
/// basis; of a bidiagonal one, whose first `d` is zero, `diag(d)` with `z` for its first row, the vectors on the right and on
/// the left, and a `rho` of 1.
struct Merge<const SIDES: usize> {
    half: usize,
    d: Vec<f64>,
    z: Vec<f64>,
    rho: f64,
    bases: [Basis; SIDES],
}

/// A symmetric matrix of two halves.
fn tied(left: Eigen, right: Eigen, tie: f64) -> Merge<1> {
    let (half, n) = (left.values.len(), left.values.len() + right.values.len());
    let mut q = zeros(n, n);
    q.view_range_mut(..half, ..half).copy_from(&left.vectors);
    q.view_range_mut(half.., half..).copy_from(&right.vectors);
    let root = std::f64::consts::FRAC_1_SQRT_2;
    let last = (0..half).map(|k| q[(half - 1, k)] * root);
    let first = (half..n).map(|k| q[(half, k)] * root.copysign(tie));
    let z = last.chain(first).collect();
    let d = left.values.into_iter().chain(right.values).collect();
    let part = |i: usize| if i < half { Part::Top } else { Part::Bottom };
    let basis = Basis { q, parts: (0..n).map(part).collect() };
    Merge { half, d, z, rho: 2.0 * tie.abs(), bases: [basis] }
}

/// A bidiagonal matrix of an upper and a lower one with the row `tie` between them, which stands first.
fn joined(upper: &Pairs, lower: &Pairs, tie: [f64; 2]) -> Merge<2> {
    let (k, below) = (upper.values.len(), lower.values.len());
    let (n, half) = (k + 1 + below, k + 1);
    let columns = half + lower.right.ncols();
    let last = lower.right.ncols() > below;
    // What both map to zero is turned until the row has no part in one of the two.
    let weights =
        [tie[0] * upper.right[(k, k)], if last { tie[1] * lower.right[(0, below)] } else { 0.0 }];
    let length = weights[0].hypot(weights[1]);
    let [c, s] = if length > 0.0 { weights.map(|w| w / length) } else { [1.0, 0.0] };
    let (mut q, mut u) = (zeros(columns, columns), zeros(n, n));
    q.view_range_mut(..half, 1..half).copy_from(&upper.right.columns(0, k));
    q.view_range_mut(half.., half..n).copy_from(&lower.right.columns(0, below));
    q.view_range_mut(..half, 0).axpy(c, &upper.right.column(k), 0.0);
    if last {
        q.view_range_mut(half.., 0).axpy(s, &lower.right.column(below), 0.0);
        q.view_range_mut(..half, n).axpy(-s, &upper.right.column(k), 0.0);
        q.view_range_mut(half.., n).axpy(c, &lower.right.column(below), 0.0);
    }
    u[(k, 0)] = 1.0;
    u.view_range_mut(..k, 1..half).copy_from(&upper.left);
    u.view_range_mut(half.., half..).copy_from(&lower.left);
    let mut z = vec![length];
    z.extend((0..k).map(|i| tie[0] * upper.right[(k, i)]));
    z.extend((0..below).map(|i| tie[1] * lower.right[(0, i)]));
    let d = [0.0].iter().chain(&upper.values).chain(&lower.values).copied().collect();
    let part = |i: usize| if i < half { Part::Top } else { Part::Bottom };
    let parts: Vec<Part> = (0..n).map(part).collect();
    let mut right = Basis { q, parts: parts.clone() };
    if last {
        right.parts[0] = Part::Both;
    }
    Merge { half, d, z, rho: 1.0, bases: [right, Basis { q: u, parts }] }
}

impl Basis {
    /// Turns two columns into each other: `c p + s j` and `c j - s p`.
    fn turn(&mut self, p: usize, j: usize, c: f64, s: f64) {
        match p < j {
            true => turn_columns(&mut self.q, p, j, c, -s),
            false => turn_columns(&mut self.q, j, p, c, s),
        }
        if self.parts[p] != self.parts[j] {
            (self.parts[p], self.parts[j]) = (Part::Both, Part::Both);
        }
    }

    /// The kept columns times the inner vectors: the upper and the lower rows, each without the columns that are zero there.
    fn product(&self, half: usize, kept: &[usize], inner: &DMatrix<f64>) -> DMatrix<f64> {
        let (n, k) = (self.q.nrows(), inner.ncols());
        let mut out = zeros(n, k);
        for (rows, without) in [(0..half, Part::Bottom), (half..n, Part::Top)] {
            let some: Vec<usize> =
                (0..kept.len()).filter(|&i| self.parts[kept[i]] != without).collect();
            if rows.is_empty() || some.is_empty() {
                continue;
            }
            let mut columns = zeros(rows.len(), some.len());
            for (&i, to) in some.iter().zip(columns.as_mut_slice().chunks_exact_mut(rows.len())) {
                to.copy_from_slice(&self.q.as_slice()[kept[i] * n..][rows.clone()]);
            }
            let mut factors = zeros(some.len(), k);
            let inner = inner.as_slice().chunks_exact(kept.len());
            for (from, to) in inner.zip(factors.as_mut_slice().chunks_exact_mut(some.len())) {
                some.iter().zip(to).for_each(|(&i, to)| *to = -from[i]);
            }
            subtract(&mut out.rows_range_mut(rows), columns.as_view(), factors.as_view());
        }
        out
    }
}

impl<const SIDES: usize> Merge<SIDES> {
    /// Whether this is the column of the row that ties the halves of a bidiagonal matrix.
    fn ties(&self, j: usize) -> bool {
        SIDES == 2 && j == 0
    }

    /// Columns whose weight is nothing, or nearly equal to another's value and turned until it is, stay as they are: they
    /// come second, the others, with rising values, first.
    fn deflate(&mut self) -> (Vec<usize>, Vec<usize>) {
        let most = |x: &[f64]| x.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let noise = 8.0 * f64::EPSILON * most(&self.d).max(most(&self.z));
        if SIDES == 2 {
            // The row stays: without a weight of its own it could not be told from the others.
            self.z[0] = self.z[0].max(2.0 * noise);
        }
        let (mut kept, mut done, mut before) = (Vec::new(), Vec::new(), None);
        for j in rising(&self.d) {
            if self.rho * self.z[j].abs() <= noise {
                done.push(j);
                continue;
            }
            let Some(p) = before.replace(j) else { continue };
            let length = self.z[p].hypot(self.z[j]);
            let (c, s) = (self.z[j] / length, -self.z[p] / length);
            let left = self.d[j] * c * if self.ties(p) { 1.0 } else { s };
            if (left - self.d[p] * c * s).abs() > noise {
                kept.push(p);
                continue;
            }
            if self.ties(p) {
                (self.z[p], self.z[j]) = (length, 0.0);
                self.bases[0].turn(p, j, -s, c);
                self.d[j] *= s.abs();
                before = Some(p);
                done.push(j);
                continue;
            }
            (self.z[j], self.z[p]) = (length, 0.0);
            self.bases.iter_mut().for_each(|basis| basis.turn(p, j, c, s));
            let (x, y) = (self.d[p], self.d[j]);
            self.d[p] = x * c * c + y * s * s;
            self.d[j] = x * s * s + y * c * c;
            done.push(p);
        }
        kept.extend(before);
        (kept, done)
    }

    /// The values of the whole and its vectors.
    fn finish(mut self) -> (Vec<f64>, [DMatrix<f64>; SIDES]) {
        let (kept, done) = self.deflate();
        let of = |x: &[f64]| kept.iter().map(|&j| x[j]).collect::<Vec<f64>>();
        let (d, z) = (of(&self.d), of(&self.z));
        let square = |x: &[f64]| x.iter().map(|x| x * x).collect::<Vec<f64>>();
        let (squares, poles) = (square(&z), if SIDES == 2 { square(&d) } else { d.clone() });
        let equation = Secular { d: &poles, squares: &squares, constant: 1.0 / self.rho };
        let (mut all, first, weights) = equation.solve(&z);
        let mut inner = [first, zeros(0, 0)];
        if SIDES == 2 {
            inner[1] = lefts(&inner[0], &d, &all, weights.first().copied().unwrap_or(1.0));
            all.iter_mut().for_each(|square| *square = square.sqrt());
        }
        let roots = all.len();
        all.extend(done.iter().map(|&j| self.d[j]));
        let order = rising(&all);
        let mut inner = inner.iter();
        let vectors = self.bases.map(|basis| {
            let found = basis.product(self.half, &kept, inner.next().expect("a side"));
            let mut out = zeros(basis.q.nrows(), basis.q.ncols());
            for (mut column, k) in out.column_iter_mut().zip(0..) {
                match order.get(k) {
                    Some(&from) if from < roots => column.copy_from(&found.column(from)),
                    Some(&from) => column.copy_from(&basis.q.column(done[from - roots])),
                    None => column.copy_from(&basis.q.column(k)),
                }
            }
            out
        });
        (order.iter().map(|&i| all[i]).collect(), vectors)
    }
}

/// What a matrix with the first row `z`, of which `weight` is the first, and `d` below on the diagonal maps its singular vectors
/// to, as vectors of length 1. The image of a vector has `d` times it below its first element, which the equation gives.
fn lefts(right: &DMatrix<f64>, d: &[f64], squares: &[f64], weight: f64) -> DMatrix<f64> {
    let mut left = right.clone();
    for (mut column, square) in left.column_iter_mut().zip(squares) {
        column.iter_mut().zip(d).skip(1).for_each(|(x, d)| *x *= d);
        column[0] *= square / weight;
        let length = column.norm();
        column.unscale_mut(length);
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::linalg::scalar::product;
    use crate::kernels::linalg::test_matrices::draws;

    /// Without the library to fall back on: rows that tie nothing, equal values, and values far from each other.
    #[test]
    fn pairs_multiply_back() {
        let mut next = draws();
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
            let b = DMatrix::from_fn(n, n, |i, k| match k {
                k if k == i => d[i],
                k if k == i + 1 => e[i],
                _ => 0.0,
            });
            let Pairs { values, left, right } = pairs(&d, &e);
            let scaled = DMatrix::from_fn(n, n, |i, k| left[(i, k)] * values[k]);
            let noise = 1e-15 * (n as f64 + 4.0);
            assert!((product(&scaled, &right.transpose()) - b).norm() < noise, "{n}, kind {kind}");
            for q in [left, right] {
                let off = product(&q.transpose(), &q) - DMatrix::identity(n, n);
                assert!(off.norm() < noise, "{n}, kind {kind}");
            }
            assert!(values.windows(2).all(|pair| pair[0] <= pair[1]));
        }
    }
}
