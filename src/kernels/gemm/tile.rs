//! `Tile`: what the blocked product needs to know of an element type: its micro-kernels, the sizes
//! of its blocks, and when packing pays.

use super::matrix::{Mat, Size};
use crate::kernels::workspace::Bits;

/// The part of the result that a tile writes.
pub(in crate::kernels) struct TileOutput<T: Tile> {
    pub(super) ptr: *mut T,
    pub(super) strides: [isize; 2],
    /// Rows and columns that exist.
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Whether to add to the result instead of overwriting it.
    pub(super) accumulate: bool,
    /// Whether to prefetch the output, which may be in no near cache.
    pub(super) prefetch: bool,
    pub(super) factor: T::Factor,
}

/// Computes a tile: the sum of `k` outer products of a column of `a` and a row of `b`. Rows of `b`
/// are contiguous and `step` apart.
///
/// # Safety
/// `a` has the rows of the output and `b` its columns, or those of the tile if `Tile::PADDED`, both
/// `k` times; the output is writable, overlaps neither and has a row; without `PADDED` it has all
/// rows of the tile, its columns are contiguous and end in the last vector; the CPU has the level.
pub(in crate::kernels) type MicroKernel<T> =
    unsafe fn(k: usize, a: Mat<*const T>, b: *const T, step: isize, to: &TileOutput<T>);

/// The micro-kernels of a CPU level, by the rows and the columns of their tiles, largest first.
pub(in crate::kernels) struct Tiles<T: Tile> {
    pub(super) rows: &'static [usize],
    pub(super) columns: &'static [usize],
    pub(super) run: &'static [&'static [MicroKernel<T>]],
}

/// An element type with tiles on some CPUs.
pub(in crate::kernels) trait Tile: Bits + Default + 'static {
    /// The factor of a product: a real number.
    type Factor: Copy;
    /// Most rows of `a` in a block, which stays in the second cache.
    const BLOCK_M: usize;
    /// Most columns of `b` in a block, a multiple of the columns of the largest tile.
    const BLOCK_N: usize;
    /// Whether tiles read whole rows of `b`, padded beyond the columns, and may have fewer rows
    /// than they compute. The others mask missing columns.
    const PADDED: bool;
    /// Neighbouring strips of `b` that are packed at once.
    const STRIPS_PER_PACK: usize;
    /// The tiles of this CPU, if it has any.
    fn tiles() -> Option<&'static Tiles<Self>>;
    /// Whether packing `a` pays.
    fn packs_a(s: Size, a: Mat<*const Self>) -> bool;
    /// Whether `b` is read without packing.
    fn reads_b_in_place(s: Size, b: Mat<*const Self>) -> bool;
    /// Whether tiles prefetch the result.
    fn prefetches_output(s: Size) -> bool;
}

impl<T: Tile> Tiles<T> {
    /// The number of rows that those left must exceed for the next tile to be this one. Padded tiles
    /// compute more rows than are left unless a smaller tile has enough, the others never do.
    #[inline(always)]
    pub(super) fn rows_to_exceed(&self, tile: usize) -> usize {
        match T::PADDED {
            true => self.rows.get(tile + 1).copied().unwrap_or(0),
            false => self.rows[tile] - 1,
        }
    }

    /// The tile for the next of `left` columns (index and columns): the smallest that covers them,
    /// or else the largest.
    #[inline(always)]
    pub(super) fn next_columns(&self, left: usize) -> (usize, usize) {
        let index = self.columns.iter().rposition(|&columns| columns >= left).unwrap_or(0);
        (index, self.columns[index])
    }
}
