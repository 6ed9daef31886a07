//! Householder QR factorisation, and matrix products, of four small matrices at once.
//!
//! Signs follow LAPACK. Invariant: a column with a zero tail is not reflected.

use super::lanes::{F64x4, LaneMatrix, MAX_SIDE, Mask, ONE, ZERO, ZERO_MATRIX};
use super::lu_cholesky::identity;
use crate::kernels::multiversion::multiversion;

/// Overwrites `a` with the upper factor and `q` with the orthonormal one of `k` columns. Returns
/// the lanes in which no square of a tail underflowed.
pub(super) fn qr(a: &mut LaneMatrix, size: (usize, usize), q: &mut LaneMatrix, k: usize) -> Mask {
    // SAFETY: the body has no contract.
    unsafe { qr_by_level(a, size, q, k) }
}

/// `a b`.
pub(super) fn matmul(a: &LaneMatrix, b: &LaneMatrix, n: usize) -> LaneMatrix {
    // SAFETY: the body has no contract.
    unsafe { matmul_by_level(a, b, n) }
}

multiversion! {
    unsafe fn qr_by_level(a: &mut LaneMatrix, size: (usize, usize), q: &mut LaneMatrix, k: usize) -> Mask
        = qr_body, Levels::UpToAvx2
}
multiversion! {
    unsafe fn matmul_by_level(a: &LaneMatrix, b: &LaneMatrix, n: usize) -> LaneMatrix = matmul_body, Levels::UpToAvx2
}

/// Turns column `c` into its Householder vector (below the diagonal) and returns tau, and the lanes
/// that are safe.
#[inline(always)]
fn make_reflector(a: &mut LaneMatrix, c: usize, m: usize) -> (F64x4, Mask) {
    let (mut tail, mut largest) = (ZERO, ZERO);
    for row in &a[c + 1..m.max(c + 1)] {
        tail = tail + row[c] * row[c];
        largest = largest.max(row[c].abs());
    }
    let head = a[c][c];
    let zero_tail = largest.equals(ZERO);
    let safe = zero_tail | tail.gt(F64x4::splat(1e-200));
    let length = (head * head + tail).sqrt();
    let beta = zero_tail.select(head, ZERO - length.copysign(head));
    let difference = zero_tail.select(ONE, head - beta);
    a[c][c] = beta;
    for row in &mut a[c + 1..m.max(c + 1)] {
        row[c] = row[c] / difference;
    }
    (zero_tail.select(ZERO, (beta - head) / zero_tail.select(ONE, beta)), safe)
}

/// Reflects column `j` of `x` by the Householder vector in column `c` of `a`; `x` and `a` may be
/// the same matrix.
macro_rules! reflect {
    ($x:ident, $a:ident, $j:expr, $c:expr, $m:expr, $tau:expr) => {
        let mut sum = $x[$c][$j];
        for i in $c + 1..$m {
            sum = sum + $a[i][$c] * $x[i][$j];
        }
        let sum = sum * $tau;
        $x[$c][$j] = $x[$c][$j] - sum;
        for i in $c + 1..$m {
            $x[i][$j] = $x[i][$j] - $a[i][$c] * sum;
        }
    };
}

/// # Safety
/// No contract.
#[inline(always)]
unsafe fn qr_body(
    a: &mut LaneMatrix,
    (m, n): (usize, usize),
    q: &mut LaneMatrix,
    k: usize,
) -> Mask {
    let (m, n, k) = (m.min(MAX_SIDE), n.min(MAX_SIDE), k.min(MAX_SIDE));
    let (mut taus, mut safe) = ([ZERO; MAX_SIDE], Mask::ALL);
    for c in 0..k {
        let (tau, fine) = make_reflector(a, c, m);
        (taus[c], safe) = (tau, safe & fine);
        for j in c + 1..n {
            reflect!(a, a, j, c, m, tau);
        }
    }
    *q = identity(m);
    for c in (0..k).rev() {
        for j in c..k {
            reflect!(q, a, j, c, m, taus[c]);
        }
    }
    for c in 0..k {
        for row in &mut a[c + 1..m.max(c + 1)] {
            row[c] = ZERO;
        }
    }
    safe
}

/// # Safety
/// No contract.
#[inline(always)]
unsafe fn matmul_body(a: &LaneMatrix, b: &LaneMatrix, n: usize) -> LaneMatrix {
    let (mut out, n) = (ZERO_MATRIX, n.min(MAX_SIDE));
    for i in 0..n {
        for p in 0..n {
            let scale = a[i][p];
            for j in 0..n {
                out[i][j] = out[i][j] + scale * b[p][j];
            }
        }
    }
    out
}
