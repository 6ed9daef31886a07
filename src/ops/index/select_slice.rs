//! `Tensor.select`: one slice along an axis, as a view. The function `select` is NumPy's choice among arrays.

use crate::array::normalize_axis;
use crate::error::Error;
use crate::ops::core::view::{Step, view_through};
use crate::tensor::Tensor;

crate::operations! { family "indexing";
    /// The slice at one index of an axis, which disappears; a view. Derivative: `g` at the slice.
    [namespace("Tensor")]
    fn select(x: Tensor, axis: isize, index: isize) -> Tensor {
        let axis = normalize_axis("select", axis, x.ndim())?;
        let size = x.shape()[axis];
        let at = if index < 0 { index + size as isize } else { index };
        match usize::try_from(at) {
            Ok(at) if at < size => view_through(x, "select", [Step::Select { axis, index: at }]),
            _ => Err(Box::new(Error::IndexRange { op: "select".into(), index: index as i64, axis, size })),
        }
    }
}
