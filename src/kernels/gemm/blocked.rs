//! Cache-blocked matrix product, computed tile by tile.
//!
//! Invariant: the inner axis is split at the same places whichever block of the result is computed,
//! and packing only copies, so neither decides a bit.

use super::matrix::{Mat, Product, Size};
use super::packing::{pack_any, pack_fixed, pack_rows, pack_transposed};
use super::tile::{Tile, TileOutput, Tiles};
use crate::kernels::workspace::{Workspace, bytes_of};

/// Most of the inner axis in a block: with more, `b` overflows the caches; with less, the result is
/// read and written more often.
const BLOCK_K: usize = 256;

/// A product and how it is cut.
struct BlockedProduct<T: Tile> {
    tiles: &'static Tiles<T>,
    whole: Product<T, T::Factor>,
    packs_a: bool,
    reads_b_in_place: bool,
    prefetches_output: bool,
}

/// One block of each operand, and the workspace for their packed elements.
struct Block<T> {
    s: Size,
    a: Mat<*const T>,
    b: Mat<*const T>,
    c: Mat<*mut T>,
    accumulate: bool,
    packed_a: *mut T,
    packed_b: *mut T,
    /// Whether `b` is not packed yet.
    packs_b: bool,
}

/// Computes a product with tiles.
///
/// # Safety
/// The operands are valid for the sizes, and the result overlaps neither; without `Tile::PADDED`
/// its rows or its columns are contiguous.
pub(super) unsafe fn multiply<T: Tile>(tiles: &'static Tiles<T>, product: Product<T, T::Factor>) {
    let Product { s, c, .. } = product;
    // Tiles write rows: if the columns of the result are contiguous, compute the transposed
    // product.
    let transposes = if s.n == 1 { s.m > 1 } else { c.cs.unsigned_abs() > c.rs.unsigned_abs() };
    let whole = if transposes { product.transposed() } else { product };
    let blocked = BlockedProduct {
        tiles,
        packs_a: T::packs_a(whole.s, whole.a),
        reads_b_in_place: T::reads_b_in_place(whole.s, whole.b),
        prefetches_output: T::prefetches_output(whole.s),
        whole,
    };
    // SAFETY: the caller's contract, also for the transposed product.
    unsafe { blocked.run() }
}

/// `c = a b`, or `c += a b` with `accumulate`, of complex matrices; with `minus` the product is
/// negated.
///
/// # Safety
/// The operands are valid for the sizes, and `c` overlaps neither.
pub(in crate::kernels) unsafe fn multiply_complex<T: Tile<Factor: From<i8>>>(
    s: Size,
    c: Mat<*mut T>,
    accumulate: bool,
    a: Mat<*const T>,
    b: Mat<*const T>,
    minus: bool,
) {
    let tiles = T::tiles().expect("complex numbers have tiles at every level");
    let factor = T::Factor::from(if minus { -1 } else { 1 });
    // SAFETY: the caller's contract; complex tiles are padded.
    unsafe { multiply(tiles, Product { s, a, b, c, accumulate, factor }) }
}

impl<T: Tile> BlockedProduct<T> {
    /// Columns of the widest tile.
    fn widest(&self) -> usize {
        self.tiles.columns[0]
    }

    /// # Safety
    /// As `multiply`.
    unsafe fn run(&self) {
        let Product { s, a, b, c, accumulate, .. } = self.whole;
        // Blocks of equal depth, as few as possible.
        let depth = s.k.div_ceil(s.k.div_ceil(BLOCK_K).max(1)).max(1);
        let narrowest = self.tiles.columns[self.tiles.columns.len() - 1];
        let packs_b = !self.reads_b_in_place || T::PADDED && !s.n.is_multiple_of(narrowest);
        let sizes = [
            if self.packs_a { depth * s.m.min(T::BLOCK_M) } else { 0 },
            if packs_b { depth * s.n.min(T::BLOCK_N).next_multiple_of(self.widest()) } else { 0 },
        ];
        let mut workspace;
        let [mut packed_a, mut packed_b] = [std::ptr::null_mut(); 2];
        if sizes != [0, 0] {
            workspace = Workspace::new(sizes.iter().map(|&n| bytes_of::<T>(n)).sum());
            let mut parts = workspace.parts();
            [packed_a, packed_b] = sizes.map(|n| parts.take::<T>(n).as_mut_ptr());
        }
        for column in (0..s.n).step_by(T::BLOCK_N) {
            let mut start = 0;
            while start < s.k || start == 0 {
                let (n, k) = (T::BLOCK_N.min(s.n - column), depth.min(s.k - start));
                for row in (0..s.m).step_by(T::BLOCK_M) {
                    let block = Block {
                        s: Size { m: T::BLOCK_M.min(s.m - row), n, k },
                        a: a.from(row, start),
                        b: b.from(start, column),
                        c: c.from(row, column),
                        accumulate: accumulate || start > 0,
                        packed_a,
                        packed_b,
                        packs_b: row == 0,
                    };
                    // SAFETY: the blocks lie inside the operands, and the workspace holds them
                    // rounded up to whole tiles.
                    unsafe { self.multiply_block(&block) };
                }
                start += depth;
            }
        }
    }

