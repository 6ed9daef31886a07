//! Conversions between storages and arrays of the `ndarray` crate: owned arrays in without a copy, typed views out.
//!
//! Invariant: a view borrows the storage, has the stored dtype, lies inside the storage, and exists only while no other
//! code may write the memory.

use ndarray::{Array, ArrayViewD, Axis, Dimension, IxDyn, ShapeBuilder};

use super::{Layout, Storage, observer};
use crate::dtype::{DType, Element};
use crate::error::Result;

/// Smaller arrays are copied: keeping the vector alive costs more.
const COPY_BELOW: usize = 1 << 12;

/// The storage and layout of an owned array; its buffer is adopted (or copied, if small).
pub fn from_array<T: Element, D: Dimension>(array: Array<T, D>) -> Result<(Storage, Layout)> {
    if array.len() * size_of::<T>() < COPY_BELOW {
        let elements: Vec<T> = array.iter().copied().collect();
        return Ok((from_slice(&elements)?, Layout::contiguous(array.shape())?));
    }
    let (dims, strides) = (array.shape().to_vec(), array.strides().to_vec());
    let (data, offset) = array.into_raw_vec_and_offset();
    let layout = Layout::strided(&dims, &strides, offset.unwrap_or(0) as isize)?;
    Ok((Storage::from_vec(data), layout))
}

/// The storage of a vector, which is adopted (or copied, if small).
pub fn from_vec<T: Element>(data: Vec<T>) -> Result<Storage> {
    if size_of_val(&data[..]) < COPY_BELOW {
        return from_slice(&data);
    }
    Ok(Storage::from_vec(data))
}

/// A storage with a copy of the elements.
pub fn from_slice<T: Element>(data: &[T]) -> Result<Storage> {
    // SAFETY: element types have no padding, so all bytes are initialised.
    unsafe { from_bytes(data.as_ptr().cast(), size_of_val(data)) }
}

/// # Safety
/// `data` points to `nbytes` initialised bytes.
unsafe fn from_bytes(data: *const u8, nbytes: usize) -> Result<Storage> {
    let storage = Storage::alloc(nbytes)?;
    // SAFETY: the caller's contract; the storage is new and `nbytes` long.
    unsafe { data.copy_to_nonoverlapping(storage.ptr(), nbytes) };
    observer::note_filled(&storage);
    Ok(storage)
}

/// A typed view; `None` if `T` is not `dtype`, if external code may write the memory, or if the elements are misaligned.
/// The caller makes sure that the storage holds initialised elements of `dtype`.
pub(crate) fn array_view<'a, T: Element>(
    storage: &'a Storage,
    layout: &Layout,
    dtype: DType,
) -> Option<ArrayViewD<'a, T>> {
    if T::DTYPE != dtype || storage.has_external_writer() || !fits(storage, layout, dtype) {
        return None;
    }
    let mut start = storage.ptr().cast::<T>().cast_const();
    let mut strides = vec![0usize; layout.ndim()];
    let mut reversed = Vec::new();
    if layout.numel() > 0 {
        start = start.wrapping_offset(layout.offset());
        for (axis, (&d, &s)) in layout.dims().iter().zip(layout.strides()).enumerate() {
            if s < 0 && d > 1 {
                start = start.wrapping_offset((d as isize - 1) * s);
                reversed.push(axis);
            }
            strides[axis] = if d > 1 { s.unsigned_abs() } else { 0 };
        }
    }
    if !start.is_aligned() {
        return None;
    }
    let shape = IxDyn(layout.dims()).strides(IxDyn(&strides));
    // SAFETY: `fits` checked that the layout lies inside the storage, which the view borrows; ndarray takes positive
    // strides only, so negative axes start at their end and are inverted below.
    let mut view = unsafe { ArrayViewD::from_shape_ptr(shape, start) };
    for axis in reversed {
        view.invert_axis(Axis(axis));
    }
    Some(view)
}

/// Whether all elements of a layout lie inside a storage.
#[inline]
pub(crate) fn fits(storage: &Storage, layout: &Layout, dtype: DType) -> bool {
    if !layout.is_contiguous() {
        return strided_fits(storage, layout, dtype);
    }
    let (n, offset) = (layout.numel(), layout.offset());
    let end = (offset as usize).saturating_add(n).saturating_mul(dtype.size());
    n == 0 || (offset >= 0 && end <= storage.nbytes())
}

#[inline(never)]
fn strided_fits(storage: &Storage, layout: &Layout, dtype: DType) -> bool {
    let capacity = (storage.nbytes() / dtype.size()) as isize;
    match layout.extent() {
        Some((low, high)) => low >= 0 && high < capacity,
        None => layout.numel() == 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, ArrayD};

    #[test]
    fn views_show_what_was_stored() {
        let array = Array2::from_shape_fn((4, 6), |(i, j)| (10 * i + j) as f64);
        let (storage, layout) = from_array(array.clone()).unwrap();
        let view = array_view::<f64>(&storage, &layout, DType::F64).unwrap();
        assert_eq!(view, array.clone().into_dyn());
        let odd = layout.swap(0, 1).slice(0, 5, -2, 3).slice(1, 3, -1, 4);
        let view = array_view::<f64>(&storage, &odd, DType::F64).unwrap();
        assert_eq!(
            view,
            array.t().slice(ndarray::s![1..;2, ..]).slice(ndarray::s![..;-1, ..;-1]).into_dyn()
        );
        let wide = layout.select(0, 2).broadcast_to(&[3, 6]).unwrap();
        let view = array_view::<f64>(&storage, &wide, DType::F64).unwrap();
        assert!(view.outer_iter().all(|row| row == array.row(2).into_dyn()));
    }

    #[test]
    fn a_view_is_refused_when_it_would_lie() {
        let (storage, layout) = from_array(ArrayD::<f64>::zeros(IxDyn(&[3]))).unwrap();
        assert!(array_view::<i64>(&storage, &layout, DType::F64).is_none());
        assert!(array_view::<f64>(&storage, &layout.with_offset(1), DType::F64).is_none());
        assert!(array_view::<f64>(&storage, &layout.with_offset(-1), DType::F64).is_none());
        storage.export_writable();
        assert!(array_view::<f64>(&storage, &layout, DType::F64).is_none());
        storage.release_export();
        assert!(array_view::<f64>(&storage, &layout, DType::F64).is_some());
    }

    #[test]
    fn empty_and_scalar_arrays() {
        for dims in [&[][..], &[0], &[2, 0, 3]] {
            let array = ArrayD::<f32>::ones(IxDyn(dims));
            let (storage, layout) = from_array(array.clone()).unwrap();
            assert_eq!(array_view::<f32>(&storage, &layout, DType::F32).unwrap(), array);
        }
    }
}
