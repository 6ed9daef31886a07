//! Elements of a memory that several tensors show: where they lie, and what they are.
//!
//! Owns: `Region`, and the units in which regions of several dtypes count positions alike. Never touches data.
//! Invariant: regions of one history are of one dtype, or of a complex one and that of its parts.

use crate::array::Layout;
use crate::dtype::DType;
use crate::tensor::Tensor;

/// Elements of a memory.
#[derive(Clone)]
pub(crate) struct Region {
    /// Where they lie, in elements.
    pub(crate) layout: Layout,
    /// What they are.
    pub(crate) dtype: DType,
}

impl Region {
    /// What a tensor shows.
    pub(crate) fn of(x: &Tensor) -> Region {
        Region { layout: x.layout().clone(), dtype: x.dtype() }
    }

    /// Whether a tensor shows the same elements in the same order.
    pub(crate) fn is_of(&self, x: &Tensor) -> bool {
        self.dtype == x.dtype() && same_places(&self.layout, x.layout())
    }

    /// Whether another region is the same elements in the same order.
    pub(crate) fn is(&self, other: &Region) -> bool {
        self.dtype == other.dtype && same_places(&self.layout, &other.layout)
    }

    /// Whether the two have no element in common, as far as that is seen at once: one ends before the other begins, or both go
    /// by the same steps and never meet.
    pub(crate) fn is_apart(&self, other: &Region) -> bool {
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

    /// Whether it is all of a memory of this size.
    pub(crate) fn is_whole(&self, nbytes: usize) -> bool {
        self.layout.is_injective() && self.layout.numel() * self.dtype.size() == nbytes
    }

    /// What positions count where these regions meet: elements of their dtype, or the parts of complex numbers.
    pub(crate) fn unit<'a>(mut all: impl Iterator<Item = &'a Region>) -> DType {
        let Some(first) = all.next() else {
            return DType::F64;
        };
        if all.all(|region| region.dtype == first.dtype) { first.dtype } else { first.dtype.real() }
    }

    /// The same memory in units of this dtype: complex numbers seen as parts have a last axis of two.
    pub(crate) fn in_units(&self, unit: DType) -> Layout {
        if self.dtype == unit { self.layout.clone() } else { self.layout.refine(2) }
    }
}

/// Whether two tensors show the same elements of their memory in the same order.
pub(crate) fn same_elements(a: &Tensor, b: &Tensor) -> bool {
    a.dtype() == b.dtype() && same_places(a.layout(), b.layout())
}

/// Whether two layouts have the same positions in the same order.
pub(crate) fn same_places(a: &Layout, b: &Layout) -> bool {
    a.offset() == b.offset() && a.dims() == b.dims() && a.strides() == b.strides()
}
