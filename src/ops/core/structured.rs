//! Records operations whose backward is written by hand with tensor operations (like a `custom_vjp`).
//!
//! Invariant: nothing is built unless something is recorded, and a value is saved only for an input that requires grad.
//! A rule accepts gradients with the leading batch axes of `cx.batch()` and returns such; axes in its parameters therefore
//! count from the end.

use std::any::Any;
use std::borrow::Cow;

use smallvec::SmallVec;

use crate::array::ShapeVec;
use crate::error::Result;
use crate::graph::{self, Context, Flags, Mode, Rule, RuleRef, Saved, forward_ad};
use crate::tensor::{Edge, Tensor, ViewOrigin};

/// The context of a backward call on tensors.
pub(crate) type Cx<'a> = Context<'a, Tensor>;

/// The VJP of an operation with one output: parameters, the output's gradient, and the context that takes the results.
pub(crate) type Backward<P> = fn(&P, Tensor, &mut Cx<'_>) -> Result<()>;

/// The VJP of an operation with several outputs; some of their gradients may be missing.
pub(crate) type BackwardOfMany<P> = fn(&P, &mut Cx<'_>) -> Result<()>;

/// The JVP of an operation: the context has tangents of inputs and takes those of outputs.
pub(crate) type Jvp<P> = fn(&P, &mut Cx<'_>) -> Result<()>;

/// How tangents are computed.
enum Forward<P> {
    /// By the transpose of the VJP.
    Transposed,
    /// By a JVP.
    Jvp(Jvp<P>),
    /// By the JVP of an operation of one tensor, which gets its tangent.
    Unary(Backward<P>),
}

enum Derivatives<P> {
    One(Backward<P>),
    Many(BackwardOfMany<P>),
}

/// A rule: parameters and a backward function written with tensor operations.
pub(crate) struct Structured<P> {
    name: &'static str,
    params: P,
    backward: Derivatives<P>,
    forward: Forward<P>,
}

impl<P> Structured<P> {
    pub(crate) fn new(name: &'static str, params: P, backward: Backward<P>) -> Structured<P> {
        Structured {
            name,
            params,
            backward: Derivatives::One(backward),
            forward: Forward::Transposed,
        }
    }

    /// With a JVP of its own.
    pub(crate) fn with_jvp(self, jvp: Jvp<P>) -> Structured<P> {
        Structured { forward: Forward::Jvp(jvp), ..self }
    }
}

/// Marks the rule of `where`, whose only saved value is the mask: the first operand gets the gradient where the mask is
/// true, the second elsewhere. The engine fuses it with element-wise rules.
pub(crate) struct WhereParams;

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

    fn jvp(&self, cx: &mut Cx<'_>) -> Result<bool> {
        match self.forward {
            Forward::Transposed => return Ok(false),
            Forward::Jvp(jvp) => jvp(&self.params, cx)?,
            Forward::Unary(jvp) => {
                if let Some(tangent) = cx.take_grad(0) {
                    jvp(&self.params, tangent, cx)?;
                }
            }
        }
        Ok(true)
    }

    fn supports_batch(&self) -> bool {
        true
    }

    fn elementwise(&self) -> Option<&dyn Any> {
        let params: &dyn Any = &self.params;
        params.is::<WhereParams>().then_some(params)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(&self.params)
    }
}

/// The edges of the inputs, if the call is to be recorded.
pub(crate) fn edges_of(inputs: &[&Tensor]) -> Option<Edges> {
    if !graph::recording() || !inputs.iter().any(|x| x.requires_grad()) {
        return None;
    }
    let mut edges = Edges::with_capacity(inputs.len());
    for x in inputs {
        edges.push(forward_ad::admitted(x.grad_edge()));
    }
    edges.iter().any(Option::is_some).then_some(edges)
}

type Edges = SmallVec<[Option<Edge>; 2]>;

/// A value to save, and the inputs whose derivatives read it.
pub(crate) struct Save<'a> {
    value: SavedSource<'a>,
    by: &'static [usize],
}

enum SavedSource<'a> {
    Input(usize),
    Output(usize),
    Value(&'a Tensor),
}

impl<'a> Save<'a> {
    /// Input `i` of the operation.
    pub(crate) fn input(i: usize, by: &'static [usize]) -> Save<'a> {
        Save { value: SavedSource::Input(i), by }
    }

    /// Output `k` of the operation.
    pub(crate) fn output(k: usize, by: &'static [usize]) -> Save<'a> {
        Save { value: SavedSource::Output(k), by }
    }

    /// An empty entry, which no derivative reads.
    pub(crate) fn none() -> Save<'a> {
        Save { value: SavedSource::Input(0), by: &[] }
    }

    /// An intermediate value.
    pub(crate) fn value(value: &'a Tensor, by: &'static [usize]) -> Save<'a> {
        Save { value: SavedSource::Value(value), by }
    }

    fn saved(&self, inputs: &[&Tensor], outs: &[Tensor], edges: &Edges) -> Saved<Tensor> {
        if !self.by.iter().any(|&i| edges.get(i).is_some_and(Option::is_some)) {
            return Saved::None;
        }
        match self.value {
            SavedSource::Input(i) => Saved::input(inputs[i], i as u32),
            SavedSource::Output(k) => Saved::output(&outs[k], k as u32),
            SavedSource::Value(value) => Saved::value(value),
        }
    }
}

/// The saved values of a node, in the order in which its backward reads them.
pub(crate) type Saves<'a> = SmallVec<[Save<'a>; 2]>;

