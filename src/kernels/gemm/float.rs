//! One product of float matrices on the calling thread: by tiles of our own, or by the gemm crates.
//!
//! Owns: the choice between the two, that of the crate by type, and the arrangement of operands that its micro-kernels
//! expect. Never splits, and never uses the crates' own threads. Invariant: the result depends on sizes, strides and elements alone.
//! The crates are named one by one, because the one above them also compiles the products of complex numbers.

use gemm_common::Parallelism;

use super::float_blocked;
use super::float_tile::FloatTile;
use super::product::{Mat, Size};
use crate::kernels::workspace::Bits;

/// A float type with micro-kernels.
pub(in crate::kernels) trait FloatGemm: FloatTile + Bits {
    const ONE: Self;
    /// `c = keep c + factor a b` with operands as the micro-kernels expect them.
    ///
    /// # Safety
    /// As `multiply`.
    unsafe fn call(
        s: Size,
        c: Mat<*mut Self>,
        keep: bool,
        a: Mat<*const Self>,
        b: Mat<*const Self>,
        factor: Self,
    );
}

macro_rules! float_gemm {
    ($($t:ty = $kernel:path;)*) => {$(
        impl FloatGemm for $t {
            const ONE: $t = 1.0;
            #[inline]
            unsafe fn call(
                s: Size,
                c: Mat<*mut $t>,
                keep: bool,
                a: Mat<*const $t>,
                b: Mat<*const $t>,
                factor: $t,
            ) {
                let kept = if keep { 1.0 } else { 0.0 };
                // SAFETY: the caller's contract.
                unsafe {
                    $kernel()(
                        s.m, s.n, s.k, c.ptr, c.cs, c.rs, keep, a.ptr, a.cs, a.rs, b.ptr, b.cs, b.rs,
                        kept, factor, false, false, false, Parallelism::None,
                    );
                }
            }
        }
    )*};
}
float_gemm! {
    f64 = gemm_f64::gemm::f64::get_gemm_fn;
    f32 = gemm_f32::gemm::f32::get_gemm_fn;
}

/// Multiply-adds up to which tiles take less time than the crates, which pack more: of any matrices; of rows that are no whole
/// tiles; and of float32 where the inner axis of the operand that is read by rows is its contiguous one.
const FEW: usize = 1 << 20;
const RAGGED: usize = 1 << 25;
const TURNED: usize = 1 << 24;
/// Columns of a whole tile, at most of them.
const WHOLE: usize = 32;

/// Whether a product is one for tiles, which its blocks then are as well.
pub(super) fn suits_tiles<T>(s: Size, a: Mat<*const T>, b: Mat<*const T>, c: Mat<*mut T>) -> bool {
    let work = s.m.saturating_mul(s.n).saturating_mul(s.k);
    let (columns, turned) = if c.cs == 1 { (s.n, b.cs != 1) } else { (s.m, a.rs != 1) };
    work <= FEW
        || work <= RAGGED && !columns.is_multiple_of(WHOLE)
        || work <= TURNED && turned && size_of::<T>() == size_of::<f32>()
}

/// `c = factor a b`, or `c += factor a b` with `keep`.
///
/// # Safety
/// The operands are valid for the sizes, and `c` overlaps neither.
pub(in crate::kernels) unsafe fn multiply<T: FloatGemm>(
    s: Size,
    c: Mat<*mut T>,
    keep: bool,
    a: Mat<*const T>,
    b: Mat<*const T>,
    factor: T,
) {
    // SAFETY: the caller's contract.
    unsafe {
        if !suits_tiles(s, a, b, c) || !by_tiles(s, c, keep, a, b, factor) {
            by_crate(s, c, keep, a, b, factor);
        }
    }
}

/// Copies `columns` that are contiguous, `k` long and `step` apart, to rows of `wide` numbers, zeros behind them; false if this
/// level has no loop for that.
///
/// # Safety
/// The columns are readable, the rows writable, and there are no more columns than `wide`.
pub(in crate::kernels) unsafe fn turn<T: FloatTile>(
    (k, columns): (usize, usize),
    (from, step): (*const T, usize),
    (to, wide): (*mut T, usize),
) -> bool {
    let Some(tiles) = T::tiles() else {
        return false;
    };
    // SAFETY: the caller's contract; the tiles are those of the CPU.
    unsafe { (tiles.turn)(k, columns, from, step as isize, to, wide) }
    true
}

/// Multiplies by tiles if there are any and the product is one of matrices, not vectors.
///
/// # Safety
/// As `multiply`.
pub(super) unsafe fn by_tiles<T: FloatGemm>(
    s: Size,
    c: Mat<*mut T>,
    keep: bool,
    a: Mat<*const T>,
    b: Mat<*const T>,
    factor: T,
) -> bool {
    let Some(tiles) = T::tiles() else {
        return false;
    };
    // SAFETY: the caller's contract, also for the transposed product.
    unsafe {
        if s.m == 1 || s.n == 1 {
            return false;
        }
        if c.cs == 1 {
            float_blocked::multiply(tiles, s, c, keep, a, b, factor);
        } else if c.rs == 1 {
            let s = Size { m: s.n, n: s.m, k: s.k };
            float_blocked::multiply(
                tiles,
                s,
                c.transposed(),
                keep,
                b.transposed(),
                a.transposed(),
                factor,
            );
        } else {
            return false;
        }
    }
    true
}

/// # Safety
/// As `multiply`.
pub(super) unsafe fn by_crate<T: FloatGemm>(
    s: Size,
    c: Mat<*mut T>,
    keep: bool,
    a: Mat<*const T>,
    b: Mat<*const T>,
    factor: T,
) {
    // The columns of the result are to be the contiguous ones: else the transposed product is computed.
    let (mut s, mut c, mut a, mut b) = (s, c, a, b);
    if c.cs.unsigned_abs() < c.rs.unsigned_abs() {
        (s.m, s.n) = (s.n, s.m);
        (c, a, b) = (c.transposed(), b.transposed(), a.transposed());
    }
    // Steps along the result and the inner axis go forwards: reversed axes are walked from their other end.
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
    let columns = columns_at_once::<T>(s, a);
    for first in (0..s.n).step_by(columns) {
        let s = Size { n: columns.min(s.n - first), ..s };
        // SAFETY: the same operands, walked in another order and in blocks of columns.
        unsafe { T::call(s, c.from(0, first), keep, a, b.from(0, first), factor) }
    }
}

/// The columns that one call of the crate computes. Up to 48 it reads `a` where it lies, above it packs `a` first, which up to
/// three times as many do not repay (0.9 to 0.97 of the time) where `a` fits half a cache of 2 MB and its columns begin at
/// whole vectors, less than a page apart.
fn columns_at_once<T>(s: Size, a: Mat<*const T>) -> usize {
    const UNPACKED: usize = 48;
    const TILE: usize = 6;
    const PAGE: usize = 4096;
    const VECTOR: usize = 64;
    const CACHED: usize = 1 << 20;
    let step = a.cs.unsigned_abs() * size_of::<T>();
    let near = step < PAGE && step.saturating_mul(s.k) <= CACHED;
    let whole = a.rs == 1 && step.is_multiple_of(VECTOR) && a.ptr.addr().is_multiple_of(VECTOR);
    // Products up to 64 × 64 cut their inner axis at other places, and a single column adds in another order: a block
    // never becomes one of them.
    let few = s.m > 64 && (UNPACKED + 1..=3 * UNPACKED).contains(&s.n);
    if !(near && whole && few) {
        return s.n.max(1);
    }
    s.n.div_ceil(s.n.div_ceil(UNPACKED)).next_multiple_of(TILE)
}
