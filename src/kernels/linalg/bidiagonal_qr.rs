//! Singular values and vectors of small bidiagonal matrices by the implicitly shifted QR iteration
//! (LAPACK's `bdsqr`).
//!
//! Invariant: vectors are orthonormal to rounding, and values ascend.
//!
//! Source: Golub and Van Loan, Matrix Computations, 8.6 (Golub and Reinsch's algorithm).

use super::divide_conquer::merge::{BidiagonalSvd, ascending_order};
use super::matrix::Matrix;
use super::tridiagonal_ql::rotate_columns;

/// Most steps per value.
const MAX_STEPS: usize = 60;

/// An upper bidiagonal matrix, and the product of the rotations from the left and from the right.
struct Iteration {
    d: Vec<f64>,
    e: Vec<f64>,
    left: Matrix<f64>,
    right: Matrix<f64>,
    /// Magnitude of an element that counts as zero.
    noise: f64,
}

/// The rotation that maps `(a, b)` to `(length, 0)`.
fn rotation(a: f64, b: f64) -> (f64, f64, f64) {
    let length = a.hypot(b);
    if length == 0.0 { (1.0, 0.0, 0.0) } else { (a / length, b / length, length) }
}

impl Iteration {
    /// The rows `first..=last` of the last block that is not diagonal yet, after clearing
    /// negligible elements above the diagonal.
    fn last_block(&mut self) -> Option<(usize, usize)> {
        for i in 0..self.e.len() {
            let around = f64::EPSILON * (self.d[i].abs() + self.d[i + 1].abs());
            if self.e[i].abs() <= around.max(self.noise) {
                self.e[i] = 0.0;
            }
        }
        let last = self.e.iter().rposition(|&e| e != 0.0)? + 1;
        let first = self.e[..last].iter().rposition(|&e| e == 0.0).map_or(0, |i| i + 1);
        Some((first, last))
    }

    /// Rotates the element right of a zero on the diagonal in row `k` out of the block.
    fn clear_row(&mut self, k: usize, last: usize) {
        let mut bulge = std::mem::take(&mut self.e[k]);
        for i in k + 1..=last {
            let (c, s, length) = rotation(self.d[i], bulge);
            self.d[i] = length;
            if i < last {
                bulge = -s * self.e[i];
                self.e[i] *= c;
            }
            rotate_columns(&mut self.left, k, i, c, s);
        }
    }

    /// Rotates the element above a zero in the last row of the block out of it.
    fn clear_column(&mut self, first: usize, last: usize) {
        let mut bulge = std::mem::take(&mut self.e[last - 1]);
        for i in (first..last).rev() {
            let (c, s, length) = rotation(self.d[i], bulge);
            self.d[i] = length;
            if i > first {
                bulge = -s * self.e[i - 1];
                self.e[i - 1] *= c;
            }
            rotate_columns(&mut self.right, i, last, c, -s);
        }
    }

    /// The eigenvalue of the last two rows of `bᵀ b` that is nearer to the last element.
    fn shift(&self, first: usize, last: usize) -> f64 {
        let (d, e) = (&self.d, &self.e);
        let above = if last - 1 > first { e[last - 2] } else { 0.0 };
        let head = d[last - 1] * d[last - 1] + above * above;
        let tail = d[last] * d[last] + e[last - 1] * e[last - 1];
        let beside = d[last - 1] * e[last - 1];
        let half = (head - tail) / 2.0;
        let root = half + half.hypot(beside).copysign(half);
        if root == 0.0 { tail } else { tail - beside * beside / root }
    }

