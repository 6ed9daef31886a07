//! Complex numbers as pairs of real ones along a last axis, and back.
//!
//! Owns: `view_as_real` and `view_as_complex`. Never shares memory: both copy, as in JAX.
//! Invariant: each is the adjoint of the other.

use crate::error::{Dims, Error};
use crate::kernels::parts::Part;
use crate::ops::core::view::{Step, view_through};
use crate::ops::elementwise::complex::{joined, part_of};
use crate::ops::shape::join::stack;
use crate::tensor::Tensor;

crate::operations! { family "complex";
    /// The parts of complex numbers along a new last axis of size 2; a copy. Derivative: `view_as_complex` of `g`.
    fn view_as_real(x: Tensor) -> Tensor {
        if !x.dtype().is_complex() {
            return Err(Box::new(Error::DType { op: "view_as_real".into(), got: x.dtype(), remedy: "give complex numbers" }));
        }
        stack(&[part_of(x, Part::Real)?, part_of(x, Part::Imag)?], -1)
    }
    /// Complex numbers of the pairs along the last axis, of size 2; a copy. Derivative: `view_as_real` of `g`.
    fn view_as_complex(x: Tensor) -> Tensor {
        if x.shape().last() != Some(&2) || !matches!(x.dtype().size(), 4 | 8) || !x.dtype().is_float() {
            return Err(Box::new(Error::Shape {
                op: "view_as_complex".into(),
                what: format!("a tensor of {} and shape {}", x.dtype(), Dims::from(x.shape())),
                remedy: "give float64 or float32 with a last axis of size 2",
            }));
        }
        let axis = x.ndim() - 1;
        let part = |index| view_through(x, "select", vec![Step::Select { axis, index }]);
        joined(&part(0)?, &part(1)?)
    }
}
