//! The real and imaginary parts of complex elements: extraction and assembly.
//!
//! Invariant: a complex number is its real part, followed by its imaginary one, both of the dtype `real()`.

use super::copy::copy;
use super::launch::{Strides, launch};
use super::view::{View, ViewMut};

/// A part of a complex number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The real part.
    Real,
    /// The imaginary part.
    Imag,
}

/// The strides of one part, in elements of the part's dtype.
fn part_strides(strides: &[isize]) -> Strides {
    strides.iter().map(|stride| 2 * stride).collect()
}

/// The byte offset of a part in an element.
fn part_offset(part: Part, size: usize) -> usize {
    if part == Part::Real { 0 } else { size }
}

/// Writes one part of complex elements to `out`, of their dtype `real()` and their dims.
pub fn take_part(part: Part, src: View<'_>, out: ViewMut<'_>) {
    assert!(src.dtype.is_complex() && src.dtype.real() == out.dtype, "a part of its own dtype");
    launch!("part", [src] => [out];; {
        let (strides, dtype) = (part_strides(src.strides), out.dtype);
        let ptr = src.ptr.wrapping_add(part_offset(part, dtype.size()));
        // SAFETY: each element of the view is two of this dtype, and this part is the first or the second.
        copy(unsafe { View::from_raw(dtype, ptr, src.dims, &strides) }, out)
    });
}

/// Writes complex numbers with these parts, which have their dtype `real()` and their dims.
pub fn join_parts(re: View<'_>, im: View<'_>, out: ViewMut<'_>) {
    assert!(re.dtype == im.dtype && out.dtype.real() == re.dtype, "parts of their own dtype");
    launch!("complex", [re, im] => [out];; {
        let (strides, dtype) = (part_strides(out.strides), re.dtype);
        for (part, from) in [(Part::Real, re), (Part::Imag, im)] {
            let ptr = out.ptr.wrapping_add(part_offset(part, dtype.size()));
            // SAFETY: as above; the two parts do not overlap.
            copy(from, unsafe { ViewMut::from_raw(dtype, ptr, out.dims, &strides) });
        }
    });
}
