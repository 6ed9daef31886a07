//! The short way to record an operation that is not element-wise.
//!
//! Owns: `Structured`, a rule made of parameters and a backward function; `finish`, which records an output with it;
//! and `Save`, which says for which derivatives a value is kept. Never computes.
//! Invariant: nothing is built when nothing is recorded, and a value is kept only for an input that has a history.
//! Every rule takes gradients with the axes of `cx.batch()` before their own, and gives such: axes in its parameters
//! count from the end.

use std::any::Any;
use std::borrow::Cow;

use smallvec::SmallVec;

use crate::array::ShapeVec;
use crate::error::Result;
use crate::graph::{self, Context, Flags, Mode, Rule, RuleRef, Saved};
use crate::tensor::{Edge, Tensor, ViewOrigin};

/// What a rule of the tensor graph sees.
pub(crate) type Cx<'a> = Context<'a, Tensor>;

/// The derivative by all inputs of an operation with one output: from its parameters and the output's gradient.
pub(crate) type Backward<P> = fn(&P, Tensor, &mut Cx<'_>) -> Result<()>;

/// The same for several outputs, of whose gradients some may be missing.
pub(crate) type BackwardOfMany<P> = fn(&P, &mut Cx<'_>) -> Result<()>;

enum Derivatives<P> {
    One(Backward<P>),
    Many(BackwardOfMany<P>),
}

/// A rule: parameters and a backward function written with tensor operations.
pub(crate) struct Structured<P> {
    name: &'static str,
    params: P,
    backward: Derivatives<P>,
}

impl<P> Structured<P> {
    pub(crate) fn new(name: &'static str, params: P, backward: Backward<P>) -> Structured<P> {
        Structured { name, params, backward: Derivatives::One(backward) }
    }
}

/// The parameters of a selection, whose only saved value is a mask: the first of two operands gets the gradient where it
/// holds, the second elsewhere.
pub(crate) struct Chosen;

impl<P: Send + Sync + 'static> Rule<Tensor> for Structured<P> {
    fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(self.name)
    }

    fn backward(&self, cx: &mut Cx<'_>) -> Result<()> {
        match self.backward {
            Derivatives::Many(backward) => backward(&self.params, cx),
            Derivatives::One(backward) => match cx.take_grad(0) {
                Some(g) => backward(&self.params, g, cx),
                None => Ok(()),
            },
        }
    }

    fn supports_batch(&self) -> bool {
        true
    }

    fn elementwise(&self) -> Option<&dyn Any> {
        let params: &dyn Any = &self.params;
        params.is::<Chosen>().then_some(params)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(&self.params)
    }
}

/// The edges of the inputs, if this call is to be recorded.
pub(crate) fn edges_of(inputs: &[&Tensor]) -> Option<Edges> {
    if !graph::recording() || !inputs.iter().any(|x| x.requires_grad()) {
        return None;
    }
    let mut edges = Edges::with_capacity(inputs.len());
    for x in inputs {
        edges.push(x.grad_edge());
    }
    Some(edges)
}

type Edges = SmallVec<[Option<Edge>; 2]>;

/// A value that a node keeps, and the inputs by which the derivatives read it.
pub(crate) struct Save<'a> {
    value: Kept<'a>,
    by: &'static [usize],
}

enum Kept<'a> {
    Input(usize),
    Output(usize),
    Value(&'a Tensor),
}

impl<'a> Save<'a> {
    /// Input `i` of the operation.
    pub(crate) fn input(i: usize, by: &'static [usize]) -> Save<'a> {
        Save { value: Kept::Input(i), by }
    }

    /// Output `k` of the operation.
    pub(crate) fn output(k: usize, by: &'static [usize]) -> Save<'a> {
        Save { value: Kept::Output(k), by }
    }

    /// Nothing: the derivatives do not ask for this entry.
    pub(crate) fn none() -> Save<'a> {
        Save { value: Kept::Input(0), by: &[] }
    }

    /// Anything else.
    pub(crate) fn value(value: &'a Tensor, by: &'static [usize]) -> Save<'a> {
        Save { value: Kept::Value(value), by }
    }

    fn saved(&self, inputs: &[&Tensor], outs: &[Tensor], edges: &Edges) -> Saved<Tensor> {
        if !self.by.iter().any(|&i| edges.get(i).is_some_and(Option::is_some)) {
            return Saved::None;
        }
        match self.value {
            Kept::Input(i) => Saved::input(inputs[i], i as u32),
            Kept::Output(k) => Saved::output(&outs[k], k as u32),
            Kept::Value(value) => Saved::value(value),
        }
    }
}

/// What a node keeps, in the order in which the derivatives ask for it.
pub(crate) type Saves<'a> = SmallVec<[Save<'a>; 2]>;

/// Nothing to keep.
pub(crate) fn nothing<'a>() -> Saves<'a> {
    SmallVec::new()
}

/// What one recorded operation needs beside its inputs and output.
pub(crate) struct Record<'a, P> {
    pub(crate) name: &'static str,
    /// Nanoseconds of its backward, estimated.
    pub(crate) cost: f32,
    pub(crate) params: P,
    pub(crate) saved: Saves<'a>,
    /// Gives the gradients of the inputs; called only when there is a gradient.
    pub(crate) backward: Backward<P>,
}

