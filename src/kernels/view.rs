//! The operands of kernels: a dtype, a pointer, dims and strides; and the axes of strided iterations.
//!
//! Invariant: a view made by `of` is inside its storage; the maker of one made by `from_raw` guarantees the
//! memory. Every kernel takes its loop's type from its views, so that elements are read as what they are.

use std::marker::PhantomData;

use smallvec::SmallVec;

use crate::array::{Layout, Storage, fits, observer};
use crate::dtype::DType;

/// An operand to read: elements of `dtype`; strides count elements, `ptr` is the address of element (0, 0,
/// …).
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub(crate) dtype: DType,
    pub(crate) ptr: *const u8,
    pub(crate) dims: &'a [usize],
    pub(crate) strides: &'a [isize],
    lifetime: PhantomData<&'a Storage>,
}

/// An operand to write, described as a `View`.
#[derive(Debug)]
pub struct ViewMut<'a> {
    pub(crate) dtype: DType,
    pub(crate) ptr: *mut u8,
    pub(crate) dims: &'a [usize],
    pub(crate) strides: &'a [isize],
    lifetime: PhantomData<&'a Storage>,
}

// SAFETY: a view is a borrowed description of plain elements; its maker guarantees the memory.
unsafe impl Send for View<'_> {}
// SAFETY: as above.
unsafe impl Sync for View<'_> {}
// SAFETY: as above; kernels split a `ViewMut` into disjoint parts before they share it.
unsafe impl Send for ViewMut<'_> {}
// SAFETY: as above.
unsafe impl Sync for ViewMut<'_> {}

impl<'a> View<'a> {
    /// The elements of a storage that a layout addresses. The caller guarantees that they are initialised
    /// elements of `dtype`.
    ///
    /// # Panics
    /// If the layout is outside its storage: a bug of the caller.
    #[inline]
    pub(crate) fn of(storage: &'a Storage, layout: &'a Layout, dtype: DType) -> View<'a> {
        assert!(fits(storage, layout, dtype), "a layout outside its storage");
        let ptr = storage.ptr().wrapping_offset(layout.offset() * dtype.size() as isize);
        if observer::is_active() {
            observer::note_used(storage);
        }
        let (dims, strides) = (layout.dims(), layout.strides());
        View { dtype, ptr, dims, strides, lifetime: PhantomData }
    }

    /// A view of memory that the caller guarantees.
    ///
    /// # Safety
    /// Every addressed element is initialised, of `dtype`, and readable for `'a`; `dims` and `strides` have
    /// the same length.
    #[inline]
    pub unsafe fn from_raw(
        dtype: DType,
        ptr: *const u8,
        dims: &'a [usize],
        strides: &'a [isize],
    ) -> View<'a> {
        View { dtype, ptr, dims, strides, lifetime: PhantomData }
    }

    /// The dtype of the elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The number of elements.
    #[inline]
    pub fn numel(&self) -> usize {
        self.dims.iter().product()
    }

    /// The size of each axis.
    #[inline]
    pub fn dims(&self) -> &'a [usize] {
        self.dims
    }

    /// The address of the element `offset` elements from the first.
    #[inline(always)]
    pub(crate) fn at<T>(&self, offset: isize) -> *const T {
        debug_assert_eq!(size_of::<T>(), self.dtype.size(), "{} read as another type", self.dtype);
        self.ptr.cast::<T>().wrapping_offset(offset)
    }

    /// The same address, for code that is compiled once for all dtypes.
    #[inline(always)]
    pub(crate) fn byte_at(&self, offset: isize) -> *const u8 {
        self.ptr.wrapping_offset(offset * self.dtype.size() as isize)
    }

    /// Whether the elements are contiguous in C order.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        is_c_order(self.dims, self.strides)
    }
}

