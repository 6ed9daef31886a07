//! Plans between one real line and half its spectrum.
//!
//! Owns: `RealPlan`. An even number of points is a complex line of half as many: its neighbours are the parts, and a
//! combination of each frequency with its mirror image separates what they became. An odd one is a complex line without
//! imaginary parts. Never cuts or gathers lines.
//! Invariant: the weights are applied to the finished numbers, each once; ends of a spectrum are real.

use std::f64::consts::PI;
use std::sync::Arc;

use rustfft::Fft;
use rustfft::num_complex::Complex;

use super::batched;
use super::complex;
use super::float::{Number, Real};
use super::mirrored::Mirror;
use crate::kernels::workspace::{Parts, bytes_of};

/// The plan of real lines of one length in one direction.
pub(super) struct RealPlan<T: Real> {
    n: usize,
    fft: Arc<dyn Fft<T>>,
    /// How many lines are transformed at a time.
    group: usize,
    /// `-i/2 e^(-iθ)` with `θ = 2πk/n` on the way to the spectrum, `i e^(iθ)` on the way back, `0 < k <= n/4`.
    turns: Vec<Complex<T>>,
}

/// Bytes of the lines that are transformed in one call, and how many lines those are at most.
const SHORT: usize = 8 << 10;
const MANY: usize = 16;

/// What is applied to the numbers of a spectrum.
#[derive(Clone, Copy)]
pub(super) struct Weights<T> {
    /// The factor of the frequencies that are their own mirror image, and that of the others.
    pub(super) factor: T,
    pub(super) interior: T,
    pub(super) conjugate: bool,
}

impl<T: Real> Weights<T> {
    /// The same factor for all.
    pub(super) fn of(factor: T) -> Weights<T> {
        Weights { factor, interior: factor, conjugate: false }
    }

    /// The factor of imaginary parts as `sign` times that of real ones.
    fn sign(self) -> T {
        if self.conjugate { -T::one() } else { T::one() }
    }
}

/// The plan of the way to the spectrum, kept for the process.
pub(super) fn to_half<T: Real>(n: usize) -> Arc<RealPlan<T>> {
    T::real().get((n, 1), || Arc::new(RealPlan::new(n, true)))
}

/// The plan of the way back.
pub(super) fn from_half<T: Real>(n: usize) -> Arc<RealPlan<T>> {
    T::real().get((n, 0), || Arc::new(RealPlan::new(n, false)))
}

impl<T: Real> RealPlan<T> {
    fn new(n: usize, forward: bool) -> RealPlan<T> {
        let even = n.is_multiple_of(2);
        let points = if even { n / 2 } else { n };
        let short = SHORT / (points * size_of::<Complex<T>>()).max(1);
        let group = batched::group::<T>(points).max(short.clamp(1, MANY));
        let turn = |k: usize| {
            let (sin, cos) = (2.0 * PI * k as f64 / n as f64).sin_cos();
            let (re, im) = if forward { (-0.5 * sin, -0.5 * cos) } else { (-sin, cos) };
            Complex::new(T::narrow(re), T::narrow(im))
        };
        // With the middle, which is written once more: so the turns of powers of two fill whole blocks.
        let count = if even { n / 4 + 1 } else { 1 };
        RealPlan {
            n,
            fft: complex::plan(points, forward),
            group,
            turns: (1..count).map(turn).collect(),
        }
    }

    /// The points of a line.
    pub(super) fn len(&self) -> usize {
        self.n
    }

    /// The numbers of half a spectrum.
    pub(super) fn half(&self) -> usize {
        self.n / 2 + 1
    }

    /// How many lines at a time are fastest.
    pub(super) fn group(&self) -> usize {
        self.group
    }

    fn scratch(&self) -> usize {
        let fft = &self.fft;
        fft.get_inplace_scratch_len()
            .max(fft.get_immutable_scratch_len())
            .max(fft.get_outofplace_scratch_len())
    }

    /// The bytes of working memory of a group.
    pub(super) fn room(&self) -> usize {
        bytes_of::<Complex<T>>(self.group * self.fft.len()) + bytes_of::<Complex<T>>(self.scratch())
    }