    /// One step on the rows `first..=last`.
    fn step(&mut self, first: usize, last: usize) {
        let mut y = self.d[first] * self.d[first] - self.shift(first, last);
        let mut z = self.d[first] * self.e[first];
        for k in first..last {
            let (c, s, length) = rotation(y, z);
            if k > first {
                self.e[k - 1] = length;
            }
            let (d, e, next) = (self.d[k], self.e[k], self.d[k + 1]);
            (y, z) = (c * d + s * e, s * next);
            (self.e[k], self.d[k + 1]) = (c * e - s * d, c * next);
            rotate_columns(&mut self.right, k, k + 1, c, -s);
            let (c, s, length) = rotation(y, z);
            self.d[k] = length;
            let (e, next) = (self.e[k], self.d[k + 1]);
            (y, self.d[k + 1]) = (c * e + s * next, c * next - s * e);
            if k + 1 < last {
                z = s * self.e[k + 1];
                self.e[k + 1] *= c;
            }
            rotate_columns(&mut self.left, k, k + 1, c, -s);
        }
        self.e[last - 1] = y;
    }

    /// Iterates until the matrix is diagonal; false without convergence.
    fn run(&mut self) -> bool {
        for _ in 0..MAX_STEPS * self.d.len() {
            let Some((first, last)) = self.last_block() else { return true };
            match (first..last).rev().find(|&i| self.d[i].abs() <= self.noise) {
                Some(k) => {
                    self.d[k] = 0.0;
                    self.clear_row(k, last);
                }
                None if self.d[last].abs() <= self.noise => {
                    self.d[last] = 0.0;
                    self.clear_column(first, last);
                }
                None => self.step(first, last),
            }
        }
        false
    }
}

/// Singular values and vectors of the square bidiagonal matrix with this diagonal and
/// superdiagonal, whose elements are of about 1 at most; `None` without convergence.
pub(super) fn svd(diagonal: &[f64], above: &[f64]) -> Option<BidiagonalSvd> {
    let n = diagonal.len();
    let most = diagonal.iter().chain(above).fold(0.0f64, |most, x| most.max(x.abs()));
    let [left, right] = [(); 2].map(|()| Matrix::identity(n, n));
    let noise = f64::EPSILON * most / 4.0;
    let mut iteration = Iteration { d: diagonal.to_vec(), e: above.to_vec(), left, right, noise };
    if !iteration.run() {
        return None;
    }
    let Iteration { mut d, left, mut right, .. } = iteration;
    for (k, value) in d.iter_mut().enumerate().filter(|(_, value)| **value < 0.0) {
        *value = -*value;
        right.column_mut(k).iter_mut().for_each(|x| *x = -*x);
    }
    let order = ascending_order(&d);
    Some(BidiagonalSvd {
        values: order.iter().map(|&k| d[k]).collect(),
        left: left.select_columns(&order),
        right: right.select_columns(&order),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::linalg::scalar::product;
    use crate::kernels::linalg::test_rng::uniform_numbers;

    /// Zeros on the diagonal, uncoupled rows, equal values and values of different magnitudes.
    #[test]
    fn pairs_multiply_back() {
        let mut next = uniform_numbers();
        for (n, kind) in [1, 2, 3, 10, 40].into_iter().flat_map(|n| (0..6).map(move |k| (n, k))) {
            let mut of = |i: usize| match kind {
                0 => next() - 0.5,
                1 => 1.0,
                2 => 0.5f64.powi(i as i32),
                3 => f64::from(i.is_multiple_of(3)),
                4 => (next() - 0.6).max(0.0),
                _ => 0.0,
            };
            let d: Vec<f64> = (0..n).map(&mut of).collect();
            let e: Vec<f64> = (1..n).map(&mut of).collect();
            let b = Matrix::from_fn(n, n, |i, k| match k {
                k if k == i => d[i],
                k if k == i + 1 => e[i],
                _ => 0.0,
            });
            let BidiagonalSvd { values, left, right } = svd(&d, &e).unwrap();
            let scaled = Matrix::from_fn(n, n, |i, k| left[(i, k)] * values[k]);
            let noise = 5e-15 * (n as f64 + 4.0);
            assert!((product(&scaled, &right.transpose()) - &b).norm() < noise, "{n}, kind {kind}");
            for q in [left, right] {
                let off = product(&q.transpose(), &q) - &Matrix::identity(n, n);
                assert!(off.norm() < noise, "{n}, kind {kind}");
            }
            assert!(values.windows(2).all(|pair| pair[0] <= pair[1]));
        }
    }
}
