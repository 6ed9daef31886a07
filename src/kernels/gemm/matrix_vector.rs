//! Products of float matrices and vectors, at every level whose vectors can be masked.
//!
//! Owns: the choice between sums along rows and sums of rows, and the walk of both. Never packs, splits or copies a matrix.
//! Invariant: the order of a sum follows from its length and the arrangement of the matrix, not from the row it is in nor
//! from its neighbours; so rows may be cut into blocks at any place.

use super::product::{Mat, Size};
use super::{row_dots, weighted_row_sum};
use crate::kernels::simd::Lanes;

/// The product of a matrix with one vector, or with one for each of its rows.
#[derive(Clone, Copy)]
pub(super) struct Task<T> {
    /// Elements of the result, and terms of each.
    pub(super) rows: usize,
    pub(super) terms: usize,
    pub(super) matrix: Mat<*const T>,
    /// The vector, from term to term and from row to row.
    pub(super) x: Mat<*const T>,
    /// The result, in line.
    pub(super) y: *mut T,
}

/// A float of which there are vectors.
pub(super) trait ByVector: Sized {
    /// Computes the product if the level of this process has vectors and the operands lie so that they can be read.
    ///
    /// # Safety
    /// The operands are valid for the sizes, and the result overlaps neither.
    unsafe fn by_vector(task: Task<Self>) -> bool;
}

/// Computes `c = a b` where one of them is a vector, if it can.
///
/// # Safety
/// As `Gemm::gemm`.
#[inline]
pub(super) unsafe fn product<T: ByVector>(
    s: Size,
    a: Mat<*const T>,
    b: Mat<*const T>,
    c: Mat<*mut T>,
) -> bool {
    let same = |ptr, step| Mat { ptr, rs: 0, cs: step };
    let task = match (s.m, s.n) {
        (_, 1) if c.rs == 1 || s.m == 1 => {
            Task { rows: s.m, terms: s.k, matrix: a, x: same(b.ptr, b.rs), y: c.ptr }
        }
        (1, _) if c.cs == 1 => {
            Task { rows: s.n, terms: s.k, matrix: b.transposed(), x: same(a.ptr, a.cs), y: c.ptr }
        }
        _ => return false,
    };
    // SAFETY: the caller's contract.
    s.k > 0 && unsafe { T::by_vector(task) }
}

/// # Safety
/// As `ByVector::by_vector`, on a CPU with the vectors.
#[inline(always)]
unsafe fn run<V: Lanes>(task: Task<V::Part>) -> bool {
    let Task { matrix, x, .. } = task;
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

macro_rules! by_vector {
    ($($t:ty: $avx512:ident of $wide:ident, $avx2:ident of $narrow:ident;)*) => {$(
        /// # Safety
        /// As `run`.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,popcnt,bmi2")]
        unsafe fn $avx512(task: Task<$t>) -> bool {
            // SAFETY: the same contract.
            unsafe { run::<std::arch::x86_64::$wide>(task) }
        }
        /// # Safety
        /// As `run`.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn $avx2(task: Task<$t>) -> bool {
            // SAFETY: the same contract.
            unsafe { run::<std::arch::x86_64::$narrow>(task) }
        }
        impl ByVector for $t {
            #[inline]
            unsafe fn by_vector(task: Task<$t>) -> bool {
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
by_vector! {
    f64: avx512_f64 of __m512d, avx2_f64 of __m256d;
    f32: avx512_f32 of __m512, avx2_f32 of __m256;
}
