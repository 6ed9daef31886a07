//! Transforms of real values, whose spectra are kept by halves: rfft, irfft and those of several axes.
//!
//! Owns: their declarations, and the two compositions that `hermitian` reads in the other direction.
//! Never computes the other half of a spectrum.
//! Invariant: the last of the axes is the one whose spectrum is halved.

use crate::dtype::DType;
use crate::error::Result;
use crate::ops::core::broadcast::astype;
use crate::ops::core::op_decl::{Axes, Ints};
use crate::ops::fft::arguments::{
    Norm, area, as_complex, as_real, each_once, line, points, sizes, wrong,
};
use crate::ops::fft::transforms::{Way, complex, complex_of_own, from_half, resized, to_half};
use crate::tensor::Tensor;

/// The axes of a call as it was written.
pub(super) struct Area<'a> {
    pub(super) s: Option<Ints>,
    pub(super) axes: &'a Axes,
    pub(super) norm: Option<String>,
    pub(super) forward: bool,
}

/// Half the spectrum along an axis.
pub(super) fn half_line(
    op: &'static str,
    x: &Tensor,
    n: Option<isize>,
    axis: isize,
    norm: Option<String>,
    forward: bool,
) -> Result<Tensor> {
    let (axis, n) = line(op, x, n, axis)?;
    let way = Norm::read(op, norm)?.way(forward, n);
    to_half(&resized(&as_real(op, x)?, axis, n)?, axis, way)
}

/// NumPy's dtype of a real line: that of real float16 numbers is their own.
fn as_given(given: &Tensor, out: Tensor) -> Result<Tensor> {
    if given.dtype() == DType::F16 { astype(&out, DType::F16) } else { Ok(out) }
}

/// The real line of half a spectrum along an axis.
pub(super) fn whole_line(
    op: &'static str,
    x: &Tensor,
    n: Option<isize>,
    axis: isize,
    norm: Option<String>,
    forward: bool,
) -> Result<Tensor> {
    let (axis, _) = line(op, x, Some(1), axis)?;
    let n = points(op, n.map_or(2 * (x.shape()[axis] as i64 - 1), |n| n as i64))?;
    let way = Norm::read(op, norm)?.way(forward, n);
    as_given(x, from_half(&as_complex(&resized(x, axis, n / 2 + 1)?)?, axis, n, way)?)
}

/// Half the spectrum along the last of several axes, the whole one along the others.
pub(super) fn half_area(op: &'static str, x: &Tensor, area_of: Area<'_>) -> Result<Tensor> {
    let Area { s, axes, norm, forward } = area_of;
    let (axes, asked) = area(op, x, s.as_deref(), axes)?;
    each_once(op, &axes)?;
    let sizes = sizes(op, x, &axes, &asked)?;
    let Way { factor, .. } = Norm::read(op, norm)?.way(forward, sizes.iter().product());
    let Some((&last, others)) = axes.split_last() else {
        return Err(wrong(op, "no axes".into(), "give at least one axis"));
    };
    let mut x = as_real(op, x)?;
    for (&axis, &n) in axes.iter().zip(&sizes) {
        x = resized(&x, axis, n)?;
    }
    let half = to_half(&x, last, Way { forward, factor })?;
    if others.is_empty() {
        return Ok(half);
    }
    complex_of_own(half, others, Way { forward, factor: 1.0 })
}

/// The real values whose spectra, by halves along the last of several axes, are given.
pub(super) fn whole_area(op: &'static str, x: &Tensor, area_of: Area<'_>) -> Result<Tensor> {
    let Area { s, axes, norm, forward } = area_of;
    let (axes, mut asked) = area(op, x, s.as_deref(), axes)?;
    each_once(op, &axes)?;
    let Some((&last, others)) = axes.split_last() else {
        return Err(wrong(op, "no axes".into(), "give at least one axis"));
    };
    if let Some(asked @ None) = asked.last_mut() {
        *asked = Some(2 * (x.shape()[last] as i64 - 1));
    }
    let sizes = sizes(op, x, &axes, &asked)?;
    let Way { factor, .. } = Norm::read(op, norm)?.way(forward, sizes.iter().product());
    let mut x = x.clone();
    for (&axis, &n) in others.iter().zip(&sizes) {
        x = resized(&x, axis, n)?;
    }
    let (n, given) = (sizes[sizes.len() - 1], x.clone());
    let mut x = as_complex(&resized(&x, last, n / 2 + 1)?)?;
    if !others.is_empty() {
        x = complex(&x, others, Way { forward, factor: 1.0 })?;
    }
    let out = from_half(&x, last, n, Way { forward, factor })?;
    if others.is_empty() { as_given(&given, out) } else { Ok(out) }
}

crate::operations! { family "fourier transforms";
    /// The first `n // 2 + 1` numbers of `fft` of real values; the others are their conjugates. Derivative: the real values of which `g`, interior numbers halved, is that half.
    [numpy("fft.rfft"), namespace("fft")]
    fn rfft(x: Tensor, n: Option<isize> = None, axis: isize = -1, norm: Option<String> = None) -> Tensor {
        half_line("rfft", x, n, axis, norm, true)
    }
    /// The inverse of `rfft`: the `n` real values (`2 (m - 1)` of `m` numbers by default) of half a spectrum. Derivative: half the spectrum of `g`, interior numbers doubled.
    [numpy("fft.irfft"), namespace("fft")]
    fn irfft(x: Tensor, n: Option<isize> = None, axis: isize = -1, norm: Option<String> = None) -> Tensor {
        whole_line("irfft", x, n, axis, norm, false)
    }
    /// `rfft` along the last of two axes and `fft` along the first; by default the last two. Derivative: as those of the two.
    [numpy("fft.rfft2"), namespace("fft")]
    fn rfft2(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::from([-2, -1]), norm: Option<String> = None) -> Tensor {
        half_area("rfft2", x, Area { s, axes: &axes, norm, forward: true })
    }
    /// The inverse of `rfft2`. Derivative: as those of `ifft` and `irfft`.
    [numpy("fft.irfft2"), namespace("fft")]
    fn irfft2(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::from([-2, -1]), norm: Option<String> = None) -> Tensor {
        whole_area("irfft2", x, Area { s, axes: &axes, norm, forward: false })
    }
    /// `rfft` along the last of several axes and `fft` along the others; by default all. Derivative: as those of the two.
    [numpy("fft.rfftn"), namespace("fft")]
    fn rfftn(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::All, norm: Option<String> = None) -> Tensor {
        half_area("rfftn", x, Area { s, axes: &axes, norm, forward: true })
    }
    /// The inverse of `rfftn`. Derivative: as those of `ifft` and `irfft`.
    [numpy("fft.irfftn"), namespace("fft")]
    fn irfftn(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::All, norm: Option<String> = None) -> Tensor {
        whole_area("irfftn", x, Area { s, axes: &axes, norm, forward: false })
    }
}
