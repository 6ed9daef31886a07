//! Transforms of signals with real spectra: `hfft`, `ihfft` and their multi-axis forms.
//!
//! Each is a real transform (`real.rs`) in the other direction. Invariant: the factors are those of
//! the direction in the name.

use crate::ops::core::op_decl::{Axes, Ints};
use crate::ops::fft::real::{AxesArgs, irfft_axes, irfft_axis, rfft_axes, rfft_axis};
use crate::tensor::Tensor;

crate::operations! { family "fourier transforms";
    /// `fft` of a signal whose spectrum is real, from the first half of the signal: `n` real values (`2 (m - 1)` of `m` numbers by default). Derivative: half the inverse transform of `g`, interior numbers doubled.
    [numpy("fft.hfft"), namespace("fft")]
    fn hfft(x: Tensor, n: Option<isize> = None, axis: isize = -1, norm: Option<String> = None) -> Tensor {
        irfft_axis("hfft", x, n, axis, norm, true)
    }
    /// The inverse of `hfft`: the first `n // 2 + 1` numbers of `ifft` of real values. Derivative: the real values of which `g`, interior numbers halved, is that half.
    [numpy("fft.ihfft"), namespace("fft")]
    fn ihfft(x: Tensor, n: Option<isize> = None, axis: isize = -1, norm: Option<String> = None) -> Tensor {
        rfft_axis("ihfft", x, n, axis, norm, false)
    }
    /// `fft` along the first of two axes and `hfft` along the last; by default the last two. Derivative: as those of the two.
    [namespace("fft")]
    fn hfft2(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::from([-2, -1]), norm: Option<String> = None) -> Tensor {
        irfft_axes("hfft2", x, AxesArgs { s, axes: &axes, norm, forward: true })
    }
    /// The inverse of `hfft2`. Derivative: as those of `ifft` and `ihfft`.
    [namespace("fft")]
    fn ihfft2(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::from([-2, -1]), norm: Option<String> = None) -> Tensor {
        rfft_axes("ihfft2", x, AxesArgs { s, axes: &axes, norm, forward: false })
    }
    /// `fft` along several axes and `hfft` along the last of them; by default all. Derivative: as those of the two.
    [namespace("fft")]
    fn hfftn(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::All, norm: Option<String> = None) -> Tensor {
        irfft_axes("hfftn", x, AxesArgs { s, axes: &axes, norm, forward: true })
    }
    /// The inverse of `hfftn`. Derivative: as those of `ifft` and `ihfft`.
    [namespace("fft")]
    fn ihfftn(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::All, norm: Option<String> = None) -> Tensor {
        rfft_axes("ihfftn", x, AxesArgs { s, axes: &axes, norm, forward: false })
    }
}
