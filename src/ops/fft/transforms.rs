//! The recorded transforms along resolved axes, from which all functions of this module are made.
//!
//! Invariant: the derivative of each is one of them, so every order costs the same as the forward.

use crate::array::{ShapeVec, afford, observer};
use crate::error::Result;
use crate::kernels::fft::{
    DctType, EdgeWeights, complex_to_complex, complex_to_real, real_to_complex, trigonometric,
    working_bytes,
};
use crate::ops::core::structured::{NodeSpec, from_end, record_output, save_none};
use crate::ops::core::view::{ViewStep, embed, slice_axis};
use crate::tensor::Tensor;

/// Direction and factor of a transform.
#[derive(Clone, Copy)]
pub(super) struct TransformSpec {
    pub(super) forward: bool,
    pub(super) factor: f64,
}

impl TransformSpec {
    fn reversed(self) -> TransformSpec {
        TransformSpec { forward: !self.forward, ..self }
    }
}

/// Estimated nanoseconds of transforms of this many elements in lines of `n`.
fn cost(x: &Tensor, n: usize) -> f32 {
    200.0 + x.size() as f32 * (2 + n.max(1).ilog2()) as f32 * 0.3
}

/// Fails if the system lacks workspace for the lines.
fn check_memory(x: &Tensor, n: usize, size: usize) -> Result<()> {
    let lines = x.size().checked_div(n).unwrap_or(0);
    // Bluestein's algorithm, for lengths with large prime factors, uses two lines of up to four
    // times as many points.
    afford(working_bytes(n.saturating_mul(4), lines, size))
}

/// Truncates an axis to `n` elements, or pads it with zeros.
pub(super) fn resize_axis(x: &Tensor, axis: usize, n: usize) -> Result<Tensor> {
    let len = x.shape()[axis];
    if len >= n {
        return if len == n { Ok(x.clone()) } else { slice_axis(x, axis, 0, 1, n) };
    }
    let mut dims = ShapeVec::from_slice(x.shape());
    dims[axis] = n;
    embed(x, &dims, &[ViewStep::Slice { axis, start: 0, step: 1, len }])
}

/// The complex transform along axes.
pub(super) fn fft_along(x: &Tensor, axes: &[usize], spec: TransformSpec) -> Result<Tensor> {
    let longest = axes.iter().map(|&axis| x.shape()[axis]).max().unwrap_or(1);
    check_memory(x, longest, x.dtype().size())?;
    let out = Tensor::empty(x.shape(), x.dtype())?;
    complex_to_complex(x.view_of(), axes, spec.forward, spec.factor, out.view_mut());
    record_output(out, &[x], |out| NodeSpec {
        name: "fft",
        cost: cost(out, longest),
        params: (axes.iter().map(|&axis| from_end(x, axis)).collect::<ShapeVec>(), spec),
        saved: save_none(),
        backward: |(axes, spec), g, cx| {
            let axes: ShapeVec = axes.iter().map(|&axis| from_end(&g, axis)).collect();
            cx.give_with(0, |_| fft_along(&g, &axes, spec.reversed()))
        },
    })
}

/// `fft_along` of a tensor owned by the caller: in place, if nothing is recorded or traced.
pub(super) fn fft_along_owned(x: Tensor, axes: &[usize], spec: TransformSpec) -> Result<Tensor> {
    if x.requires_grad() || observer::is_active() || !x.storage().is_reusable() {
        return fft_along(&x, axes, spec);
    }
    let longest = axes.iter().map(|&axis| x.shape()[axis]).max().unwrap_or(1);
    check_memory(&x, longest, x.dtype().size())?;
    complex_to_complex(x.view_of(), axes, spec.forward, spec.factor, x.view_mut());
    Ok(x)
}

/// Parameters saved for the backward of the half-spectrum transforms.
#[derive(Clone, Copy)]
struct HalfSpectrumParams {
    axis: usize,
    n: usize,
    spec: TransformSpec,
    /// Factor of the frequencies that stand for two.
    interior: f64,
}

