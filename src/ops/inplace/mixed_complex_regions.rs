//! Regions of memory for in-place histories in which complex elements and their real and imaginary parts both occur.
//!
//! Positions are counted in units. Invariant: if all regions have one dtype, the unit is an element of it; otherwise it is one
//! real component. Then a complex number, and its gradient, are two units along an additional last axis.

use crate::array::Layout;
use crate::dtype::DType;
use crate::error::Result;
use crate::ops::core::complex_as_real::{complex_from_pairs, real_pairs, unrecorded_pairs};
use crate::tensor::{Region, Tensor};

/// A region of memory, with positions in units.
pub(super) struct UnitRegion {
    pub(super) layout: Layout,
    pub(super) dtype: DType,
}

impl UnitRegion {
    /// The elements of `region`, with positions relative to `low`.
    pub(super) fn of(region: &Region, unit: DType, low: isize) -> UnitRegion {
        let layout = region.in_units(unit);
        UnitRegion { layout: layout.with_offset(layout.offset() - low), dtype: region.dtype }
    }

    /// The same region in each of `n` memories of `size` units, one after the other: a new first axis.
    pub(super) fn stacked(&self, n: usize, size: usize) -> Result<UnitRegion> {
        Ok(UnitRegion { layout: stack_layout(&self.layout, n, size)?, dtype: self.dtype })
    }
}

/// [`UnitRegion::stacked`] for a layout.
pub(super) fn stack_layout(region: &Layout, n: usize, size: usize) -> Result<Layout> {
    let dims = [&[n][..], region.dims()].concat();
    let strides = [&[size as isize][..], region.strides()].concat();
    Layout::strided(&dims, &strides, region.offset())
}

/// The unit of the regions, their lowest position, and the number of units up to the highest. Complex elements start at even
/// positions.
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

/// Values as units; not recorded.
pub(super) fn unrecorded_units(x: Tensor, unit: DType) -> Tensor {
    if x.dtype() == unit { x } else { unrecorded_pairs(x) }
}

/// Units as values; not recorded.
pub(super) fn unrecorded_values(x: Tensor, dtype: DType) -> Result<Tensor> {
    if x.dtype() == dtype {
        return Ok(x);
    }
    match x.layout().coarsen(2) {
        Some(layout) => Ok(x.with_layout_and_dtype(layout, dtype)),
        None => complex_from_pairs(&x),
    }
}

/// Values as units, recorded.
pub(super) fn units_of(x: &Tensor, unit: DType) -> Result<Tensor> {
    if x.dtype() == unit { Ok(x.clone()) } else { real_pairs(x) }
}

/// Units as values, recorded.
pub(super) fn values_of(x: &Tensor, dtype: DType) -> Result<Tensor> {
    if x.dtype() == dtype { Ok(x.clone()) } else { complex_from_pairs(x) }
}
