//! `isin`: whether elements are among others. A NaN is never among them.

use crate::array::afford;
use crate::dtype::DType;
use crate::kernels;
use crate::ops::core::broadcast::{astype, require_readable};
use crate::tensor::Tensor;

crate::operations! { family "searching";
    /// Whether each element is among `test_elements`; with `invert`, whether it is not.
    [numpy("isin"), constant, ignores(("kind", None)), keywords(("element", "elements"))]
    fn isin(elements: Tensor, test_elements: Tensor, assume_unique: bool = false, invert: bool = false) -> Tensor {
        // Repeated elements are no slower here.
        let _ = assume_unique;
        let dtype = elements.dtype().promote(test_elements.dtype());
        for operand in [elements, test_elements] {
            require_readable("isin", operand)?;
            afford(operand.size().saturating_mul(dtype.size()))?;
        }
        let (values, known) = (astype(&elements.detach(), dtype)?, astype(&test_elements.detach(), dtype)?);
        let out = Tensor::empty(elements.shape(), DType::Bool)?;
        kernels::sort::isin(known.view_of(), values.view_of(), invert, out.view_mut())?;
        Ok(out.underived([elements, test_elements].into_iter()))
    }
}
