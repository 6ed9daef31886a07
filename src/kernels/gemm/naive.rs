//! Matrix products with plain loops: integers, booleans, and tiny float matrices.
//!
//! Invariant: integers wrap; a boolean product is an or of ands.

use super::matrix::{Mat, Size};
use crate::kernels::multiversion::multiversion;
use crate::kernels::number::ring::Ring;

/// Most multiply-adds of a float product for plain loops: packing costs more.
pub(super) const MAX_MULADDS: usize = 8 * 8 * 8;
/// The same for complex numbers, whose packing is cheaper.
pub(super) const MAX_COMPLEX_MULADDS: usize = 4 * 4 * 4;

/// The triple loop: each element of `c` is one running sum.
///
/// # Safety
/// As `Gemm::gemm`.
#[inline]
pub(super) unsafe fn product<T: Ring>(s: Size, a: Mat<*const T>, b: Mat<*const T>, c: Mat<*mut T>) {
    for i in 0..s.m as isize {
        for j in 0..s.n as isize {
            let mut sum = T::ZERO;
            for p in 0..s.k as isize {
                // SAFETY: the caller's contract.
                let (x, y) = unsafe {
                    (*a.ptr.offset(i * a.rs + p * a.cs), *b.ptr.offset(p * b.rs + j * b.cs))
                };
                sum = sum.muladd(x, y);
            }
            // SAFETY: the caller's contract.
            unsafe { *c.ptr.offset(i * c.rs + j * c.cs) = sum };
        }
    }
}

/// Rows and columns of a tile of accumulators.
const TILE_ROWS: usize = 4;
const TILE_COLUMNS: usize = 8;

/// A tiny float product.
///
/// # Safety
/// As `Gemm::gemm`.
#[inline]
pub(super) unsafe fn tiny<T: Ring>(s: Size, a: Mat<*const T>, b: Mat<*const T>, c: Mat<*mut T>) {
    // SAFETY: the caller's contract.
    unsafe {
        if b.cs == 1 && s.n >= TILE_COLUMNS && s.m >= TILE_ROWS {
            tiled(s, a, b, c);
        } else {
            product(s, a, b, c);
        }
    }
}

multiversion! {
    /// A product in tiles of accumulators that stay in registers.
    unsafe fn tiled<T: Ring>(
        s: Size, a: Mat<*const T>, b: Mat<*const T>, c: Mat<*mut T>,
    ) = tiled_body
}

/// # Safety
/// As `Gemm::gemm`.
#[inline(always)]
unsafe fn tiled_body<T: Ring>(s: Size, a: Mat<*const T>, b: Mat<*const T>, c: Mat<*mut T>) {
    let (wide, high) = (s.n / TILE_COLUMNS * TILE_COLUMNS, s.m / TILE_ROWS * TILE_ROWS);
    for i in (0..high).step_by(TILE_ROWS) {
        for j in (0..wide).step_by(TILE_COLUMNS) {
            let mut sums = [[T::ZERO; TILE_COLUMNS]; TILE_ROWS];
            // SAFETY: the tile lies inside the product.
            unsafe {
                for p in 0..s.k as isize {
                    let row = b.ptr.offset(p * b.rs + j as isize);
                    let row: [T; TILE_COLUMNS] = std::array::from_fn(|q| *row.add(q));
                    for (r, sums) in sums.iter_mut().enumerate() {
                        let x = *a.ptr.offset((i + r) as isize * a.rs + p * a.cs);
                        for (sum, &y) in sums.iter_mut().zip(&row) {
                            *sum = sum.muladd(x, y);
                        }
                    }
                }
                for (r, sums) in sums.iter().enumerate() {
                    for (q, &sum) in sums.iter().enumerate() {
                        *c.ptr.offset((i + r) as isize * c.rs + (j + q) as isize * c.cs) = sum;
                    }
                }
            }
        }
    }
    let right = Size { m: high, n: s.n - wide, ..s };
    let below = Size { m: s.m - high, ..s };
    // SAFETY: the remaining columns, then the remaining rows.
    unsafe {
        product(right, a, b.from(0, wide), c.from(0, wide));
        product(below, a.from(high, 0), b, c.from(high, 0));
    }
}

multiversion! {
    /// Adds scaled rows of `b` to rows of `c`, which LLVM vectorises.
    pub(super) unsafe fn add_scaled_rows<T: Ring>(
        s: Size, a: Mat<*const T>, b: Mat<*const T>, c: Mat<*mut T>,
    ) = add_scaled_rows_body
}

/// # Safety
/// As `Gemm::gemm`, with unit column strides in `b` and `c`.
#[inline(always)]
unsafe fn add_scaled_rows_body<T: Ring>(
    s: Size,
    a: Mat<*const T>,
    b: Mat<*const T>,
    c: Mat<*mut T>,
) {
    for i in 0..s.m as isize {
        // SAFETY: the caller's contract; `c` is written before it is read.
        unsafe {
            let row = c.ptr.offset(i * c.rs);
            for j in 0..s.n {
                *row.add(j) = T::ZERO;
            }
            for p in 0..s.k as isize {
                let (x, other) = (*a.ptr.offset(i * a.rs + p * a.cs), b.ptr.offset(p * b.rs));
                for j in 0..s.n {
                    *row.add(j) = (*row.add(j)).muladd(x, *other.add(j));
                }
            }
        }
    }
}
