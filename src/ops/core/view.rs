//! Views by slices, selections, new axes and diagonals, and `embed`, their common adjoint.
//!
//! Invariant: the gradient of a view is zero outside the view.

use smallvec::SmallVec;

use crate::array::{Layout, ShapeVec, observer};
use crate::error::Result;
use crate::kernels::{self, View, ViewMut};
use crate::ops::core::row_indices::{RowIndices, scatter_rows, take_rows};
use crate::ops::core::structured::{
    Backward, batched_dims, batched_output_dims, move_cost, record_unary,
};
use crate::tensor::Tensor;

/// One primitive view operation, which can be replayed on any layout of the same shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ViewStep {
    /// `start`, `step`, `len` along an axis.
    Slice { axis: usize, start: usize, step: isize, len: usize },
    /// Selects one index of an axis, which is dropped.
    Select { axis: usize, index: usize },
    /// A new axis of size 1.
    Insert { axis: usize },
    /// The diagonal of two axes, appended as the last axis.
    Diagonal { offset: isize, axis1: usize, axis2: usize },
}

impl ViewStep {
    /// The axis it applies to; the first of two.
    pub(crate) fn axis(self) -> usize {
        match self {
            ViewStep::Slice { axis, .. }
            | ViewStep::Select { axis, .. }
            | ViewStep::Insert { axis } => axis,
            ViewStep::Diagonal { axis1, .. } => axis1,
        }
    }

    /// The same step for a tensor with `by` more leading axes.
    fn shifted(self, by: usize) -> ViewStep {
        match self {
            ViewStep::Slice { axis, start, step, len } => {
                ViewStep::Slice { axis: axis + by, start, step, len }
            }
            ViewStep::Select { axis, index } => ViewStep::Select { axis: axis + by, index },
            ViewStep::Insert { axis } => ViewStep::Insert { axis: axis + by },
            ViewStep::Diagonal { offset, axis1, axis2 } => {
                ViewStep::Diagonal { offset, axis1: axis1 + by, axis2: axis2 + by }
            }
        }
    }

    pub(crate) fn apply(self, layout: &Layout) -> Layout {
        match self {
            ViewStep::Slice { axis, start, step, len } => layout.slice(axis, start, step, len),
            ViewStep::Select { axis, index } => layout.select(axis, index),
            ViewStep::Insert { axis } => layout.insert_axis(axis),
            ViewStep::Diagonal { offset, axis1, axis2 } => layout.diagonal(offset, axis1, axis2),
        }
    }
}

/// View steps in order; most views take one or two.
pub(crate) type ViewStepList = SmallVec<[ViewStep; 2]>;

/// View steps for tensors of `ndim` axes; a batch of gradients has more leading axes.
#[derive(Clone)]
pub(crate) struct ViewSteps {
    ndim: usize,
    all: ViewStepList,
}

impl ViewSteps {
    pub(crate) fn new(ndim: usize, all: ViewStepList) -> ViewSteps {
        ViewSteps { ndim, all }
    }

    /// Adds a view's gradient in place to the accumulated gradient of its base; false if that memory is shared or the loop
    /// is not small.
    fn add_to_sum(&self, g: &Tensor, sum: &Tensor) -> bool {
        if !sum.storage().is_reusable() {
            return false;
        }
        let (whole, part) = (sum.layout(), self.apply_to(sum.layout()));
        let first = part.offset() - whole.offset();
        let fits = part.dims() == g.shape();
        let target = sum.shared_view_mut();
        fits && kernels::index::add_to_slice(target, first, part.strides(), g.view_of())
    }

    fn apply_to(&self, layout: &Layout) -> Layout {
        let front = layout.ndim() - self.ndim;
        match self.all.as_slice() {
            [step] => step.shifted(front).apply(layout),
            all => {
                all.iter().fold(layout.clone(), |layout, step| step.shifted(front).apply(&layout))
            }
        }
    }
}

/// Applies the steps to a layout.
pub(crate) fn replay(layout: &Layout, steps: &[ViewStep]) -> Layout {
    steps.iter().fold(layout.clone(), |layout, step| step.apply(&layout))
}

/// A view of `x` through several steps, recorded as one node.
#[inline]
pub(crate) fn view_through(
    x: &Tensor,
    name: &'static str,
    steps: impl AsRef<[ViewStep]>,
) -> Result<Tensor> {
    view_through_batched(
        x,
        name,
        ViewSteps::new(x.ndim(), ViewStepList::from_slice(steps.as_ref())),
    )
}

