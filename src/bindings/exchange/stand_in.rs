//! Arrays of dtypes that no tensor has, where they meet tensors.
//!
//! Owns: which dtype stands in for each, and which one it becomes beside the other operands. Never touches memory.
//! Invariant: where `numpy.result_type` of the operands is a dtype of tensors, the result has it.

use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::intern;
use pyo3::prelude::*;

use crate::bindings::errors::python;
use crate::bindings::object::PyTensor;
use crate::dtype::DType;
use crate::ops::core::layout::astype;
use crate::tensor::Tensor;

/// The dtype that takes the place of one that no tensor has.
pub(super) fn stand_in(descr: &Bound<'_, PyArrayDescr>) -> Option<DType> {
    match (descr.kind(), descr.itemsize()) {
        (b'f', 2) => Some(DType::F32),
        (b'i', 1 | 2) | (b'u', 2) => Some(DType::I32),
        (b'u', 4 | 8) => Some(DType::I64),
        _ => None,
    }
}

/// Whether an object made this tensor of a dtype that may have to be another one beside others.
#[inline]
fn may_differ(tensor: &Tensor, ob: &Bound<'_, PyAny>) -> bool {
    matches!(tensor.dtype(), DType::I32 | DType::I64) && !ob.is_instance_of::<PyTensor>()
}

/// The dtypes of all operands save number `i`.
pub(crate) fn others(dtypes: &[Option<DType>], i: usize) -> impl Iterator<Item = DType> {
    dtypes.iter().enumerate().filter_map(move |(k, dtype)| dtype.filter(|_| k != i))
}

/// The tensor that an object stands for beside operands of the dtypes `others`: float32 holds integers of 16 bits, and
/// beside signed integers those of 64 bits without a sign are floats, where the operation computes with fractions.
#[inline]
pub(crate) fn beside(
    tensor: Tensor,
    ob: &Bound<'_, PyAny>,
    others: impl IntoIterator<Item = DType>,
    fractions: bool,
) -> PyResult<Tensor> {
    if !may_differ(&tensor, ob) {
        return Ok(tensor);
    }
    let Ok(descr) = ob.getattr(intern!(ob.py(), "dtype")) else {
        return Ok(tensor);
    };
    let Ok(descr) = descr.cast_into::<PyArrayDescr>() else {
        return Ok(tensor);
    };
    let wanted =
        others.into_iter().find_map(|other| match (descr.kind(), descr.itemsize(), other) {
            (b'i', 1 | 2, DType::F32) | (b'u', 2, DType::F32) => Some(DType::F32),
            (b'u', 8, DType::I32 | DType::I64) if fractions => Some(DType::F64),
            _ => None,
        });
    match wanted {
        Some(dtype) => python(astype(&tensor, dtype)),
        None => Ok(tensor),
    }
}
