//! Conversions of floats to whole numbers by the instructions of x86-64, whose results are what NumPy promises.
//!
//! Owns: those of one number, loops over whole vectors, and what the processor notes of numbers that do not fit. Never converts what is left of a vector.
//! Invariant: the fraction is cut off, and what does not fit the register becomes its least integer.

/// The conversions of one float.
macro_rules! one {
    ($t:ident $set:ident $in_32:ident $in_64:ident) => {
        #[cfg(target_arch = "x86_64")]
        pub(super) mod $t {
            use std::arch::x86_64::{$in_32, $in_64, $set};

            #[inline(always)]
            pub(in crate::kernels::copying) fn in_32(x: $t) -> i32 {
                // SAFETY: the baseline has the instruction.
                unsafe { $in_32($set(x)) }
            }
            #[inline(always)]
            pub(in crate::kernels::copying) fn in_64(x: $t) -> i64 {
                // SAFETY: as above.
                unsafe { $in_64($set(x)) }
            }
        }
    };
}
one!(f64 _mm_set_sd _mm_cvttsd_si32 _mm_cvttsd_si64);
one!(f32 _mm_set_ss _mm_cvttss_si32 _mm_cvttss_si64);

/// The bit of the register of floats that says that an operation was invalid, as a conversion is whose result does not fit.
#[cfg(target_arch = "x86_64")]
const INVALID: u32 = 1;

/// The register of floats. The compiler does not know that floating-point instructions change it: what is watched must be a call that
/// cannot be moved over this one, as one through a function pointer.
#[cfg(target_arch = "x86_64")]
fn state() -> u32 {
    let mut state = 0u32;
    // SAFETY: the register is written to the number, and nothing else changes.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut state, options(nostack)) };
    state
}

/// Makes this thread forget that an operation was invalid.
#[inline(never)]
pub(super) fn forget_invalid() {
    #[cfg(target_arch = "x86_64")]
    {
        let state = state() & !INVALID;
        // SAFETY: only a flag that nothing waits for is cleared; how floats are rounded stays.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const state, options(nostack)) };
    }
}

/// Whether an operation of this thread was invalid since it forgot, if the processor says so at all.
#[inline(never)]
pub(super) fn was_invalid() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        state() & INVALID != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        true
    }
}

/// A loop over whole vectors of so many numbers that says how many it converted; none where the processor has no such
/// instruction.
macro_rules! vectors {
    ($name:ident: $a:ty => $b:ty, $width:literal $(, $level:ident $feature:literal)?;
        |$from:ident, $to:ident| $body:block with $($used:ident),*) => {
        /// # Safety
        /// `n` elements are valid on both sides.
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
