//! Plans between a real line and its half spectrum.
//!
//! A line of an even number of points is transformed as a complex line of half the length, whose
//! spectrum is then combined with its mirror image; an odd one as a complex line with zero
//! imaginary parts. Invariant: each weight is applied once, to the finished numbers; the ends of a
//! spectrum are real.

use std::f64::consts::PI;
use std::sync::Arc;

use rustfft::Fft;
use rustfft::num_complex::Complex;

use super::batched;
use super::complex_plan;
use super::float::Real;
use super::mirrored::{Mirror, combine};
use super::plan_cache::PlanCache;
use crate::kernels::workspace::{WorkspaceSlices, bytes_of};

/// The plan of real lines of one length in one direction.
pub(super) struct RealPlan<T: Real> {
    n: usize,
    fft: Arc<dyn Fft<T>>,
    /// Lines per call.
    lines_per_call: usize,
    /// Twiddles `-i/2 e^(-iθ)` (to the spectrum) or `i e^(iθ)` (from it), with `θ = 2πk/n`, `0 < k
    /// <= n/4`.
    twiddles: Vec<Complex<T>>,
}

/// Bytes of the lines of a call, and the most lines of a call.
const CALL_BYTES: usize = 8 << 10;
const MAX_LINES_PER_CALL: usize = 16;

/// Factors applied to the numbers of a spectrum.
#[derive(Clone, Copy)]
pub(super) struct Weights<T> {
    /// Factor of the frequencies that are their own mirror image, and of the others.
    pub(super) factor: T,
    pub(super) interior: T,
    pub(super) conjugate: bool,
}

impl<T: Real> Weights<T> {
    /// The same factor for all.
    pub(super) fn of(factor: T) -> Weights<T> {
        Weights { factor, interior: factor, conjugate: false }
    }

    /// The sign of imaginary parts.
    fn sign(self) -> T {
        if self.conjugate { -T::one() } else { T::one() }
    }
}

static PLANS: PlanCache = PlanCache::new();

/// The cached plan from a line to its half spectrum.
pub(super) fn rfft_plan<T: Real>(n: usize) -> Arc<RealPlan<T>> {
    PLANS.get((n, 1), || Arc::new(RealPlan::new(n, true)))
}

/// The cached plan from a half spectrum to its line.
pub(super) fn irfft_plan<T: Real>(n: usize) -> Arc<RealPlan<T>> {
    PLANS.get((n, 0), || Arc::new(RealPlan::new(n, false)))
}

impl<T: Real> RealPlan<T> {
    fn new(n: usize, forward: bool) -> RealPlan<T> {
        let even = n.is_multiple_of(2);
        let points = if even { n / 2 } else { n };
        let short = CALL_BYTES / (points * size_of::<Complex<T>>()).max(1);
        let lines_per_call =
            batched::lines_per_call::<T>(points).max(short.clamp(1, MAX_LINES_PER_CALL));
        let twiddle = |k: usize| {
            let (sin, cos) = (2.0 * PI * k as f64 / n as f64).sin_cos();
            let (re, im) = if forward { (-0.5 * sin, -0.5 * cos) } else { (-sin, cos) };
            Complex::new(T::narrow(re), T::narrow(im))
        };
        // Includes the middle, which is overwritten afterwards: so the twiddles of powers of two
        // fill whole blocks.
        let count = if even { n / 4 + 1 } else { 1 };
        RealPlan {
            n,
            fft: complex_plan::plan(points, forward),
            lines_per_call,
            twiddles: (1..count).map(twiddle).collect(),
        }
    }

    /// Points of a line.
    pub(super) fn len(&self) -> usize {
        self.n
    }

    /// Numbers of a half spectrum.
    pub(super) fn half_len(&self) -> usize {
        self.n / 2 + 1
    }

    /// Lines per call that are fastest.
    pub(super) fn lines_per_call(&self) -> usize {
        self.lines_per_call
    }

    fn scratch(&self) -> usize {
        let fft = &self.fft;
        fft.get_inplace_scratch_len()
            .max(fft.get_immutable_scratch_len())
            .max(fft.get_outofplace_scratch_len())
    }

    /// Bytes of workspace of a call.
    pub(super) fn workspace_bytes(&self) -> usize {
        bytes_of::<Complex<T>>(self.lines_per_call * self.fft.len())
            + bytes_of::<Complex<T>>(self.scratch())
    }

