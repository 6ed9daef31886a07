//! Basic indexing as views, and the adjoint that embeds a gradient.
//!
//! Owns: slices along an axis, selection of one index, and `embed`, their common adjoint.
//! Never copies forward. Invariant: a view's gradient is zero outside the view.

use std::borrow::Cow;

use crate::array::{Layout, ShapeVec};
use crate::error::Result;
use crate::kernels;
use crate::ops::core::structured::{Cx, Record, SavedList, batched, finish_batched, move_cost};
use crate::tensor::Tensor;

/// One step of a view, replayed on another tensor of the same shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// `start`, `step`, `len` along an axis.
    Slice { axis: usize, start: usize, step: isize, len: usize },
    /// One index of an axis, which is dropped.
    Select { axis: usize, index: usize },
    /// A new axis of size 1.
    Insert { axis: usize },
    /// The diagonal of two axes, appended as the last axis.
    Diagonal { offset: isize, axis1: usize, axis2: usize },
}

impl Step {
    /// The axis it is about, the first of two.
    pub(crate) fn axis(self) -> usize {
        match self {
            Step::Slice { axis, .. } | Step::Select { axis, .. } | Step::Insert { axis } => axis,
            Step::Diagonal { axis1, .. } => axis1,
        }
    }

    /// The same with its axes counted from `by` on.
    fn shifted(self, by: usize) -> Step {
        match self {
            Step::Slice { axis, start, step, len } => {
                Step::Slice { axis: axis + by, start, step, len }
            }
            Step::Select { axis, index } => Step::Select { axis: axis + by, index },
            Step::Insert { axis } => Step::Insert { axis: axis + by },
            Step::Diagonal { offset, axis1, axis2 } => {
                Step::Diagonal { offset, axis1: axis1 + by, axis2: axis2 + by }
            }
        }
    }

    pub(crate) fn apply(self, layout: &Layout) -> Layout {
        match self {
            Step::Slice { axis, start, step, len } => layout.slice(axis, start, step, len),
            Step::Select { axis, index } => layout.select(axis, index),
            Step::Insert { axis } => layout.insert_axis(axis),
            Step::Diagonal { offset, axis1, axis2 } => layout.diagonal(offset, axis1, axis2),
        }
    }
}

/// The steps as a gradient of the running pass takes them: behind the batch axis, if there is one.
pub(crate) fn steps_of<'s>(cx: &Cx<'_>, steps: &'s [Step]) -> Cow<'s, [Step]> {
    match cx.batch().len() {
        0 => Cow::Borrowed(steps),
        by => steps.iter().map(|step| step.shifted(by)).collect(),
    }
}

/// The steps applied to a layout.
pub(crate) fn replay(layout: &Layout, steps: &[Step]) -> Layout {
    steps.iter().fold(layout.clone(), |layout, step| step.apply(&layout))
}

/// A view of `x` through several steps: one node.
pub(crate) fn view_through(x: &Tensor, name: &'static str, steps: Vec<Step>) -> Result<Tensor> {
    if steps.is_empty() {
        return view_identity(x);
    }
    let out = x.with_layout(replay(x.layout(), &steps));
    finish_batched(out, &[x], |_| Record {
        name,
        cost: move_cost(x),
        params: (ShapeVec::from_slice(x.shape()), steps),
        saved: SavedList::new(),
        backward: |(dims, steps), cx| {
            let Some(g) = cx.take_grad(0) else {
                return Ok(());
            };
            cx.give(0, embed(&g, &batched(cx, dims), &steps_of(cx, steps))?);
            Ok(())
        },
    })
}

/// The same elements as a tensor of their own: `x[...]`.
pub(crate) fn view_identity(x: &Tensor) -> Result<Tensor> {
    let out = x.with_layout(x.layout().clone());
    finish_batched(out, &[x], |_| Record {
        name: "alias",
        cost: 40.0,
        params: (),
        saved: SavedList::new(),
        backward: |(), cx| {
            if let Some(g) = cx.take_grad(0) {
                cx.give(0, g);
            }
            Ok(())
        },
    })
}

/// Zeros of shape `dims` with `g` where the steps lead: the adjoint of a view.
pub(crate) fn embed(g: &Tensor, dims: &[usize], steps: &[Step]) -> Result<Tensor> {
    let out = Tensor::zeros(dims, g.dtype())?;
    let target = out.with_layout(replay(out.layout(), steps));
    kernels::copy(g.view_of(), target.view_mut());
    drop(target);
    finish_batched(out, &[g], |_| Record {
        name: "embed",
        cost: move_cost(g),
        params: steps.to_vec(),
        saved: SavedList::new(),
        backward: |steps, cx| {
            let Some(g) = cx.take_grad(0) else {
                return Ok(());
            };
            cx.give(0, view_through(&g, "view", steps_of(cx, steps).into_owned())?);
            Ok(())
        },
    })
}

/// A slice along one axis; a view.
pub(crate) fn slice_axis(
    x: &Tensor,
    axis: usize,
    start: usize,
    step: isize,
    len: usize,
) -> Result<Tensor> {
    view_through(x, "slice", vec![Step::Slice { axis, start, step, len }])
}