/// The same of an operation with several outputs.
pub(crate) struct RecordMany<'a, P> {
    pub(crate) name: &'static str,
    pub(crate) cost: f32,
    pub(crate) params: P,
    pub(crate) saved: Saves<'a>,
    /// Gives the gradients of the inputs; takes those of the outputs that have one.
    pub(crate) backward: BackwardOfMany<P>,
}

/// Records `out` as the result of an operation on `inputs`, if anything is to be recorded.
/// `record` sees the output before it is attached, so that it can be saved.
///
/// # Errors
/// What the gate refuses to save, see `graph::record`.
#[inline]
pub(crate) fn finish<'a, P: Send + Sync + 'static>(
    out: Tensor,
    inputs: &[&Tensor],
    record: impl FnOnce(&Tensor) -> Record<'a, P>,
) -> Result<Tensor> {
    let Some(edges) = edges_of(inputs).filter(|_| out.dtype().is_inexact()) else {
        let mut out = out;
        note_unrecorded(&mut out, inputs);
        return Ok(out);
    };
    let (mut out, mut edges) = (out, edges);
    let Record { name, cost, params, saved, backward } = record(&out);
    let outs = std::slice::from_ref(&out);
    let rule = RuleRef::Boxed(Box::new(Structured::new(name, params, backward)));
    // What is written here stays where it is: each move of an operation's parts costs as much as its bookkeeping.
    let node = graph::record_with(rule, (1, cost, Flags::NONE), |to, values| {
        for save in &saved {
            values.push(save.saved(inputs, outs, &edges));
        }
        std::mem::swap(to, &mut edges);
    })?;
    out.set_edge(Edge::new(node, 0));
    Ok(out)
}

/// The same of an operation of one tensor that keeps nothing for its backward. `record` gives the nanoseconds of the
/// backward, and its parameters.
///
/// # Errors
/// As `finish`.
#[inline]
pub(crate) fn finish_one<P: Send + Sync + 'static>(
    mut out: Tensor,
    x: &Tensor,
    name: &'static str,
    record: impl FnOnce() -> (f32, P),
    backward: Backward<P>,
) -> Result<Tensor> {
    let recorded = graph::recording() && out.dtype().is_inexact();
    let Some(edge) = (if recorded { x.grad_edge() } else { None }) else {
        note_unrecorded(&mut out, &[x]);
        return Ok(out);
    };
    let (cost, params) = record();
    let rule = RuleRef::Boxed(Box::new(Structured::new(name, params, backward)));
    let node = graph::record_with(rule, (1, cost, Flags::NONE), |to, _| to.push(Some(edge)))?;
    out.set_edge(Edge::new(node, 0));
    Ok(out)
}

/// Notes why a result that is not recorded has no history, if there was one to have.
#[inline(never)]
fn note_unrecorded(out: &mut Tensor, inputs: &[&Tensor]) {
    let (mode, mut inputs) = (Mode::current(), inputs.iter().copied());
    if mode.plain_results() && inputs.clone().all(Tensor::is_plain) {
        return;
    }
    if out.dtype().is_inexact() {
        out.note_unrecorded(inputs, mode);
    } else {
        out.note_underived(&mut inputs, mode);
    }
}

/// Records several outputs of one operation; those that are not floats stay outside the graph.
pub(crate) fn finish_many<'a, P: Send + Sync + 'static>(
    outs: Vec<Tensor>,
    inputs: &[&Tensor],
    record: impl FnOnce(&[Tensor]) -> RecordMany<'a, P>,
) -> Result<Vec<Tensor>> {
    let sibling = |out: Tensor| out.with_origin(ViewOrigin::MultipleOutputs);
    let Some(edges) = edges_of(inputs) else {
        let mark = |out: Tensor| sibling(out).unrecorded(inputs.iter().copied());
        return Ok(outs.into_iter().map(mark).collect());
    };
    let RecordMany { name, cost, params, saved, backward } = record(&outs);
    let saved = saved.into_iter().map(|save| save.saved(inputs, &outs, &edges)).collect();
    let rule = Structured { name, params, backward: Derivatives::Many(backward) };
    let rule = RuleRef::Boxed(Box::new(rule));
    let node = graph::record(rule, edges, saved, outs.len() as u32, cost, Flags::NONE)?;
    let attach = |(i, out): (usize, Tensor)| {
        if out.dtype().is_inexact() {
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
    match *cx.batch() {
        [] => ShapeVec::from_slice(dims),
        ref front => [front, dims].concat().into(),
    }
}

/// An axis of `x` counted from the end, or back: the number from the end is that of the same axis in a batch of
/// gradients.
#[inline]
pub(crate) fn from_end(x: &Tensor, axis: usize) -> usize {
    x.ndim() - axis
}

/// The cost of moving the elements of a tensor once.
pub(crate) fn move_cost(x: &Tensor) -> f32 {
    40.0 + (x.size() * x.dtype().size()) as f32 / 20.0
}

/// The cost of a view's backward: no element is touched.
pub(crate) const VIEW_COST: f32 = 60.0;