/// No saved values.
pub(crate) fn save_none<'a>() -> Saves<'a> {
    SmallVec::new()
}

/// What a node needs besides its inputs and its output.
pub(crate) struct NodeSpec<'a, P> {
    pub(crate) name: &'static str,
    /// The estimated nanoseconds of its backward.
    pub(crate) cost: f32,
    pub(crate) params: P,
    pub(crate) saved: Saves<'a>,
    /// Gives the gradients of the inputs; called only if the output has a gradient.
    pub(crate) backward: Backward<P>,
}

impl<'a, P> NodeSpec<'a, P> {
    /// With a JVP of its own, which costs less than the transposed VJP.
    pub(crate) fn with_jvp(self, jvp: Jvp<P>) -> (NodeSpec<'a, P>, Jvp<P>) {
        (self, jvp)
    }
}

/// A [`NodeSpec`], or one with a JVP.
pub(crate) trait RecordSpec<'a> {
    /// The parameters.
    type Params: Send + Sync + 'static;

    /// The specification and the JVP.
    fn split(self) -> (NodeSpec<'a, Self::Params>, Option<Jvp<Self::Params>>);
}

impl<'a, P: Send + Sync + 'static> RecordSpec<'a> for NodeSpec<'a, P> {
    type Params = P;

    #[inline]
    fn split(self) -> (NodeSpec<'a, P>, Option<Jvp<P>>) {
        (self, None)
    }
}

impl<'a, P: Send + Sync + 'static> RecordSpec<'a> for (NodeSpec<'a, P>, Jvp<P>) {
    type Params = P;

    #[inline]
    fn split(self) -> (NodeSpec<'a, P>, Option<Jvp<P>>) {
        (self.0, Some(self.1))
    }
}

/// [`NodeSpec`] for an operation with several outputs.
pub(crate) struct NodeSpecMany<'a, P> {
    pub(crate) name: &'static str,
    pub(crate) cost: f32,
    pub(crate) params: P,
    pub(crate) saved: Saves<'a>,
    /// Gives the gradients of the inputs; reads those outputs' gradients that exist.
    pub(crate) backward: BackwardOfMany<P>,
}

/// Records `out` as the result of an operation on `inputs`, if any of them requires grad. `record` is called before the
/// edge is attached, so that the output itself can be saved.
///
/// # Errors
/// As `graph::record`, which may refuse to save a value.
#[inline]
pub(crate) fn record_output<'a, S: RecordSpec<'a>>(
    out: Tensor,
    inputs: &[&Tensor],
    record: impl FnOnce(&Tensor) -> S,
) -> Result<Tensor> {
    let Some(edges) = edges_of(inputs).filter(|_| out.dtype().is_inexact()) else {
        let mut out = out;
        note_unrecorded(&mut out, inputs);
        return Ok(out);
    };
    let (mut out, mut edges) = (out, edges);
    let (NodeSpec { name, cost, params, saved, backward }, jvp) = record(&out).split();
    let outs = std::slice::from_ref(&out);
    let forward = jvp.map_or(Forward::Transposed, Forward::Jvp);
    let rule = Structured { name, params, backward: Derivatives::One(backward), forward };
    let rule = RuleRef::Boxed(Box::new(rule));
    // Written directly into the node: moving these parts once more would cost as much as the rest of the bookkeeping.
    let node = graph::record_with(rule, (1, cost, Flags::NONE), |to, values| {
        for save in &saved {
            values.push(save.saved(inputs, outs, &edges));
        }
        std::mem::swap(to, &mut edges);
    })?;
    let node = forward_ad::with_tangents(node, outs)?;
    out.set_edge(Edge::new(node, 0));
    Ok(out)
}

