//! The implicit QL iteration for symmetric tridiagonal matrices. Source: EISPACK's `tql2`.
//!
//! Invariant: the vectors are orthonormal to rounding.

use super::gemv::rotate;
use super::matrix::Matrix;

/// Most QL steps per eigenvalue.
const MAX_QL_STEPS: usize = 60;

/// Rotates columns `first < second`: `c x - s y` and `s x + c y`.
pub(super) fn rotate_columns(z: &mut Matrix<f64>, first: usize, second: usize, c: f64, s: f64) {
    let n = z.nrows();
    let (left, right) = z.as_mut_slice().split_at_mut(second * n);
    rotate(&mut left[first * n..(first + 1) * n], &mut right[..n], c, s);
}

/// One implicitly shifted QL step on the rows `first..=last`, accumulated in `z`.
fn ql_step(d: &mut [f64], e: &mut [f64], first: usize, last: usize, z: &mut Matrix<f64>) {
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
        rotate_columns(z, i, i + 1, c, s);
    }
    d[first] -= p;
    e[first] = g;
}

/// QL iteration: eigenvalues in `d`, unsorted, and `z` times the eigenvectors. False without
/// convergence.
pub(super) fn ql_iterate(d: &mut [f64], e: &mut [f64], z: &mut Matrix<f64>) -> bool {
    let size = d.iter().chain(e.iter()).fold(0.0f64, |m, x| m.max(x.abs()));
    for first in 0..d.len() {
        for tried in 0.. {
            // Relative to the whole matrix too: the diagonal may be all zeros here.
            let small = |i: usize| {
                e[i].abs() <= f64::EPSILON * (size / 2.0).max(d[i].abs() + d[i + 1].abs())
            };
            let last = (first..e.len()).find(|&i| small(i)).unwrap_or(e.len());
            if last == first {
                break;
            }
            if tried == MAX_QL_STEPS {
                return false;
            }
            ql_step(d, e, first, last, z);
        }
    }
    true
}
