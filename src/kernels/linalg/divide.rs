//! Eigenvalues and eigenvectors of real symmetric tridiagonal matrices, by dividing them in halves.
//!
//! Owns: the division, which values of the halves need no work, and the vectors put together by matrix products; for
//! few rows the implicit QL iteration. Never iterates for ever.
//! Invariant: values rise, and vectors are orthonormal to rounding.
//! Sources: Cuppen, Numer. Math. 36 (1981); LAPACK's `laed2` for the deflation; EISPACK's `tql2` for the iteration.

use nalgebra::DMatrix;

use super::field::subtract;
use super::secular::Secular;
use super::vectors::turn;
use crate::kernels::order::sorted;

/// Rows up to which a matrix is not divided.
const LEAF: usize = 24;
/// Steps of the iteration per eigenvalue.
const STEPS: usize = 60;

/// Rising eigenvalues, and the eigenvectors (columns) of the last of them, as many as were asked for.
pub(super) struct Eigen {
    pub(super) values: Vec<f64>,
    pub(super) vectors: DMatrix<f64>,
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
    sorted(values.len(), &|i, k| values[i].total_cmp(&values[k]))
}

/// Rising eigenvalues alone, of a diagonal and what is beside it; `None` without convergence.
pub(super) fn values(mut d: Vec<f64>, mut e: Vec<f64>) -> Option<Vec<f64>> {
    let mut none = DMatrix::zeros(0, d.len());
    iterate(&mut d, &mut e, &mut none).then(|| {
        d.sort_by(f64::total_cmp);
        d
    })
}

/// The eigenvalues, and the eigenvectors of the `wanted` largest; `None` without convergence.
pub(super) fn eigen(mut d: Vec<f64>, e: &[f64], wanted: usize) -> Option<Eigen> {
    halves(&mut d, e, wanted)
}

fn halves(d: &mut [f64], e: &[f64], wanted: usize) -> Option<Eigen> {
    let n = d.len();
    if n <= LEAF {
        let (mut e, mut z) = (e.to_vec(), DMatrix::identity(n, n));
        if !iterate(d, &mut e, &mut z) {
            return None;
        }
        let order = rising(d);
        let vectors = z.select_columns(&order[n - wanted..]);
        return Some(Eigen { values: order.iter().map(|&i| d[i]).collect(), vectors });
    }
    let half = n / 2;
    let tie = e[half - 1];
    d[half - 1] -= tie.abs();
    d[half] -= tie.abs();
    let (left, right) = d.split_at_mut(half);
    let left = halves(left, &e[..half - 1], half)?;
    let right = halves(right, &e[half..], n - half)?;
    Some(Merge::new(left, right, tie).finish(wanted))
}

/// Where the column of an eigenvector of the halves is not zero.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Top,
    Bottom,
    Both,
}

/// Two halves of a matrix tied by a matrix of rank one, `rho z zᵀ`.
struct Merge {
    half: usize,
    d: Vec<f64>,
    z: Vec<f64>,
    rho: f64,
    q: DMatrix<f64>,
    parts: Vec<Part>,
}

impl Merge {
    fn new(left: Eigen, right: Eigen, tie: f64) -> Merge {
        let (half, n) = (left.values.len(), left.values.len() + right.values.len());
        let mut q = DMatrix::zeros(n, n);
        q.view_range_mut(..half, ..half).copy_from(&left.vectors);
        q.view_range_mut(half.., half..).copy_from(&right.vectors);
        let root = std::f64::consts::FRAC_1_SQRT_2;
        let last = (0..half).map(|k| q[(half - 1, k)] * root);
        let first = (half..n).map(|k| q[(half, k)] * root.copysign(tie));
        let z = last.chain(first).collect();
        let d = left.values.into_iter().chain(right.values).collect();
        let part = |i: usize| if i < half { Part::Top } else { Part::Bottom };
        Merge { half, d, z, rho: 2.0 * tie.abs(), q, parts: (0..n).map(part).collect() }
    }

