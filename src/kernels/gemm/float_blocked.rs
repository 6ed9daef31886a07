//! Cache-blocked product of float matrices, computed tile by tile.
//!
//! Invariant: the inner axis is split at the same places whichever block of the result is computed,
//! and packing only copies, so neither decides a bit.

use super::float_pack::{pack_any, pack_fixed, pack_rows};
use super::float_tile::{FloatTile, TileOutput, Tiles};
use super::product::{Mat, Size};
use crate::kernels::workspace::{Bits, Workspace, bytes_of};

/// Most of the inner axis in a block: with more, `b` overflows the second cache; with less, the
/// result is read and written more often.
const BLOCK_K: usize = 256;
/// Bytes of a column of a block of `a`, which stays in the second cache.
const BLOCK_M_BYTES: usize = 960;
/// Bytes of a row of a block of `b`.
const BLOCK_N_BYTES: usize = 3840;
/// Most rows of `a` for which a row-contiguous `b` is read without packing: for any `b`, if its
/// rows are vector-aligned, and if it also fits the second cache.
const MAX_ROWS_UNPACKED: [usize; 3] = [128, 192, 320];
/// Bytes of a vector, and of a matrix that fits the second cache.
const VECTOR_BYTES: usize = 64;
const CACHED_BYTES: usize = 1 << 20;
/// Columns of `b` from which packing a column-contiguous `a` pays.
const MIN_COLUMNS_TO_PACK_A: usize = 512;

/// Operands of a product, and its factor.
struct Product<T: 'static> {
    tiles: &'static Tiles<T>,
    s: Size,
    a: Mat<*const T>,
    b: Mat<*const T>,
    factor: T,
    /// Whether to add to the result instead of overwriting it.
    accumulate: bool,
    /// Whether the result is larger than the second cache, so that tiles prefetch it.
    prefetch_output: bool,
}

/// Workspace for packed blocks; null for an operand that is read in place.
#[derive(Clone, Copy)]
struct PackBuffers<T> {
    left: *mut T,
    right: *mut T,
}

/// `c = factor a b`, or `c += factor a b` with `accumulate`, where rows of `c` are contiguous.
///
/// # Safety
/// The operands are valid for the sizes, and `c` overlaps neither.
pub(super) unsafe fn multiply<T: FloatTile + Bits>(
    tiles: &'static Tiles<T>,
    s: Size,
    c: Mat<*mut T>,
    accumulate: bool,
    a: Mat<*const T>,
    b: Mat<*const T>,
    factor: T,
) {
    let prefetch_output = s.m.saturating_mul(s.n).saturating_mul(size_of::<T>()) > CACHED_BYTES;
    // SAFETY: the caller's contract.
    unsafe { Product { tiles, s, a, b, factor, accumulate, prefetch_output }.run_blocks(c) }
}

impl<T: FloatTile + Bits> Product<T> {
    /// Columns of the widest tile.
    fn wide(&self) -> usize {
        self.tiles.run[0].1.len() * self.tiles.lanes
    }

    /// Whether tiles read `b` without packing.
    fn reads_b_in_place(&self) -> bool {
        let (size, step) = (size_of::<T>(), self.b.rs.unsigned_abs());
        let whole = self.b.ptr.addr().is_multiple_of(VECTOR_BYTES)
            && (step * size).is_multiple_of(VECTOR_BYTES);
        let cached = self.s.k.saturating_mul(self.s.n).saturating_mul(size) <= CACHED_BYTES;
        self.b.cs == 1
            && self.s.m <= MAX_ROWS_UNPACKED[usize::from(whole) + usize::from(whole && cached)]
    }

