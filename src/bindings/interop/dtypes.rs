//! NumPy's dtypes as ours.
//!
//! Owns: the translation, and the refusal of dtypes that no tensor has. Never reads an element.
//! Invariant: a dtype is ours when kind and width are, whatever its name.

use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::bindings::errors::{bad_type, to_python, type_name};
use crate::dtype::{CONVERT, DType, Kind};
use crate::error::Error;

/// The dtype that an array has as it stands; `None` for a foreign byte order.
pub(crate) fn native(descr: &Bound<'_, PyArrayDescr>) -> Option<DType> {
    if descr.is_native_byteorder() == Some(false) {
        return None;
    }
    dtype_of_code(descr.kind(), descr.itemsize())
}

/// The dtype that an array is converted to where it is not `native`: that of the same kind and width in another byte
/// order, or the widest of the kind for one that no tensor has.
pub(super) fn translate(descr: &Bound<'_, PyArrayDescr>) -> Option<DType> {
    let same = dtype_of_code(descr.kind(), descr.itemsize());
    same.or_else(|| match descr.kind() {
        // A long double, and a pair of them.
        b'f' => Some(DType::F64),
        b'c' => Some(DType::C128),
        b'V' if descr.to_string() == "bfloat16" => Some(DType::F32),
        _ => None,
    })
}

#[cold]
pub(super) fn unsupported(op: &str, descr: &Bound<'_, PyArrayDescr>) -> PyErr {
    let (what, remedy) = match descr.kind() {
        b'O' => (
            "an array of Python objects cannot become a tensor".to_owned(),
            "give numbers of one kind; ragged rows must be padded",
        ),
        _ => (format!("dtype {descr} is not supported"), CONVERT.as_str()),
    };
    to_python(Box::new(Error::Unsupported { op: op.to_owned().into(), what, remedy }))
}

/// A dtype from anything `numpy.dtype` accepts.
pub(crate) fn dtype_of(op: &str, ob: &Bound<'_, PyAny>) -> PyResult<DType> {
    if let Ok(name) = ob.cast_exact::<PyString>() {
        let name = name.to_cow()?;
        if let Some(dtype) = DType::ALL.into_iter().find(|dtype| dtype.name() == name) {
            return Ok(dtype);
        }
    }
    let descr = PyArrayDescr::new(ob.py(), ob).map_err(|_| {
        bad_type(op, format!("{} is not a dtype", display(ob)), "use one such as fg.float32")
    })?;
    native(&descr).ok_or_else(|| unsupported(op, &descr))
}

fn display(ob: &Bound<'_, PyAny>) -> String {
    ob.repr().map_or_else(|_| type_name(ob), |text| text.to_string())
}

/// The dtype of NumPy's character for a kind, and a size.
pub(crate) fn dtype_of_code(code: u8, size: usize) -> Option<DType> {
    let kind = match code {
        b'f' => Kind::Float,
        b'i' => Kind::Signed,
        b'u' => Kind::Unsigned,
        b'b' => Kind::Bool,
        b'c' => Kind::Complex,
        _ => return None,
    };
    DType::from_kind(kind, size)
}