    /// Columns whose weight is nothing, or nearly equal to another's value and turned until it is, stay as they are: they
    /// come second, the others, with rising values, first.
    fn deflate(&mut self) -> (Vec<usize>, Vec<usize>) {
        let most = |x: &[f64]| x.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let noise = 8.0 * f64::EPSILON * most(&self.d).max(most(&self.z));
        let (mut kept, mut done, mut before) = (Vec::new(), Vec::new(), None);
        for j in rising(&self.d) {
            if self.rho * self.z[j].abs() <= noise {
                done.push(j);
                continue;
            }
            let Some(p) = before.replace(j) else { continue };
            let length = self.z[p].hypot(self.z[j]);
            let (c, s) = (self.z[j] / length, -self.z[p] / length);
            if ((self.d[j] - self.d[p]) * c * s).abs() > noise {
                kept.push(p);
                continue;
            }
            (self.z[j], self.z[p]) = (length, 0.0);
            self.turn(p, j, c, s);
            done.push(p);
        }
        kept.extend(before);
        (kept, done)
    }

    /// Turns two columns into each other, the first of which is done then.
    fn turn(&mut self, p: usize, j: usize, c: f64, s: f64) {
        match p < j {
            true => turn_columns(&mut self.q, p, j, c, -s),
            false => turn_columns(&mut self.q, j, p, c, s),
        }
        let (x, y) = (self.d[p], self.d[j]);
        self.d[p] = x * c * c + y * s * s;
        self.d[j] = x * s * s + y * c * c;
        if self.parts[p] != self.parts[j] {
            self.parts[j] = Part::Both;
        }
    }

    /// Eigenvalues of the whole, and the eigenvectors of the `wanted` largest.
    fn finish(mut self, wanted: usize) -> Eigen {
        let (n, (kept, done)) = (self.d.len(), self.deflate());
        let of = |x: &[f64]| kept.iter().map(|&j| x[j]).collect::<Vec<f64>>();
        let (d, z) = (of(&self.d), of(&self.z));
        let squares: Vec<f64> = z.iter().map(|z| z * z).collect();
        let equation = Secular { d: &d, squares: &squares, constant: 1.0 / self.rho };
        // Of the values that fall out, the lowest, some are deflated: so many roots at least have no vector.
        let first = (n - wanted).saturating_sub(done.len());
        let (roots, inner) = equation.solve(&z, first);
        let vectors = self.product(&kept, inner);
        let all: Vec<f64> = roots.iter().copied().chain(done.iter().map(|&j| self.d[j])).collect();
        let order = rising(&all);
        let mut out = DMatrix::zeros(n, wanted);
        for (mut column, &from) in out.column_iter_mut().zip(&order[n - wanted..]) {
            if from < roots.len() {
                column.copy_from(&vectors.column(from - first));
            } else {
                column.copy_from(&self.q.column(done[from - roots.len()]));
            }
        }
        Eigen { values: order.iter().map(|&i| all[i]).collect(), vectors: out }
    }

    /// The kept columns times the inner vectors: the upper and the lower rows, each without the columns that are zero there.
    fn product(&self, kept: &[usize], inner: DMatrix<f64>) -> DMatrix<f64> {
        let (n, k) = (self.d.len(), inner.ncols());
        let mut out = DMatrix::zeros(n, k);
        for (rows, without) in [(0..self.half, Part::Bottom), (self.half..n, Part::Top)] {
            let some: Vec<usize> =
                (0..kept.len()).filter(|&i| self.parts[kept[i]] != without).collect();
            let mut columns = DMatrix::zeros(rows.len(), some.len());
            for (&i, to) in some.iter().zip(columns.as_mut_slice().chunks_exact_mut(rows.len())) {
                to.copy_from_slice(&self.q.as_slice()[kept[i] * n..][rows.clone()]);
            }
            let mut factors = DMatrix::zeros(some.len(), k);
            let inner = inner.as_slice().chunks_exact(kept.len().max(1));
            let factor = factors.as_mut_slice().chunks_exact_mut(some.len().max(1));
            for (from, to) in inner.zip(factor) {
                some.iter().zip(to).for_each(|(&i, to)| *to = -from[i]);
            }
            subtract(&mut out.rows_range_mut(rows), columns.as_view(), factors.as_view());
        }
        out
    }
}