/// [`view_through`] for a tensor or a batch of its gradients.
pub(crate) fn view_through_batched(
    x: &Tensor,
    name: &'static str,
    steps: ViewSteps,
) -> Result<Tensor> {
    if steps.all.is_empty() {
        return view_identity(x);
    }
    let out = x.with_layout(steps.apply_to(x.layout()));
    if x.was_written()
        && let Some(edge) = x.edge_of_last_write(out.layout())
    {
        return Ok(if let Some(edge) = edge { out.attach(edge) } else { out });
    }
    record_view(x, out, name, || steps)
}

/// A view without axes of one element of a vector.
pub(crate) fn element_view(x: &Tensor, index: usize) -> Result<Tensor> {
    view_through(x, "index", [ViewStep::Select { axis: 0, index }])
}

/// The element at one index per axis, as a 0-d copy.
#[inline]
pub(crate) fn element(x: &Tensor, steps: ViewStepList) -> Result<Tensor> {
    let distance = |(&stride, step): (&isize, &ViewStep)| match *step {
        ViewStep::Select { index, .. } => stride * index as isize,
        _ => unreachable!("an index of each axis"),
    };
    let layout = x.layout();
    let distance: isize = layout.strides().iter().zip(&steps).map(distance).sum();
    let position = Layout::scalar().with_offset(layout.offset() + distance);
    let out = element_at(x, &position)?.read_as_element();
    if x.was_written()
        && let Some(edge) = x.edge_of_last_write(&position)
    {
        return Ok(if let Some(edge) = edge { out.attach(edge) } else { out });
    }
    if steps.is_empty() {
        let same: Backward<()> = |(), g, cx| cx.give(0, g);
        return record_unary(out, x, "index", || (40.0, ()), (same, same));
    }
    record_view(x, out, "index", || ViewSteps::new(x.ndim(), steps))
}

/// An unrecorded 0-d copy of the element at the offset of `position`.
#[inline]
pub(crate) fn element_at(x: &Tensor, position: &Layout) -> Result<Tensor> {
    let out = Tensor::empty_as(&Layout::scalar(), x.dtype())?;
    if !kernels::copy::copy_element(x.storage(), position.offset(), out.storage(), x.dtype()) {
        kernels::copy(View::of(x.storage(), position, x.dtype()), out.view_mut());
        observer::note_element_copy(out.storage(), x.storage());
    }
    Ok(out)
}

/// Records `out`, a view through the steps or a copy of one.
#[inline(always)]
fn record_view(
    x: &Tensor,
    out: Tensor,
    name: &'static str,
    steps: impl FnOnce() -> ViewSteps,
) -> Result<Tensor> {
    let record = || (move_cost(x), (ShapeVec::from_slice(x.shape()), steps()));
    let backward: Backward<(ShapeVec, ViewSteps)> = |(dims, steps), g, cx| {
        let dims = batched_dims(cx, dims);
        let pad = dims.iter().product::<usize>() <= MAX_PADDED_ELEMENTS;
        let plain = !cx.create_graph();
        let added_in_place = |partial_sum: &mut Tensor| {
            partial_sum.shape() == &dims[..] && steps.add_to_sum(&g, partial_sum)
        };
        if pad && plain && cx.partial_sum(0).is_some_and(added_in_place) {
            return Ok(());
        }
        if pad || !plain {
            return cx.give_with(0, |_| embed_batched(&g, &dims, steps));
        }
        cx.give_slice(0, PartialGradient { g, dims, part: ViewedPart::Steps(steps.clone()) })
    };
    let jvp: Backward<(ShapeVec, ViewSteps)> = |(_, steps), t, cx| {
        let part = view_through_batched(&t, "view", steps.clone())?;
        // An element must not keep the whole tangent.
        let is_element = part.size() == 1 && !cx.create_graph();
        cx.give(0, if is_element { part.duplicate()? } else { part })
    };
    record_unary(out, x, name, record, (backward, jvp))
}

/// Up to this size the gradient of a base is padded with zeros; above it, only the viewed slice is accumulated.
pub(crate) const MAX_PADDED_ELEMENTS: usize = 1024;

/// The gradient of a base of which only a part was used, before it is padded with zeros.
pub struct PartialGradient {
    g: Tensor,
    dims: ShapeVec,
    part: ViewedPart,
}

/// The part of a base that a view shows.
enum ViewedPart {
    /// The elements that view steps lead to.
    Steps(ViewSteps),
    /// The elements of this layout over the base in C order.
    Positions(Layout),
    /// Rows at distinct indices.
    Rows(RowIndices),
}

