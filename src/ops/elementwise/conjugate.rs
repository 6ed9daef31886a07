//! The conjugate of saved factors, for product rules. A gradient is `dL/d re + i dL/d im`, so rules multiply by conjugates.

use crate::error::Result;
use crate::ops::elementwise::arithmetic::conjugate;
use crate::tensor::Tensor;

/// The complex conjugate; real tensors are returned unchanged.
#[inline]
pub(crate) fn conjugated(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() { conjugate(x) } else { Ok(x.clone()) }
}
