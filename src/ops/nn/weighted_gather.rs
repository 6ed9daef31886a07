//! Weighted sums of gathered elements, recorded: gather, scatter and dot, each the derivative of
//! the others.
//!
//! Invariant: an index of -1 stands for a zero.

use smallvec::smallvec;

use crate::array::ShapeVec;
use crate::error::Result;
use crate::kernels::weighted_gather;
use crate::kernels::weighted_gather::Sum;
use crate::ops::core::broadcast::{broadcast_to, reshape_dims};
use crate::ops::core::structured::{NodeSpec, Save, move_cost, record_output};
use crate::tensor::Tensor;

/// Merges a leading batch of `n` gradients into the images; without a batch, only makes the tensor
/// contiguous. `ndim` is the number of the tensor's own axes.
fn merge(t: &Tensor, ndim: usize, batch: Option<usize>) -> Result<Tensor> {
    let Some(n) = batch else { return t.contiguous() };
    let own = &t.shape()[t.ndim() - ndim..];
    let whole = broadcast_to(t, &[&[n], own].concat())?;
    reshape_dims(&whole, &[&[n * own[0]], &own[1..]].concat())?.contiguous()
}

/// `y[b, c, p, i] = Σ_t w[b, t, p] x[b, c, place[b, t, p], i]`.
pub(super) fn gather(x: &Tensor, places: &Tensor, w: &Tensor) -> Result<Tensor> {
    sum(Sum::Gather, x, w, places, x.shape()[x.ndim() - 2])
}

/// One of the three sums, from two of `x`, `y` and `w`, where `x` has `source` elements per plane.
/// The derivatives are the two others.
fn sum(kind: Sum, a: &Tensor, b: &Tensor, places: &Tensor, source: usize) -> Result<Tensor> {
    let second = if kind == Sum::Dot { 4 } else { 3 };
    let all = [(a, 4), (b, second), (places, 3)];
    let batch = all.iter().find(|(t, ndim)| t.ndim() > *ndim).map(|(t, _)| t.shape()[0]);
    let (a, b, places) = (merge(a, 4, batch)?, merge(b, second, batch)?, merge(places, 3, batch)?);
    let dims = a.shape();
    let out_dims = match kind {
        Sum::Gather => ShapeVec::from_slice(&[dims[0], dims[1], places.shape()[2], dims[3]]),
        Sum::Scatter => ShapeVec::from_slice(&[dims[0], dims[1], source, dims[3]]),
        Sum::Dot => ShapeVec::from_slice(places.shape()),
    };
    let empty = a.size() == 0 || b.size() == 0 || out_dims.contains(&0);
    let out = if empty || kind == Sum::Scatter {
        Tensor::zeros(&out_dims, a.dtype())?
    } else {
        Tensor::empty(&out_dims, a.dtype())?
    };
    if !empty {
        weighted_gather::sum(kind, places.view_of(), a.view_of(), b.view_of(), out.view_mut());
    }
    let out = record_output(out, &[&a, &b], |_| NodeSpec {
        name: "taps",
        cost: 2.0 * (move_cost(&a) + move_cost(&b)),
        params: (kind, source),
        saved: smallvec![Save::value(&places, &[0, 1]), Save::input(0, &[1]), Save::input(1, &[0])],
        backward: |&(kind, source), g, cx| {
            let places = cx.saved(0)?;
            cx.give_with(0, |cx| {
                let b = cx.saved(2)?;
                match kind {
                    Sum::Gather => sum(Sum::Scatter, &g, &b, &places, source),
                    Sum::Scatter => sum(Sum::Gather, &g, &b, &places, source),
                    Sum::Dot => sum(Sum::Gather, &b, &g, &places, source),
                }
            })?;
            cx.give_with(1, |cx| {
                let a = cx.saved(1)?;
                match kind {
                    Sum::Gather => sum(Sum::Dot, &g, &a, &places, source),
                    Sum::Scatter => sum(Sum::Dot, &a, &g, &places, source),
                    Sum::Dot => sum(Sum::Scatter, &a, &g, &places, source),
                }
            })
        },
    })?;
    let Some(n) = batch else { return Ok(out) };
    let mut dims = ShapeVec::from_slice(&[n, out.shape()[0] / n.max(1)]);
    dims.extend_from_slice(&out.shape()[1..]);
    reshape_dims(&out, &dims)
}
