//! The full discrete convolution of two vectors (`numpy.convolve`).
//!
//! The input is not padded, so no padding zero is multiplied with an infinity. Invariant: the terms
//! of an element are added in the order of the second vector.

use crate::error::Result;
use crate::kernels::cast::{with_computing_input, with_computing_output};
use crate::kernels::launch::launch;
use crate::kernels::number::ring::Ring;
use crate::kernels::view::{View, ViewMut, with_number};

/// `out[i + j] += a[i] v[j]` into zeros, for contiguous vectors of one dtype (not bool).
///
/// # Panics
/// If the dims do not match, a view is not contiguous, or the dtype is bool, which are bugs of the
/// caller.
///
/// # Errors
/// `Memory` if a copy in a dtype with a loop cannot be allocated.
pub fn convolve(a: View, v: View, out: ViewMut) -> Result<()> {
    launch!(
        "convolve", [a, v] => [out];;
        with_computing_input(a, |a| with_computing_input(v, |v| with_computing_output(&out, true, |out| {
            with_number!([a, v, out], T => convolve_typed::<T>(a, v, out));
            Ok(())
        })))
    )
}

fn convolve_typed<T: Ring>(a: View, v: View, out: ViewMut) {
    let (n, m) = (a.numel(), v.numel());
    assert!(n > 0 && m > 0 && out.numel() == n + m - 1, "convolve: dims");
    assert!(a.is_contiguous() && v.is_contiguous() && out.is_contiguous(), "convolve: gaps");
    // SAFETY: the views are contiguous and hold these elements; no other thread accesses `out`.
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
