//! The QR factorisation and products of matrices side by side.
//!
//! Owns: reflections with LAPACK's signs. Never scales.
//! Invariant: a column that has no tail is not reflected.

use super::lanes::{Block, EMPTY, Lane, Mask, ONE, SIDE, ZERO};
use super::lu::identity;
use crate::kernels::multiversion::leveled;

/// `a` becomes the upper factor, `q` the orthonormal one of `k` columns; the lanes in which no square of a tail vanished.
pub(super) fn qr(a: &mut Block, size: (usize, usize), q: &mut Block, k: usize) -> Mask {
    // SAFETY: the body asks for nothing.
    unsafe { qr_by_level(a, size, q, k) }
}

/// `a b`.
pub(super) fn times(a: &Block, b: &Block, n: usize) -> Block {
    // SAFETY: the body asks for nothing.
    unsafe { times_by_level(a, b, n) }
}

leveled! {
    unsafe fn qr_by_level(a: &mut Block, size: (usize, usize), q: &mut Block, k: usize) -> Mask
        = qr_body, Levels::UpToAvx2
}
leveled! {
    unsafe fn times_by_level(a: &Block, b: &Block, n: usize) -> Block = times_body, Levels::UpToAvx2
}

/// The axis of the reflection of column `c`, below the diagonal, and its factor; the lanes that are safe.
#[inline(always)]
fn axis(a: &mut Block, c: usize, m: usize) -> (Lane, Mask) {
    let (mut tail, mut most) = (ZERO, ZERO);
    for row in &a[c + 1..m.max(c + 1)] {
        tail = tail + row[c] * row[c];
        most = most.most(row[c].abs());
    }
    let head = a[c][c];
    let still = most.equals(ZERO);
    let safe = still | tail.above(Lane::all(1e-200));
    let length = (head * head + tail).sqrt();
    let turned = still.pick(head, ZERO - length.signed(head));
    let gap = still.pick(ONE, head - turned);
    a[c][c] = turned;
    for row in &mut a[c + 1..m.max(c + 1)] {
        row[c] = row[c] / gap;
    }
    (still.pick(ZERO, (turned - head) / still.pick(ONE, turned)), safe)
}

/// Reflects column `j` of `x` by the axis in column `c` of `a`; both may be the same matrix.
macro_rules! reflect {
    ($x:ident, $a:ident, $j:expr, $c:expr, $m:expr, $factor:expr) => {
        let mut sum = $x[$c][$j];
        for i in $c + 1..$m {
            sum = sum + $a[i][$c] * $x[i][$j];
        }
        let sum = sum * $factor;
        $x[$c][$j] = $x[$c][$j] - sum;
        for i in $c + 1..$m {
            $x[i][$j] = $x[i][$j] - $a[i][$c] * sum;
        }
    };
}

/// # Safety
/// None is asked for.
#[inline(always)]
unsafe fn qr_body(a: &mut Block, (m, n): (usize, usize), q: &mut Block, k: usize) -> Mask {
    let (m, n, k) = (m.min(SIDE), n.min(SIDE), k.min(SIDE));
    let (mut factors, mut safe) = ([ZERO; SIDE], Mask::ALL);
    for c in 0..k {
        let (factor, fine) = axis(a, c, m);
        (factors[c], safe) = (factor, safe & fine);
        for j in c + 1..n {
            reflect!(a, a, j, c, m, factor);
        }
    }
    *q = identity(m);
    for c in (0..k).rev() {
        for j in c..k {
            reflect!(q, a, j, c, m, factors[c]);
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
/// None is asked for.
#[inline(always)]
unsafe fn times_body(a: &Block, b: &Block, n: usize) -> Block {
    let (mut out, n) = (EMPTY, n.min(SIDE));
    for i in 0..n {
        for p in 0..n {
            let factor = a[i][p];
            for j in 0..n {
                out[i][j] = out[i][j] + factor * b[p][j];
            }
        }
    }
    out
}
