//! The reorderings and turns between a line and the real line whose spectrum gives its cosine transform.
//!
//! Owns: the loops, for every level. Never transforms. Invariant: `fold` undoes `unfold`, and `turn_back` is the transpose
//! of `turn` up to the half of what stands for two.
//! Source: J. Makhoul, A fast cosine transform in one and two dimensions (1980).

use rustfft::num_complex::Complex;

use super::number::Real;
use crate::kernels::leveled::leveled;

leveled! {
    /// Even positions from the front, odd ones from the back.
    pub(super) unsafe fn unfold<T: Real>(line: &[T], to: &mut [T]) = unfold_body
}
leveled! {
    /// The reverse of `unfold`.
    pub(super) unsafe fn fold<T: Real>(from: &[T], line: &mut [T]) = fold_body
}
leveled! {
    /// The real parts of a turned spectrum from the front, the negative imaginary ones from the back.
    pub(super) unsafe fn turn<T: Real>(z: &[Complex<T>], table: &[Complex<T>], out: &mut [T]) = turn_body
}
leveled! {
    /// The transpose of `turn`, with half the numbers behind the first.
    pub(super) unsafe fn turn_back<T: Real>(line: &[T], table: &[Complex<T>], z: &mut [Complex<T>]) = turn_back_body
}

/// # Safety
/// Both have as many elements.
#[inline(always)]
unsafe fn unfold_body<T: Real>(line: &[T], to: &mut [T]) {
    let n = line.len();
    let (line, to) = (line.as_ptr(), to.as_mut_ptr());
    // SAFETY: the positions are those of the line.
    unsafe {
        for i in 0..n / 2 {
            *to.add(i) = *line.add(2 * i);
            *to.add(n - 1 - i) = *line.add(2 * i + 1);
        }
        if !n.is_multiple_of(2) {
            *to.add(n / 2) = *line.add(n - 1);
        }
    }
}

/// # Safety
/// Both have as many elements.
#[inline(always)]
unsafe fn fold_body<T: Real>(from: &[T], line: &mut [T]) {
    let n = line.len();
    let (from, line) = (from.as_ptr(), line.as_mut_ptr());
    // SAFETY: as above.
    unsafe {
        for i in 0..n / 2 {
            *line.add(2 * i) = *from.add(i);
            *line.add(2 * i + 1) = *from.add(n - 1 - i);
        }
        if !n.is_multiple_of(2) {
            *line.add(n - 1) = *from.add(n / 2);
        }
    }
}

/// # Safety
/// The spectrum and the table have `n / 2 + 1` numbers for `n` elements of the line.
#[inline(always)]
unsafe fn turn_body<T: Real>(z: &[Complex<T>], table: &[Complex<T>], out: &mut [T]) {
    let n = out.len();
    let (z, table, out) = (z.as_ptr(), table.as_ptr(), out.as_mut_ptr());
    // SAFETY: the caller's contract.
    unsafe {
        *out = ((*z) * (*table)).re;
        for k in 1..n.div_ceil(2) {
            let turned = *z.add(k) * *table.add(k);
            *out.add(k) = turned.re;
            *out.add(n - k) = -turned.im;
        }
        if n.is_multiple_of(2) {
            *out.add(n / 2) = (*z.add(n / 2) * *table.add(n / 2)).re;
        }
    }
}

/// # Safety
/// As `turn_body`.
#[inline(always)]
unsafe fn turn_back_body<T: Real>(line: &[T], table: &[Complex<T>], z: &mut [Complex<T>]) {
    let (n, half) = (line.len(), T::narrow(0.5));
    let (line, table, z) = (line.as_ptr(), table.as_ptr(), z.as_mut_ptr());
    // SAFETY: the caller's contract.
    unsafe {
        *z = Complex::new(*line, T::zero()) * (*table).conj();
        for k in 1..n / 2 + 1 {
            let x = Complex::new(*line.add(k) * half, -*line.add(n - k) * half);
            *z.add(k) = x * (*table.add(k)).conj();
        }
    }
}
