//! Reorderings and twiddle products between a line and the real line whose spectrum gives its DCT.
//!
//! Compiled for every CPU level. Invariant: `interleave` is the inverse of `deinterleave`, and
//! `apply_twiddles_transposed` is the transpose of `apply_twiddles`, except that numbers after the
//! first are halved.
//!
//! Source: J. Makhoul, A fast cosine transform in one and two dimensions (1980).

use rustfft::num_complex::Complex;

use super::float::Real;
use crate::kernels::multiversion;
use crate::kernels::multiversion::multiversion;

multiversion! {
    /// Even positions to the front in order, odd ones to the back in reverse order.
    pub(super) unsafe fn deinterleave<T: Real>(line: &[T], to: &mut [T])
        = deinterleave_body, multiversion::Levels::UpToAvx2
}
multiversion! {
    /// The inverse of `deinterleave`.
    pub(super) unsafe fn interleave<T: Real>(from: &[T], line: &mut [T])
        = interleave_body, multiversion::Levels::UpToAvx2
}
multiversion! {
    /// Multiplies a spectrum by twiddles: real parts go to the front in order, negated imaginary
    /// parts to the back in reverse order.
    pub(super) unsafe fn apply_twiddles<T: Real>(z: &[Complex<T>], twiddles: &[Complex<T>], out: &mut [T])
        = apply_twiddles_body, multiversion::Levels::UpToAvx2
}
multiversion! {
    /// The transpose of `apply_twiddles`, with numbers after the first halved.
    pub(super) unsafe fn apply_twiddles_transposed<T: Real>(line: &[T], twiddles: &[Complex<T>], z: &mut [Complex<T>])
        = apply_twiddles_transposed_body, multiversion::Levels::UpToAvx2
}

/// Positions per step, which LLVM vectorises.
const BLOCK: usize = 16;

/// # Safety
/// Both have the same length.
#[inline(always)]
unsafe fn deinterleave_body<T: Real>(line: &[T], to: &mut [T]) {
    let n = line.len();
    let (line, to) = (line.as_ptr(), to.as_mut_ptr());
    let blocks = n / 2 / BLOCK * BLOCK;
    // SAFETY: the positions are inside the line.
    unsafe {
        for i in (0..blocks).step_by(BLOCK) {
            let pairs = line.add(2 * i).cast::<[T; 2 * BLOCK]>().read();
            let (mut even, mut odd) = ([T::zero(); BLOCK], [T::zero(); BLOCK]);
            (0..BLOCK).for_each(|j| even[j] = pairs[2 * j]);
            (0..BLOCK).for_each(|j| odd[j] = pairs[2 * (BLOCK - 1 - j) + 1]);
            to.add(i).cast::<[T; BLOCK]>().write(even);
            to.add(n - i - BLOCK).cast::<[T; BLOCK]>().write(odd);
        }
        for i in blocks..n / 2 {
            *to.add(i) = *line.add(2 * i);
            *to.add(n - 1 - i) = *line.add(2 * i + 1);
        }
        if !n.is_multiple_of(2) {
            *to.add(n / 2) = *line.add(n - 1);
        }
    }
}

/// # Safety
/// Both have the same length.
#[inline(always)]
unsafe fn interleave_body<T: Real>(from: &[T], line: &mut [T]) {
    let n = line.len();
    let (from, line) = (from.as_ptr(), line.as_mut_ptr());
    let blocks = n / 2 / BLOCK * BLOCK;
    // SAFETY: as above.
    unsafe {
        for i in (0..blocks).step_by(BLOCK) {
            let even = from.add(i).cast::<[T; BLOCK]>().read();
            let odd = from.add(n - i - BLOCK).cast::<[T; BLOCK]>().read();
            let mut pairs = [T::zero(); 2 * BLOCK];
            (0..BLOCK).for_each(|j| pairs[2 * j] = even[j]);
            (0..BLOCK).for_each(|j| pairs[2 * j + 1] = odd[BLOCK - 1 - j]);
            line.add(2 * i).cast::<[T; 2 * BLOCK]>().write(pairs);
        }
        for i in blocks..n / 2 {
            *line.add(2 * i) = *from.add(i);
            *line.add(2 * i + 1) = *from.add(n - 1 - i);
        }
        if !n.is_multiple_of(2) {
            *line.add(n - 1) = *from.add(n / 2);
        }
    }
}

