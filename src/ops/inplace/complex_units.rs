//! Positions that tensors of a complex dtype and of that of its parts count alike.
//!
//! Owns: `Place`, a region in units, and the way of values into units and back, raw and recorded. Never writes.
//! Invariant: the unit is the dtype of all regions, or that of their parts; a complex number is two units with a last axis of
//! their own, and so is its gradient.

use crate::array::Layout;
use crate::dtype::DType;
use crate::error::Result;
use crate::ops::core::complex_as_real::{as_parts, complex_of, pairs_of};
use crate::tensor::{Region, Tensor};

/// Elements at positions in units, and what they are.
pub(super) struct Place {
    pub(super) layout: Layout,
    pub(super) dtype: DType,
}

impl Place {
    /// Where elements lie from position `low` on.
    pub(super) fn of(region: &Region, unit: DType, low: isize) -> Place {
        let layout = region.in_units(unit);
        Place { layout: layout.with_offset(layout.offset() - low), dtype: region.dtype }
    }

    /// The same in each of `n` memories of `size` units, one after the other: a new first axis.
    pub(super) fn in_each(&self, n: usize, size: usize) -> Result<Place> {
        Ok(Place { layout: in_each(&self.layout, n, size)?, dtype: self.dtype })
    }
}

/// The same of a layout.
pub(super) fn in_each(region: &Layout, n: usize, size: usize) -> Result<Layout> {
    let dims = [&[n][..], region.dims()].concat();
    let strides = [&[size as isize][..], region.strides()].concat();
    Layout::strided(&dims, &strides, region.offset())
}

/// The lowest position of any region and how many there are up to the highest. Complex numbers begin at even positions.
pub(super) fn span<'a>(regions: impl Iterator<Item = &'a Region> + Clone) -> (DType, isize, usize) {
    let unit = Region::unit(regions.clone());
    let mixed = regions.clone().any(|region| region.dtype != unit);
    let (low, high) = regions
        .filter_map(|region| region.in_units(unit).extent())
        .fold((isize::MAX, isize::MIN), |(low, high), (a, b)| (low.min(a), high.max(b)));
    if low > high {
        return (unit, 0, 0);
    }
    let low = if mixed { low - low.rem_euclid(2) } else { low };
    (unit, low, (high - low + 1) as usize)
}

/// Values as units, outside the graph.
pub(super) fn in_units(x: Tensor, unit: DType) -> Tensor {
    if x.dtype() == unit { x } else { as_parts(x) }
}

/// Units as values, outside the graph.
pub(super) fn as_values(x: Tensor, dtype: DType) -> Result<Tensor> {
    if x.dtype() == dtype {
        return Ok(x);
    }
    match x.layout().coarsen(2) {
        Some(layout) => Ok(x.with_layout_and_dtype(layout, dtype)),
        None => complex_of(&x),
    }
}

/// Values as units, recorded.
pub(super) fn units_of(x: &Tensor, unit: DType) -> Result<Tensor> {
    if x.dtype() == unit { Ok(x.clone()) } else { pairs_of(x) }
}

/// Units as values, recorded.
pub(super) fn values_of(x: &Tensor, dtype: DType) -> Result<Tensor> {
    if x.dtype() == dtype { Ok(x.clone()) } else { complex_of(x) }
}
