//! The short way to record an operation that is not element-wise.
//!
//! Owns: `Structured`, a rule made of parameters and a backward function, and `finish`, which records an
//! output with it, in the plain form and in the one that takes part in batched passes. Never computes.
//! Invariant: nothing is built when nothing is recorded.

use std::any::Any;
use std::borrow::Cow;

use smallvec::SmallVec;

use crate::array::ShapeVec;
use crate::error::Result;
use crate::graph::{self, Context, Flags, Rule, RuleRef, Saved};
use crate::tensor::{Creation, Edge, Tensor};

/// What a rule of the tensor graph sees.
pub(crate) type Cx<'a> = Context<'a, Tensor>;

/// The saved values of one node.
pub(crate) type SavedList = SmallVec<[Saved<Tensor>; 2]>;

/// A rule: parameters and a backward function written with tensor operations.
pub(crate) struct Structured<P> {
    name: &'static str,
    params: P,
    backward: fn(&P, &mut Cx<'_>) -> Result<()>,
    batches: bool,
}

impl<P> Structured<P> {
    pub(crate) fn new(
        name: &'static str,
        params: P,
        backward: fn(&P, &mut Cx<'_>) -> Result<()>,
    ) -> Structured<P> {
        Structured { name, params, backward, batches: false }
    }
}

impl<P: Send + Sync + 'static> Rule<Tensor> for Structured<P> {
    fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(self.name)
    }

    fn backward(&self, cx: &mut Cx<'_>) -> Result<()> {
        (self.backward)(&self.params, cx)
    }

    fn batches(&self) -> bool {
        self.batches
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(&self.params)
    }
}

/// The edges of the inputs, if this call is to be recorded.
pub(crate) fn edges_of(inputs: &[&Tensor]) -> Option<SmallVec<[Option<Edge>; 2]>> {
    if !graph::recording() || !inputs.iter().any(|x| x.requires_grad()) {
        return None;
    }
    Some(inputs.iter().map(|x| x.grad_edge()).collect())
}

/// What one recorded operation needs beside its inputs and output.
pub(crate) struct Record<P> {
    pub(crate) name: &'static str,
    /// Nanoseconds of its backward, estimated.
    pub(crate) cost: f32,
    pub(crate) params: P,
    pub(crate) saved: SavedList,
    pub(crate) backward: fn(&P, &mut Cx<'_>) -> Result<()>,
}

/// Records `out` as the result of an operation on `inputs`, if anything is to be recorded.
/// `record` sees the output before it is attached, so that it can be saved.
///
/// # Errors
/// What the gate refuses to save, see `graph::record`.
pub(crate) fn finish<P: Send + Sync + 'static>(
    out: Tensor,
    inputs: &[&Tensor],
    record: impl FnOnce(&Tensor) -> Record<P>,
) -> Result<Tensor> {
    finish_as(out, inputs, record, false)
}

/// `finish` for a backward that takes gradients with the axes of `cx.batch()` before their own, and gives such.
pub(crate) fn finish_batched<P: Send + Sync + 'static>(
    out: Tensor,
    inputs: &[&Tensor],
    record: impl FnOnce(&Tensor) -> Record<P>,
) -> Result<Tensor> {
    finish_as(out, inputs, record, true)
}

#[inline]
fn finish_as<P: Send + Sync + 'static>(
    out: Tensor,
    inputs: &[&Tensor],
    record: impl FnOnce(&Tensor) -> Record<P>,
    batches: bool,
) -> Result<Tensor> {
    if !out.dtype().is_float() {
        return Ok(out.underived(inputs.iter().copied()));
    }
    let Some(edges) = edges_of(inputs) else {
        return Ok(out.unrecorded(inputs.iter().copied()));
    };
    let Record { name, cost, params, saved, backward } = record(&out);
    let rule = RuleRef::Boxed(Box::new(Structured { name, params, backward, batches }));
    let node = graph::record(rule, edges, saved, 1, cost, Flags::NONE)?;
    Ok(out.attach(Edge::new(node, 0)))
}

/// Records several outputs of one operation; those that are not floats stay outside the graph.
pub(crate) fn finish_many<P: Send + Sync + 'static>(
    outs: Vec<Tensor>,
    inputs: &[&Tensor],
    record: impl FnOnce(&[Tensor]) -> Record<P>,
) -> Result<Vec<Tensor>> {
    let sibling = |out: Tensor| out.created(Creation::MultipleOutputs);
    let Some(edges) = edges_of(inputs) else {
        let mark = |out: Tensor| sibling(out).unrecorded(inputs.iter().copied());
        return Ok(outs.into_iter().map(mark).collect());
    };
    let Record { name, cost, params, saved, backward } = record(&outs);
    let rule = RuleRef::Boxed(Box::new(Structured::new(name, params, backward)));
    let node = graph::record(rule, edges, saved, outs.len() as u32, cost, Flags::NONE)?;
    let attach = |(i, out): (usize, Tensor)| {
        if out.dtype().is_float() {
            sibling(out).attach(Edge::new(node.clone(), i as u32))
        } else {
            out.underived(inputs.iter().copied())
        }
    };
    Ok(outs.into_iter().enumerate().map(attach).collect())
}

/// The dims of a value in the running pass: behind the batch axis, if there is one.
#[inline]
pub(crate) fn batched(cx: &Cx<'_>, dims: &[usize]) -> ShapeVec {
    let mut all = ShapeVec::from_slice(cx.batch());
    all.extend_from_slice(dims);
    all
}

/// Axes of a value in the running pass.
#[inline]
pub(crate) fn shifted(cx: &Cx<'_>, axes: &[usize]) -> ShapeVec {
    axes.iter().map(|axis| axis + cx.batch().len()).collect()
}

/// The cost of moving the elements of a tensor once.
pub(crate) fn move_cost(x: &Tensor) -> f32 {
    40.0 + (x.size() * x.dtype().size()) as f32 / 20.0
}

/// The cost of a view's backward: no element is touched.
pub(crate) const VIEW_COST: f32 = 60.0;
