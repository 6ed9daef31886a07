//! The full discrete convolution of two vectors.
//!
//! Owns: the loop. Never multiplies with padding, so that a zero beyond the end meets no infinity.
//! Invariant: the terms of an element are added in the order of the second vector.

use crate::error::Result;
use crate::kernels::cast::{with_computing_input, with_computing_output};
use crate::kernels::launch::launch;
use crate::kernels::number::ring::Ring;
use crate::kernels::view::{View, ViewMut, with_number};

/// `out[i + j] += a[i] v[j]` into zeros, for contiguous vectors of one dtype (not bool).
///
/// # Panics
/// When the dims do not fit, a view has gaps, or the dtype is bool: bugs of the caller.
///
/// # Errors
/// `Memory` when there is none for copies in a dtype that has loops.
pub fn convolve(a: View, v: View, out: ViewMut) -> Result<()> {
    launch!(
        "convolve", [a, v] => [out];;
        with_computing_input(a, |a| with_computing_input(v, |v| with_computing_output(&out, true, |out| {
            with_number!([a, v, out], T => full::<T>(a, v, out));
            Ok(())
        })))
    )
}

fn full<T: Ring>(a: View, v: View, out: ViewMut) {
    let (n, m) = (a.numel(), v.numel());
    assert!(n > 0 && m > 0 && out.numel() == n + m - 1, "convolve: dims");
    assert!(a.is_contiguous() && v.is_contiguous() && out.is_contiguous(), "convolve: gaps");
    // SAFETY: the views are contiguous and hold so many elements; `out` is nobody else's.
    let (a, v, out) = unsafe {
        (
            std::slice::from_raw_parts(a.at::<T>(0), n),
            std::slice::from_raw_parts(v.at::<T>(0), m),
            std::slice::from_raw_parts_mut(out.at::<T>(0), n + m - 1),
        )
    };
    for (j, &v) in v.iter().enumerate() {
        for (sum, &a) in out[j..j + n].iter_mut().zip(a) {
            *sum = sum.muladd(a, v);
        }
    }
}
