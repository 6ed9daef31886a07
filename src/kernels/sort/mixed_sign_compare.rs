//! Three-way comparison of int64 with uint64 elements, exact.

use crate::dtype::DType;
use crate::kernels::launch::launch;
use crate::kernels::view::{Axes, View, ViewMut};

/// Writes -1, 0 or 1 where `a` is less than, equal to or greater than `b`; both are int64 or uint64, `out` is
/// int64.
pub fn compare_mixed_signs(a: View, b: View, out: ViewMut) {
    launch!("signs", [a, b] => [out];; run(a, b, out));
}

/// # Safety
/// Eight bytes are readable.
unsafe fn widen(dtype: DType, at: *const u8) -> i128 {
    // SAFETY: the caller's contract.
    unsafe {
        if dtype == DType::U64 { (*at.cast::<u64>()).into() } else { (*at.cast::<i64>()).into() }
    }
}

fn run(a: View, b: View, out: ViewMut) {
    let is_64_bit = |dtype: DType| matches!(dtype, DType::I64 | DType::U64);
    assert!(
        is_64_bit(a.dtype) && is_64_bit(b.dtype) && out.dtype == DType::I64,
        "signs of 64 bits"
    );
    let axes = Axes::new(out.dims, [out.strides, a.strides, b.strides]).collapse(true);
    axes.for_each(|[to, x, y]| {
        // SAFETY: the views are valid for every position of their axes.
        unsafe {
            let (x, y) = (widen(a.dtype, a.byte_at(x)), widen(b.dtype, b.byte_at(y)));
            *out.at::<i64>(to) = x.cmp(&y) as i64;
        }
    });
}