    /// Takes the working memory.
    pub(super) fn desk<'a>(&self, room: &mut Parts<'a>) -> [&'a mut [Complex<T>]; 2]
    where
        Complex<T>: Number<Part = T>,
    {
        [room.take(self.group * self.fft.len()), room.take(self.scratch())]
    }

    /// Half the spectra of lines, of a group at most.
    pub(super) fn forward(
        &self,
        lines: &[T],
        out: &mut [Complex<T>],
        [z, scratch]: &mut [&mut [Complex<T>]; 2],
        weights: Weights<T>,
    ) {
        let (count, points) = (lines.len() / self.n, self.fft.len());
        assert!(out.len() == count * self.half() && count <= self.group, "rfft: lengths");
        let z = &mut z[..count * points];
        if self.n.is_multiple_of(2) {
            self.fft.process_immutable_with_scratch(pairs(lines), z, scratch);
        } else {
            z.iter_mut().zip(lines).for_each(|(z, &x)| *z = Complex::new(x, T::zero()));
            self.fft.process_with_scratch(z, scratch);
        }
        self.separate(z, out, weights);
    }

    /// Half the spectra of lines from what they became.
    fn separate(&self, z: &mut [Complex<T>], out: &mut [Complex<T>], weights: Weights<T>) {
        let (factor, interior, sign) = (weights.factor, weights.interior, weights.sign());
        let (m, half) = (self.fft.len(), self.half());
        if !self.n.is_multiple_of(2) {
            for (z, out) in z.chunks_exact_mut(m).zip(out.chunks_exact_mut(half)) {
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
            apart: [m, half],
            half: T::narrow(0.5),
            read: T::one(),
            written: [interior, interior * sign],
        };
        // SAFETY: the lines of both have the places from 1 to `last - 1`, and the output is borrowed alone.
        unsafe { T::combine(mirror, &self.turns) };
        for (z, out) in z.chunks_exact(m).zip(out.chunks_exact_mut(half)) {
            if m.is_multiple_of(2) {
                let middle = z[m / 2];
                out[m / 2] = Complex::new(middle.re * interior, -middle.im * interior * sign);
            }
            let ends = [z[0].re + z[0].im, z[0].re - z[0].im];
            out[0] = Complex::new(ends[0] * factor, T::zero() * sign);
            out[m] = Complex::new(ends[1] * factor, T::zero() * sign);
        }
    }

    /// The lines of half spectra, of a group at most. Frequencies that are their own mirror image count with their real part.
    pub(super) fn backward(
        &self,
        lines: &[Complex<T>],
        out: &mut [T],
        [z, scratch]: &mut [&mut [Complex<T>]; 2],
        weights: Weights<T>,
    ) {
        let (count, points) = (out.len() / self.n, self.fft.len());
        assert!(lines.len() == count * self.half() && count <= self.group, "irfft: lengths");
        let z = &mut z[..count * points];
        self.join(lines, z, weights);
        if self.n.is_multiple_of(2) {
            self.fft.process_outofplace_with_scratch(z, pairs_mut(out), scratch);
        } else {
            self.fft.process_with_scratch(z, scratch);
            out.iter_mut().zip(&*z).for_each(|(out, z)| *out = z.re);
        }
    }

    /// What becomes the lines of half spectra.
    fn join(&self, lines: &[Complex<T>], z: &mut [Complex<T>], weights: Weights<T>) {
        let (factor, interior, sign) = (weights.factor, weights.interior, weights.sign());
        let (m, half) = (self.fft.len(), self.half());
        if !self.n.is_multiple_of(2) {
            for (z, line) in z.chunks_exact_mut(m).zip(lines.chunks_exact(half)) {
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
            apart: [half, m],
            half: T::one(),
            read: sign,
            written: [interior, interior],
        };
        // SAFETY: as above.
        unsafe { T::combine(mirror, &self.turns) };
        for (z, line) in z.chunks_exact_mut(m).zip(lines.chunks_exact(half)) {
            if m.is_multiple_of(2) {
                let (middle, twice) = (line[m / 2], interior + interior);
                z[m / 2] = Complex::new(middle.re * twice, -middle.im * twice * sign);
            }
            let (first, last) = (line[0].re * factor, line[m].re * factor);
            z[0] = Complex::new(first + last, first - last);
        }
    }
}

/// Neighbours as complex numbers.
fn pairs<T: Real>(line: &[T]) -> &[Complex<T>] {
    // SAFETY: a complex number is its two parts, one after the other.
    unsafe { std::slice::from_raw_parts(line.as_ptr().cast(), line.len() / 2) }
}

fn pairs_mut<T: Real>(line: &mut [T]) -> &mut [Complex<T>] {
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts_mut(line.as_mut_ptr().cast(), line.len() / 2) }
}