    /// # Safety
    /// As `multiply`; the workspace holds the packed blocks.
    unsafe fn multiply_block(&self, block: &Block<T>) {
        let &Block { s, b, packed_b, .. } = block;
        if self.packs_a {
            // SAFETY: the caller's contract.
            unsafe { self.pack_a(block) };
        }
        for j in (0..s.n).step_by(self.widest()) {
            let left = s.n - j;
            let (index, wide) = self.tiles.next_columns(left);
            let (mut from, mut step) = (b.from(0, j).ptr, b.rs);
            if !self.reads_b_in_place || T::PADDED && left < wide {
                let packed = packed_b.wrapping_add(j * s.k);
                if block.packs_b {
                    // SAFETY: the caller's contract.
                    unsafe { self.pack_b(block, j, wide, packed) };
                }
                (from, step) = (packed.cast_const(), wide as isize);
            }
            // SAFETY: the caller's contract.
            unsafe { self.multiply_strip(block, j, (index, wide.min(left)), from, step) };
        }
    }

    /// Multiplies all rows of `a` by a strip of `b`: the columns of one tile, from column `j` on.
    ///
    /// # Safety
    /// As `multiply_block`; the strip is readable from `from` on, with rows `step` apart.
    #[inline(always)]
    unsafe fn multiply_strip(
        &self,
        block: &Block<T>,
        j: usize,
        (index, columns): (usize, usize),
        from: *const T,
        step: isize,
    ) {
        let &Block { s, a, c, accumulate, packed_a, .. } = block;
        let mut to = TileOutput {
            ptr: c.from(0, j).ptr,
            strides: [c.rs, c.cs],
            rows: 0,
            columns,
            accumulate,
            prefetch: self.prefetches_output,
            factor: self.whole.factor,
        };
        let mut i = 0;
        for (tile, &tile_rows) in self.tiles.rows.iter().enumerate() {
            let kernel = self.tiles.run[tile][index];
            while i + self.tiles.rows_to_exceed(tile) < s.m {
                let rows = tile_rows.min(s.m - i);
                let a = if self.packs_a {
                    Mat::new(packed_a.wrapping_add(i * s.k).cast_const(), [1, rows as isize])
                } else {
                    a.from(i, 0)
                };
                (to.ptr, to.rows) = (c.from(i, j).ptr, rows);
                // SAFETY: the caller's contract.
                unsafe { kernel(s.k, a, from, step, &to) };
                i += tile_rows;
            }
        }
    }

    /// Packs the strip of `b` that begins at column `j` into rows of `wide`, and whole strips behind
    /// it if strips are packed together.
    ///
    /// # Safety
    /// As `multiply_block`; `to` holds the strips.
    unsafe fn pack_b(&self, block: &Block<T>, j: usize, wide: usize, to: *mut T) {
        let (Size { n, k, .. }, b) = (block.s, block.b.from(0, j));
        let columns = wide.min(n - j);
        // SAFETY: the caller's contract.
        unsafe {
            match (b.rs, b.cs) {
                (_, 1) if columns < self.widest() => pack_rows(k, columns, wide, 1, b, to),
                (_, 1) if (j / wide).is_multiple_of(T::STRIPS_PER_PACK) => {
                    let strips = T::STRIPS_PER_PACK.min((n - j) / wide);
                    pack_rows(k, columns, wide, strips, b, to);
                }
                // Packed together with a strip before it.
                (_, 1) => {}
                (1, _) => pack_transposed((k, columns), (b.ptr, b.cs), (to, wide)),
                _ => pack_any(k, columns, wide, b, to),
            }
        }
    }

    /// Packs rows of `a`, column by column for each tile.
    ///
    /// # Safety
    /// As `multiply_block`.
    unsafe fn pack_a(&self, block: &Block<T>) {
        let (Size { m, k, .. }, a) = (block.s, block.a.transposed());
        let mut i = 0;
        for (tile, &tile_rows) in self.tiles.rows.iter().enumerate() {
            while i + self.tiles.rows_to_exceed(tile) < m {
                let rows = tile_rows.min(m - i);
                let (from, to) = (a.from(0, i), block.packed_a.wrapping_add(i * k));
                // SAFETY: the caller's contract.
                unsafe {
                    match rows {
                        6 if from.cs == 1 => pack_fixed::<T, 6>(k, from, to),
                        _ => pack_any(k, rows, rows, from, to),
                    }
                }
                i += tile_rows;
            }
        }
    }
}
