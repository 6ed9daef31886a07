//! Kernel views of tensors, to read and to write.
//!
//! Invariant: a view lies inside its storage and carries the tensor's dtype.

use crate::kernels::elementwise::Flat;
use crate::kernels::{View, ViewMut};
use crate::tensor::Tensor;

impl Tensor {
    /// A view to read the elements.
    #[inline]
    pub(crate) fn view_of(&self) -> View<'_> {
        View::of(self.storage(), self.layout(), self.dtype())
    }

    /// The elements as one small contiguous run; `None` if they are strided or too many.
    #[inline]
    pub(crate) fn flat(&self) -> Option<Flat<'_>> {
        Flat::of(self.storage(), self.layout(), self.dtype())
    }

    /// The single element of a small stride-0 tensor (expanded from one element).
    #[inline(never)]
    pub(crate) fn repeated(&self) -> Option<Flat<'_>> {
        Flat::repeated(self.storage(), self.layout(), self.dtype())
    }

    /// A view to fill a tensor that the operation itself allocated: no other handle, no saved value and no earlier write
    /// in place refers to its memory.
    #[inline]
    pub(crate) fn view_mut(&self) -> ViewMut<'_> {
        debug_assert!(self.storage().version() == 0, "the memory of an output is new");
        self.shared_view_mut()
    }

    /// A view to write in place into memory that others may see. The caller has admitted the write
    /// (`ops::inplace::admit_write`) or owns the memory exclusively, and bumps its version.
    #[inline]
    pub(crate) fn shared_view_mut(&self) -> ViewMut<'_> {
        ViewMut::of(self.storage(), self.layout(), self.dtype())
    }
}
