//! Combines the numbers of a spectrum with their mirror images: the step between a complex FFT of
//! half length and a real FFT.
//!
//! Invariant: how a number is computed follows from its position and the CPU.

use rustfft::num_complex::Complex;
use rustfft::num_traits::One;

use super::float::Real;
use crate::kernels::simd::ComplexPairs;

/// Parameters of the combination. For the numbers `a` at `k` and `b` at `last - k` of each line,
/// with `s = a + conj(b)` and `d = a - conj(b)`: `half s + twiddle d` goes to `k`, and the
/// conjugate of `half s - twiddle d` to `last - k`.
#[derive(Clone, Copy)]
pub(super) struct Mirror<T> {
    pub(super) from: *const Complex<T>,
    pub(super) to: *mut Complex<T>,
    pub(super) last: usize,
    /// Number of lines, and their distances in input and output.
    pub(super) lines: usize,
    pub(super) line_strides: [usize; 2],
    pub(super) half: T,
    /// Factor of the imaginary parts of the input.
    pub(super) input_sign: T,
    /// Factors of the real and the imaginary parts of the output.
    pub(super) output_factors: [T; 2],
}

/// Combines as many numbers of each line as there are twiddles with their mirror images, from
/// position 1 on.
///
/// # Safety
/// The positions from 1 to `last - 1` of every line are readable and writable, and there are at
/// most half as many twiddles.
pub(super) unsafe fn combine<T: Real>(mirror: Mirror<T>, twiddles: &[Complex<T>]) {
    #[cfg(target_arch = "x86_64")]
    {
        // AVX2 only: every AVX-512 vector would cross a cache line, because position 1 does not
        // begin one.
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2<T: Real>(mirror: Mirror<T>, twiddles: &[Complex<T>]) {
            // SAFETY: the caller's contract.
            unsafe { combine_simd::<T::Avx2>(mirror, twiddles) }
        }
        use crate::kernels::isa::{Level, level};
        if level() != Level::Baseline {
            // SAFETY: the CPU has the instructions; the rest is the caller's contract.
            return unsafe { avx2(mirror, twiddles) };
        }
    }
    // SAFETY: the caller's contract.
    unsafe { combine_scalar(mirror, twiddles, 0) }
}

/// Combines vectors of interleaved numbers with reversed vectors from the other end.
///
/// # Safety
/// As `combine`, on a CPU with the instructions of the vector.
#[inline(always)]
unsafe fn combine_simd<V: ComplexPairs<Scalar: Real>>(
    mirror: Mirror<V::Scalar>,
    twiddles: &[Complex<V::Scalar>],
) {
    let factors = Factors::<V>::of(mirror);
    let (last, width) = (mirror.last, V::LANES / 2);
    let whole = twiddles.len() / width;
    for line in 0..mirror.lines {
        let Mirror { from, to, .. } = mirror.line(line);
        // SAFETY: the caller's contract.
        unsafe {
            for k in (1..).step_by(width).take(whole) {
                let (a, b) = (from.add(k), from.add(last + 1 - k - width));
                let (a, b) = (V::load(a.cast()), V::load(b.cast()).reverse_complex());
                let [a, b] = factors.pair(V::load(twiddles.as_ptr().add(k - 1).cast()), a, b);
                a.store(to.add(k).cast());
                b.store(to.add(last + 1 - k - width).cast());
            }
        }
    }
    if whole * width < twiddles.len() {
        // SAFETY: the caller's contract.
        unsafe { combine_scalar(mirror, twiddles, whole * width) }
    }
}

/// The factors of a combination in vectors.
struct Factors<V> {
    halves: V,
    input_sign: V,
    output_factors: V,
    mirrored: V,
    /// Signs that make the conjugate, and the negated conjugate.
    conjugate: V,
    opposite: V,
}

impl<V: ComplexPairs<Scalar: Real>> Factors<V> {
    #[inline(always)]
    fn of(mirror: Mirror<V::Scalar>) -> Factors<V> {
        let (one, Mirror { half, input_sign, output_factors: [re, im], .. }) =
            (V::Scalar::one(), mirror);
        Factors {
            halves: V::splat_complex(half, half * input_sign),
            input_sign: V::splat_complex(one, input_sign),
            output_factors: V::splat_complex(re, im),
            mirrored: V::splat_complex(re, -im),
            conjugate: V::splat_complex(one, -one),
            opposite: V::splat_complex(-one, one),
        }
    }

    /// As `Mirror::pair`, with the vectors of `b` and of its result reversed.
    #[inline(always)]
    fn pair(&self, twiddle: V, a: V, b: V) -> [V; 2] {
        let (s, d) =
            (b.mul_add(self.conjugate, a), b.mul_add(self.opposite, a).mul(self.input_sign));
        let t = d.fmaddsub(twiddle.dup_real(), d.swap_parts().mul(twiddle.dup_imag()));
        let mirrored_result = s.mul_sub(self.halves, t).mul(self.mirrored);
        [s.mul_add(self.halves, t).mul(self.output_factors), mirrored_result.reverse_complex()]
    }
}

/// Combines the remaining numbers, from twiddle `done` on.
///
/// # Safety
/// As `combine`.
#[inline(always)]
unsafe fn combine_scalar<T: Real>(mirror: Mirror<T>, twiddles: &[Complex<T>], done: usize) {
    for line in 0..mirror.lines {
        let Mirror { from, to, last, .. } = mirror.line(line);
        for (k, &twiddle) in (1..).zip(twiddles).skip(done) {
            // SAFETY: the caller's contract.
            unsafe {
                let [a, b] = mirror.pair(*from.add(k), *from.add(last - k), twiddle);
                (*to.add(k), *to.add(last - k)) = (a, b);
            }
        }
    }
}

impl<T: Real> Mirror<T> {
    /// The parameters for line `at`.
    #[inline(always)]
    fn line(self, at: usize) -> Mirror<T> {
        let [from, to] = self.line_strides.map(|stride| at * stride);
        Mirror { from: self.from.wrapping_add(from), to: self.to.wrapping_add(to), ..self }
    }

    /// The results for `a` and for its mirror image `b`.
    #[inline(always)]
    fn pair(self, a: Complex<T>, b: Complex<T>, twiddle: Complex<T>) -> [Complex<T>; 2] {
        let Mirror { half, input_sign, output_factors: [re, im], .. } = self;
        let (s_re, s_im) = (half * (a.re + b.re), half * (input_sign * (a.im - b.im)));
        let (d_re, d_im) = (a.re - b.re, input_sign * (a.im + b.im));
        let (t_re, t_im) =
            (twiddle.re * d_re - twiddle.im * d_im, twiddle.re * d_im + twiddle.im * d_re);
        [
            Complex::new(re * (s_re + t_re), im * (s_im + t_im)),
            Complex::new(re * (s_re - t_re), im * (t_im - s_im)),
        ]
    }
}
