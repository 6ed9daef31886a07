//! Standardisation of the 2 × 2 blocks of a real Schur form.
//!
//! Invariant: every rotation of the form is also applied to its vectors.
//!
//! Source: LAPACK's `lanv2`.

use super::iterate::RealSchur;
use crate::kernels::linalg::gemv::rotate;
use crate::kernels::linalg::matrix::Matrix;

/// The standard form of `[[a, b], [c, d]]`, and the rotation `[[cs, sn], [-sn, cs]]` that produces
/// it.
fn standard_form([mut a, mut b, mut c, mut d]: [f64; 4]) -> ([f64; 4], [f64; 2]) {
    if c == 0.0 {
        return ([a, b, c, d], [1.0, 0.0]);
    }
    if b == 0.0 {
        return ([d, -c, 0.0, a], [0.0, 1.0]);
    }
    if a == d && (b < 0.0) != (c < 0.0) {
        return ([a, b, c, d], [1.0, 0.0]);
    }
    let gap = a - d;
    let half = gap / 2.0;
    let (more, less) = (b.abs().max(c.abs()), b.abs().min(c.abs()).copysign(b) * c.signum());
    let size = half.abs().max(more);
    let root = half / size * half + more / size * less;
    if root >= 4.0 * f64::EPSILON {
        let root = half + (size.sqrt() * root.sqrt()).copysign(half);
        let length = c.hypot(root);
        return ([d + root, b - c, 0.0, d - more / root * less], [root / length, c / length]);
    }
    // Complex, or real and nearly equal: make the diagonal equal.
    let sum = b + c;
    let length = sum.hypot(gap);
    let cs = (0.5 * (1.0 + sum.abs() / length)).sqrt();
    let sn = -(half / (length * cs)).copysign(half) * sum.signum();
    let (aa, bb) = (a * cs + b * sn, b * cs - a * sn);
    let (cc, dd) = (c * cs + d * sn, d * cs - c * sn);
    [a, b, c, d] = [aa * cs + cc * sn, bb * cs + dd * sn, cc * cs - aa * sn, dd * cs - bb * sn];
    let middle = (a + d) / 2.0;
    [a, d] = [middle; 2];
    if c == 0.0 {
        return ([a, b, c, d], [cs, sn]);
    }
    if b == 0.0 {
        return ([a, -c, 0.0, d], [-sn, cs]);
    }
    if (b < 0.0) != (c < 0.0) {
        return ([a, b, c, d], [cs, sn]);
    }
    let (p, q) = (b.abs().sqrt(), c.abs().sqrt());
    let (step, over) = ((p * q).copysign(c), 1.0 / (b + c).abs().sqrt());
    let (cs1, sn1) = (p * over, q * over);
    ([middle + step, b - c, 0.0, middle - step], [cs * cs1 - sn * sn1, cs * sn1 + sn * cs1])
}

impl RealSchur {
    /// Rotates rows and columns `k` and `k + 1` outside their block, and the vectors.
    fn rotate_outside_block(&mut self, k: usize, [cs, sn]: [f64; 2]) {
        let n = self.t.nrows();
        let end = if self.full { n } else { k };
        for j in k + 2..end {
            let (x, y) = (self.t[(k, j)], self.t[(k + 1, j)]);
            self.t[(k, j)] = cs * x + sn * y;
            self.t[(k + 1, j)] = cs * y - sn * x;
        }
        let rotate_columns = |m: &mut Matrix<f64>, rows: usize| {
            let all = m.nrows();
            let (x, y) = m.as_mut_slice()[k * all..].split_at_mut(all);
            rotate(&mut x[..rows], &mut y[..rows], cs, -sn);
        };
        if self.full {
            rotate_columns(&mut self.t, k);
        }
        if self.z.nrows() > 0 {
            let rows = self.z.nrows();
            rotate_columns(&mut self.z, rows);
        }
    }

    /// Brings the block in rows `k` and `k + 1` to standard form.
    pub(super) fn standardise(&mut self, k: usize) {
        let t = &self.t;
        let block = [t[(k, k)], t[(k, k + 1)], t[(k + 1, k)], t[(k + 1, k + 1)]];
        let ([a, b, c, d], rotation) = standard_form(block);
        if rotation[1] != 0.0 {
            self.rotate_outside_block(k, rotation);
        }
        let t = &mut self.t;
        (t[(k, k)], t[(k, k + 1)], t[(k + 1, k)], t[(k + 1, k + 1)]) = (a, b, c, d);
    }
}