impl<'a> ViewMut<'a> {
    /// The elements of a storage that a layout addresses, to be written. The caller guarantees that it may
    /// write: it owns the storage, or the in-place operation was admitted.
    ///
    /// # Panics
    /// If the layout is outside its storage: a bug of the caller.
    #[inline]
    pub(crate) fn of(storage: &'a Storage, layout: &'a Layout, dtype: DType) -> ViewMut<'a> {
        assert!(fits(storage, layout, dtype), "a layout outside its storage");
        let ptr = storage.ptr().wrapping_offset(layout.offset() * dtype.size() as isize);
        if observer::is_active() {
            observer::note_used(storage);
        }
        let (dims, strides) = (layout.dims(), layout.strides());
        ViewMut { dtype, ptr, dims, strides, lifetime: PhantomData }
    }

    /// A view of memory that the caller guarantees.
    ///
    /// # Safety
    /// Every addressed element is writable for `'a`, large enough for `dtype`, and not accessed otherwise;
    /// `dims` and `strides` have the same length.
    #[inline]
    pub unsafe fn from_raw(
        dtype: DType,
        ptr: *mut u8,
        dims: &'a [usize],
        strides: &'a [isize],
    ) -> ViewMut<'a> {
        ViewMut { dtype, ptr, dims, strides, lifetime: PhantomData }
    }

    /// The address of the element `offset` elements from the first.
    #[inline(always)]
    pub(crate) fn at<T>(&self, offset: isize) -> *mut T {
        debug_assert_eq!(
            size_of::<T>(),
            self.dtype.size(),
            "{} written as another type",
            self.dtype
        );
        self.ptr.cast::<T>().wrapping_offset(offset)
    }

    /// The same address, for code that is compiled once for all dtypes.
    #[inline(always)]
    pub(crate) fn byte_at(&self, offset: isize) -> *mut u8 {
        self.ptr.wrapping_offset(offset * self.dtype.size() as isize)
    }

    /// The same elements to read, after they were written.
    #[inline]
    pub fn as_view(&self) -> View<'_> {
        let ViewMut { dtype, ptr, dims, strides, lifetime } = *self;
        View { dtype, ptr, dims, strides, lifetime }
    }

    /// The same elements to read, for the lifetime of the view.
    #[inline]
    pub fn into_view(self) -> View<'a> {
        let ViewMut { dtype, ptr, dims, strides, lifetime } = self;
        View { dtype, ptr, dims, strides, lifetime }
    }

    /// A reborrow of the same elements, for a shorter lifetime.
    #[inline]
    pub fn reborrow(&mut self) -> ViewMut<'_> {
        ViewMut {
            dtype: self.dtype,
            ptr: self.ptr,
            dims: self.dims,
            strides: self.strides,
            lifetime: PhantomData,
        }
    }

    /// A slice of these dims that starts at index `start` of an axis.
    ///
    /// # Panics
    /// If it is not inside this view: a bug of the caller.
    #[inline]
    pub fn part<'b>(&'b mut self, axis: usize, start: usize, dims: &'b [usize]) -> ViewMut<'b> {
        assert!(dims.len() == self.dims.len(), "a part of other axes");
        for (a, (&all, &d)) in self.dims.iter().zip(dims).enumerate() {
            let before = if a == axis { start } else { 0 };
            assert!(before <= all && d <= all - before, "a part that is not inside");
        }
        let ptr = self.byte_at(start as isize * self.strides[axis]);
        ViewMut { dtype: self.dtype, ptr, dims, strides: self.strides, lifetime: PhantomData }
    }

    /// The number of elements.
    #[inline]
    pub fn numel(&self) -> usize {
        self.dims.iter().product()
    }

    /// Whether the elements are contiguous in C order.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        is_c_order(self.dims, self.strides)
    }
}

/// The dtype that operands share.
///
/// # Panics
/// If they differ: a bug of the caller.
#[inline(always)]
pub(crate) fn one_dtype<const N: usize>(dtypes: [DType; N]) -> DType {
    for dtype in &dtypes[1..] {
        if *dtype != dtypes[0] {
            panic_several_dtypes(&dtypes);
        }
    }
    dtypes[0]
}

#[cold]
#[inline(never)]
fn panic_several_dtypes(dtypes: &[DType]) -> ! {
    panic!("a kernel takes operands of one dtype and was given {dtypes:?}")
}

pub(crate) use super::dtype_dispatch::{
    with_computing, with_elements, with_float, with_number, with_word,
};

/// Whether dims and strides describe contiguous elements in C order.
#[inline]
pub(crate) fn is_c_order(dims: &[usize], strides: &[isize]) -> bool {
    let mut expected = 1isize;
    for (&d, &s) in dims.iter().zip(strides).rev() {
        if d != 1 {
            if s != expected && d != 0 {
                return dims.contains(&0);
            }
            expected = expected.wrapping_mul(d as isize);
        }
    }
    true
}

/// The axes of an iteration over `N` operands: dims, and a stride per operand.
#[derive(Clone)]
pub(crate) struct Axes<const N: usize> {
    pub(crate) dims: SmallVec<[usize; 8]>,
    pub(crate) strides: SmallVec<[[isize; N]; 8]>,
}