    /// # Safety
    /// As `multiply`.
    unsafe fn run_blocks(&self, c: Mat<*mut T>) {
        let (s, [high, wide]) =
            (self.s, [BLOCK_M_BYTES, BLOCK_N_BYTES].map(|bytes| bytes / size_of::<T>()));
        // Blocks of equal depth, as few as possible.
        let depth = s.k.div_ceil(s.k.div_ceil(BLOCK_K).max(1)).max(1);
        let sizes = [
            if self.a.rs == 1 && s.n >= MIN_COLUMNS_TO_PACK_A { depth * s.m.min(high) } else { 0 },
            if self.reads_b_in_place() {
                0
            } else {
                depth * s.n.min(wide).next_multiple_of(self.wide())
            },
        ];
        let mut room;
        let mut packed = PackBuffers { left: std::ptr::null_mut(), right: std::ptr::null_mut() };
        if sizes != [0, 0] {
            room = Workspace::new(sizes.iter().map(|&n| bytes_of::<T>(n)).sum());
            let mut parts = room.parts();
            let [left, right] = sizes.map(|n| match n {
                0 => std::ptr::null_mut(),
                n => parts.take::<T>(n).as_mut_ptr(),
            });
            packed = PackBuffers { left, right };
        }
        for column in (0..s.n).step_by(wide) {
            let mut start = 0;
            while start < s.k || start == 0 {
                let (n, k) = (wide.min(s.n - column), depth.min(s.k - start));
                for row in (0..s.m).step_by(high) {
                    let size = Size { m: high.min(s.m - row), n, k };
                    let (a, b) = (self.a.from(row, start), self.b.from(start, column));
                    let piece = Product {
                        s: size,
                        a,
                        b,
                        accumulate: self.accumulate || start > 0,
                        ..*self
                    };
                    // SAFETY: the blocks lie inside the operands, and the workspace holds them
                    // rounded up to whole tiles.
                    unsafe { piece.block(packed, row == 0, c.from(row, column)) };
                }
                start += depth;
            }
        }
    }

    /// Product of one block of `a` and of `b`. `b` is packed when the `first` rows are computed.
    ///
    /// # Safety
    /// As `multiply`; the workspace holds the packed blocks.
    unsafe fn block(&self, packed: PackBuffers<T>, first: bool, c: Mat<*mut T>) {
        let (s, lanes) = (self.s, self.tiles.lanes);
        if !packed.left.is_null() {
            // SAFETY: the caller's contract.
            unsafe { self.pack_a(packed.left) };
        }
        let mut right = packed.right;
        for j in (0..s.n).step_by(self.wide()) {
            let columns = self.wide().min(s.n - j);
            let wide = columns.next_multiple_of(lanes);
            let (mut from, mut step) = (self.b.from(0, j).ptr, self.b.rs);
            if !right.is_null() {
                if first {
                    // SAFETY: the caller's contract.
                    unsafe { self.pack_b(columns, wide, self.b.from(0, j), right) };
                }
                (from, step) = (right.cast_const(), wide as isize);
                right = right.wrapping_add(wide * s.k);
            }
            let mut i = 0;
            for &(rows, tiles) in self.tiles.run {
                while rows <= s.m - i {
                    let a = match packed.left.is_null() {
                        true => self.a.from(i, 0),
                        false => Mat::new(
                            packed.left.wrapping_add(i * s.k).cast_const(),
                            [1, rows as isize],
                        ),
                    };
                    let (accumulate, prefetch_output, factor) =
                        (self.accumulate, self.prefetch_output, self.factor);
                    let to = TileOutput {
                        ptr: c.from(i, j).ptr,
                        step: c.rs,
                        columns,
                        accumulate,
                        prefetch_output,
                        factor,
                    };
                    // SAFETY: the caller's contract.
                    unsafe { tiles[wide / lanes - 1](s.k, a, from, step, to) };
                    i += rows;
                }
            }
        }
    }

    /// Packs columns of `b` into rows of `wide`.
    ///
    /// # Safety
    /// The columns are readable, and `to` holds the rows.
    unsafe fn pack_b(&self, columns: usize, wide: usize, b: Mat<*const T>, to: *mut T) {
        let k = self.s.k;
        // SAFETY: the caller's contract.
        unsafe {
            match (b.rs, b.cs) {
                (_, 1) => pack_rows(k, columns, wide, b, to),
                (1, _) => (self.tiles.pack_transposed)(k, columns, b.ptr, b.cs, to, wide),
                _ => pack_any(k, columns, wide, b, to),
            }
        }
    }

    /// Packs a column-contiguous `a` column by column for each tile.
    ///
    /// # Safety
    /// The rows are readable, and `to` holds them.
    unsafe fn pack_a(&self, to: *mut T) {
        let (s, a) = (self.s, self.a.transposed());
        let mut i = 0;
        for &(rows, _) in self.tiles.run {
            while rows <= s.m - i {
                let (from, to) = (a.from(0, i), to.wrapping_add(i * s.k));
                // SAFETY: the caller's contract.
                unsafe {
                    match rows {
                        6 => pack_fixed::<T, 6>(s.k, from, to),
                        _ => pack_any(s.k, rows, rows, from, to),
                    }
                }
                i += rows;
            }
        }
    }
}
