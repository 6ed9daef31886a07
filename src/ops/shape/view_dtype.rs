//! The bytes of a tensor seen as another dtype.
//!
//! Owns: `as_dtype`, with NumPy's rules for the last axis. Never copies and never converts a number.
//! Invariant: complex numbers and their parts have each other's derivatives; every other pair has none, and is memory shared
//! as `detach()` shares it.

use crate::array::{Layout, ShapeVec};
use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::ops::core::broadcast::reshape_dims;
use crate::ops::core::complex_as_real::{complex_view, pairs_of};
use crate::ops::core::view::view_identity;
use crate::ops::shape::view_as_real::apart;
use crate::tensor::Tensor;

#[cold]
fn refuse(what: String, remedy: &'static str) -> Box<Error> {
    Box::new(Error::Shape { op: "view".into(), what, remedy })
}

/// The dims after the last axis was seen in elements of another size; those before it stay.
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

/// The elements of `x` where those of another dtype lie.
fn layout_of(x: &Tensor, dtype: DType, dims: &[usize]) -> Option<Layout> {
    let (from, to) = (x.dtype().size(), dtype.size());
    // Memory of other libraries is aligned for the elements that it was given as.
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
/// `Shape` where the elements do not lie as the dtype asks, `DType` for booleans, which not all bytes are.
pub(crate) fn as_dtype(x: &Tensor, dtype: DType) -> Result<Tensor> {
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
        return reshape_dims(&pairs_of(x)?, &dims);
    }
    if dtype.is_complex() && from == dtype.real() {
        let pairs = reshape_dims(x, &grouped(&dims, 2))?;
        return complex_view(&pairs).unwrap_or_else(|| Err(apart("view", x)));
    }
    let Some(layout) = layout_of(x, dtype, &dims) else {
        return Err(apart("view", x));
    };
    Ok(x.detached().with_layout_and_dtype(layout, dtype).underived([x].into_iter()))
}
