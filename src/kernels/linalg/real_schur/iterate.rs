//! Double-shift QR iteration to real Schur form: triangular up to 2 × 2 blocks for conjugate pairs.
//!
//! Invariant: a 2 × 2 block has equal diagonal elements and off-diagonal elements of opposite
//! signs.
//!
//! Sources: LAPACK's `lahqr` and `laqr0`; Ahues and Tisseur, LAPACK Working Note 122 (1997), for
//! what is negligible.

use super::bulge_chase::{Shifts, StepRange, step};
use super::hessenberg::reduce;
use crate::dtype::Complex128;
use crate::kernels::linalg::matrix::Matrix;

/// Most iterations per eigenvalue.
const MAX_STEPS_PER_VALUE: usize = 30;

/// A real Schur form: `z t zᵀ` is the matrix. `z` has no rows unless it is wanted.
pub(in crate::kernels::linalg) struct RealSchur {
    pub(in crate::kernels::linalg) t: Matrix<f64>,
    pub(in crate::kernels::linalg) z: Matrix<f64>,
    /// Whether all of `t` is computed, not only its diagonal blocks.
    pub(super) full: bool,
}

impl RealSchur {
    /// The Schur form of a finite matrix; without `full`, only the diagonal blocks and no vectors.
    /// `None` without convergence.
    pub(in crate::kernels::linalg) fn of(a: Matrix<f64>, full: bool) -> Option<RealSchur> {
        let (z, t) = reduce(a).into_q_h(full);
        let mut form = RealSchur { t, z, full };
        form.iterate().then_some(form)
    }

    /// Iterates until the Hessenberg matrix is block triangular; false without convergence.
    fn iterate(&mut self) -> bool {
        let n = self.t.nrows();
        let (mut end, mut tried, mut total) = (n, 0usize, 0);
        while end > 0 {
            let last = end - 1;
            let mut first = last;
            while first > 0 && !self.negligible(first - 1) {
                first -= 1;
            }
            if last - first < 2 {
                if first < last {
                    self.standardise(first);
                }
                (end, tried) = (first, 0);
                continue;
            }
            (tried, total) = (tried + 1, total + 1);
            if total > MAX_STEPS_PER_VALUE * n.max(10) {
                return false;
            }
            self.step(first, last, self.shifts(first, last, tried));
        }
        true
    }

    /// Whether the subdiagonal element in column `k` is negligible; if so, sets it to zero.
    fn negligible(&mut self, k: usize) -> bool {
        let t = &self.t;
        let below = t[(k + 1, k)].abs();
        if below > 0.0 {
            let mut around = t[(k, k)].abs() + t[(k + 1, k + 1)].abs();
            if around == 0.0 {
                if k > 0 {
                    around += t[(k, k - 1)].abs();
                }
                if k + 2 < t.nrows() {
                    around += t[(k + 2, k + 1)].abs();
                }
            }
            if below > f64::MIN_POSITIVE {
                if below > f64::EPSILON * around {
                    return false;
                }
                let beside = t[(k, k + 1)].abs();
                let gap = (t[(k, k)] - t[(k + 1, k + 1)]).abs();
                let corner = t[(k + 1, k + 1)].abs();
                let (more, less) = (below.max(beside), below.min(beside));
                let (long, short) = (corner.max(gap), corner.min(gap));
                let size = more + long;
                let least = f64::EPSILON * (short * (long / size));
                if less * (more / size) > least.max(f64::MIN_POSITIVE) {
                    return false;
                }
            }
        }
        self.t[(k + 1, k)] = 0.0;
        true
    }

    /// The eigenvalues of the last 2 × 2 block, or exceptional shifts after several failed steps.
    fn shifts(&self, first: usize, last: usize, tried: usize) -> Shifts {
        let t = &self.t;
        let at = if tried.is_multiple_of(20) { first + 2 } else { last };
        if tried.is_multiple_of(10) {
            let size = t[(at, at - 1)].abs() + t[(at - 1, at - 2)].abs();
            let head = 0.75 * size + t[(at, at)];
            return block_shifts([head, -0.4375 * size, size, head]);
        }
        block_shifts([
            t[(last - 1, last - 1)],
            t[(last - 1, last)],
            t[(last, last - 1)],
            t[(last, last)],
        ])
    }

    /// One step on the rows `first..=last`, starting below two consecutive small subdiagonal
    /// elements.
    fn step(&mut self, first: usize, last: usize, shifts: Shifts) {
        let n = self.t.nrows();
        let start = self.start(first, last, shifts);
        let (top, end) = if self.full { (0, n - 1) } else { (first, last) };
        step(&mut self.t, &mut self.z, StepRange { first, start, last, top, end }, shifts);
    }

    fn start(&self, first: usize, last: usize, shifts: Shifts) -> usize {
        let t = &self.t;
        let Shifts { re: [p, q], im } = shifts;
        for m in (first + 1..last - 1).rev() {
            let (here, next, below) = (t[(m, m)], t[(m + 1, m + 1)], t[(m + 1, m)]);
            let size = (here - q).abs() + im.abs() + below.abs();
            if size == 0.0 {
                continue;
            }
            let part = below / size;
            let v = [
                part * t[(m, m + 1)] + (here - p) * ((here - q) / size) + im * (im / size),
                part * (here + next - p - q),
                part * t[(m + 2, m + 1)],
            ];
            let left = t[(m, m - 1)].abs() * (v[1].abs() + v[2].abs());
            let around = t[(m - 1, m - 1)].abs() + here.abs() + next.abs();
            if left <= f64::EPSILON * v[0].abs() * around {
                return m;
            }
        }
        first
    }

    /// The eigenvalues, in diagonal order.
    pub(super) fn values(&self) -> Vec<Complex128> {
        let (t, n) = (&self.t, self.t.nrows());
        let mut out: Vec<Complex128> = t.diagonal().map(Complex128::from).collect();
        for k in 1..n {
            if t[(k, k - 1)] != 0.0 {
                let im = t[(k, k - 1)].abs().sqrt() * t[(k - 1, k)].abs().sqrt();
                (out[k - 1].im, out[k].im) = (im, -im);
            }
        }
        out
    }
}

/// The eigenvalues of a 2 × 2 block as shifts; of two real ones, the one nearer to the last
/// element, twice.
fn block_shifts([a, b, c, d]: [f64; 4]) -> Shifts {
    let size = a.abs() + b.abs() + c.abs() + d.abs();
    if size == 0.0 {
        return Shifts { re: [0.0; 2], im: 0.0 };
    }
    let [a, b, c, d] = [a, b, c, d].map(|x| x / size);
    let middle = (a + d) / 2.0;
    let square = (a - middle) * (d - middle) - b * c;
    let root = square.abs().sqrt();
    if square >= 0.0 {
        return Shifts { re: [middle * size; 2], im: root * size };
    }
    let (one, other) = (middle + root, middle - root);
    let near = if (one - d).abs() <= (other - d).abs() { one } else { other };
    Shifts { re: [near * size; 2], im: 0.0 }
}
