//! Conversion between dtypes as users call it.
//!
//! Owns: the declaration of `astype`. Never changes values beyond rounding.
//! Invariant: the gradient of a cast is the gradient cast back.

use crate::dtype::DType;
use crate::ops::core::layout;
use crate::tensor::Tensor;

crate::operations! { family "casting";
    /// The same values in another dtype; floats to integers truncate. Derivative: `g` in the input's dtype.
    [numpy("astype")]
    fn astype(x: Tensor, dtype: DType) -> Tensor {
        layout::astype(x, dtype)
    }
}