/// # Safety
/// The spectrum and the table have `n / 2 + 1` numbers for a line of `n` elements.
#[inline(always)]
unsafe fn apply_twiddles_body<T: Real>(z: &[Complex<T>], twiddles: &[Complex<T>], out: &mut [T]) {
    let n = out.len();
    let (z, twiddles, out) = (z.as_ptr(), twiddles.as_ptr(), out.as_mut_ptr());
    let end = n.div_ceil(2).max(1);
    // The middle of an even line may be in a block; then it is overwritten below.
    let blocks = n / 2 / BLOCK * BLOCK + 1;
    // SAFETY: the caller's contract.
    unsafe {
        *out = ((*z) * (*twiddles)).re;
        for k in (1..blocks).step_by(BLOCK) {
            let (z, twiddles) = (z.add(k).cast::<[Complex<T>; BLOCK]>().read(), twiddles.add(k));
            let twiddles = twiddles.cast::<[Complex<T>; BLOCK]>().read();
            let (mut re, mut im) = ([T::zero(); BLOCK], [T::zero(); BLOCK]);
            (0..BLOCK).for_each(|j| re[j] = z[j].re * twiddles[j].re - z[j].im * twiddles[j].im);
            (0..BLOCK).for_each(|j| im[j] = z[j].re * twiddles[j].im + z[j].im * twiddles[j].re);
            let mut back = [T::zero(); BLOCK];
            (0..BLOCK).for_each(|j| back[j] = -im[BLOCK - 1 - j]);
            out.add(k).cast::<[T; BLOCK]>().write(re);
            out.add(n + 1 - k - BLOCK).cast::<[T; BLOCK]>().write(back);
        }
        for k in blocks..end {
            let rotated = *z.add(k) * *twiddles.add(k);
            *out.add(k) = rotated.re;
            *out.add(n - k) = -rotated.im;
        }
        if n.is_multiple_of(2) {
            *out.add(n / 2) = (*z.add(n / 2) * *twiddles.add(n / 2)).re;
        }
    }
}

/// # Safety
/// As `apply_twiddles_body`.
#[inline(always)]
unsafe fn apply_twiddles_transposed_body<T: Real>(
    line: &[T],
    twiddles: &[Complex<T>],
    z: &mut [Complex<T>],
) {
    let (n, half) = (line.len(), T::narrow(0.5));
    let (line, twiddles, z) = (line.as_ptr(), twiddles.as_ptr(), z.as_mut_ptr());
    let blocks = n / 2 / BLOCK * BLOCK + 1;
    // SAFETY: the caller's contract.
    unsafe {
        *z = Complex::new(*line, T::zero()) * (*twiddles).conj();
        for k in (1..blocks).step_by(BLOCK) {
            let front = line.add(k).cast::<[T; BLOCK]>().read();
            let back = line.add(n + 1 - k - BLOCK).cast::<[T; BLOCK]>().read();
            let twiddles = twiddles.add(k).cast::<[Complex<T>; BLOCK]>().read();
            let mut rotated = [Complex::new(T::zero(), T::zero()); BLOCK];
            for j in 0..BLOCK {
                let (re, im) = (half * front[j], half * back[BLOCK - 1 - j]);
                rotated[j].re = re * twiddles[j].re - im * twiddles[j].im;
                rotated[j].im = -(im * twiddles[j].re + re * twiddles[j].im);
            }
            z.add(k).cast::<[Complex<T>; BLOCK]>().write(rotated);
        }
        for k in blocks..n / 2 + 1 {
            let x = Complex::new(*line.add(k) * half, -*line.add(n - k) * half);
            *z.add(k) = x * (*twiddles.add(k)).conj();
        }
    }
}
