//! `fftshift` and `ifftshift`: move the zero frequency to the middle of a spectrum, and back.
//!
//! Several axes are rolled in one copy. Invariant: the two are inverses for even and odd lengths.

use crate::array::{ShapeVec, normalize_axis};
use crate::error::Result;
use crate::ops::core::op_decl::Axes;
use crate::ops::shape::flip::roll_axes;
use crate::tensor::Tensor;

fn shifted(op: &'static str, x: &Tensor, axes: &Axes, by: fn(usize) -> usize) -> Result<Tensor> {
    let axes: ShapeVec = match axes.named() {
        None => (0..x.ndim()).collect(),
        Some(named) => {
            let resolved = named.iter().map(|&axis| normalize_axis(op, axis, x.ndim()));
            resolved.collect::<Result<_>>()?
        }
    };
    let mut moves: Vec<(usize, usize)> = Vec::new();
    for &axis in &axes {
        let n = x.shape()[axis];
        let shift = by(n);
        match moves.iter_mut().find(|(known, _)| *known == axis) {
            Some((_, sum)) => *sum = (*sum + shift) % n.max(1),
            None => moves.push((axis, shift)),
        }
    }
    moves.retain(|&(_, shift)| shift > 0);
    roll_axes(x, &moves)
}

crate::operations! { family "fourier transforms";
    /// The zero frequency in the middle: the halves along the axes exchanged, all axes by default. Derivative: `g` shifted back.
    [numpy("fft.fftshift"), namespace("fft")]
    fn fftshift(x: Tensor, axes: Axes = Axes::All) -> Tensor {
        shifted("fftshift", x, &axes, |n| n / 2)
    }
    /// The inverse of `fftshift`, which differs from it for odd lengths. Derivative: `g` shifted back.
    [numpy("fft.ifftshift"), namespace("fft")]
    fn ifftshift(x: Tensor, axes: Axes = Axes::All) -> Tensor {
        shifted("ifftshift", x, &axes, |n| n.div_ceil(2) % n.max(1))
    }
}
