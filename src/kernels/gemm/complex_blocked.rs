//! Cache-blocked product of complex matrices, computed tile by tile.
//!
//! Uses four real products per complex one: the three-product formula would lose a small part
//! beside a large one, and complex-step derivatives rest on that. Invariant: the inner axis is
//! split at the same places whichever block of the result is computed, and packing only copies, so
//! neither decides a bit.

use super::complex_tile::{TileOutput, TilePart, Tiles};
use super::product::{Mat, Size};
use crate::dtype::{Complex64, Complex128};
use crate::kernels::workspace::{Bits, Workspace, bytes_of};

/// Most of the inner axis in a block: more overflows the first cache, less reads and writes the
/// result more often.
const BLOCK_K: usize = 256;
/// Rows of `a` in a block, which stays in the second cache. A multiple of the rows of every tile.
const BLOCK_M: usize = 48;
/// Columns of `b` in a block. A multiple of the columns of every tile.
const BLOCK_N: usize = 256;
/// Neighbouring tiles packed at once: their joint rows are read as fast as whole rows.
const TILES_PER_PACK: usize = 4;
/// Rows prefetched ahead of the one being packed.
const PREFETCH_ROWS: usize = 4;
/// Stride in bytes, from one element that a tile reads to the next, from which packing pays.
const MIN_STRIDE_BYTES_TO_PACK: usize = 2048;

/// A complex element type with a matrix product.
pub(in crate::kernels) trait ComplexGemm: Copy {
    /// The real type of its two parts.
    type Part: TilePart + Bits;
}
impl ComplexGemm for Complex128 {
    type Part = f64;
}
impl ComplexGemm for Complex64 {
    type Part = f32;
}

/// `c = a b`, or `c += a b` with `accumulate`; with `minus` the product is negated.
///
/// # Safety
/// The operands are valid for the sizes, and `c` overlaps neither.
pub(in crate::kernels) unsafe fn multiply<C: ComplexGemm>(
    s: Size,
    c: Mat<*mut C>,
    accumulate: bool,
    a: Mat<*const C>,
    b: Mat<*const C>,
    minus: bool,
) {
    let parts = |m: Mat<*const C>| Mat::new(m.ptr.cast::<[C::Part; 2]>(), [m.rs, m.cs]);
    let (a, b, c) = (parts(a), parts(b), Mat::new(c.ptr.cast(), [c.rs, c.cs]));
    let sign = if minus { -C::Part::ONE } else { C::Part::ONE };
    let tiles = C::Part::tiles();
    // Tiles write rows: if the columns of the result are contiguous, compute the transposed
    // product.
    let transposes = if s.n == 1 { s.m > 1 } else { c.cs.unsigned_abs() > c.rs.unsigned_abs() };
    // SAFETY: the caller's contract, also for the transposed product.
    unsafe {
        if transposes {
            let s = Size { m: s.n, n: s.m, k: s.k };
            Product { tiles, sign, s, a: b.transposed(), b: a.transposed() }
                .run_blocks(c.transposed(), accumulate);
        } else {
            Product { tiles, sign, s, a, b }.run_blocks(c, accumulate);
        }
    }
}

/// The tile for the rest of an axis (index and size): the large one unless the small one covers it.
fn pick_tile(sizes: [usize; 2], left: usize) -> (usize, usize) {
    let small = usize::from(left <= sizes[1]);
    (small, sizes[small])
}

/// Operands of a product, and its sign.
struct Product<T: 'static> {
    tiles: &'static Tiles<T>,
    sign: T,
    s: Size,
    a: Mat<*const [T; 2]>,
    b: Mat<*const [T; 2]>,
}

/// Workspace for packed blocks.
#[derive(Clone, Copy)]
struct PackBuffers<T> {
    left: *mut [T; 2],
    right: *mut [T; 2],
}

impl<T: TilePart + Bits> Product<T> {
    /// Whether elements with this stride are far enough apart that packing pays.
    fn is_far_stride(step: isize) -> bool {
        step.unsigned_abs() >= MIN_STRIDE_BYTES_TO_PACK / size_of::<[T; 2]>()
    }

