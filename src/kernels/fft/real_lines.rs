//! Transforms between real lines and half spectra (rfft and irfft).
//!
//! The other half is the conjugate of the stored one. Invariant: the two kernels are each other's
//! adjoint, up to `interior`, a factor of the frequencies that stand for two: all but the first
//! and, for an even number of points, the last.

use std::sync::Arc;

use rustfft::num_complex::Complex;

use super::axis_pass::{LineSource, LineTransform, run};
use super::float::{Number, Real};
use super::real_plan::{RealPlan, Weights, irfft_plan, rfft_plan};
use crate::dtype::DType;
use crate::kernels::launch::launch;
use crate::kernels::view::{View, ViewMut};
use crate::kernels::workspace::{WorkspaceSlices, bytes_of};

fn weights<T: Real>(forward: bool, [factor, interior]: [f64; 2]) -> Weights<T> {
    let (factor, interior) = (T::narrow(factor), T::narrow(factor * interior));
    Weights { factor, interior, conjugate: !forward }
}

/// The lines of a source as contiguous memory, copied if necessary.
fn contiguous_lines<'o, 's: 'o, 'r: 'o, A: Number>(
    source: &LineSource<'s, A>,
    len: usize,
    memory: &mut WorkspaceSlices<'r>,
) -> &'o [A] {
    source.as_contiguous().unwrap_or_else(|| {
        let lines = memory.take(source.lines * len);
        source.gather(lines);
        lines
    })
}

struct RealToHalf<T: Real> {
    plan: Arc<RealPlan<T>>,
    weights: Weights<T>,
}

impl<T: Real> LineTransform for RealToHalf<T> {
    type In = T;
    type Out = Complex<T>;

    fn lengths(&self) -> [usize; 2] {
        [self.plan.len(), self.plan.half_len()]
    }

    fn lines_per_call(&self) -> usize {
        self.plan.lines_per_call()
    }

    fn workspace_bytes(&self, lines: usize) -> usize {
        bytes_of::<T>(lines * self.plan.len()) + self.plan.workspace_bytes()
    }

    fn transform(
        &self,
        source: LineSource<'_, T>,
        out: &mut [Complex<T>],
        mut memory: WorkspaceSlices<'_>,
    ) {
        let [n, spectrum] = self.lengths();
        let mut workspace = self.plan.take_workspace(&mut memory);
        let lines = contiguous_lines(&source, n, &mut memory);
        let lines_per_call = self.plan.lines_per_call();
        for (lines, out) in
            lines.chunks(lines_per_call * n).zip(out.chunks_mut(lines_per_call * spectrum))
        {
            self.plan.forward(lines, out, &mut workspace, self.weights);
        }
    }
}

struct HalfToReal<T: Real> {
    plan: Arc<RealPlan<T>>,
    weights: Weights<T>,
}

impl<T: Real> LineTransform for HalfToReal<T> {
    type In = Complex<T>;
    type Out = T;

    fn lengths(&self) -> [usize; 2] {
        [self.plan.half_len(), self.plan.len()]
    }

    fn lines_per_call(&self) -> usize {
        self.plan.lines_per_call()
    }

    fn workspace_bytes(&self, lines: usize) -> usize {
        bytes_of::<Complex<T>>(lines * self.plan.half_len()) + self.plan.workspace_bytes()
    }

    fn transform(
        &self,
        source: LineSource<'_, Complex<T>>,
        out: &mut [T],
        mut memory: WorkspaceSlices<'_>,
    ) {
        let [spectrum, n] = self.lengths();
        let mut workspace = self.plan.take_workspace(&mut memory);
        let lines = contiguous_lines(&source, spectrum, &mut memory);
        let lines_per_call = self.plan.lines_per_call();
        for (lines, out) in
            lines.chunks(lines_per_call * spectrum).zip(out.chunks_mut(lines_per_call * n))
        {
            self.plan.backward(lines, out, &mut workspace, self.weights);
        }
    }
}

/// Writes `factor` times the half spectrum of real lines of `n` points along an axis: `n / 2 + 1`
/// numbers, interior ones also times `interior`. Unless `forward`, that of the inverse transform.
///
/// # Panics
/// If dims or dtypes do not match, which are bugs of the caller.
pub fn real_to_complex(input: View, axis: usize, forward: bool, factors: [f64; 2], out: ViewMut) {
    launch!("rfft", [input] => [out];; {
        assert!(out.dtype.is_complex() && out.dtype.real() == input.dtype, "rfft: dtypes");
        if !out.dims.contains(&0) {
            let n = input.dims[axis];
            match input.dtype {
                DType::F32 => {
                    let weights = weights(forward, factors);
                    run(&RealToHalf::<f32> { plan: rfft_plan(n), weights }, Some(input), &out, axis);
                }
                _ => {
                    let weights = weights(forward, factors);
                    run(&RealToHalf::<f64> { plan: rfft_plan(n), weights }, Some(input), &out, axis);
                }
            }
        }
    });
}

/// Writes `factor` times the real lines along an axis with half spectrum `input`, interior numbers
/// also times `interior`: the inverse transform without its factor, or the forward one.
///
/// # Panics
/// If dims or dtypes do not match, which are bugs of the caller.
pub fn complex_to_real(input: View, axis: usize, forward: bool, factors: [f64; 2], out: ViewMut) {
    launch!("irfft", [input] => [out];; {
        assert!(input.dtype.is_complex() && input.dtype.real() == out.dtype, "irfft: dtypes");
        if !out.dims.contains(&0) {
            let n = out.dims[axis];
            match out.dtype {
                DType::F32 => {
                    let weights = weights(!forward, factors);
                    run(&HalfToReal::<f32> { plan: irfft_plan(n), weights }, Some(input), &out, axis);
                }
                _ => {
                    let weights = weights(!forward, factors);
                    run(&HalfToReal::<f64> { plan: irfft_plan(n), weights }, Some(input), &out, axis);
                }
            }
        }
    });
}
