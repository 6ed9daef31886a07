//! Conversions between tensors and Rust data: slices, vectors, `ndarray` arrays, single elements.
//!
//! A constructor's result is a leaf outside the graph.
//! Invariant: data that leaves is copied, or borrowed under a guard that keeps the storage alive.

use ndarray::{Array, ArrayViewD, Dimension};

use crate::array::{self, Layout, Storage};
use crate::dtype::{DType, Element};
use crate::error::{Dims, Error, Result};
use crate::tensor::Tensor;

impl Tensor {
    /// A contiguous, uninitialised tensor.
    #[inline]
    pub(crate) fn empty(dims: &[usize], dtype: DType) -> Result<Tensor> {
        let layout = Layout::contiguous(dims)?;
        let storage = Storage::alloc(layout.numel() * dtype.size())?;
        Ok(Tensor::assemble(storage, layout, dtype, None))
    }

    /// A 0-d tensor of float64.
    pub(crate) fn number(value: f64) -> Result<Tensor> {
        let layout = Layout::contiguous(&[])?;
        Ok(Tensor::assemble(array::from_slice(&[value])?, layout, DType::F64, None))
    }

    /// A contiguous, uninitialised tensor with the dims of a layout.
    #[inline]
    pub(crate) fn empty_as(like: &Layout, dtype: DType) -> Result<Tensor> {
        if !like.is_contiguous() {
            return Tensor::empty(like.dims(), dtype);
        }
        // The dims of an existing layout are addressable; for a wider dtype, the allocation checks the size.
        let storage = Storage::alloc(like.numel().saturating_mul(dtype.size()))?;
        Ok(Tensor::assemble(storage, like.with_offset(0), dtype, None))
    }

    /// A tensor of this shape from elements in C order.
    ///
    /// # Errors
    /// `Shape` when the number of elements is not the product of the dimensions, `Memory` when the system refuses the
    /// copy of a few elements.
    pub fn from_vec<T: Element>(data: Vec<T>, dims: &[usize]) -> Result<Tensor> {
        let layout = Layout::contiguous(dims)?;
        if layout.numel() != data.len() {
            return Err(size_mismatch(data.len(), dims));
        }
        Ok(Tensor::assemble(array::from_vec(data)?, layout, T::DTYPE, None))
    }

    /// The one element of a tensor of size 1.
    ///
    /// # Errors
    /// `Argument` when there is not exactly one element; `DType` when `T` is not the tensor's element type.
    pub fn item<T: Element>(&self) -> Result<T> {
        if self.size() != 1 {
            return Err(Box::new(Error::Argument {
                op: "item".into(),
                what: format!("the tensor has {} elements", self.size()),
                remedy: "reduce or index it to one element first".into(),
            }));
        }
        self.check_element::<T>("item")?;
        Ok(self.to_vec::<T>()?[0])
    }

    /// A read-only `ndarray` view of the elements; it keeps the storage alive, and the memory is not written meanwhile.
    ///
    /// # Errors
    /// `DType` when `T` is not the tensor's element type.
    pub fn view<T: Element>(&self) -> Result<ViewGuard<T>> {
        self.check_element::<T>("view")?;
        array::observer::check_read("compile", self.storage())?;
        let _reading = self.storage().read_guard();
        let mut tensor = self.stable_data()?;
        if !tensor.storage().begin_view() {
            tensor = tensor.duplicate()?;
            tensor.storage().begin_view();
        }
        Ok(ViewGuard { tensor, element: std::marker::PhantomData })
    }

    /// The elements in C order.
    ///
    /// # Errors
    /// `DType` when `T` is not the tensor's element type, `Memory` when the system refuses the vector.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.check_element::<T>("to_vec")?;
        array::observer::check_read("compile", self.storage())?;
        let _reading = self.storage().read_guard();
        self.stable_data()?.view_of().try_to_vec()
    }

    fn check_element<T: Element>(&self, op: &'static str) -> Result<()> {
        if T::DTYPE == self.dtype() {
            return Ok(());
        }
        Err(Box::new(Error::DType {
            op: op.into(),
            got: self.dtype(),
            remedy: "ask for the tensor's own element type or convert it with astype",
        }))
    }
}

