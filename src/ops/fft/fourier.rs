//! Transforms of complex values: fft, ifft and those of several axes.
//!
//! Owns: their declarations. Never halves a spectrum, see `real`.
//! Invariant: real input becomes complex by a recorded conversion, so that its gradient is real.

use crate::error::Result;
use crate::ops::core::op_decl::{Axes, Ints};
use crate::ops::fft::arguments::{Norm, area, as_complex, each_once, line, sizes};
use crate::ops::fft::transforms::{complex, resized};
use crate::tensor::Tensor;

fn single(
    op: &'static str,
    x: &Tensor,
    n: Option<isize>,
    axis: isize,
    norm: Option<String>,
    forward: bool,
) -> Result<Tensor> {
    let (axis, n) = line(op, x, n, axis)?;
    let way = Norm::read(op, norm)?.way(forward, n);
    complex(&as_complex(&resized(x, axis, n)?)?, &[axis], way)
}

/// The transform along several axes, from the last to the first.
pub(super) fn several(
    op: &'static str,
    x: &Tensor,
    s: Option<Ints>,
    axes: &Axes,
    norm: Option<String>,
    forward: bool,
) -> Result<Tensor> {
    let (axes, asked) = area(op, x, s.as_deref(), axes)?;
    if s.is_some() {
        each_once(op, &axes)?;
    }
    let sizes = sizes(op, x, &axes, &asked)?;
    let way = Norm::read(op, norm)?.way(forward, sizes.iter().product());
    let mut x = x.clone();
    for (&axis, &n) in axes.iter().zip(&sizes) {
        x = resized(&x, axis, n)?;
    }
    complex(&as_complex(&x)?, &axes, way)
}

crate::operations! { family "fourier transforms";
    /// The discrete Fourier transform along an axis of `n` points, `sum(x[j] exp(-2πi jk/n))`; a shorter axis is padded with zeros, a longer one cut. `norm` says which direction carries the factor: "backward" (the inverse 1/n), "ortho" (both 1/√n), "forward" (this one 1/n). Derivative: the transform of `g` in the other direction with this one's factor.
    [numpy("fft.fft"), namespace("fft")]
    fn fft(x: Tensor, n: Option<isize> = None, axis: isize = -1, norm: Option<String> = None) -> Tensor {
        single("fft", x, n, axis, norm, true)
    }
    /// The inverse of `fft`: `sum(x[j] exp(2πi jk/n)) / n`. Derivative: the transform of `g` in the other direction with this one's factor.
    [numpy("fft.ifft"), namespace("fft")]
    fn ifft(x: Tensor, n: Option<isize> = None, axis: isize = -1, norm: Option<String> = None) -> Tensor {
        single("ifft", x, n, axis, norm, false)
    }
    /// `fft` along two axes, by default the last two. Derivative: as that of `fft`.
    [numpy("fft.fft2"), namespace("fft")]
    fn fft2(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::from([-2, -1]), norm: Option<String> = None) -> Tensor {
        several("fft2", x, s, &axes, norm, true)
    }
    /// `ifft` along two axes, by default the last two. Derivative: as that of `ifft`.
    [numpy("fft.ifft2"), namespace("fft")]
    fn ifft2(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::from([-2, -1]), norm: Option<String> = None) -> Tensor {
        several("ifft2", x, s, &axes, norm, false)
    }
    /// `fft` along several axes, by default all, or the last ones of which `s` gives the lengths. Derivative: as that of `fft`.
    [numpy("fft.fftn"), namespace("fft")]
    fn fftn(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::All, norm: Option<String> = None) -> Tensor {
        several("fftn", x, s, &axes, norm, true)
    }
    /// `ifft` along several axes, by default all, or the last ones of which `s` gives the lengths. Derivative: as that of `ifft`.
    [numpy("fft.ifftn"), namespace("fft")]
    fn ifftn(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::All, norm: Option<String> = None) -> Tensor {
        several("ifftn", x, s, &axes, norm, false)
    }
}
