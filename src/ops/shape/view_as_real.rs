//! `view_as_real` and `view_as_complex`: inverse views, each the adjoint of the other.

use crate::error::{Dims, Error};
use crate::ops::core::complex_as_real::{complex_view, pairs_of};
use crate::tensor::Tensor;

/// The error for elements that cannot be viewed as larger ones.
#[cold]
pub(crate) fn apart(op: &'static str, x: &Tensor) -> Box<Error> {
    Box::new(Error::Shape {
        op: op.into(),
        what: format!(
            "the elements of a tensor of shape {} do not lie in memory as larger ones: strides {:?}, first position {}",
            Dims::from(x.shape()),
            x.layout().strides(),
            x.layout().offset()
        ),
        remedy: "view a clone() of it, which lies in order",
    })
}

crate::operations! { family "complex";
    /// The parts of complex numbers along a new last axis of size 2; a view: writing to it changes `x`. Derivative: `view_as_complex` of `g`.
    fn view_as_real(x: Tensor) -> Tensor {
        if !x.dtype().is_complex() {
            return Err(Box::new(Error::DType { op: "view_as_real".into(), got: x.dtype(), remedy: "give complex numbers" }));
        }
        pairs_of(x)
    }
    /// Complex numbers of the pairs along the last axis, of size 2; a view: writing to it changes `x`. Refused where the pairs do not lie in memory as complex numbers do. Derivative: `view_as_real` of `g`.
    fn view_as_complex(x: Tensor) -> Tensor {
        if x.shape().last() != Some(&2) || !matches!(x.dtype().size(), 4 | 8) || !x.dtype().is_float() {
            return Err(Box::new(Error::Shape {
                op: "view_as_complex".into(),
                what: format!("a tensor of {} and shape {}", x.dtype(), Dims::from(x.shape())),
                remedy: "give float64 or float32 with a last axis of size 2",
            }));
        }
        complex_view(x).unwrap_or_else(|| Err(apart("view_as_complex", x)))
    }
}