#[cold]
fn size_mismatch(len: usize, dims: &[usize]) -> Box<Error> {
    Box::new(Error::Shape {
        op: "from_vec".into(),
        what: format!("{len} elements do not fill shape {}", Dims::from(dims)),
        remedy: "give as many elements as the product of the dimensions",
    })
}

/// A tensor from a new storage.
///
/// # Panics
/// When the system refused the memory.
fn from_parts(parts: Result<(Storage, Layout)>, dtype: DType) -> Tensor {
    match parts {
        Ok((storage, layout)) => Tensor::assemble(storage, layout, dtype, None),
        Err(error) => panic!("{error}"),
    }
}

/// A tensor with a copy of elements in C order.
fn from_copy<T: Element>(data: &[T], dims: &[usize]) -> Tensor {
    let layout = Layout::contiguous(dims);
    from_parts(array::from_slice(data).and_then(|storage| Ok((storage, layout?))), T::DTYPE)
}

/// A borrowed view of a tensor's elements. While it lives, the memory is not written: an in-place write to the tensor, or
/// to another one that shares its memory, fails with an `InPlace` error (operators such as `+=` panic with it), and
/// `backward` makes a new gradient where it would add to this one.
///
/// ```
/// use ferrograd::Tensor;
/// let x = Tensor::from(vec![1.0, 2.0]);
/// let view = x.view::<f64>()?;
/// let array = view.array();
/// assert_eq!(array.sum(), 3.0);
/// # Ok::<(), Box<ferrograd::Error>>(())
/// ```
///
/// The array does not outlive it:
///
/// ```compile_fail,E0716
/// use ferrograd::Tensor;
/// let x = Tensor::from(vec![1.0, 2.0]);
/// let array = x.view::<f64>().unwrap().array();
/// assert_eq!(array.sum(), 3.0);
/// ```
pub struct ViewGuard<T: Element> {
    /// Counted as a view of its storage.
    tensor: Tensor,
    element: std::marker::PhantomData<T>,
}

impl<T: Element> Drop for ViewGuard<T> {
    fn drop(&mut self) {
        self.tensor.storage().end_view();
    }
}

impl<T: Element> ViewGuard<T> {
    /// The view itself.
    pub fn array(&self) -> ArrayViewD<'_, T> {
        let (storage, layout) = (self.tensor.storage(), self.tensor.layout());
        match array::array_view(storage, layout, T::DTYPE) {
            Some(view) => view,
            None => unreachable!("a guard holds aligned elements of its type"),
        }
    }
}

impl<T: Element, D: Dimension> From<Array<T, D>> for Tensor {
    /// Takes the elements of an array of any rank.
    ///
    /// # Panics
    /// When the system refuses the memory.
    fn from(data: Array<T, D>) -> Tensor {
        from_parts(array::from_array(data), T::DTYPE)
    }
}

impl<T: Element> From<Vec<T>> for Tensor {
    fn from(data: Vec<T>) -> Tensor {
        let layout = Layout::contiguous(&[data.len()]);
        from_parts(array::from_vec(data).and_then(|storage| Ok((storage, layout?))), T::DTYPE)
    }
}

impl<T: Element> From<&[T]> for Tensor {
    /// Copies the elements.
    fn from(data: &[T]) -> Tensor {
        from_copy(data, &[data.len()])
    }
}

impl<T: Element, const N: usize> From<[T; N]> for Tensor {
    fn from(data: [T; N]) -> Tensor {
        from_copy(&data, &[N])
    }
}

impl<T: Element, const M: usize, const N: usize> From<[[T; N]; M]> for Tensor {
    /// A matrix, row by row.
    fn from(data: [[T; N]; M]) -> Tensor {
        from_copy(data.as_flattened(), &[M, N])
    }
}

impl<T: Element> From<T> for Tensor {
    /// A 0-d tensor.
    fn from(value: T) -> Tensor {
        from_copy(&[value], &[])
    }
}
