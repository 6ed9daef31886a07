//! Transforms between real lines and the halves of their spectra.
//!
//! Owns: both kernels and their passes. Never keeps the other half: it is the conjugate of this one.
//! Invariant: the two kernels are each other's adjoint, up to `interior`: a factor of the frequencies that stand for
//! two, which are all but the first and, for an even number of points, the last.

use std::sync::Arc;

use rustfft::num_complex::Complex;

use super::along_axis::{Pass, Source, run};
use super::float::{Number, Real};
use super::real_plan::{RealPlan, Weights, from_half, to_half};
use crate::dtype::DType;
use crate::kernels::launch::launch;
use crate::kernels::view::{View, ViewMut};
use crate::kernels::workspace::{Parts, bytes_of};

fn weights<T: Real>(forward: bool, [factor, interior]: [f64; 2]) -> Weights<T> {
    let (factor, interior) = (T::narrow(factor), T::narrow(factor * interior));
    Weights { factor, interior, conjugate: !forward }
}

/// The lines of a source that follow on each other: as they lie, or copied.
fn gathered<'o, 's: 'o, 'r: 'o, A: Number>(
    source: &Source<'s, A>,
    len: usize,
    room: &mut Parts<'r>,
) -> &'o [A] {
    source.direct().unwrap_or_else(|| {
        let lines = room.take(source.lines * len);
        source.gather(lines);
        lines
    })
}

struct ToHalf<T: Real> {
    plan: Arc<RealPlan<T>>,
    weights: Weights<T>,
}

impl<T: Real> Pass for ToHalf<T>
where
    Complex<T>: Number<Part = T>,
{
    type In = T;
    type Out = Complex<T>;

    fn lens(&self) -> [usize; 2] {
        [self.plan.len(), self.plan.half()]
    }

    fn group(&self) -> usize {
        self.plan.group()
    }

    fn room(&self, lines: usize) -> usize {
        bytes_of::<T>(lines * self.plan.len()) + self.plan.room()
    }

    fn run(&self, source: Source<'_, T>, out: &mut [Complex<T>], mut room: Parts<'_>) {
        let [n, half] = self.lens();
        let mut desk = self.plan.desk(&mut room);
        let lines = gathered(&source, n, &mut room);
        let group = self.plan.group();
        for (lines, out) in lines.chunks(group * n).zip(out.chunks_mut(group * half)) {
            self.plan.forward(lines, out, &mut desk, self.weights);
        }
    }
}

struct FromHalf<T: Real> {
    plan: Arc<RealPlan<T>>,
    weights: Weights<T>,
}

impl<T: Real> Pass for FromHalf<T>
where
    Complex<T>: Number<Part = T>,
{
    type In = Complex<T>;
    type Out = T;

    fn lens(&self) -> [usize; 2] {
        [self.plan.half(), self.plan.len()]
    }

    fn group(&self) -> usize {
        self.plan.group()
    }

    fn room(&self, lines: usize) -> usize {
        bytes_of::<Complex<T>>(lines * self.plan.half()) + self.plan.room()
    }

    fn run(&self, source: Source<'_, Complex<T>>, out: &mut [T], mut room: Parts<'_>) {
        let [half, n] = self.lens();
        let mut desk = self.plan.desk(&mut room);
        let lines = gathered(&source, half, &mut room);
        let group = self.plan.group();
        for (lines, out) in lines.chunks(group * half).zip(out.chunks_mut(group * n)) {
            self.plan.backward(lines, out, &mut desk, self.weights);
        }
    }
}

/// Writes `factor` times the first half of the spectrum of real lines of `n` points along an axis, `n / 2 + 1`
/// numbers, interior ones times `interior`; that of the inverse transform where it is not `forward`.
///
/// # Panics
/// When the dims or dtypes do not belong together: bugs of the caller.
pub fn real_to_complex(input: View, axis: usize, forward: bool, factors: [f64; 2], out: ViewMut) {
    launch!("rfft", [input] => [out];; {
        assert!(out.dtype.is_complex() && out.dtype.real() == input.dtype, "rfft: dtypes");
        if !out.dims.contains(&0) {
            let n = input.dims[axis];
            match input.dtype {
                DType::F32 => {
                    let weights = weights(forward, factors);
                    run(&ToHalf::<f32> { plan: to_half(n), weights }, Some(input), &out, axis);
                }
                _ => {
                    let weights = weights(forward, factors);
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
pub fn complex_to_real(input: View, axis: usize, forward: bool, factors: [f64; 2], out: ViewMut) {
    launch!("irfft", [input] => [out];; {
        assert!(input.dtype.is_complex() && input.dtype.real() == out.dtype, "irfft: dtypes");
        if !out.dims.contains(&0) {
            let n = out.dims[axis];
            match out.dtype {
                DType::F32 => {
                    let weights = weights(!forward, factors);
                    run(&FromHalf::<f32> { plan: from_half(n), weights }, Some(input), &out, axis);
                }
                _ => {
                    let weights = weights(!forward, factors);
                    run(&FromHalf::<f64> { plan: from_half(n), weights }, Some(input), &out, axis);
                }
            }
        }
    });
}
