//! Products of float matrices and vectors (gemv), for CPU levels with masked vectors.
//!
//! Dispatches to dot products of rows (`row_dots`) or to a weighted sum of rows
//! (`weighted_row_sum`), by the layout of the matrix. Invariant: the order of a sum follows from
//! its length and the layout alone, so rows may be split into blocks anywhere.

use super::product::{Mat, Size};
use super::{row_dots, weighted_row_sum};
use crate::kernels::simd::Lanes;

/// A matrix times one vector, or times a vector of its own for each row.
#[derive(Clone, Copy)]
pub(super) struct MatVec<T> {
    /// Elements of the result, and terms of each sum.
    pub(super) rows: usize,
    pub(super) terms: usize,
    pub(super) matrix: Mat<*const T>,
    /// The vector: `cs` steps along the terms, `rs` from row to row (0 for one shared vector).
    pub(super) x: Mat<*const T>,
    /// The contiguous result.
    pub(super) y: *mut T,
}

/// A float type with gemv kernels.
pub(super) trait Gemv: Sized {
    /// Computes the product and returns true, if this CPU has a kernel and the layout allows it.
    ///
    /// # Safety
    /// The operands are valid for the sizes, and the result overlaps neither.
    unsafe fn gemv(task: MatVec<Self>) -> bool;
}

/// Computes `c = a b` where one operand is a vector. Returns false if no kernel applies.
///
/// # Safety
/// As `Gemm::gemm`.
#[inline]
pub(super) unsafe fn product<T: Gemv>(
    s: Size,
    a: Mat<*const T>,
    b: Mat<*const T>,
    c: Mat<*mut T>,
) -> bool {
    let shared_vector = |ptr, step| Mat { ptr, rs: 0, cs: step };
    let task = match (s.m, s.n) {
        (_, 1) if c.rs == 1 || s.m == 1 => {
            MatVec { rows: s.m, terms: s.k, matrix: a, x: shared_vector(b.ptr, b.rs), y: c.ptr }
        }
        (1, _) if c.cs == 1 => MatVec {
            rows: s.n,
            terms: s.k,
            matrix: b.transposed(),
            x: shared_vector(a.ptr, a.cs),
            y: c.ptr,
        },
        _ => return false,
    };
    // SAFETY: the caller's contract.
    s.k > 0 && unsafe { T::gemv(task) }
}

/// # Safety
/// As `Gemv::gemv`, on a CPU with these vectors.
#[inline(always)]
unsafe fn dispatch<V: Lanes>(task: MatVec<V::Part>) -> bool {
    let MatVec { matrix, x, .. } = task;
    // SAFETY: the caller's contract.
    unsafe {
        if matrix.cs == 1 && x.cs == 1 {
            row_dots::rows::<V>(task);
            true
        } else if matrix.rs == 1 && x.rs == 0 {
            weighted_row_sum::rows::<V>(task);
            true
        } else {
            false
        }
    }
}

macro_rules! gemv {
    ($($t:ty: $avx512:ident of $wide:ident, $avx2:ident of $narrow:ident;)*) => {$(
        /// # Safety
        /// As `dispatch`.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,popcnt,bmi2")]
        unsafe fn $avx512(task: MatVec<$t>) -> bool {
            // SAFETY: the same contract.
            unsafe { dispatch::<std::arch::x86_64::$wide>(task) }
        }
        /// # Safety
        /// As `dispatch`.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn $avx2(task: MatVec<$t>) -> bool {
            // SAFETY: the same contract.
            unsafe { dispatch::<std::arch::x86_64::$narrow>(task) }
        }
        impl Gemv for $t {
            #[inline]
            unsafe fn gemv(task: MatVec<$t>) -> bool {
                #[cfg(target_arch = "x86_64")]
                {
                    use crate::kernels::isa::{Level, level};
                    // SAFETY: the CPU has the features of its level; the rest is the caller's contract.
                    return unsafe {
                        match level() {
                            Level::Avx512 => $avx512(task),
                            Level::Avx2 => $avx2(task),
                            Level::Baseline => false,
                        }
                    };
                }
                #[cfg(not(target_arch = "x86_64"))]
                {
                    let _ = task;
                    false
                }
            }
        }
    )*};
}
gemv! {
    f64: avx512_f64 of __m512d, avx2_f64 of __m256d;
    f32: avx512_f32 of __m512, avx2_f32 of __m256;
}
