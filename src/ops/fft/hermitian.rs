//! Transforms of values whose spectra are real: hfft, ihfft and those of several axes.
//!
//! Owns: their declarations. Never conjugates: each is a transform of `real` in the other direction.
//! Invariant: the factors are those of the direction that the name says.

use crate::ops::core::op_decl::{Axes, Ints};
use crate::ops::fft::real::{Area, half_area, half_line, whole_area, whole_line};
use crate::tensor::Tensor;

crate::operations! { family "fourier transforms";
    /// `fft` of a signal whose spectrum is real, from the first half of the signal: `n` real values (`2 (m - 1)` of `m` numbers by default). Derivative: half the inverse transform of `g`, interior numbers doubled.
    [numpy("fft.hfft"), namespace("fft")]
    fn hfft(x: Tensor, n: Option<isize> = None, axis: isize = -1, norm: Option<String> = None) -> Tensor {
        whole_line("hfft", x, n, axis, norm, true)
    }
    /// The inverse of `hfft`: the first `n // 2 + 1` numbers of `ifft` of real values. Derivative: the real values of which `g`, interior numbers halved, is that half.
    [numpy("fft.ihfft"), namespace("fft")]
    fn ihfft(x: Tensor, n: Option<isize> = None, axis: isize = -1, norm: Option<String> = None) -> Tensor {
        half_line("ihfft", x, n, axis, norm, false)
    }
    /// `fft` along the first of two axes and `hfft` along the last; by default the last two. Derivative: as those of the two.
    [namespace("fft")]
    fn hfft2(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::from([-2, -1]), norm: Option<String> = None) -> Tensor {
        whole_area("hfft2", x, Area { s, axes: &axes, norm, forward: true })
    }
    /// The inverse of `hfft2`. Derivative: as those of `ifft` and `ihfft`.
    [namespace("fft")]
    fn ihfft2(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::from([-2, -1]), norm: Option<String> = None) -> Tensor {
        half_area("ihfft2", x, Area { s, axes: &axes, norm, forward: false })
    }
    /// `fft` along several axes and `hfft` along the last of them; by default all. Derivative: as those of the two.
    [namespace("fft")]
    fn hfftn(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::All, norm: Option<String> = None) -> Tensor {
        whole_area("hfftn", x, Area { s, axes: &axes, norm, forward: true })
    }
    /// The inverse of `hfftn`. Derivative: as those of `ifft` and `ihfft`.
    [namespace("fft")]
    fn ihfftn(x: Tensor, s: Option<Ints> = None, axes: Axes = Axes::All, norm: Option<String> = None) -> Tensor {
        half_area("ihfftn", x, Area { s, axes: &axes, norm, forward: false })
    }
}
