//! The shape and dtype of a tensor, without its elements.

use smallvec::SmallVec;

use crate::dtype::DType;
use crate::error::Result;
use crate::tensor::Tensor;

/// The shape and dtype of a tensor.
#[derive(Clone, Debug)]
pub struct ShapeDType {
    /// The dimensions.
    pub dims: SmallVec<[usize; 2]>,
    /// The element type.
    pub dtype: DType,
}

impl ShapeDType {
    /// The shape and dtype of `tensor`.
    pub fn of(tensor: &Tensor) -> ShapeDType {
        ShapeDType { dims: SmallVec::from_slice(tensor.shape()), dtype: tensor.dtype() }
    }

    /// Uninitialised memory of this shape and dtype.
    pub(crate) fn empty(&self) -> Result<Tensor> {
        Tensor::empty(&self.dims, self.dtype)
    }

    /// Zeros of this shape and dtype.
    ///
    /// # Errors
    /// `Memory` when the allocator refuses.
    pub fn zeros(&self) -> Result<Tensor> {
        Tensor::zeros(&self.dims, self.dtype)
    }
}
