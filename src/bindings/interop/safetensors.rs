//! Reading and writing safetensors files: headers, and the order of tensors in a file.
//!
//! Invariant: a header returned to Python describes exactly the bytes of its file: tensors do not overlap, leave no
//! gaps, and have the size of their shape and dtype.

use std::cmp::Reverse;
use std::io::Write;
use std::path::PathBuf;

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use safetensors::tensor::{Metadata, TensorInfo};
use safetensors::{Dtype, SafeTensorError};

use crate::bindings::interop::atomic_file;

/// Size of the header length field, in bytes.
const LENGTH_BYTES: usize = size_of::<u64>();
/// The longest header that the format allows.
const MAX_HEADER_BYTES: usize = 100_000_000;

/// Name, dtype, shape, and begin and end of the bytes in the file.
type TensorEntry = (String, String, Vec<usize>, usize, usize);
type MetadataTexts = Vec<(String, String)>;

/// Name, dtype code, shape and bytes of a tensor to write.
type TensorToWrite<'py> = (String, String, Vec<usize>, PyReadonlyArray1<'py, u8>);

fn format_error(error: SafeTensorError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Parses the header of a file of `size` bytes that begins with `bytes`; returns its length as well.
fn parse_header(bytes: &[u8], size: usize) -> Result<(usize, Metadata), SafeTensorError> {
    let (length, rest) = bytes.split_first_chunk().ok_or(SafeTensorError::HeaderTooSmall)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    if length > MAX_HEADER_BYTES {
        return Err(SafeTensorError::HeaderTooLarge);
    }
    let text = rest.get(..length).ok_or(SafeTensorError::InvalidHeaderLength)?;
    let text = std::str::from_utf8(text).map_err(SafeTensorError::InvalidHeader)?;
    // Deserialisation validates offsets and sizes.
    let header = serde_json::from_str::<Metadata>(text);
    let header = header.map_err(SafeTensorError::InvalidHeaderDeserialization)?;
    match (LENGTH_BYTES + length).checked_add(header.data_len()) {
        Some(end) if end == size => Ok((length, header)),
        _ => Err(SafeTensorError::MetadataIncompleteBuffer),
    }
}

/// The texts and the tensors that the header of a file describes, which has so many bytes and begins with these.
#[pyfunction]
pub(crate) fn _safetensors_header(
    py: Python<'_>,
    begin: PyReadonlyArray1<'_, u8>,
    size: usize,
) -> PyResult<(MetadataTexts, Vec<TensorEntry>)> {
    let bytes = begin.as_slice()?;
    let (length, header) = py.detach(|| parse_header(bytes, size)).map_err(format_error)?;
    let texts = header.metadata().iter().flatten().map(|(key, text)| (key.clone(), text.clone()));
    let begin = LENGTH_BYTES + length;
    let described = header.offset_keys().into_iter().filter_map(|name| {
        let info = header.info(&name)?;
        let (from, to) = info.data_offsets;
        Some((name, info.dtype.to_string(), info.shape.clone(), begin + from, begin + to))
    });
    Ok((texts.collect(), described.collect()))
}

fn dtype_of(code: &str) -> PyResult<Dtype> {
    use Dtype::{BOOL, C64, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let known = [BOOL, I8, U8, I16, U16, F16, I32, U32, F32, I64, U64, F64, C64];
    let found = known.into_iter().find(|dtype| dtype.to_string() == code);
    found.ok_or_else(|| PyValueError::new_err(format!("{code} is no dtype of tensors here")))
}

fn encode_header(tensors: Vec<(String, TensorInfo)>, texts: MetadataTexts) -> PyResult<Vec<u8>> {
    let header = Metadata::new(Some(texts.into_iter().collect()), tensors).map_err(format_error)?;
    let text = serde_json::to_string(&header);
    let mut text = text.map_err(|error| PyValueError::new_err(error.to_string()))?.into_bytes();
    text.resize(text.len().next_multiple_of(LENGTH_BYTES), b' ');
    if text.len() > MAX_HEADER_BYTES {
        let what = format!(
            "the header would have {} bytes, and readers take {MAX_HEADER_BYTES}",
            text.len()
        );
        return Err(PyValueError::new_err(what));
    }
    Ok(text)
}

/// Writes tensors to a file, which is replaced as a whole or not at all.
#[pyfunction]
pub(crate) fn _safetensors_write(
    py: Python<'_>,
    path: PathBuf,
    tensors: Vec<TensorToWrite<'_>>,
    texts: MetadataTexts,
) -> PyResult<()> {
    let mut ordered = Vec::with_capacity(tensors.len());
    for (name, code, shape, bytes) in &tensors {
        ordered.push((Reverse(dtype_of(code)?), name, shape, bytes.as_slice()?));
    }
    // Large elements first, so that every tensor is aligned when the file is memory-mapped.
    ordered.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
    let mut infos = Vec::with_capacity(ordered.len());
    let mut end = 0;
    for (Reverse(dtype), name, shape, bytes) in &ordered {
        let begin = end;
        end += bytes.len();
        let info =
            TensorInfo { dtype: *dtype, shape: (*shape).clone(), data_offsets: (begin, end) };
        infos.push(((*name).clone(), info));
    }
    let header = encode_header(infos, texts)?;
    let parts: Vec<&[u8]> = ordered.iter().map(|(.., bytes)| *bytes).collect();
    let written = py.detach(|| {
        atomic_file::replace(&path, |file| {
            file.write_all(&(header.len() as u64).to_le_bytes())?;
            file.write_all(&header)?;
            parts.iter().try_for_each(|part| file.write_all(part))
        })
    });
    Ok(written?)
}
