//! Conversion of floats to integers with x86-64 instructions, whose results are those of NumPy, and the CPU's
//! flag for out-of-range values.
//!
//! The remainder of a vector is converted element by element. Invariant: the fraction is truncated, and
//! out-of-range values become the lowest integer of the register.

/// The conversions of one float.
macro_rules! scalar_conversions {
    ($t:ident $set:ident $to_i32:ident $to_i64:ident) => {
        #[cfg(target_arch = "x86_64")]
        pub(super) mod $t {
            use std::arch::x86_64::{$set, $to_i32, $to_i64};

            #[inline(always)]
            pub(in crate::kernels::copying) fn truncate_to_i32(x: $t) -> i32 {
                // SAFETY: the baseline has the instruction.
                unsafe { $to_i32($set(x)) }
            }
            #[inline(always)]
            pub(in crate::kernels::copying) fn truncate_to_i64(x: $t) -> i64 {
                // SAFETY: as above.
                unsafe { $to_i64($set(x)) }
            }
        }
    };
}
scalar_conversions!(f64 _mm_set_sd _mm_cvttsd_si32 _mm_cvttsd_si64);
scalar_conversions!(f32 _mm_set_ss _mm_cvttss_si32 _mm_cvttss_si64);

/// The MXCSR flag of an invalid operation, such as a conversion whose result does not fit.
#[cfg(target_arch = "x86_64")]
const INVALID: u32 = 1;

/// The MXCSR register. The compiler does not know that floating-point instructions change it: the observed
/// code must be a call that cannot be moved across this one, such as one through a function pointer.
#[cfg(target_arch = "x86_64")]
fn mxcsr() -> u32 {
    let mut value = 0u32;
    // SAFETY: the instruction writes the register to `value` and changes nothing else.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack)) };
    value
}

/// Clears the invalid-operation flag of this thread.
#[inline(never)]
pub(super) fn clear_invalid() {
    #[cfg(target_arch = "x86_64")]
    {
        let value = mxcsr() & !INVALID;
        // SAFETY: only an exception flag is cleared; the rounding mode stays.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack)) };
    }
}

/// Whether an operation of this thread was invalid since `clear_invalid`; always true on other CPUs.
#[inline(never)]
pub(super) fn was_invalid() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        mxcsr() & INVALID != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        true
    }
}

/// A loop over whole vectors of `$width` elements that returns how many it converted; none if the CPU lacks
/// the instruction.
macro_rules! vectors {
    ($name:ident: $a:ty => $b:ty, $width:literal $(, $level:ident $feature:literal)?;
        |$from:ident, $to:ident| $body:block with $($used:ident),*) => {
        /// # Safety
        /// `n` elements are valid in source and destination.
        #[inline(always)]
        pub(super) unsafe fn $name(a: *const $a, b: *mut $b, n: usize) -> usize {
            #[cfg(target_arch = "x86_64")]
            {
                use std::arch::x86_64::{$($used),*};
                $(#[target_feature(enable = $feature)])?
                unsafe fn run(a: *const $a, b: *mut $b, n: usize) {
                    for i in 0..n / $width {
                        // SAFETY: the caller's contract.
                        unsafe {
                            let ($from, $to) = (a.add($width * i), b.add($width * i));
                            $body
                        }
                    }
                }
                $(
                    use crate::kernels::isa::{Level, level};
                    if level() < Level::$level {
                        return 0;
                    }
                )?
                // SAFETY: the caller's contract, and the CPU has the instructions.
                unsafe { run(a, b, n) };
                n / $width * $width
            }
            #[cfg(not(target_arch = "x86_64"))]
            {
                let _ = (a, b, n);
                0
            }
        }
    };
}
vectors!(f32_to_i32: f32 => i32, 4; |a, b| { _mm_storeu_si128(b.cast(), _mm_cvttps_epi32(_mm_loadu_ps(a))) }
    with _mm_cvttps_epi32, _mm_loadu_ps, _mm_storeu_si128);
vectors!(f64_to_i32: f64 => i32, 4; |a, b| {
        let low = _mm_cvttpd_epi32(_mm_loadu_pd(a));
        let high = _mm_cvttpd_epi32(_mm_loadu_pd(a.add(2)));
        _mm_storeu_si128(b.cast(), _mm_unpacklo_epi64(low, high));
    } with _mm_cvttpd_epi32, _mm_loadu_pd, _mm_storeu_si128, _mm_unpacklo_epi64);
vectors!(f64_to_i64: f64 => i64, 8, Avx512 "avx512f,avx512dq";
    |a, b| { _mm512_storeu_si512(b.cast(), _mm512_cvttpd_epi64(_mm512_loadu_pd(a))) }
    with _mm512_cvttpd_epi64, _mm512_loadu_pd, _mm512_storeu_si512);
vectors!(f32_to_i64: f32 => i64, 8, Avx512 "avx512f,avx512dq";
    |a, b| { _mm512_storeu_si512(b.cast(), _mm512_cvttps_epi64(_mm256_loadu_ps(a))) }
    with _mm256_loadu_ps, _mm512_cvttps_epi64, _mm512_storeu_si512);
