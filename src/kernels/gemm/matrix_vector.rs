//! Products of float matrices and vectors (gemv), for CPU levels with masked vectors.
//!
//! Dispatches to dot products of rows (`row_dots`) or to a weighted sum of rows
//! (`weighted_row_sum`), by the layout of the matrix. Invariant: the order of a sum follows from
//! its length and the layout alone, so rows may be split into blocks anywhere.

use super::matrix::{Mat, MatVec, Size};
use super::{row_dots, weighted_row_sum};
use crate::kernels::simd::{Lanes, SimdFloat, leveled_simd};

leveled_simd! {
    /// Computes the product and returns `Some(true)`, if this CPU has a kernel and the layout allows
    /// it.
    pub(super) unsafe fn gemv<T: SimdFloat>(task: MatVec<T>) -> Option<bool> = gemv_body
}

/// Computes `c = a b` where one operand is a vector. Returns false if no kernel applies.
///
/// # Safety
/// As `Gemm::gemm`.
#[inline]
pub(super) unsafe fn product<T: SimdFloat>(
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
    s.k > 0 && unsafe { gemv(task) } == Some(true)
}

/// # Safety
/// The operands are valid for the sizes, the result overlaps neither, and the CPU has these vectors.
#[inline(always)]
unsafe fn gemv_body<V: Lanes>(task: MatVec<V::Scalar>) -> bool {
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
