//! Basic indexing as views, and the adjoint that embeds a gradient.
//!
//! Owns: slices along an axis, selection of one index, and `embed`, their common adjoint.
//! Never copies forward. Invariant: a view's gradient is zero outside the view.

use smallvec::SmallVec;

use crate::array::{Layout, ShapeVec, capture};
use crate::error::Result;
use crate::kernels::{self, View, ViewMut};
use crate::ops::core::row_indices::{RowIndices, scatter_rows, take_rows};
use crate::ops::core::structured::{batched, finish_one, move_cost};
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

    /// The same for values with so many axes more in front.
    fn behind(self, by: usize) -> Step {
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

/// Steps in their order; most views take one or two.
pub(crate) type StepList = SmallVec<[Step; 2]>;

/// Steps for values of so many axes; a batch of gradients has more in front.
#[derive(Clone)]
pub(crate) struct Steps {
    ndim: usize,
    all: StepList,
}

impl Steps {
    pub(crate) fn new(ndim: usize, all: StepList) -> Steps {
        Steps { ndim, all }
    }

    /// Adds a gradient of the view to the sum of those of the value, in place; false where others see that memory, or where
    /// this takes more than a small loop.
    fn add(&self, g: &Tensor, sum: &Tensor) -> bool {
        if !sum.storage().is_reusable() {
            return false;
        }
        let (whole, seen) = (sum.layout(), self.replay(sum.layout()));
        let first = seen.offset() - whole.offset();
        let fits = seen.dims() == g.shape();
        let target = sum.shared_view_mut();
        fits && kernels::index::add_part(target, first, seen.strides(), g.view_of())
    }

    fn replay(&self, layout: &Layout) -> Layout {
        let front = layout.ndim() - self.ndim;
        match self.all.as_slice() {
            [step] => step.behind(front).apply(layout),
            all => {
                all.iter().fold(layout.clone(), |layout, step| step.behind(front).apply(&layout))
            }
        }
    }
}

/// The steps applied to a layout.
pub(crate) fn replay(layout: &Layout, steps: &[Step]) -> Layout {
    steps.iter().fold(layout.clone(), |layout, step| step.apply(&layout))
}

/// A view of `x` through several steps: one node.
#[inline]
pub(crate) fn view_through(
    x: &Tensor,
    name: &'static str,
    steps: impl AsRef<[Step]>,
) -> Result<Tensor> {
    shown(x, name, Steps::new(x.ndim(), StepList::from_slice(steps.as_ref())))
}

/// The same of a value or a batch of its gradients.
pub(crate) fn shown(x: &Tensor, name: &'static str, steps: Steps) -> Result<Tensor> {
    if steps.all.is_empty() {
        return view_identity(x);
    }
    let out = x.with_layout(steps.replay(x.layout()));
    if x.was_written()
        && let Some(edge) = x.last_written(out.layout())
    {
        return Ok(if let Some(edge) = edge { out.attach(edge) } else { out });
    }
    seen(x, out, name, || steps)
}

/// The element to which a choice of each axis leads, as a value of its own.
#[inline]
pub(crate) fn element(x: &Tensor, choices: StepList) -> Result<Tensor> {
    let ahead = |(&stride, choice): (&isize, &Step)| match *choice {
        Step::Select { index, .. } => stride * index as isize,
        _ => unreachable!("an index of each axis"),
    };
    let layout = x.layout();
    let ahead: isize = layout.strides().iter().zip(&choices).map(ahead).sum();
    let place = Layout::scalar().with_offset(layout.offset() + ahead);
    let out = element_at(x, &place)?.read_as_element();
    if x.was_written()
        && let Some(edge) = x.last_written(&place)
    {
        return Ok(if let Some(edge) = edge { out.attach(edge) } else { out });
    }
    if choices.is_empty() {
        return finish_one(out, x, "index", || (40.0, ()), |(), g, cx| cx.give_with(0, |_| Ok(g)));
    }
    seen(x, out, "index", || Steps::new(x.ndim(), choices))
}

/// A copy of the element at a place, without a history.
#[inline]
pub(crate) fn element_at(x: &Tensor, place: &Layout) -> Result<Tensor> {
    let out = Tensor::empty_as(&Layout::scalar(), x.dtype())?;
    if !kernels::copy::copy_element(x.storage(), place.offset(), out.storage(), x.dtype()) {
        kernels::copy(View::of(x.storage(), place, x.dtype()), out.view_mut());
        capture::register_element(out.storage(), x.storage());
    }
    Ok(out)
}

/// What the steps lead to, recorded: a view, or a copy of it.
#[inline(always)]
fn seen(
    x: &Tensor,
    out: Tensor,
    name: &'static str,
    steps: impl FnOnce() -> Steps,
) -> Result<Tensor> {
    let record = || (move_cost(x), (ShapeVec::from_slice(x.shape()), steps()));
    finish_one(out, x, name, record, |(dims, steps), g, cx| {
        let dims = batched(cx, dims);
        let small = dims.iter().product::<usize>() <= SMALL;
        let plain = !cx.create_graph();
        let added = |sum: &mut Tensor| sum.shape() == &dims[..] && steps.add(&g, sum);
        if small && plain && cx.sum(0).is_some_and(added) {
            return Ok(());
        }
        if small || !plain {
            return cx.give_with(0, |_| placed(&g, &dims, steps));
        }
        cx.give_part(0, Part { g, dims, shown: Shown::Steps(steps.clone()) })
    })
}

/// Elements of a value up to which zeros are laid out, or added, around each gradient: they take less than the care for parts.
pub(crate) const SMALL: usize = 1024;

/// A gradient of a value of which only a view was used, before it is laid out among zeros.
pub struct Part {
    g: Tensor,
    dims: ShapeVec,
    shown: Shown,
}

/// Which elements of a value a view shows.
enum Shown {
    /// Those to which steps lead.
    Steps(Steps),
    /// Those at positions of the value in C order.
    Places(Layout),
    /// Rows at positions that differ.
    Rows(RowIndices),
}

impl Part {
    /// Of a view that shows the elements at these positions of a value of these dims in C order, each once.
    pub(crate) fn at(g: Tensor, dims: &[usize], places: Layout) -> Part {
        Part { g, dims: dims.into(), shown: Shown::Places(places) }
    }

    /// Of rows of a value at positions that differ.
    pub(crate) fn rows(g: Tensor, places: RowIndices) -> Part {
        Part { g, dims: places.dims().into(), shown: Shown::Rows(places) }
    }

    /// The gradient among zeros.
    pub(crate) fn placed(&self) -> Result<Tensor> {
        if let Shown::Rows(places) = &self.shown {
            return scatter_rows(&self.g, places);
        }
        let out = Tensor::zeros(&self.dims, self.g.dtype())?;
        self.write(&out, &self.g)?;
        Ok(out)
    }

    /// The gradient of the view.
    pub(crate) fn gradient(&self) -> &Tensor {
        &self.g
    }

    /// Whether its place among zeros is made by adding to them, which leaves no negative zero.
    pub(crate) fn is_added(&self) -> bool {
        matches!(self.shown, Shown::Rows(_))
    }

    /// Whether `whole` has the shape and dtype of the value.
    pub(crate) fn fits(&self, whole: &Tensor) -> bool {
        whole.shape() == &self.dims[..] && whole.dtype() == self.g.dtype()
    }

    /// Where this part of a whole gradient lies, if it is a view of it.
    pub(crate) fn layout_in(&self, whole: &Tensor) -> Option<Layout> {
        match &self.shown {
            Shown::Steps(steps) => Some(steps.replay(whole.layout())),
            Shown::Places(places) => {
                Some(places.with_offset(whole.layout().offset() + places.offset()))
            }
            Shown::Rows(_) => None,
        }
    }

    /// What a whole gradient, which lies in C order, has in this part; without a history.
    pub(crate) fn read(&self, whole: &Tensor) -> Result<Tensor> {
        match (&self.shown, self.layout_in(whole)) {
            (Shown::Rows(places), _) => take_rows(&whole.detach(), places),
            (_, Some(layout)) => Ok(whole.with_layout(layout)),
            (_, None) => unreachable!("all but rows have a layout"),
        }
    }

    /// Gives this part of a whole gradient other values.
    pub(crate) fn write(&self, whole: &Tensor, values: &Tensor) -> Result<()> {
        if let Shown::Rows(places) = &self.shown {
            return places.write(whole, values);
        }
        kernels::copy(values.view_of(), self.read(whole)?.shared_view_mut());
        Ok(())
    }
}

/// The same elements as a tensor of their own: `x[...]`.
pub(crate) fn view_identity(x: &Tensor) -> Result<Tensor> {
    let out = x.with_layout(x.layout().clone());
    finish_one(out, x, "alias", || (40.0, ()), |(), g, cx| cx.give_with(0, |_| Ok(g)))
}

/// Zeros of shape `dims` with `g` where the steps lead: the adjoint of a view.
pub(crate) fn embed(g: &Tensor, dims: &[usize], steps: &[Step]) -> Result<Tensor> {
    placed(g, dims, &Steps::new(dims.len(), steps.into()))
}

/// The same of a value or a batch of its gradients.
fn placed(g: &Tensor, dims: &[usize], steps: &Steps) -> Result<Tensor> {
    let out = Tensor::zeros(dims, g.dtype())?;
    let seen = steps.replay(out.layout());
    kernels::copy(g.view_of(), ViewMut::of(out.storage(), &seen, out.dtype()));
    finish_one(
        out,
        g,
        "embed",
        || (move_cost(g), steps.clone()),
        |steps, g, cx| cx.give_with(0, |_| shown(&g, "view", steps.clone())),
    )
}

/// A slice along one axis; a view.
pub(crate) fn slice_axis(
    x: &Tensor,
    axis: usize,
    start: usize,
    step: isize,
    len: usize,
) -> Result<Tensor> {
    view_through(x, "slice", [Step::Slice { axis, start, step, len }])
}
