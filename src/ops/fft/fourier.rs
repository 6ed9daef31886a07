//! Complex Fourier transforms: `fft`, `ifft` and their multi-axis forms.
//!
//! Invariant: real input is cast to complex by a recorded conversion, so that its gradient is real.

use crate::error::Result;
use crate::ops::core::op_decl::{Axes, Ints};
use crate::ops::fft::fft_arguments::{
    Norm, as_complex, refuse_repeated_axes, resolve_axes, resolve_axis, resolve_lengths,
};
use crate::ops::fft::transforms::{fft_along, resize_axis};
use crate::tensor::Tensor;

fn one_axis(
    op: &'static str,
    x: &Tensor,
    n: Option<isize>,
    axis: isize,
    norm: Option<String>,
    forward: bool,
) -> Result<Tensor> {
    let (axis, n) = resolve_axis(op, x, n, axis)?;
    let spec = Norm::read(op, norm)?.spec(forward, n);
    fft_along(&as_complex(&resize_axis(x, axis, n)?)?, &[axis], spec)
}

/// The transform along several axes, from the last to the first.
pub(super) fn many_axes(
    op: &'static str,
    x: &Tensor,
    s: Option<Ints>,
    axes: &Axes,
    norm: Option<String>,
    forward: bool,
) -> Result<Tensor> {
    let (axes, requested) = resolve_axes(op, x, s.as_deref(), axes)?;
    if s.is_some() {
        refuse_repeated_axes(op, &axes)?;
    }
    let lengths = resolve_lengths(op, x, &axes, &requested)?;
    let spec = Norm::read(op, norm)?.spec(forward, lengths.iter().product());
    let mut x = x.clone();
    for (&axis, &n) in axes.iter().zip(&lengths) {
        x = resize_axis(&x, axis, n)?;
    }
    fft_along(&as_complex(&x)?, &axes, spec)
}

crate::operations! { family "fourier transforms";
    /// The discrete Fourier transform along an axis of `n` points, `sum(x[j] exp(-2πi jk/n))`; a shorter axis is padded with zeros, a longer one cut. `norm` says which direction carries the factor: "backward" (the inverse 1/n), "ortho" (both 1/√n), "forward" (this one 1/n). Derivative: the transform of `g` in the other direction with this one's factor.
    [numpy("fft.fft"), namespace("fft")]
    fn fft(x: Tensor, n: Option<isize> = None, axis: isize = -1, norm: Option<String> = None) -> Tensor {
        one_axis("fft", x, n, axis, norm, true)
    }
    /// The inverse of `fft`: `sum(x[j] exp(2πi jk/n)) / n`. Derivative: the transform of `g` in the other direction with this one's factor.
    [numpy("fft.ifft"), namespace("fft")]
    fn ifft(x: Tensor, n: Option<isize> = None, axis: isize = -1, norm: Option<String> = None) -> Tensor {
        one_axis("ifft", x, n, axis, norm, false)
    }
    /// `fft` along two axes, by default the last two. Derivative: as that of `fft`.
    [numpy("fft.fft2"), namespace("fft")]
    fn fft2(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::from([-2, -1]), norm: Option<String> = None) -> Tensor {
        many_axes("fft2", x, s, &axes, norm, true)
    }
    /// `ifft` along two axes, by default the last two. Derivative: as that of `ifft`.
    [numpy("fft.ifft2"), namespace("fft")]
    fn ifft2(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::from([-2, -1]), norm: Option<String> = None) -> Tensor {
        many_axes("ifft2", x, s, &axes, norm, false)
    }
    /// `fft` along several axes, by default all, or the last ones of which `s` gives the lengths. Derivative: as that of `fft`.
    [numpy("fft.fftn"), namespace("fft")]
    fn fftn(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::All, norm: Option<String> = None) -> Tensor {
        many_axes("fftn", x, s, &axes, norm, true)
    }
    /// `ifft` along several axes, by default all, or the last ones of which `s` gives the lengths. Derivative: as that of `ifft`.
    [numpy("fft.ifftn"), namespace("fft")]
    fn ifftn(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::All, norm: Option<String> = None) -> Tensor {
        many_axes("ifftn", x, s, &axes, norm, false)
    }
}