/// The half spectrum of real lines.
pub(super) fn rfft_along(x: &Tensor, axis: usize, spec: TransformSpec) -> Result<Tensor> {
    rfft_weighted(x, axis, spec, 1.0)
}

fn rfft_weighted(x: &Tensor, axis: usize, spec: TransformSpec, interior: f64) -> Result<Tensor> {
    let n = x.shape()[axis];
    let mut dims = ShapeVec::from_slice(x.shape());
    dims[axis] = n / 2 + 1;
    let dtype = x.dtype().to_complex();
    check_memory(x, n, dtype.size())?;
    let out = Tensor::empty(&dims, dtype)?;
    let factors = [spec.factor, interior];
    real_to_complex(x.view_of(), axis, spec.forward, factors, out.view_mut());
    record_output(out, &[x], |_| NodeSpec {
        name: "rfft",
        cost: cost(x, n),
        params: HalfSpectrumParams { axis: from_end(x, axis), n, spec, interior },
        saved: save_none(),
        // The adjoint counts every number of the half spectrum once; the inverse transform counts
        // interior ones twice.
        backward: |&HalfSpectrumParams { axis, n, spec, interior }, g, cx| {
            cx.give_with(0, |_| {
                irfft_weighted(&g, from_end(&g, axis), n, spec.reversed(), interior / 2.0)
            })
        },
    })
}

/// The real lines of `n` points from half spectra.
pub(super) fn irfft_along(
    x: &Tensor,
    axis: usize,
    n: usize,
    spec: TransformSpec,
) -> Result<Tensor> {
    irfft_weighted(x, axis, n, spec, 1.0)
}

fn irfft_weighted(
    x: &Tensor,
    axis: usize,
    n: usize,
    spec: TransformSpec,
    interior: f64,
) -> Result<Tensor> {
    let mut dims = ShapeVec::from_slice(x.shape());
    dims[axis] = n;
    check_memory(x, n, x.dtype().size())?;
    let out = Tensor::empty(&dims, x.dtype().real())?;
    let factors = [spec.factor, interior];
    complex_to_real(x.view_of(), axis, spec.forward, factors, out.view_mut());
    record_output(out, &[x], |out| NodeSpec {
        name: "irfft",
        cost: cost(out, n),
        params: HalfSpectrumParams { axis: from_end(x, axis), n, spec, interior },
        saved: save_none(),
        backward: |&HalfSpectrumParams { axis, spec, interior, .. }, g, cx| {
            cx.give_with(0, |_| {
                rfft_weighted(&g, from_end(&g, axis), spec.reversed(), interior * 2.0)
            })
        },
    })
}

/// A cosine or sine transform of real lines: type, factor, and weights of the ends of the lines.
#[derive(Clone, Copy)]
pub(super) struct DctSpec {
    pub(super) dct_type: DctType,
    pub(super) factor: f64,
    pub(super) weights: EdgeWeights,
}

impl DctSpec {
    fn transposed(self) -> DctSpec {
        let (dct_type, weights) = (self.dct_type.transposed(), self.weights.transposed());
        DctSpec { dct_type, weights, ..self }
    }
}

/// The cosine or sine transform of real lines.
pub(super) fn dct_or_dst(x: &Tensor, axis: usize, spec: DctSpec) -> Result<Tensor> {
    let n = x.shape()[axis];
    check_memory(x, n, 2 * x.dtype().size())?;
    let out = Tensor::empty(x.shape(), x.dtype())?;
    trigonometric(x.view_of(), axis, spec.dct_type, spec.factor, spec.weights, out.view_mut());
    record_output(out, &[x], |out| NodeSpec {
        name: if spec.dct_type.sine { "dst" } else { "dct" },
        cost: cost(out, n),
        params: (from_end(x, axis), spec),
        saved: save_none(),
        backward: |&(axis, spec), g, cx| {
            cx.give_with(0, |_| dct_or_dst(&g, from_end(&g, axis), spec.transposed()))
        },
    })
}
