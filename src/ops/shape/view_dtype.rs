//! Reinterprets the bytes of a tensor as another dtype, with NumPy's rules for the last axis; `view_as_real` and
//! `view_as_complex`.
//!
//! Invariant: views between complex numbers and their parts are recorded; all others are detached views.

use crate::array::{Layout, ShapeVec};
use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::ops::core::broadcast::reshape_dims;
use crate::ops::core::complex_as_real::{complex_view, real_pairs};
use crate::ops::core::view::view_identity;
use crate::tensor::Tensor;

/// The error for elements that cannot be viewed as larger ones.
#[cold]
fn not_adjacent(op: &'static str, x: &Tensor) -> Box<Error> {
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

#[cold]
fn refuse(what: String, remedy: &'static str) -> Box<Error> {
    Box::new(Error::Shape { op: "view".into(), what, remedy })
}

/// The dims with the last axis in elements of another size.
fn rescaled(x: &Tensor, dtype: DType) -> Result<ShapeVec> {
    let (from, to) = (x.dtype().size(), dtype.size());
    let mut dims = ShapeVec::from_slice(x.shape());
    let (Some(last), Some(&stride)) = (dims.last_mut(), x.layout().strides().last()) else {
        let what =
            format!("a 0-d tensor of {} as {dtype}, whose elements have another size", x.dtype());
        return Err(refuse(what, "give it an axis first: t.reshape(1)"));
    };
    if *last != 1 && stride != 1 && x.size() > 0 {
        let what = format!(
            "to change to a dtype of a different size, the last axis must be contiguous, and its stride is {stride} elements"
        );
        return Err(refuse(what, "view a clone() of it, which lies in order"));
    }
    let bytes = *last * from;
    if to > from && bytes % to != 0 {
        let what = format!(
            "the size of {dtype}, {to} bytes, is no divisor of the {bytes} bytes of the last axis of a tensor of shape {}",
            Dims::from(x.shape())
        );
        return Err(refuse(what, "pad the last axis, or give a smaller dtype"));
    }
    if to < from && from % to != 0 {
        let what = format!(
            "the size of {dtype}, {to} bytes, is no divisor of the {from} of {}",
            x.dtype()
        );
        return Err(refuse(what, "convert the values with astype"));
    }
    *last = bytes / to;
    Ok(dims)
}

/// The last axis as groups of `k` elements.
fn grouped(dims: &[usize], k: usize) -> ShapeVec {
    dims.iter().copied().chain([k]).collect()
}

/// The layout of `x` in elements of another dtype, if alignment and strides allow it.
fn layout_of(x: &Tensor, dtype: DType, dims: &[usize]) -> Option<Layout> {
    let (from, to) = (x.dtype().size(), dtype.size());
    // Memory of other libraries is aligned only for the dtype it was given with.
    if !x.storage().ptr().addr().is_multiple_of(dtype.real().size()) {
        return None;
    }
    match to {
        _ if to == from => Some(x.layout().clone()),
        _ if to < from => x.layout().refine(from / to).reshape(dims),
        _ => x.layout().reshape(&grouped(dims, to / from))?.coarsen(to / from),
    }
}

/// The bytes of `x` as elements of another dtype; a view.
///
/// # Errors
/// `Shape` if the strides do not allow it; `DType` for booleans, for which not all bytes are valid.
pub(crate) fn view_as_dtype(x: &Tensor, dtype: DType) -> Result<Tensor> {
    let from = x.dtype();
    if from == dtype {
        return view_identity(x);
    }
    if let Some(got) = [from, dtype].into_iter().find(|&one| one == DType::Bool) {
        let remedy = "not every byte is a boolean: convert with astype, or compare, t != 0";
        return Err(Box::new(Error::DType { op: "view".into(), got, remedy }));
    }
    let dims = if from.size() == dtype.size() { x.shape().into() } else { rescaled(x, dtype)? };
    if from.is_complex() && dtype == from.real() {
        return reshape_dims(&real_pairs(x)?, &dims);
    }
    if dtype.is_complex() && from == dtype.real() {
        let pairs = reshape_dims(x, &grouped(&dims, 2))?;
        return complex_view(&pairs).unwrap_or_else(|| Err(not_adjacent("view", x)));
    }
    let Some(layout) = layout_of(x, dtype, &dims) else {
        return Err(not_adjacent("view", x));
    };
    Ok(x.detached().with_layout_and_dtype(layout, dtype).underived([x].into_iter()))
}

crate::operations! { family "complex";
    /// The parts of complex numbers along a new last axis of size 2; a view: writing to it changes `x`. Derivative: `view_as_complex` of `g`.
    fn view_as_real(x: Tensor) -> Tensor {
        if !x.dtype().is_complex() {
            return Err(Box::new(Error::DType { op: "view_as_real".into(), got: x.dtype(), remedy: "give complex numbers" }));
        }
        real_pairs(x)
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
        complex_view(x).unwrap_or_else(|| Err(not_adjacent("view_as_complex", x)))
    }
}
