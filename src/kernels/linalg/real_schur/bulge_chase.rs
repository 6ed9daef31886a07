//! Steps of the double-shift QR iteration: chases a 3 × 3 bulge down a Hessenberg matrix.
//!
//! The loops that apply the small reflectors are compiled for the CPU levels. Invariant: every
//! level computes the same bits.
//!
//! Source: LAPACK's `lahqr` (Anderson et al., LAPACK Users' Guide, 1999).

use std::ops::Range;

use crate::kernels::linalg::matrix::Matrix;
use crate::kernels::multiversion::multiversion;

/// Two shifts: real ones, or a conjugate pair.
#[derive(Clone, Copy)]
pub(super) struct Shifts {
    pub(super) re: [f64; 2],
    pub(super) im: f64,
}

/// Index ranges of a step: the active rows `first..=last`, the row `start` in which the bulge
/// begins, the first row `top` whose columns are updated, and the last column `end` whose rows are.
#[derive(Clone, Copy)]
pub(super) struct StepRange {
    pub(super) first: usize,
    pub(super) start: usize,
    pub(super) last: usize,
    pub(super) top: usize,
    pub(super) end: usize,
}

/// A reflector `1 - tau v vᵀ`, with a leading 1 in `v`, that maps `x` to a multiple of the first
/// axis. Returns tau, the rest of `v`, and the multiple.
#[inline(always)]
pub(super) fn small_reflection(x: [f64; 3]) -> (f64, [f64; 2], f64) {
    let [a, b, c] = x;
    if b == 0.0 && c == 0.0 {
        return (0.0, [0.0; 2], a);
    }
    let most = a.abs().max(b.abs()).max(c.abs());
    let (p, q, r) = (a / most, b / most, c / most);
    let length = -(p * p + q * q + r * r).sqrt().copysign(p);
    let head = p - length;
    ((length - p) / length, [q / head, r / head], length * most)
}

/// Applies a reflector to rows `at..at + N` (N = 2 or 3) of a slice of whole columns.
#[inline(always)]
fn reflect_rows<const N: usize>(t: &mut [f64], n: usize, at: usize, tau: f64, v: [f64; 2]) {
    for column in t.chunks_exact_mut(n) {
        let x = &mut column[at..at + N];
        let sum = tau * (x[0] + v[0] * x[1] + if N == 3 { v[1] * x[2] } else { 0.0 });
        x[0] -= sum;
        x[1] -= sum * v[0];
        if N == 3 {
            x[2] -= sum * v[1];
        }
    }
}

/// Applies a reflector to `count` elements of three columns, `n` elements apart.
#[inline(always)]
unsafe fn reflect_columns_body(x: *mut f64, n: usize, count: usize, tau: f64, v: [f64; 2]) {
    let (y, z) = (x.wrapping_add(n), x.wrapping_add(2 * n));
    for i in 0..count {
        // SAFETY: the caller guarantees the columns.
        unsafe {
            let (a, b, c) = (*x.add(i), *y.add(i), *z.add(i));
            let sum = tau * (a + v[0] * b + v[1] * c);
            *x.add(i) = a - sum;
            *y.add(i) = b - sum * v[0];
            *z.add(i) = c - sum * v[1];
        }
    }
}

multiversion! {
    unsafe fn reflect_columns_loop(x: *mut f64, n: usize, count: usize, tau: f64, v: [f64; 2]) = reflect_columns_body, Levels::UpToAvx2
}

/// Applies a reflector to some rows of three adjacent columns of `n` rows. A separate call per
/// reflector: if LLVM sees the outer loop, it checks whether the columns of all iterations overlap,
/// which they do, and does not vectorise.
fn reflect_columns(t: &mut [f64], n: usize, part: Range<usize>, tau: f64, v: [f64; 2]) {
    assert!(part.start <= part.end && part.end <= n && t.len() >= 3 * n);
    // SAFETY: every column has `n` rows, of which these are some, and the slice holds three columns.
    unsafe { reflect_columns_loop(t.as_mut_ptr().add(part.start), n, part.len(), tau, v) }
}

/// Applies a reflector to two adjacent columns.
#[inline(always)]
fn reflect_two_columns(t: &mut [f64], n: usize, part: Range<usize>, tau: f64, v: f64) {
    let (x, y) = t.split_at_mut(n);
    for (x, y) in x[part.clone()].iter_mut().zip(&mut y[part.clone()]) {
        let sum = tau * (*x + v * *y);
        *x -= sum;
        *y -= sum * v;
    }
}

/// The normalised first column of the product of both shifted matrices.
#[inline(always)]
fn direction(t: &[f64], n: usize, k: usize, shifts: Shifts) -> [f64; 3] {
    let at = |i: usize, j: usize| t[(k + j) * n + k + i];
    let Shifts { re: [p, q], im } = shifts;
    let size = (at(0, 0) - q).abs() + im.abs() + at(1, 0).abs();
    if size == 0.0 {
        return [0.0; 3];
    }
    let below = at(1, 0) / size;
    let head = below * at(0, 1) + (at(0, 0) - p) * ((at(0, 0) - q) / size) + im * (im / size);
    let v = [head, below * (at(0, 0) + at(1, 1) - p - q), below * at(2, 1)];
    let size = v[0].abs() + v[1].abs() + v[2].abs();
    if size == 0.0 { v } else { v.map(|v| v / size) }
}

/// One step with two shifts; the reflectors are accumulated in `z` unless it has no rows.
pub(super) fn step(t: &mut Matrix<f64>, z: &mut Matrix<f64>, at: StepRange, shifts: Shifts) {
    let (n, height) = (t.nrows(), z.nrows());
    let (t, z) = (t.as_mut_slice(), z.as_mut_slice());
    let (first, last) = (at.start, at.last);
    for k in first..last {
        let three = k + 2 <= last;
        let head_vector = if k == first {
            direction(t, n, k, shifts)
        } else {
            let x = &t[(k - 1) * n + k..];
            [x[0], x[1], if three { x[2] } else { 0.0 }]
        };
        let (tau, v, length) = small_reflection(head_vector);
        if k > first {
            let below = &mut t[(k - 1) * n + k..][..2 + usize::from(three)];
            below.fill(0.0);
            below[0] = length;
        } else if k > at.first {
            t[(k - 1) * n + k] *= 1.0 - tau;
        }
        let (here, end) = (&mut t[k * n..(at.end + 1) * n], (k + 3).min(last) + 1);
        if three {
            reflect_rows::<3>(here, n, k, tau, v);
        } else {
            reflect_rows::<2>(here, n, k, tau, v);
        }
        for (x, n, part) in [(here, n, at.top..end), (&mut z[k * height..], height, 0..height)] {
            if three {
                reflect_columns(x, n, part, tau, v);
            } else {
                reflect_two_columns(x, n, part, tau, v[0]);
            }
        }
    }
}