    /// Takes the workspace of a call.
    pub(super) fn take_workspace<'a>(
        &self,
        memory: &mut WorkspaceSlices<'a>,
    ) -> [&'a mut [Complex<T>]; 2] {
        [memory.take(self.lines_per_call * self.fft.len()), memory.take(self.scratch())]
    }

    /// Half spectra of the lines of one call.
    pub(super) fn forward(
        &self,
        lines: &[T],
        out: &mut [Complex<T>],
        [z, scratch]: &mut [&mut [Complex<T>]; 2],
        weights: Weights<T>,
    ) {
        let (count, points) = (lines.len() / self.n, self.fft.len());
        assert!(
            out.len() == count * self.half_len() && count <= self.lines_per_call,
            "rfft: lengths"
        );
        let z = &mut z[..count * points];
        if self.n.is_multiple_of(2) {
            self.fft.process_immutable_with_scratch(as_complex(lines), z, scratch);
        } else {
            z.iter_mut().zip(lines).for_each(|(z, &x)| *z = Complex::new(x, T::zero()));
            self.fft.process_with_scratch(z, scratch);
        }
        self.to_half_spectrum(z, out, weights);
    }

    /// Half spectra from the complex spectra `z`.
    fn to_half_spectrum(&self, z: &mut [Complex<T>], out: &mut [Complex<T>], weights: Weights<T>) {
        let (factor, interior, sign) = (weights.factor, weights.interior, weights.sign());
        let (m, half_len) = (self.fft.len(), self.half_len());
        if !self.n.is_multiple_of(2) {
            for (z, out) in z.chunks_exact_mut(m).zip(out.chunks_exact_mut(half_len)) {
                z[0].im = T::zero();
                for (k, (out, z)) in out.iter_mut().zip(&*z).enumerate() {
                    let by = if k == 0 { factor } else { interior };
                    *out = Complex::new(z.re * by, z.im * by * sign);
                }
            }
            return;
        }
        let mirror = Mirror {
            from: z.as_ptr(),
            to: out.as_mut_ptr(),
            last: m,
            lines: z.len() / m,
            line_strides: [m, half_len],
            half: T::narrow(0.5),
            input_sign: T::one(),
            output_factors: [interior, interior * sign],
        };
        // SAFETY: the lines of both have the positions from 1 to `last - 1`, and the output is
        // borrowed mutably.
        unsafe { combine(mirror, &self.twiddles) };
        for (z, out) in z.chunks_exact(m).zip(out.chunks_exact_mut(half_len)) {
            if m.is_multiple_of(2) {
                let middle = z[m / 2];
                out[m / 2] = Complex::new(middle.re * interior, -middle.im * interior * sign);
            }
            let ends = [z[0].re + z[0].im, z[0].re - z[0].im];
            out[0] = Complex::new(ends[0] * factor, T::zero() * sign);
            out[m] = Complex::new(ends[1] * factor, T::zero() * sign);
        }
    }

    /// Lines from the half spectra of one call. Of frequencies that are their own mirror image,
    /// only the real part counts.
    pub(super) fn backward(
        &self,
        lines: &[Complex<T>],
        out: &mut [T],
        [z, scratch]: &mut [&mut [Complex<T>]; 2],
        weights: Weights<T>,
    ) {
        let (count, points) = (out.len() / self.n, self.fft.len());
        assert!(
            lines.len() == count * self.half_len() && count <= self.lines_per_call,
            "irfft: lengths"
        );
        let z = &mut z[..count * points];
        self.join_half_spectrum(lines, z, weights);
        if self.n.is_multiple_of(2) {
            self.fft.process_outofplace_with_scratch(z, as_complex_mut(out), scratch);
        } else {
            self.fft.process_with_scratch(z, scratch);
            out.iter_mut().zip(&*z).for_each(|(out, z)| *out = z.re);
        }
    }

    /// The complex spectra `z` from half spectra.
    fn join_half_spectrum(&self, lines: &[Complex<T>], z: &mut [Complex<T>], weights: Weights<T>) {
        let (factor, interior, sign) = (weights.factor, weights.interior, weights.sign());
        let (m, half_len) = (self.fft.len(), self.half_len());
        if !self.n.is_multiple_of(2) {
            for (z, line) in z.chunks_exact_mut(m).zip(lines.chunks_exact(half_len)) {
                z[0] = Complex::new(line[0].re * factor, T::zero());
                for (k, x) in line.iter().enumerate().skip(1) {
                    let (re, im) = (x.re * interior, x.im * interior * sign);
                    (z[k], z[m - k]) = (Complex::new(re, im), Complex::new(re, -im));
                }
            }
            return;
        }
        let mirror = Mirror {
            from: lines.as_ptr(),
            to: z.as_mut_ptr(),
            last: m,
            lines: z.len() / m,
            line_strides: [half_len, m],
            half: T::one(),
            input_sign: sign,
            output_factors: [interior, interior],
        };
        // SAFETY: as above.
        unsafe { combine(mirror, &self.twiddles) };
        for (z, line) in z.chunks_exact_mut(m).zip(lines.chunks_exact(half_len)) {
            if m.is_multiple_of(2) {
                let (middle, twice) = (line[m / 2], interior + interior);
                z[m / 2] = Complex::new(middle.re * twice, -middle.im * twice * sign);
            }
            let (first, last) = (line[0].re * factor, line[m].re * factor);
            z[0] = Complex::new(first + last, first - last);
        }
    }
}

/// Pairs of adjacent reals as complex numbers.
fn as_complex<T: Real>(line: &[T]) -> &[Complex<T>] {
    // SAFETY: a complex number is its two parts, in order.
    unsafe { std::slice::from_raw_parts(line.as_ptr().cast(), line.len() / 2) }
}

fn as_complex_mut<T: Real>(line: &mut [T]) -> &mut [Complex<T>] {
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts_mut(line.as_mut_ptr().cast(), line.len() / 2) }
}
