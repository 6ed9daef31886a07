//! Product of float matrices on the calling thread: dispatch between our own tiles and the gemm
//! crates.
//!
//! Never uses the crates' own threads. Invariant: the result depends on sizes, strides and elements
//! alone. The per-dtype gemm crates are used directly, because the umbrella crate also compiles
//! complex products.

use gemm_common::Parallelism;

use super::blocked;
use super::library_kernel;
use super::matrix::{Mat, Product, Size};
use super::tile::Tile;

/// A float type with a product in the gemm crates.
pub(in crate::kernels) trait FloatGemm: Tile<Factor = Self> {
    const ONE: Self;
    /// Computes a product with strides as the crates' micro-kernels expect them.
    ///
    /// # Safety
    /// As `multiply`.
    unsafe fn crate_gemm(product: Product<Self>);
}

macro_rules! float_gemm {
    ($($t:ty = $kernel:path;)*) => {$(
        impl FloatGemm for $t {
            const ONE: $t = 1.0;
            #[inline]
            unsafe fn crate_gemm(product: Product<$t>) {
                let Product { s, a, b, c, accumulate, factor } = product;
                let beta = if accumulate { 1.0 } else { 0.0 };
                // SAFETY: the caller's contract.
                unsafe {
                    $kernel()(
                        s.m, s.n, s.k, c.ptr, c.cs, c.rs, accumulate, a.ptr, a.cs, a.rs, b.ptr, b.cs, b.rs,
                        beta, factor, false, false, false, Parallelism::None,
                    );
                }
            }
        }
    )*};
}
float_gemm! {
    f64 = library_kernel::f64_kernel;
    f32 = library_kernel::f32_kernel;
}

/// Multiply-adds up to which our tiles are faster than the crates, which pack more: for any
/// matrices, for rows that are not whole tiles, and for float32 where the operand that tiles read
/// by rows has contiguous columns.
const TILED_MULADDS: usize = 1 << 20;
const TILED_MULADDS_RAGGED: usize = 1 << 25;
const TILED_MULADDS_TRANSPOSED: usize = 1 << 24;
/// Most columns of a full tile.
const FULL_TILE_COLUMNS: usize = 32;

/// Whether a product is computed with tiles. Asked for the whole product, never for its blocks.
pub(super) fn suits_tiles<T>(s: Size, a: Mat<*const T>, b: Mat<*const T>, c: Mat<*mut T>) -> bool {
    let work = s.m.saturating_mul(s.n).saturating_mul(s.k);
    let (columns, transposed) = if c.cs == 1 { (s.n, b.cs != 1) } else { (s.m, a.rs != 1) };
    work <= TILED_MULADDS
        || work <= TILED_MULADDS_RAGGED && !columns.is_multiple_of(FULL_TILE_COLUMNS)
        || work <= TILED_MULADDS_TRANSPOSED && transposed && size_of::<T>() == size_of::<f32>()
}

/// `c = factor a b`, or `c += factor a b` with `accumulate`.
///
/// # Safety
/// The operands are valid for the sizes, and `c` overlaps neither.
pub(in crate::kernels) unsafe fn multiply<T: FloatGemm>(
    s: Size,
    c: Mat<*mut T>,
    accumulate: bool,
    a: Mat<*const T>,
    b: Mat<*const T>,
    factor: T,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let product = Product { s, a, b, c, accumulate, factor };
        if !suits_tiles(s, a, b, c) || !by_tiles(product) {
            by_crate(product);
        }
    }
}

/// Multiplies with tiles. Returns false if this CPU has none, or for products with vectors.
///
/// # Safety
/// As `multiply`.
pub(super) unsafe fn by_tiles<T: FloatGemm>(product: Product<T>) -> bool {
    let Product { s, c, .. } = product;
    let Some(tiles) = T::tiles() else {
        return false;
    };
    if s.m == 1 || s.n == 1 || c.cs != 1 && c.rs != 1 {
        return false;
    }
    // SAFETY: the caller's contract.
    unsafe { blocked::multiply(tiles, product) };
    true
}

/// # Safety
/// As `multiply`.
pub(super) unsafe fn by_crate<T: FloatGemm>(product: Product<T>) {
    // The crate expects contiguous columns in the result: else compute the transposed product.
    let transposes = product.c.cs.unsigned_abs() < product.c.rs.unsigned_abs();
    let mut product = if transposes { product.transposed() } else { product };
    let Product { s, a, b, c, .. } = &mut product;
    // Strides must be positive: walk reversed axes from their other end.
    if c.rs < 0 && s.m > 0 {
        let last = s.m as isize - 1;
        (c.ptr, c.rs) = (c.ptr.wrapping_offset(last * c.rs), -c.rs);
        (a.ptr, a.rs) = (a.ptr.wrapping_offset(last * a.rs), -a.rs);
    }
    if c.cs < 0 && s.n > 0 {
        let last = s.n as isize - 1;
        (c.ptr, c.cs) = (c.ptr.wrapping_offset(last * c.cs), -c.cs);
        (b.ptr, b.cs) = (b.ptr.wrapping_offset(last * b.cs), -b.cs);
    }
    if a.cs < 0 && s.k > 0 {
        let last = s.k as isize - 1;
        (a.ptr, a.cs) = (a.ptr.wrapping_offset(last * a.cs), -a.cs);
        (b.ptr, b.rs) = (b.ptr.wrapping_offset(last * b.rs), -b.rs);
    }
    let Product { s, a, b, c, .. } = product;
    let columns = columns_at_once::<T>(s, a);
    for first in (0..s.n).step_by(columns) {
        let s = Size { n: columns.min(s.n - first), ..s };
        let part = Product { s, b: b.from(0, first), c: c.from(0, first), ..product };
        // SAFETY: the same operands, walked in another order and in blocks of columns.
        unsafe { T::crate_gemm(part) }
    }
}

/// Columns per call of the crate. Up to 48 columns it reads `a` in place; above, it packs `a`
/// first. Two or three calls without packing are faster (0.9 to 0.97 of the time) if `a` fits half
/// a 2 MB cache and its columns are vector-aligned and less than a page apart.
fn columns_at_once<T>(s: Size, a: Mat<*const T>) -> usize {
    const UNPACKED: usize = 48;
    const TILE: usize = 6;
    const PAGE: usize = 4096;
    const VECTOR: usize = 64;
    const CACHED: usize = 1 << 20;
    let step = a.cs.unsigned_abs() * size_of::<T>();
    let near = step < PAGE && step.saturating_mul(s.k) <= CACHED;
    let whole = a.rs == 1 && step.is_multiple_of(VECTOR) && a.ptr.addr().is_multiple_of(VECTOR);
    // The crate splits the inner axis of products up to 64 × 64 at other places, and sums a single
    // column in another order: a block must never become one of them.
    let few = s.m > 64 && (UNPACKED + 1..=3 * UNPACKED).contains(&s.n);
    if !(near && whole && few) {
        return s.n.max(1);
    }
    s.n.div_ceil(s.n.div_ceil(UNPACKED)).next_multiple_of(TILE)
}
