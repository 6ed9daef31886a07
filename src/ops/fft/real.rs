//! Transforms of real values with half spectra: `rfft`, `irfft` and their multi-axis forms.
//!
//! `hermitian.rs` uses the same functions in the other direction. Invariant: the last of the axes
//! is the one whose spectrum is halved.

use crate::dtype::DType;
use crate::error::Result;
use crate::ops::core::broadcast::astype;
use crate::ops::core::op_decl::{Axes, Ints};
use crate::ops::fft::fft_arguments::{
    Norm, argument_error, as_complex, as_real, check_points, refuse_repeated_axes, resolve_axes,
    resolve_axis, resolve_lengths,
};
use crate::ops::fft::transforms::{
    TransformSpec, fft_along, fft_along_owned, irfft_along, resize_axis, rfft_along,
};
use crate::tensor::Tensor;

/// The arguments of a multi-axis call.
pub(super) struct AxesArgs<'a> {
    pub(super) s: Option<Ints>,
    pub(super) axes: &'a Axes,
    pub(super) norm: Option<String>,
    pub(super) forward: bool,
}

/// The half spectrum along an axis.
pub(super) fn rfft_axis(
    op: &'static str,
    x: &Tensor,
    n: Option<isize>,
    axis: isize,
    norm: Option<String>,
    forward: bool,
) -> Result<Tensor> {
    let (axis, n) = resolve_axis(op, x, n, axis)?;
    let spec = Norm::read(op, norm)?.spec(forward, n);
    rfft_along(&resize_axis(&as_real(op, x)?, axis, n)?, axis, spec)
}

/// Casts a real result to float16 if the input was float16, as NumPy does.
fn restore_f16(given: &Tensor, out: Tensor) -> Result<Tensor> {
    if given.dtype() == DType::F16 { astype(&out, DType::F16) } else { Ok(out) }
}

/// The real line of a half spectrum along an axis.
pub(super) fn irfft_axis(
    op: &'static str,
    x: &Tensor,
    n: Option<isize>,
    axis: isize,
    norm: Option<String>,
    forward: bool,
) -> Result<Tensor> {
    let (axis, _) = resolve_axis(op, x, Some(1), axis)?;
    let n = check_points(op, n.map_or(2 * (x.shape()[axis] as i64 - 1), |n| n as i64))?;
    let spec = Norm::read(op, norm)?.spec(forward, n);
    restore_f16(x, irfft_along(&as_complex(&resize_axis(x, axis, n / 2 + 1)?)?, axis, n, spec)?)
}

/// The half spectrum along the last of several axes, the full one along the others.
pub(super) fn rfft_axes(op: &'static str, x: &Tensor, args: AxesArgs<'_>) -> Result<Tensor> {
    let AxesArgs { s, axes, norm, forward } = args;
    let (axes, requested) = resolve_axes(op, x, s.as_deref(), axes)?;
    refuse_repeated_axes(op, &axes)?;
    let lengths = resolve_lengths(op, x, &axes, &requested)?;
    let TransformSpec { factor, .. } =
        Norm::read(op, norm)?.spec(forward, lengths.iter().product());
    let Some((&last, others)) = axes.split_last() else {
        return Err(argument_error(op, "no axes".into(), "give at least one axis"));
    };
    let mut x = as_real(op, x)?;
    for (&axis, &n) in axes.iter().zip(&lengths) {
        x = resize_axis(&x, axis, n)?;
    }
    let half = rfft_along(&x, last, TransformSpec { forward, factor })?;
    if others.is_empty() {
        return Ok(half);
    }
    fft_along_owned(half, others, TransformSpec { forward, factor: 1.0 })
}

/// The real values from spectra that are halved along the last of several axes.
pub(super) fn irfft_axes(op: &'static str, x: &Tensor, args: AxesArgs<'_>) -> Result<Tensor> {
    let AxesArgs { s, axes, norm, forward } = args;
    let (axes, mut requested) = resolve_axes(op, x, s.as_deref(), axes)?;
    refuse_repeated_axes(op, &axes)?;
    let Some((&last, others)) = axes.split_last() else {
        return Err(argument_error(op, "no axes".into(), "give at least one axis"));
    };
    if let Some(requested @ None) = requested.last_mut() {
        *requested = Some(2 * (x.shape()[last] as i64 - 1));
    }
    let lengths = resolve_lengths(op, x, &axes, &requested)?;
    let TransformSpec { factor, .. } =
        Norm::read(op, norm)?.spec(forward, lengths.iter().product());
    let mut x = x.clone();
    for (&axis, &n) in others.iter().zip(&lengths) {
        x = resize_axis(&x, axis, n)?;
    }
    let (n, given) = (lengths[lengths.len() - 1], x.clone());
    let mut x = as_complex(&resize_axis(&x, last, n / 2 + 1)?)?;
    if !others.is_empty() {
        x = fft_along(&x, others, TransformSpec { forward, factor: 1.0 })?;
    }
    let out = irfft_along(&x, last, n, TransformSpec { forward, factor })?;
    if others.is_empty() { restore_f16(&given, out) } else { Ok(out) }
}

crate::operations! { family "fourier transforms";
    /// The first `n // 2 + 1` numbers of `fft` of real values; the others are their conjugates. Derivative: the real values of which `g`, interior numbers halved, is that half.
    [numpy("fft.rfft"), namespace("fft")]
    fn rfft(x: Tensor, n: Option<isize> = None, axis: isize = -1, norm: Option<String> = None) -> Tensor {
        rfft_axis("rfft", x, n, axis, norm, true)
    }
    /// The inverse of `rfft`: the `n` real values (`2 (m - 1)` of `m` numbers by default) of half a spectrum. Derivative: half the spectrum of `g`, interior numbers doubled.
    [numpy("fft.irfft"), namespace("fft")]
    fn irfft(x: Tensor, n: Option<isize> = None, axis: isize = -1, norm: Option<String> = None) -> Tensor {
        irfft_axis("irfft", x, n, axis, norm, false)
    }
    /// `rfft` along the last of two axes and `fft` along the first; by default the last two. Derivative: as those of the two.
    [numpy("fft.rfft2"), namespace("fft")]
    fn rfft2(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::from([-2, -1]), norm: Option<String> = None) -> Tensor {
        rfft_axes("rfft2", x, AxesArgs { s, axes: &axes, norm, forward: true })
    }
    /// The inverse of `rfft2`. Derivative: as those of `ifft` and `irfft`.
    [numpy("fft.irfft2"), namespace("fft")]
    fn irfft2(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::from([-2, -1]), norm: Option<String> = None) -> Tensor {
        irfft_axes("irfft2", x, AxesArgs { s, axes: &axes, norm, forward: false })
    }
    /// `rfft` along the last of several axes and `fft` along the others; by default all. Derivative: as those of the two.
    [numpy("fft.rfftn"), namespace("fft")]
    fn rfftn(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::All, norm: Option<String> = None) -> Tensor {
        rfft_axes("rfftn", x, AxesArgs { s, axes: &axes, norm, forward: true })
    }
    /// The inverse of `rfftn`. Derivative: as those of `ifft` and `irfft`.
    [numpy("fft.irfftn"), namespace("fft")]
    fn irfftn(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::All, norm: Option<String> = None) -> Tensor {
        irfft_axes("irfftn", x, AxesArgs { s, axes: &axes, norm, forward: false })
    }
}
