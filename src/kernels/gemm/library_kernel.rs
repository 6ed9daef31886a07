//! The float product of the gemm crates at the level of this process.
//!
//! The crates choose their kernel by the CPU alone; where `FERROGRAD_ISA` asks for less than the CPU has, the
//! one for AVX2 runs.

use gemm_common::Parallelism;
#[cfg(target_arch = "x86_64")]
use gemm_common::{gemm::gemm_basic_generic, simd::V3};

#[cfg(target_arch = "x86_64")]
use crate::kernels::isa::{Level, detected, level};

/// The signature of a product in the crates: sizes, result, operands, factors.
pub(super) type LibraryKernel<T> = unsafe fn(
    usize,
    usize,
    usize,
    *mut T,
    isize,
    isize,
    bool,
    *const T,
    isize,
    isize,
    *const T,
    isize,
    isize,
    T,
    T,
    bool,
    bool,
    bool,
    Parallelism,
);

macro_rules! library_kernels {
    ($($name:ident $avx2:ident: $t:ident of $library:ident, $default:path, $lanes:literal;)*) => {$(
        /// The kernel that multiplies floats of this width.
        #[inline]
        pub(super) fn $name() -> LibraryKernel<$t> {
            #[cfg(target_arch = "x86_64")]
            if level() < Level::Avx512 && detected() == Level::Avx512 {
                return $avx2;
            }
            $default()
        }

        /// # Safety
        /// As the kernel of the crate, on a CPU with AVX2.
        #[cfg(target_arch = "x86_64")]
        #[inline(never)]
        #[allow(clippy::too_many_arguments)]
        unsafe fn $avx2(
            m: usize,
            n: usize,
            k: usize,
            c: *mut $t,
            c_cs: isize,
            c_rs: isize,
            accumulate: bool,
            a: *const $t,
            a_cs: isize,
            a_rs: isize,
            b: *const $t,
            b_cs: isize,
            b_rs: isize,
            alpha: $t,
            beta: $t,
            conj_c: bool,
            conj_a: bool,
            conj_b: bool,
            parallelism: Parallelism,
        ) {
            use $library::microkernel::fma::$t::{H_M, H_N, H_UKR, MR_DIV_N, NR, UKR};
            let Some(simd) = V3::try_new() else { unreachable!("gemm: the CPU lacks AVX2") };
            // SAFETY: the caller's contract; the tiles are those of these vectors.
            unsafe {
                gemm_basic_generic::<_, $t, $lanes, { MR_DIV_N * $lanes }, NR, MR_DIV_N, H_M, H_N>(
                    simd, m, n, k, c, c_cs, c_rs, accumulate, a, a_cs, a_rs, b, b_cs, b_rs, alpha, beta,
                    conj_c, conj_a, conj_b, |a, b, c| a * b + c, &UKR, &H_UKR, false, parallelism,
                );
            }
        }
    )*};
}
library_kernels! {
    f64_kernel f64_avx2: f64 of gemm_f64, gemm_f64::gemm::f64::get_gemm_fn, 4;
    f32_kernel f32_avx2: f32 of gemm_f32, gemm_f32::gemm::f32::get_gemm_fn, 8;
}
