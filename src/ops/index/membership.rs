//! Whether elements are among others.
//!
//! Owns: isin. Never sorts in place. Invariant: a NaN is among nothing, itself included.

use crate::dtype::with_dtype;
use crate::kernels::order::Key;
use crate::ops::core::layout::astype;
use crate::tensor::Tensor;

/// For each value, whether `known` holds it.
fn found<T: Key + PartialOrd>(values: &[T], mut known: Vec<T>) -> Vec<bool> {
    known.sort_by(|a, b| a.order(*b));
    let holds =
        |v: &T| v.partial_cmp(v).is_some() && known.binary_search_by(|k| k.order(*v)).is_ok();
    values.iter().map(holds).collect()
}

crate::operations! { family "searching";
    /// Whether each element is among `test_elements`; with `invert`, whether it is not.
    [numpy("isin"), constant, ignores(("kind", None)), keywords(("element", "elements"))]
    fn isin(elements: Tensor, test_elements: Tensor, assume_unique: bool = false, invert: bool = false) -> Tensor {
        // Repeated elements are no slower here.
        let _ = assume_unique;
        let dtype = elements.dtype().promote(test_elements.dtype());
        let (values, known) = (astype(&elements.detach(), dtype)?, astype(&test_elements.detach(), dtype)?);
        let mut held = with_dtype!(dtype, T => found(&values.to_vec::<T>()?, known.to_vec::<T>()?));
        if invert {
            held.iter_mut().for_each(|holds| *holds = !*holds);
        }
        Ok(Tensor::from_vec(held, elements.shape())?.underived([elements, test_elements].into_iter()))
    }
}