impl<const N: usize> Axes<N> {
    /// The axes of operands of the same dims.
    pub(crate) fn new(dims: &[usize], strides: [&[isize]; N]) -> Axes<N> {
        let mut axes = Axes { dims: SmallVec::from_slice(dims), strides: SmallVec::new() };
        (0..dims.len()).for_each(|i| axes.strides.push(std::array::from_fn(|k| strides[k][i])));
        axes
    }

    /// No axes: a single position.
    pub(crate) fn none() -> Axes<N> {
        Axes { dims: SmallVec::new(), strides: SmallVec::new() }
    }

    /// Adds an innermost axis.
    pub(crate) fn push(&mut self, dim: usize, strides: [isize; N]) {
        self.dims.push(dim);
        self.strides.push(strides);
    }

    /// Removes the innermost axis: its size and strides, 1 and 1 if there is none.
    pub(crate) fn pop(&mut self) -> (usize, [isize; N]) {
        (self.dims.pop().unwrap_or(1), self.strides.pop().unwrap_or([1; N]))
    }

    /// The number of positions.
    pub(crate) fn count(&self) -> usize {
        self.dims.iter().product()
    }

    /// Drops axes of size 1, sorts the others by descending stride of operand 0 (then 1, …) if `reorder`
    /// allows it, and merges adjacent axes that are contiguous in every operand.
    pub(crate) fn collapse(mut self, reorder: bool) -> Axes<N> {
        self.merge(reorder, |strides| strides);
        self
    }

    /// The same in place; axes are sorted by the key that `order` computes from their strides.
    #[inline(always)]
    pub(crate) fn merge(&mut self, reorder: bool, order: impl Fn([isize; N]) -> [isize; N]) {
        let (dims, strides) = (&mut self.dims[..], &mut self.strides[..]);
        let mut kept = 0;
        for i in 0..dims.len() {
            if dims[i] != 1 {
                (dims[kept], strides[kept]) = (dims[i], strides[i]);
                kept += 1;
            }
        }
        for end in 1..if reorder { kept } else { 0 } {
            let key = |strides| order(strides).map(isize::unsigned_abs);
            let mut at = end;
            while at > 0 && key(strides[at]) > key(strides[at - 1]) {
                dims.swap(at, at - 1);
                strides.swap(at, at - 1);
                at -= 1;
            }
        }
        let mut merged = kept.min(1);
        for i in 1..kept {
            let (dim, stride, last) = (dims[i], strides[i], merged - 1);
            if (0..N).all(|k| strides[last][k] == stride[k].wrapping_mul(dim as isize)) {
                (dims[last], strides[last]) = (dims[last] * dim, stride);
            } else {
                (dims[merged], strides[merged]) = (dim, stride);
                merged += 1;
            }
        }
        self.dims.truncate(merged);
        self.strides.truncate(merged);
    }

    /// Calls `body` with the offsets (in elements) of every position, in C order.
    #[inline]
    pub(crate) fn for_each(&self, mut body: impl FnMut([isize; N])) {
        let total: usize = self.dims.iter().product();
        self.for_range(0, total, &mut body);
    }

    /// As `for_each`, for the positions `start..end` of the C order.
    #[inline]
    pub(crate) fn for_range(&self, start: usize, end: usize, body: &mut impl FnMut([isize; N])) {
        if start >= end {
            return;
        }
        let n = self.dims.len();
        let mut index: SmallVec<[usize; 8]> = SmallVec::from_elem(0, n);
        let mut at = [0isize; N];
        let mut rest = start;
        for axis in (0..n).rev() {
            index[axis] = rest % self.dims[axis];
            rest /= self.dims[axis];
            step(&mut at, self.strides[axis], index[axis] as isize);
        }
        for position in start..end {
            body(at);
            if position + 1 == end {
                break;
            }
            for axis in (0..n).rev() {
                index[axis] += 1;
                step(&mut at, self.strides[axis], 1);
                if index[axis] < self.dims[axis] {
                    break;
                }
                step(&mut at, self.strides[axis], -(self.dims[axis] as isize));
                index[axis] = 0;
            }
        }
    }
}

/// Advances every operand by `count` steps.
#[inline(always)]
fn step<const N: usize>(at: &mut [isize; N], strides: [isize; N], count: isize) {
    for (at, stride) in at.iter_mut().zip(strides) {
        *at += count * stride;
    }
}
