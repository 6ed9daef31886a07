//! The recorded transforms along resolved axes that all names of the family are made of.
//!
//! Owns: the complex transform, the two between real lines and half spectra, cosines and sines, and lines made longer
//! or shorter. Never reads arguments as users write them.
//! Invariant: the derivative of each is one of them, so that every order follows and costs what the forward costs.

use crate::array::{ShapeVec, afford, capture};
use crate::error::Result;
use crate::kernels::fft::{
    Edges, Family, complex_to_complex, complex_to_real, real_to_complex, trigonometric,
    working_bytes,
};
use crate::ops::core::structured::{Record, finish, from_end, nothing};
use crate::ops::core::view::{ViewStep, embed, slice_axis};
use crate::tensor::Tensor;

/// A transform's direction and its factor.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub(super) forward: bool,
    pub(super) factor: f64,
}

impl Way {
    fn back(self) -> Way {
        Way { forward: !self.forward, ..self }
    }
}

/// Nanoseconds of transforms of so many elements in lines of `n`.
fn cost(x: &Tensor, n: usize) -> f32 {
    200.0 + x.size() as f32 * (2 + n.max(1).ilog2()) as f32 * 0.3
}

/// Refuses lines for which the system has no working memory.
fn room(x: &Tensor, n: usize, size: usize) -> Result<()> {
    let lines = x.size().checked_div(n).unwrap_or(0);
    // A plan of an awkward length works with lines of up to four times as many points, twice.
    afford(working_bytes(n.saturating_mul(4), lines, size))
}

/// A line of an axis with its first `n` elements, or with zeros behind its own.
pub(super) fn resized(x: &Tensor, axis: usize, n: usize) -> Result<Tensor> {
    let len = x.shape()[axis];
    if len >= n {
        return if len == n { Ok(x.clone()) } else { slice_axis(x, axis, 0, 1, n) };
    }
    let mut dims = ShapeVec::from_slice(x.shape());
    dims[axis] = n;
    embed(x, &dims, &[ViewStep::Slice { axis, start: 0, step: 1, len }])
}

/// The transform of complex lines along axes.
pub(super) fn complex(x: &Tensor, axes: &[usize], way: Way) -> Result<Tensor> {
    let longest = axes.iter().map(|&axis| x.shape()[axis]).max().unwrap_or(1);
    room(x, longest, x.dtype().size())?;
    let out = Tensor::empty(x.shape(), x.dtype())?;
    complex_to_complex(x.view_of(), axes, way.forward, way.factor, out.view_mut());
    finish(out, &[x], |out| Record {
        name: "fft",
        cost: cost(out, longest),
        params: (axes.iter().map(|&axis| from_end(x, axis)).collect::<ShapeVec>(), way),
        saved: nothing(),
        backward: |(axes, way), g, cx| {
            let axes: ShapeVec = axes.iter().map(|&axis| from_end(&g, axis)).collect();
            cx.give_with(0, |_| complex(&g, &axes, way.back()))
        },
    })
}

/// `complex` of numbers that nobody else sees: where nothing is recorded, in their place.
pub(super) fn complex_of_own(x: Tensor, axes: &[usize], way: Way) -> Result<Tensor> {
    if x.requires_grad() || capture::active() || !x.storage().is_reusable() {
        return complex(&x, axes, way);
    }
    let longest = axes.iter().map(|&axis| x.shape()[axis]).max().unwrap_or(1);
    room(&x, longest, x.dtype().size())?;
    complex_to_complex(x.view_of(), axes, way.forward, way.factor, x.view_mut());
    Ok(x)
}

/// What the rules of the transforms with half spectra need.
#[derive(Clone, Copy)]
struct Half {
    axis: usize,
    n: usize,
    way: Way,
    /// The factor of the frequencies that stand for two.
    interior: f64,
}

/// Half the spectrum of real lines.
pub(super) fn to_half(x: &Tensor, axis: usize, way: Way) -> Result<Tensor> {
    halved(x, axis, way, 1.0)
}

fn halved(x: &Tensor, axis: usize, way: Way, interior: f64) -> Result<Tensor> {
    let n = x.shape()[axis];
    let mut dims = ShapeVec::from_slice(x.shape());
    dims[axis] = n / 2 + 1;
    let dtype = x.dtype().to_complex();
    room(x, n, dtype.size())?;
    let out = Tensor::empty(&dims, dtype)?;
    let factors = [way.factor, interior];
    real_to_complex(x.view_of(), axis, way.forward, factors, out.view_mut());
    finish(out, &[x], |_| Record {
        name: "rfft",
        cost: cost(x, n),
        params: Half { axis: from_end(x, axis), n, way, interior },
        saved: nothing(),
        // Every number of the spectrum gives a sum of real numbers; the way back counts interior ones twice.
        backward: |&Half { axis, n, way, interior }, g, cx| {
            cx.give_with(0, |_| doubled(&g, from_end(&g, axis), n, way.back(), interior / 2.0))
        },
    })
}

/// The real lines of `n` points that belong to half spectra.
pub(super) fn from_half(x: &Tensor, axis: usize, n: usize, way: Way) -> Result<Tensor> {
    doubled(x, axis, n, way, 1.0)
}

fn doubled(x: &Tensor, axis: usize, n: usize, way: Way, interior: f64) -> Result<Tensor> {
    let mut dims = ShapeVec::from_slice(x.shape());
    dims[axis] = n;
    room(x, n, x.dtype().size())?;
    let out = Tensor::empty(&dims, x.dtype().real())?;
    let factors = [way.factor, interior];
    complex_to_real(x.view_of(), axis, way.forward, factors, out.view_mut());
    finish(out, &[x], |out| Record {
        name: "irfft",
        cost: cost(out, n),
        params: Half { axis: from_end(x, axis), n, way, interior },
        saved: nothing(),
        backward: |&Half { axis, way, interior, .. }, g, cx| {
            cx.give_with(0, |_| halved(&g, from_end(&g, axis), way.back(), interior * 2.0))
        },
    })
}

/// A cosine or sine transform of real lines: which, its factor, and the weights of the ends of the lines.
#[derive(Clone, Copy)]
pub(super) struct Waves {
    pub(super) family: Family,
    pub(super) factor: f64,
    pub(super) edges: Edges,
}

impl Waves {
    fn transposed(self) -> Waves {
        let (family, edges) = (self.family.transposed(), self.edges.transposed());
        Waves { family, edges, ..self }
    }
}

/// The cosine or sine transform of real lines.
pub(super) fn waves(x: &Tensor, axis: usize, how: Waves) -> Result<Tensor> {
    let n = x.shape()[axis];
    room(x, n, 2 * x.dtype().size())?;
    let out = Tensor::empty(x.shape(), x.dtype())?;
    trigonometric(x.view_of(), axis, how.family, how.factor, how.edges, out.view_mut());
    finish(out, &[x], |out| Record {
        name: if how.family.sine { "dst" } else { "dct" },
        cost: cost(out, n),
        params: (from_end(x, axis), how),
        saved: nothing(),
        backward: |&(axis, how), g, cx| {
            cx.give_with(0, |_| waves(&g, from_end(&g, axis), how.transposed()))
        },
    })
}
