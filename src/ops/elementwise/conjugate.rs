//! The conjugate that the rules of products take of what they saved.
//!
//! Owns: `conjugated`. Never copies or records real numbers.
//! Invariant: a gradient is `dL/d re + i dL/d im`, so that a rule multiplies with the conjugates of its factors.

use crate::error::Result;
use crate::ops::elementwise::arithmetic::conjugate;
use crate::tensor::Tensor;

/// The complex conjugate; a tensor of real numbers is returned as it is.
#[inline]
pub(crate) fn conjugated(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() { conjugate(x) } else { Ok(x.clone()) }
}
