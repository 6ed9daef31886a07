//! Conversion of floats to integers: the result for each integer dtype, and whether all values of a view fit.
//!
//! Invariant: the values are NumPy's on x86-64: the fraction is truncated, values that fit the register of
//! the conversion wrap to the narrower dtype, and all others become the lowest integer of the register.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::dtype::{DType, Element, Kind, with_dtype};
use crate::kernels::view::{Axes, View};
use crate::threads::parallel_for;

/// Elements per block of a split search.
const BLOCK_ELEMENTS: usize = 1 << 18;

/// Truncation of a float to an integer.
pub(super) trait Truncate: Copy {
    /// Through a 32-bit register.
    fn truncate_to_i32(self) -> i32;
    /// Through a 64-bit register.
    fn truncate_to_i64(self) -> i64;
    /// Through an unsigned 64-bit register.
    fn truncate_to_u64(self) -> u64;
}

macro_rules! truncate {
    ($($t:ident),*) => {$(
        impl Truncate for $t {
            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            fn truncate_to_i32(self) -> i32 {
                super::float_to_int_simd::$t::truncate_to_i32(self)
            }
            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            fn truncate_to_i64(self) -> i64 {
                super::float_to_int_simd::$t::truncate_to_i64(self)
            }
            #[cfg(not(target_arch = "x86_64"))]
            #[inline(always)]
            fn truncate_to_i32(self) -> i32 {
                if self > -2_147_483_649.0 && self < 2_147_483_648.0 {
                    // SAFETY: the value is finite, and its integer part fits.
                    unsafe { self.to_int_unchecked() }
                } else {
                    i32::MIN
                }
            }
            #[cfg(not(target_arch = "x86_64"))]
            #[inline(always)]
            fn truncate_to_i64(self) -> i64 {
                const END: $t = 9_223_372_036_854_775_808.0;
                if (-END..END).contains(&self) {
                    // SAFETY: as above.
                    unsafe { self.to_int_unchecked() }
                } else {
                    i64::MIN
                }
            }
            #[inline(always)]
            fn truncate_to_u64(self) -> u64 {
                const HALF: $t = 9_223_372_036_854_775_808.0;
                if self >= HALF {
                    (self - HALF).truncate_to_i64() as u64 ^ 1 << 63
                } else {
                    self.truncate_to_i64() as u64
                }
            }
        }
    )*};
}
truncate!(f64, f32);

/// The open interval of floats whose integer part fits the register used for a dtype.
fn register_range(to: DType) -> (f64, f64) {
    let power_of_two = |n: i32| 2f64.powi(n);
    match (to.row().kind, to.size()) {
        (Kind::Unsigned, 8) => (-power_of_two(63) * (1.0 + f64::EPSILON), power_of_two(64)),
        (Kind::Unsigned, 4) | (_, 8) => {
            (-power_of_two(63) * (1.0 + f64::EPSILON), power_of_two(63))
        }
        _ => (-power_of_two(31) - 1.0, power_of_two(31)),
    }
}

/// Whether one of `n` elements, `step` apart, is outside an open interval.
///
/// # Safety
/// The elements are readable and of this type.
unsafe fn any_outside<T: Element>(
    x: *const u8,
    n: usize,
    step: isize,
    (low, high): (f64, f64),
) -> bool {
    let x = x.cast::<T>();
    (0..n as isize).fold(false, |found, i| {
        // SAFETY: the caller's contract.
        let value = unsafe { *x.offset(i * step) }.to_f64();
        found | !(value > low && value < high)
    })
}

/// Whether the integer part of every float, or real part, fits the conversion to this integer dtype.
pub(crate) fn all_fit(x: View, to: DType) -> bool {
    if !x.dtype.is_inexact() {
        return true;
    }
    type Test = unsafe fn(*const u8, usize, isize, (f64, f64)) -> bool;
    let (test, ends) = (with_dtype!(x.dtype, T => any_outside::<T> as Test), register_range(to));
    let mut axes = Axes::new(x.dims, [x.strides]).collapse(true);
    let (inner, [step]) = axes.pop();
    let found = AtomicBool::new(false);
    parallel_for(inner.div_ceil(BLOCK_ELEMENTS), &|k| {
        let (start, n) = (k * BLOCK_ELEMENTS, BLOCK_ELEMENTS.min(inner - k * BLOCK_ELEMENTS));
        axes.for_each(|[at]| {
            // SAFETY: the view is valid for every position of its axes.
            if unsafe { test(x.byte_at(at + start as isize * step), n, step, ends) } {
                found.store(true, Ordering::Relaxed);
            }
        });
    });
    !found.into_inner()
}