impl PartialGradient {
    /// For a view of distinct elements, whose layout `positions` refers to the C order of `dims`.
    pub(crate) fn strided(g: Tensor, dims: &[usize], positions: Layout) -> PartialGradient {
        PartialGradient { g, dims: dims.into(), part: ViewedPart::Positions(positions) }
    }

    /// For rows at distinct indices.
    pub(crate) fn rows(g: Tensor, indices: RowIndices) -> PartialGradient {
        PartialGradient { g, dims: indices.dims().into(), part: ViewedPart::Rows(indices) }
    }

    /// The gradient padded with zeros to the shape of the base.
    pub(crate) fn padded(&self) -> Result<Tensor> {
        if let ViewedPart::Rows(indices) = &self.part {
            return scatter_rows(&self.g, indices);
        }
        let out = Tensor::zeros(&self.dims, self.g.dtype())?;
        self.write(&out, &self.g)?;
        Ok(out)
    }

    /// The gradient of the part.
    pub(crate) fn gradient(&self) -> &Tensor {
        &self.g
    }

    /// Whether padding adds to zeros, which turns negative zeros into positive ones.
    pub(crate) fn padding_adds(&self) -> bool {
        matches!(self.part, ViewedPart::Rows(_))
    }

    /// Whether `whole` has the shape and dtype of the base.
    pub(crate) fn matches_base(&self, whole: &Tensor) -> bool {
        whole.shape() == &self.dims[..] && whole.dtype() == self.g.dtype()
    }

    /// The layout of this part in a gradient of the base, if it is a strided view.
    pub(crate) fn layout_in(&self, whole: &Tensor) -> Option<Layout> {
        match &self.part {
            ViewedPart::Steps(steps) => Some(steps.apply_to(whole.layout())),
            ViewedPart::Positions(positions) => {
                Some(positions.with_offset(whole.layout().offset() + positions.offset()))
            }
            ViewedPart::Rows(_) => None,
        }
    }

    /// The elements of this part in a contiguous gradient of the base; unrecorded.
    pub(crate) fn read(&self, whole: &Tensor) -> Result<Tensor> {
        match (&self.part, self.layout_in(whole)) {
            (ViewedPart::Rows(indices), _) => take_rows(&whole.detach(), indices),
            (_, Some(layout)) => Ok(whole.with_layout(layout)),
            (_, None) => unreachable!("all but rows have a layout"),
        }
    }

    /// Overwrites this part of a gradient of the base.
    pub(crate) fn write(&self, whole: &Tensor, values: &Tensor) -> Result<()> {
        if let ViewedPart::Rows(indices) = &self.part {
            return indices.write(whole, values);
        }
        kernels::copy(values.view_of(), self.read(whole)?.shared_view_mut());
        Ok(())
    }
}

/// A view of all elements: `x[...]`.
pub(crate) fn view_identity(x: &Tensor) -> Result<Tensor> {
    let out = x.with_layout(x.layout().clone());
    let same: Backward<()> = |(), g, cx| cx.give(0, g);
    record_unary(out, x, "alias", || (40.0, ()), (same, same))
}

/// Zeros of shape `dims` with `g` at the elements the steps lead to: the adjoint of a view.
pub(crate) fn embed(g: &Tensor, dims: &[usize], steps: &[ViewStep]) -> Result<Tensor> {
    embed_batched(g, dims, &ViewSteps::new(dims.len(), steps.into()))
}

/// [`embed`] for a gradient or a batch of gradients.
fn embed_batched(g: &Tensor, dims: &[usize], steps: &ViewSteps) -> Result<Tensor> {
    let out = Tensor::zeros(dims, g.dtype())?;
    let part = steps.apply_to(out.layout());
    kernels::copy(g.view_of(), ViewMut::of(out.storage(), &part, out.dtype()));
    let backward: Backward<ViewSteps> =
        |steps, g, cx| cx.give_with(0, |_| view_through_batched(&g, "view", steps.clone()));
    let jvp: Backward<ViewSteps> =
        |steps, t, cx| cx.give_with(0, |cx| embed_batched(&t, &batched_output_dims(cx), steps));
    record_unary(out, g, "embed", || (move_cost(g), steps.clone()), (backward, jvp))
}

/// A slice along one axis; a view.
pub(crate) fn slice_axis(
    x: &Tensor,
    axis: usize,
    start: usize,
    step: isize,
    len: usize,
) -> Result<Tensor> {
    view_through(x, "slice", [ViewStep::Slice { axis, start, step, len }])
}
