//! From floats to whole numbers.
//!
//! Owns: what becomes of a float in each integer dtype, and whether all floats of a view have one there. Never writes.
//! Invariant: the values are those of NumPy on x86-64: the fraction is cut off, what fits the register of the conversion
//! wraps to the narrower dtype, and everything else becomes the least integer of the register.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::dtype::{DType, Element, Kind, with_dtype};
use crate::kernels::view::{Axes, View};
use crate::threads::parallel_for;

/// Elements per block of a search that is split.
const BLOCK: usize = 1 << 18;

/// A float that becomes an integer.
pub(super) trait Truncate: Copy {
    /// By way of a register of 32 bits.
    fn in_32(self) -> i32;
    /// By way of a register of 64 bits.
    fn in_64(self) -> i64;
    /// By way of a register of 64 bits without a sign.
    fn in_u64(self) -> u64;
}

macro_rules! truncate {
    ($($t:ident),*) => {$(
        impl Truncate for $t {
            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            fn in_32(self) -> i32 {
                super::float_to_int_simd::$t::in_32(self)
            }
            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            fn in_64(self) -> i64 {
                super::float_to_int_simd::$t::in_64(self)
            }
            #[cfg(not(target_arch = "x86_64"))]
            #[inline(always)]
            fn in_32(self) -> i32 {
                if self > -2_147_483_649.0 && self < 2_147_483_648.0 {
                    // SAFETY: the value is finite, and its integer part fits.
                    unsafe { self.to_int_unchecked() }
                } else {
                    i32::MIN
                }
            }
            #[cfg(not(target_arch = "x86_64"))]
            #[inline(always)]
            fn in_64(self) -> i64 {
                const END: $t = 9_223_372_036_854_775_808.0;
                if (-END..END).contains(&self) {
                    // SAFETY: as above.
                    unsafe { self.to_int_unchecked() }
                } else {
                    i64::MIN
                }
            }
            #[inline(always)]
            fn in_u64(self) -> u64 {
                const HALF: $t = 9_223_372_036_854_775_808.0;
                if self >= HALF {
                    (self - HALF).in_64() as u64 ^ 1 << 63
                } else {
                    self.in_64() as u64
                }
            }
        }
    )*};
}
truncate!(f64, f32);

/// The open interval of the floats whose integer part fits the register through which a dtype is reached.
fn register(to: DType) -> (f64, f64) {
    let two = |n: i32| 2f64.powi(n);
    match (to.row().kind, to.size()) {
        (Kind::Unsigned, 8) => (-two(63) * (1.0 + f64::EPSILON), two(64)),
        (Kind::Unsigned, 4) | (_, 8) => (-two(63) * (1.0 + f64::EPSILON), two(63)),
        _ => (-two(31) - 1.0, two(31)),
    }
}

/// Whether one of `n` elements, `step` apart, lies outside an open interval.
///
/// # Safety
/// The elements are readable and of this type.
unsafe fn outside<T: Element>(
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
    let (test, ends) = (with_dtype!(x.dtype, T => outside::<T> as Test), register(to));
    let mut axes = Axes::new(x.dims, [x.strides]).collapse(true);
    let (inner, [step]) = axes.pop();
    let found = AtomicBool::new(false);
    parallel_for(inner.div_ceil(BLOCK), &|k| {
        let (start, n) = (k * BLOCK, BLOCK.min(inner - k * BLOCK));
        axes.for_each(|[at]| {
            // SAFETY: the view is valid for every position of its axes.
            if unsafe { test(x.byte_at(at + start as isize * step), n, step, ends) } {
                found.store(true, Ordering::Relaxed);
            }
        });
    });
    !found.into_inner()
}