    /// # Safety
    /// As `multiply`.
    unsafe fn run_blocks(&self, c: Mat<*mut [T; 2]>, accumulate: bool) {
        let s = self.s;
        // Blocks of equal depth, as few as possible.
        let depth = s.k.div_ceil(s.k.div_ceil(BLOCK_K).max(1)).max(1);
        let left = if Self::is_far_stride(self.a.cs) { depth * s.m.min(BLOCK_M) } else { 0 };
        let right = depth * s.n.min(BLOCK_N).next_multiple_of(self.tiles.columns[0]);
        let mut room = Workspace::new(bytes_of::<T>(2 * left) + bytes_of::<T>(2 * right));
        let mut parts = room.parts();
        let left = parts.take::<T>(2 * left).as_mut_ptr().cast();
        let right = parts.take::<T>(2 * right).as_mut_ptr().cast();
        let packed = PackBuffers { left, right };
        for column in (0..s.n).step_by(BLOCK_N) {
            let mut start = 0;
            while start < s.k || start == 0 {
                let (n, k) = (BLOCK_N.min(s.n - column), depth.min(s.k - start));
                let b = self.b.from(start, column);
                // SAFETY: the blocks lie inside the operands, and the workspace holds them rounded
                // up to whole tiles.
                unsafe {
                    self.pack_columns(k, n, b, right);
                    for row in (0..s.m).step_by(BLOCK_M) {
                        let piece = Size { m: BLOCK_M.min(s.m - row), n, k };
                        let a = self.a.from(row, start);
                        self.block(
                            piece,
                            a,
                            b,
                            packed,
                            c.from(row, column),
                            accumulate || start > 0,
                        );
                    }
                }
                start += depth;
            }
        }
    }

    /// Whether a tile of `wide` columns reads `b` without packing.
    fn reads_in_place(&self, b: Mat<*const [T; 2]>, columns: usize, wide: usize) -> bool {
        b.cs == 1 && columns >= wide && !Self::is_far_stride(b.rs)
    }

    /// # Safety
    /// The blocks have this size, columns of `b` that need it are packed, and the result is
    /// writable.
    unsafe fn block(
        &self,
        s: Size,
        a: Mat<*const [T; 2]>,
        b: Mat<*const [T; 2]>,
        packed: PackBuffers<T>,
        c: Mat<*mut [T; 2]>,
        accumulate: bool,
    ) {
        let packs_a = Self::is_far_stride(a.cs);
        let mut right = packed.right.cast_const();
        if packs_a {
            // SAFETY: the caller's contract.
            unsafe { self.pack_rows(s.m, s.k, a, packed.left) };
        }
        let mut j = 0;
        while j < s.n {
            let (narrow, wide) = pick_tile(self.tiles.columns, s.n - j);
            let (from, step) = match self.reads_in_place(b, s.n - j, wide) {
                true => (b.from(0, j).ptr, b.rs),
                false => (right, wide as isize),
            };
            let (mut i, mut left) = (0, packed.left.cast_const());
            while i < s.m {
                let (low, high) = pick_tile(self.tiles.rows, s.m - i);
                let rows = high.min(s.m - i);
                let ptr = c.from(i, j).ptr;
                let columns = wide.min(s.n - j);
                let to = TileOutput {
                    ptr,
                    strides: [c.rs, c.cs],
                    rows,
                    columns,
                    accumulate,
                    sign: self.sign,
                };
                let a = if packs_a { Mat::new(left, [1, rows as isize]) } else { a.from(i, 0) };
                // SAFETY: the caller's contract.
                unsafe { (self.tiles.run[low][narrow])(s.k, a, from, step, to) };
                left = left.wrapping_add(rows * s.k);
                i += high;
            }
            right = right.wrapping_add(wide * s.k);
            j += wide;
        }
    }

