//! `Fiber`: one axis of a tensor together with its trailing batch axes; shape checks and
//! broadcasting.
//!
//! Invariant: a checked axis comes before the batch axes.

use smallvec::smallvec;

use crate::array::ShapeVec;
use crate::error::{Dims, Error, Op, Result};
use crate::ops::core::broadcast::{broadcast_to, reshape_dims};
use crate::tensor::Tensor;

#[cold]
pub(crate) fn shape_error(op: &'static str, what: String, remedy: &'static str) -> Box<Error> {
    Box::new(Error::Shape { op: Op::Borrowed(op), what, remedy })
}

/// One axis of a tensor, together with its trailing batch axes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fiber {
    /// The axis.
    pub axis: usize,
    /// Number of trailing batch axes.
    pub batch_ndim: usize,
}

impl Fiber {
    /// Checks that the axis is before the batch axes of a tensor with these dims.
    pub(crate) fn check(self, op: &'static str, dims: &[usize]) -> Result<()> {
        let (ndim, batch) = (dims.len(), self.batch_ndim);
        if batch < ndim && self.axis < ndim - batch {
            return Ok(());
        }
        let what =
            format!("axis {} with batch_ndim {batch} for a tensor of {ndim} dimensions", self.axis);
        Err(shape_error(op, what, "need 0 <= axis < ndim - batch_ndim"))
    }

    /// The shape of the fiber: its axis, then the batch axes.
    fn dims(self, dims: &[usize]) -> ShapeVec {
        let mut own: ShapeVec = smallvec![dims[self.axis]];
        own.extend_from_slice(&dims[dims.len() - self.batch_ndim..]);
        own
    }

    /// The fiber's shape in the tensor's rank, 1 on the other axes.
    fn broadcast_dims(self, dims: &[usize]) -> ShapeVec {
        let first_batch = dims.len() - self.batch_ndim;
        let keep = |i: usize| i == self.axis || i >= first_batch;
        dims.iter().enumerate().map(|(i, &d)| if keep(i) { d } else { 1 }).collect()
    }

    /// Broadcasts fibers with `front` leading batch axes along the tensor's other axes; a view.
    pub(crate) fn broadcast_batched(
        self,
        fiber: &Tensor,
        dims: &[usize],
        front: usize,
    ) -> Result<Tensor> {
        let own = [&dims[..front], &self.broadcast_dims(dims)[front..]].concat();
        broadcast_to(&reshape_dims(fiber, &own)?, dims)
    }

    /// Broadcasts a fiber along the tensor's other axes; a view.
    pub(crate) fn broadcast(self, fiber: &Tensor, dims: &[usize]) -> Result<Tensor> {
        broadcast_to(&reshape_dims(fiber, &self.broadcast_dims(dims))?, dims)
    }

    /// Checks that a fiber has the shape that belongs to a tensor with these dims.
    pub(crate) fn check_fiber(self, fiber: &Tensor, dims: &[usize]) -> Result<()> {
        let want = self.dims(dims);
        if fiber.shape() == &want[..] {
            return Ok(());
        }
        let (got, want) = (Dims::from(fiber.shape()), Dims::from(&want[..]));
        Err(shape_error(
            "add_fiber",
            format!("the fiber has shape {got} but must have {want}"),
            "give a fiber of the axis and the trailing batch axes of the tensor",
        ))
    }
}
