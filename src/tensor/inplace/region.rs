//! `Region`: elements of a memory (layout and dtype), compared across views.
//!
//! Invariant: the regions of one history have one dtype, or a complex dtype and that of its components.

use crate::array::Layout;
use crate::dtype::DType;
use crate::tensor::Tensor;

/// Elements of a memory.
#[derive(Clone)]
pub(crate) struct Region {
    /// Their layout.
    pub(crate) layout: Layout,
    /// Their dtype.
    pub(crate) dtype: DType,
}

impl Region {
    /// The elements of a tensor.
    pub(crate) fn of(x: &Tensor) -> Region {
        Region { layout: x.layout().clone(), dtype: x.dtype() }
    }

    /// Whether a tensor has the same elements in the same order.
    pub(crate) fn is_of_tensor(&self, x: &Tensor) -> bool {
        self.dtype == x.dtype() && same_positions(&self.layout, x.layout())
    }

    /// Whether another region has the same elements in the same order.
    pub(crate) fn same_as(&self, other: &Region) -> bool {
        self.dtype == other.dtype && same_positions(&self.layout, &other.layout)
    }

    /// Whether the regions are disjoint by a cheap, conservative test: one ends before the other begins, or both have the same
    /// stride and never meet.
    pub(crate) fn is_disjoint(&self, other: &Region) -> bool {
        let (a, b) = (&self.layout, &other.layout);
        if self.dtype != other.dtype {
            return false;
        }
        let (Some((low, high)), Some((first, last))) = (a.extent(), b.extent()) else {
            return true;
        };
        if high < first || last < low {
            return true;
        }
        match (a.strides(), b.strides()) {
            (&[step], &[other]) => step == other && step != 0 && (low - first) % step != 0,
            _ => false,
        }
    }

    /// Whether the region is all of a memory of `nbytes` bytes.
    pub(crate) fn is_whole(&self, nbytes: usize) -> bool {
        self.layout.is_injective() && self.layout.numel() * self.dtype.size() == nbytes
    }

    /// The unit in which positions of all these regions can be counted: their dtype, or the component of complex numbers.
    pub(crate) fn unit<'a>(mut all: impl Iterator<Item = &'a Region>) -> DType {
        let Some(first) = all.next() else {
            return DType::F64;
        };
        if all.all(|region| region.dtype == first.dtype) { first.dtype } else { first.dtype.real() }
    }

    /// The region's layout in elements of `unit`: complex numbers seen as components get a last axis of two.
    pub(crate) fn in_units(&self, unit: DType) -> Layout {
        if self.dtype == unit { self.layout.clone() } else { self.layout.refine(2) }
    }
}

/// Whether two tensors of one memory have the same elements in the same order.
pub(crate) fn same_elements(a: &Tensor, b: &Tensor) -> bool {
    a.dtype() == b.dtype() && same_positions(a.layout(), b.layout())
}

/// Whether two layouts have the same positions in the same order.
pub(crate) fn same_positions(a: &Layout, b: &Layout) -> bool {
    a.offset() == b.offset() && a.dims() == b.dims() && a.strides() == b.strides()
}
