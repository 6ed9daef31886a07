//! A tensor as kernels see it.
//!
//! Owns: the views of a tensor's elements, to read and to write. Never launches anything.
//! Invariant: a view lies inside its storage and carries the tensor's dtype.

use crate::kernels::elementwise::Flat;
use crate::kernels::{View, ViewMut};
use crate::tensor::Tensor;

impl Tensor {
    /// The kernel's view of this tensor.
    #[inline]
    pub(crate) fn view_of(&self) -> View<'_> {
        View::of(self.storage(), self.layout(), self.dtype())
    }

    /// The elements as one small contiguous run, if they are that.
    #[inline]
    pub(crate) fn flat(&self) -> Option<Flat<'_>> {
        Flat::of(self.storage(), self.layout(), self.dtype())
    }

    /// The one element that all elements are, if there are few.
    #[inline(never)]
    pub(crate) fn repeated(&self) -> Option<Flat<'_>> {
        Flat::repeated(self.storage(), self.layout(), self.dtype())
    }

    /// The view through which an operation fills a tensor that it made itself, or a part of one: memory that nobody
    /// else has a handle of, that no derivative keeps and that has not been written in place.
    #[inline]
    pub(crate) fn view_mut(&self) -> ViewMut<'_> {
        debug_assert!(self.storage().version() == 0, "the memory of an output is new");
        self.shared_view_mut()
    }

    /// The view through which an operation writes in place into memory that others see. The caller has had the write
    /// admitted (`ops::inplace::admit_write`), or is the only one who has the memory, and raises its version.
    #[inline]
    pub(crate) fn shared_view_mut(&self) -> ViewMut<'_> {
        ViewMut::of(self.storage(), self.layout(), self.dtype())
    }
}
