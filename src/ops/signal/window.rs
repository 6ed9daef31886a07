//! Sliding windows along axes, as views: `unfold`, `sliding_window_view`.
//!
//! Invariant: the gradient of an element is the sum over the windows that contain it.

use smallvec::SmallVec;

use crate::array::{ShapeVec, checked_numel, normalize_axis, try_collect};
use crate::error::{Error, Result};
use crate::ops::core::broadcast::{permute_axes, reshape_dims};
use crate::ops::core::op_decl::{Axes, Ints};
use crate::ops::core::row_indices::{RowIndices, scatter_rows};
use crate::ops::core::structured::{NodeSpec, move_cost, record_output, save_none};
use crate::ops::core::view::{ViewStep, view_through};
use crate::tensor::Tensor;

/// Parameters of the backward.
struct WindowParams {
    dims: ShapeVec,
    axis: usize,
    size: usize,
    step: usize,
}

impl WindowParams {
    /// Adds up the gradients of overlapping windows.
    fn add_overlapping(&self, g: &Tensor) -> Result<Tensor> {
        // A batch of gradients has leading axes.
        let front = g.ndim() - 1 - self.dims.len();
        let axis = front + self.axis;
        let dims = [&g.shape()[..front], &self.dims].concat();
        let count = g.shape()[axis];
        let rows = (0..count).flat_map(|i| (0..self.size).map(move |j| (i * self.step + j) as i64));
        let n = count.saturating_mul(self.size);
        let rows = Tensor::from_vec(try_collect(rows, n)?, &[n])?;
        let places = RowIndices::from_arrays("unfold", &dims, &[axis], &[rows])?;
        let last = g.ndim() - 1;
        let order: ShapeVec =
            [axis, last].into_iter().chain((0..last).filter(|&a| a != axis)).collect();
        scatter_rows(&reshape_dims(&permute_axes(g, &order)?, &places.row_dims())?, &places)
    }
}

/// Windows along one axis, whose elements form a new last axis.
pub(crate) fn windows(x: &Tensor, axis: usize, size: usize, step: usize) -> Result<Tensor> {
    let out = x.with_layout(x.layout().unfold(axis, size, step));
    checked_numel("unfold", out.shape())?;
    record_output(out, &[x], |out| NodeSpec {
        name: "unfold",
        cost: 2.0 * move_cost(out),
        params: WindowParams { dims: x.shape().into(), axis, size, step },
        saved: save_none(),
        backward: |windows, g, cx| cx.give_with(0, |_| windows.add_overlapping(&g)),
    })
}

/// Checks a window length against an axis.
fn window_length(op: &'static str, x: &Tensor, axis: usize, size: i64) -> Result<usize> {
    let have = x.shape()[axis];
    match usize::try_from(size) {
        Ok(size) if size <= have => Ok(size),
        _ => Err(Box::new(Error::Argument {
            op: op.into(),
            what: format!("windows of {size} elements on axis {axis} of size {have}"),
            remedy: "give a window no longer than the axis".into(),
        })),
    }
}

crate::operations! { family "windows";
    /// Windows of `size` elements along an axis, `step` apart; their elements are a new last axis. A view. Derivative: `g` summed over the windows that contain an element.
    fn unfold(x: Tensor, axis: isize, size: isize, step: isize) -> Tensor {
        if x.ndim() == 0 {
            // PyTorch gives the windows of a number no axis to count them.
            return view_through(&unfold(&reshape_dims(x, &[1])?, axis, size, step)?, "unfold", [ViewStep::Select { axis: 0, index: 0 }]);
        }
        let axis = normalize_axis("unfold", axis, x.ndim())?;
        let size = window_length("unfold", x, axis, size as i64)?;
        if step < 1 {
            return Err(Box::new(Error::Argument {
                op: "unfold".into(),
                what: format!("a step of {step}"),
                remedy: "give a step of at least 1".into(),
            }));
        }
        windows(x, axis, size, step as usize)
    }
    /// Every window of a shape, as NumPy's of the same name: one new last axis for each axis of the window. A view.
    [numpy("lib.stride_tricks.sliding_window_view")]
    fn sliding_window_view(x: Tensor, window_shape: Ints, axis: Axes = Axes::All) -> Tensor {
        let named: SmallVec<[isize; 4]> = match axis.named() {
            Some(named) => named.into(),
            None => (0..x.ndim() as isize).collect(),
        };
        if named.len() != window_shape.len() {
            return Err(Box::new(Error::Argument {
                op: "sliding_window_view".into(),
                what: format!("a window of {} axes over {} axes", window_shape.len(), named.len()),
                remedy: "give a length for each axis".into(),
            }));
        }
        let mut out = x.clone();
        for (&axis, &size) in named.iter().zip(&window_shape) {
            let axis = normalize_axis("sliding_window_view", axis, x.ndim())?;
            let size = window_length("sliding_window_view", &out, axis, size)?;
            out = windows(&out, axis, size, 1)?;
        }
        Ok(out)
    }
}