    /// Packs rows of `a` column by column for each tile.
    ///
    /// # Safety
    /// The matrix is readable, and `to` holds it.
    unsafe fn pack_rows(&self, m: usize, k: usize, a: Mat<*const [T; 2]>, to: *mut [T; 2]) {
        let (mut i, mut to) = (0, to);
        while i < m {
            let (_, high) = pick_tile(self.tiles.rows, m - i);
            let rows = high.min(m - i);
            for p in 0..k {
                let from = a.from(i, p).ptr;
                // SAFETY: the caller's contract.
                (0..rows).for_each(|r| unsafe {
                    *to.add(p * rows + r) = *from.offset(r as isize * a.rs);
                });
            }
            to = to.wrapping_add(rows * k);
            i += high;
        }
    }

    /// Packs those columns of `b` that are not read in place: row by row for each tile, padded with
    /// zeros.
    ///
    /// # Safety
    /// The matrix is readable, and `to` holds whole tiles.
    unsafe fn pack_columns(&self, k: usize, n: usize, b: Mat<*const [T; 2]>, to: *mut [T; 2]) {
        let wide = self.tiles.columns[0];
        let whole = if b.cs == 1 && !self.reads_in_place(b, n, wide) { n / wide } else { 0 };
        for first in (0..whole).step_by(TILES_PER_PACK) {
            let (b, to) = (b.from(0, first * wide), to.wrapping_add(first * wide * k));
            let tiles = TILES_PER_PACK.min(whole - first);
            // SAFETY: the caller's contract.
            unsafe { pack_full_tiles(k, wide, tiles, b, to) };
        }
        let (mut j, mut to) = (whole * wide, to.wrapping_add(whole * wide * k));
        while j < n {
            let (_, wide) = pick_tile(self.tiles.columns, n - j);
            if !self.reads_in_place(b, n - j, wide) {
                let columns = wide.min(n - j);
                // SAFETY: the caller's contract.
                unsafe { pack_tile(k, columns, wide, b.from(0, j), to) };
            }
            to = to.wrapping_add(wide * k);
            j += wide;
        }
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Prefetches `n` numbers, where the target supports it.
#[inline(always)]
fn prefetch<T>(at: *const [T; 2], n: usize) {
    #[cfg(target_arch = "x86_64")]
    for byte in (0..n * size_of::<[T; 2]>()).step_by(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing, whatever the address is.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast::<i8>().wrapping_add(byte)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (at, n);
}

/// Packs adjacent full tiles of a row-contiguous matrix, row by row.
///
/// # Safety
/// The matrix is readable, and `to` holds `k` rows of `wide` for each tile.
unsafe fn pack_full_tiles<T: TilePart>(
    k: usize,
    wide: usize,
    tiles: usize,
    b: Mat<*const [T; 2]>,
    to: *mut [T; 2],
) {
    // A tile row is a whole number of cache lines on every CPU level.
    let lines = wide * size_of::<[T; 2]>() / LINE;
    for p in 0..k {
        let (from, next) =
            (b.from(p, 0).ptr.cast::<[u8; LINE]>(), b.from(p + PREFETCH_ROWS, 0).ptr);
        prefetch(next, tiles * wide);
        for t in 0..tiles {
            let to = to.wrapping_add((t * k + p) * wide).cast::<[u8; LINE]>();
            for l in 0..lines {
                // SAFETY: the caller's contract; bytes have no alignment.
                unsafe { *to.add(l) = *from.add(t * lines + l) };
            }
        }
    }
}

/// # Safety
/// The matrix is readable, and `to` holds `k` rows of `wide`.
unsafe fn pack_tile<T: TilePart>(
    k: usize,
    columns: usize,
    wide: usize,
    b: Mat<*const [T; 2]>,
    to: *mut [T; 2],
) {
    // SAFETY: the caller's contract.
    unsafe {
        for p in 0..k {
            let (from, to) = (b.from(p, 0).ptr, to.add(p * wide));
            match b.cs {
                1 => std::ptr::copy_nonoverlapping(from, to, columns),
                _ => (0..columns).for_each(|j| *to.add(j) = *from.offset(j as isize * b.cs)),
            }
            (columns..wide).for_each(|j| *to.add(j) = [T::default(); 2]);
        }
    }
}
