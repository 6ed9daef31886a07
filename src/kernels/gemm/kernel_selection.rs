//! `Gemm`: which kernel multiplies two matrices of an element type on one thread.

use super::matrix::{Mat, MatVec, Product, Size};
use super::{blocked, float, matrix_vector, naive, narrow, small_k};
use crate::dtype::{Complex64, Complex128, Truth};

/// An element type with a matrix product.
pub(super) trait Gemm: Copy + Send + Sync + 'static {
    /// `c = a · b` on the calling thread. `tiles` says whether the whole product, of which this may
    /// be a block, suits tiles.
    ///
    /// # Safety
    /// The operands are valid for the sizes, and `c` overlaps neither.
    unsafe fn gemm(
        s: Size,
        a: Mat<*const Self>,
        b: Mat<*const Self>,
        c: Mat<*mut Self>,
        tiles: bool,
    );
    /// Dot products of the rows of two matrices. Returns false if there is no kernel; a call
    /// without rows only asks that.
    ///
    /// # Safety
    /// As `matrix_vector::gemv`.
    unsafe fn row_dots(_task: MatVec<Self>) -> bool {
        false
    }
}

macro_rules! float_gemm {
    ($($t:ty),*) => {$(
        impl Gemm for $t {
            #[inline]
            unsafe fn gemm(s: Size, a: Mat<*const $t>, b: Mat<*const $t>, c: Mat<*mut $t>, tiles: bool) {
                let product = Product { s, a, b, c, accumulate: false, factor: 1.0 };
                // SAFETY: the caller's contract.
                unsafe {
                    // Tiny products have the same bits whatever their strides.
                    if s.m * s.n * s.k <= naive::MAX_MULADDS {
                        naive::tiny(s, a, b, c)
                    } else if !matrix_vector::product(s, a, b, c)
                        && !narrow::times_small_square(s, a, b, c)
                        && !narrow::transposed_times_narrow(s, a, b, c)
                        && !small_k::multiply(s, a, b, c)
                        && !(tiles && float::by_tiles(product))
                    {
                        float::by_crate(product)
                    }
                }
            }
            unsafe fn row_dots(task: MatVec<$t>) -> bool {
                // SAFETY: the caller's contract.
                unsafe { matrix_vector::gemv(task) == Some(true) }
            }
        }
    )*};
}
float_gemm!(f64, f32);

macro_rules! complex_gemm {
    ($($c:ty),*) => {$(
        impl Gemm for $c {
            unsafe fn gemm(s: Size, a: Mat<*const $c>, b: Mat<*const $c>, c: Mat<*mut $c>, _: bool) {
                // SAFETY: the caller's contract.
                unsafe {
                    if s.m * s.n * s.k <= naive::MAX_COMPLEX_MULADDS {
                        naive::product(s, a, b, c)
                    } else {
                        blocked::multiply_complex(s, c, false, a, b, false)
                    }
                }
            }
        }
    )*};
}
complex_gemm!(Complex128, Complex64);

macro_rules! naive_gemm {
    ($($t:ty),*) => {$(
        impl Gemm for $t {
            unsafe fn gemm(s: Size, a: Mat<*const $t>, b: Mat<*const $t>, c: Mat<*mut $t>, _: bool) {
                // SAFETY: the caller's contract.
                unsafe {
                    if s.n >= 8 && b.cs == 1 && c.cs == 1 {
                        naive::add_scaled_rows(s, a, b, c)
                    } else {
                        naive::product(s, a, b, c)
                    }
                }
            }
        }
    )*};
}
naive_gemm!(i64, i32, u64, u8, Truth);