/// [`record_output`] for a linear operation of one tensor, which saves nothing. `record` returns the estimated nanoseconds of
/// the backward and its parameters; the last two are the VJP and the JVP.
///
/// # Errors
/// As `record_output`.
#[inline]
pub(crate) fn record_unary<P: Send + Sync + 'static>(
    mut out: Tensor,
    x: &Tensor,
    name: &'static str,
    record: impl FnOnce() -> (f32, P),
    (backward, jvp): (Backward<P>, Backward<P>),
) -> Result<Tensor> {
    let recorded = graph::recording() && out.dtype().is_inexact();
    let edge = if recorded { forward_ad::admitted(x.grad_edge()) } else { None };
    let Some(edge) = edge else {
        note_unrecorded(&mut out, &[x]);
        return Ok(out);
    };
    let (cost, params) = record();
    let (backward, forward) = (Derivatives::One(backward), Forward::Unary(jvp));
    let rule = RuleRef::Boxed(Box::new(Structured { name, params, backward, forward }));
    let node = graph::record_with(rule, (1, cost, Flags::NONE), |to, _| to.push(Some(edge)))?;
    let node = forward_ad::with_tangents(node, std::slice::from_ref(&out))?;
    out.set_edge(Edge::new(node, 0));
    Ok(out)
}

/// Notes on an unrecorded result why it has no history, for `explain` and error messages.
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

/// Records several outputs of one operation; outputs that are not inexact stay outside the graph.
pub(crate) fn record_outputs<'a, P: Send + Sync + 'static>(
    outs: Vec<Tensor>,
    inputs: &[&Tensor],
    record: impl FnOnce(&[Tensor]) -> NodeSpecMany<'a, P>,
) -> Result<Vec<Tensor>> {
    let sibling = |out: Tensor| out.with_origin(ViewOrigin::MultipleOutputs);
    let Some(edges) = edges_of(inputs) else {
        let mark = |out: Tensor| sibling(out).unrecorded(inputs.iter().copied());
        return Ok(outs.into_iter().map(mark).collect());
    };
    let NodeSpecMany { name, cost, params, saved, backward } = record(&outs);
    let saved = saved.into_iter().map(|save| save.saved(inputs, &outs, &edges)).collect();
    let rule = Structured {
        name,
        params,
        backward: Derivatives::Many(backward),
        forward: Forward::Transposed,
    };
    let rule = RuleRef::Boxed(Box::new(rule));
    let node = graph::record(rule, edges, saved, outs.len() as u32, cost, Flags::NONE)?;
    let node = forward_ad::with_tangents(node, &outs)?;
    let attach = |(i, out): (usize, Tensor)| {
        if out.dtype().is_inexact() {
            sibling(out).attach(Edge::new(node.clone(), i as u32))
        } else {
            out.underived(inputs.iter().copied())
        }
    };
    Ok(outs.into_iter().enumerate().map(attach).collect())
}

/// `dims` with the batch axes of the running pass in front.
#[inline]
pub(crate) fn batched_dims(cx: &Cx<'_>, dims: &[usize]) -> ShapeVec {
    match *cx.batch() {
        [] => ShapeVec::from_slice(dims),
        ref front => [front, dims].concat().into(),
    }
}

/// The shape of output 0 with the batch axes of the running push in front.
pub(crate) fn batched_output_dims(cx: &Cx<'_>) -> ShapeVec {
    batched_dims(cx, cx.outputs_of_call().first().map_or(&[], |out| out.shape()))
}

/// Converts an axis of `x` to its distance from the end, and back; that number is valid with batch axes in front too.
#[inline]
pub(crate) fn from_end(x: &Tensor, axis: usize) -> usize {
    x.ndim() - axis
}

/// The estimated nanoseconds of moving the elements of a tensor once.
pub(crate) fn move_cost(x: &Tensor) -> f32 {
    40.0 + (x.size() * x.dtype().size()) as f32 / 20.0
}

/// The estimated nanoseconds of a view's backward, which touches no element.
pub(crate) const VIEW_COST: f32 = 60.0;
