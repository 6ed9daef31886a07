//! Transforms between real lines and the halves of their spectra.
//!
//! Owns: both kernels and their passes. Never keeps the other half: it is the conjugate of this one.
//! Invariant: the two kernels are each other's adjoint, up to `interior`: a factor of the frequencies that stand for
//! two, which are all but the first and, for an even number of points, the last.

use std::sync::Arc;

use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::num_complex::Complex;

use super::number::{Number, Parts, Real, bytes_of, scale};
use super::strips::{Pass, Source, run};
use crate::dtype::DType;
use crate::kernels::launch::launch;
use crate::kernels::view::{View, ViewMut};

/// The plan of real lines of `n` points.
pub(super) fn to_half<T: Real>(n: usize) -> Arc<dyn RealToComplex<T>> {
    T::to_half().get((n, 0), || RealFftPlanner::new().plan_fft_forward(n))
}

/// The plan of their way back.
pub(super) fn from_half<T: Real>(n: usize) -> Arc<dyn ComplexToReal<T>> {
    T::from_half().get((n, 0), || RealFftPlanner::new().plan_fft_inverse(n))
}

/// What is applied to numbers of a spectrum.
#[derive(Clone, Copy)]
struct Weights<T> {
    factor: T,
    interior: T,
    conjugate: bool,
}

impl<T: Real> Weights<T>
where
    Complex<T>: Number<Part = T>,
{
    fn new(forward: bool, factor: f64, interior: f64) -> Weights<T> {
        let (factor, interior) = (T::narrow(factor), T::narrow(factor * interior));
        Weights { factor, interior, conjugate: !forward }
    }

    /// Weighs the spectra of lines of `n` points.
    fn apply(self, spectra: &mut [Complex<T>], n: usize) {
        if self.factor != self.interior {
            for line in spectra.chunks_exact_mut(n / 2 + 1) {
                line[0] = line[0].scaled(self.factor);
                let last = n.div_ceil(2);
                scale(&mut line[1..last], self.interior);
                scale(&mut line[last.max(1)..], self.factor);
            }
        } else if self.factor != T::one() {
            scale(spectra, self.factor);
        }
        if self.conjugate {
            spectra.iter_mut().for_each(|x| x.im = -x.im);
        }
    }
}

struct ToHalf<T: Real> {
    plan: Arc<dyn RealToComplex<T>>,
    weights: Weights<T>,
}

impl<T: Real> Pass for ToHalf<T>
where
    Complex<T>: Number<Part = T>,
{
    type In = T;
    type Out = Complex<T>;

    fn lens(&self) -> [usize; 2] {
        [self.plan.len(), self.plan.len() / 2 + 1]
    }

    fn room(&self, lines: usize) -> usize {
        bytes_of::<T>(lines * self.plan.len()) + bytes_of::<Complex<T>>(self.plan.get_scratch_len())
    }

    fn run(&self, source: Source<'_, T>, out: &mut [Complex<T>], mut room: Parts<'_>) {
        let [n, half] = self.lens();
        let lines = room.take(source.lines * n);
        source.gather(lines);
        let scratch = room.take(self.plan.get_scratch_len());
        for (line, out) in lines.chunks_exact_mut(n).zip(out.chunks_exact_mut(half)) {
            let done = self.plan.process_with_scratch(line, out, scratch);
            debug_assert!(done.is_ok(), "rfft: lengths");
        }
        self.weights.apply(out, n);
    }
}

struct FromHalf<T: Real> {
    plan: Arc<dyn ComplexToReal<T>>,
    weights: Weights<T>,
}

impl<T: Real> Pass for FromHalf<T>
where
    Complex<T>: Number<Part = T>,
{
    type In = Complex<T>;
    type Out = T;

    fn lens(&self) -> [usize; 2] {
        [self.plan.len() / 2 + 1, self.plan.len()]
    }

    fn room(&self, lines: usize) -> usize {
        let [half, _] = self.lens();
        bytes_of::<Complex<T>>(lines * half) + bytes_of::<Complex<T>>(self.plan.get_scratch_len())
    }

    fn run(&self, source: Source<'_, Complex<T>>, out: &mut [T], mut room: Parts<'_>) {
        let [half, n] = self.lens();
        let lines = room.take(source.lines * half);
        source.gather(lines);
        self.weights.apply(lines, n);
        let scratch = room.take(self.plan.get_scratch_len());
        for (line, out) in lines.chunks_exact_mut(half).zip(out.chunks_exact_mut(n)) {
            real_line(&*self.plan, line, out, scratch);
        }
    }
}

/// The real line of a spectrum, which is used up. Frequencies that are their own conjugate count with their real part.
pub(super) fn real_line<T: Real>(
    plan: &dyn ComplexToReal<T>,
    line: &mut [Complex<T>],
    out: &mut [T],
    scratch: &mut [Complex<T>],
) {
    line[0].im = T::zero();
    if out.len().is_multiple_of(2) {
        line[out.len() / 2].im = T::zero();
    }
    let done = plan.process_with_scratch(line, out, scratch);
    debug_assert!(done.is_ok(), "irfft: lengths");
}

/// Writes `factor` times the first half of the spectrum of real lines of `n` points along an axis, `n / 2 + 1`
/// numbers, interior ones times `interior`; that of the inverse transform where it is not `forward`.
///
/// # Panics
/// When the dims or dtypes do not belong together: bugs of the caller.
pub fn real_to_complex(
    input: View,
    axis: usize,
    forward: bool,
    [factor, interior]: [f64; 2],
    out: ViewMut,
) {
    launch!("rfft", [input] => [out];; {
        assert!(out.dtype.is_complex() && out.dtype.real() == input.dtype, "rfft: dtypes");
        if !out.dims.contains(&0) {
            let n = input.dims[axis];
            match input.dtype {
                DType::F32 => {
                    let weights = Weights::new(forward, factor, interior);
                    run(&ToHalf::<f32> { plan: to_half(n), weights }, Some(input), &out, axis);
                }
                _ => {
                    let weights = Weights::new(forward, factor, interior);
                    run(&ToHalf::<f64> { plan: to_half(n), weights }, Some(input), &out, axis);
                }
            }
        }
    });
}

/// Writes `factor` times the real lines along an axis whose spectrum's first half is `input`, interior numbers times
/// `interior`: the inverse transform without its factor, or the forward one.
///
/// # Panics
/// When the dims or dtypes do not belong together: bugs of the caller.
pub fn complex_to_real(
    input: View,
    axis: usize,
    forward: bool,
    [factor, interior]: [f64; 2],
    out: ViewMut,
) {
    launch!("irfft", [input] => [out];; {
        assert!(input.dtype.is_complex() && input.dtype.real() == out.dtype, "irfft: dtypes");
        if !out.dims.contains(&0) {
            let n = out.dims[axis];
            match out.dtype {
                DType::F32 => {
                    let weights = Weights::new(!forward, factor, interior);
                    run(&FromHalf::<f32> { plan: from_half(n), weights }, Some(input), &out, axis);
                }
                _ => {
                    let weights = Weights::new(!forward, factor, interior);
                    run(&FromHalf::<f64> { plan: from_half(n), weights }, Some(input), &out, axis);
                }
            }
        }
    });
}
