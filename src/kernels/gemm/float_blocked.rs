//! The product of float matrices: operands cut into what the caches hold, tile by tile.
//!
//! Owns: the cut, and the packing of what does not lie well.
//! Never splits over threads. Invariant: the inner axis is cut into the same pieces whichever block of the result is
//! computed, and packing moves numbers only, so that what is packed decides no bit.

use super::float_pack::{pack_any, pack_few, pack_rows};
use super::float_tile::{FloatTile, Place, Tiles};
use super::product::{Mat, Size};
use crate::kernels::workspace::{Bits, Room, bytes_of};

/// Inner size of a piece at most: of deeper ones, `b` leaves the second cache; of others, the result is read and written more
/// often.
const DEPTH: usize = 256;
/// Bytes of a column of `a`, the rows of which stay in the second cache.
const HIGH: usize = 960;
/// Bytes of a row of `b` that are packed together.
const WIDE: usize = 3840;
/// Rows up to which packing `b` does not pay where its rows are contiguous: any matrix; one whose rows begin at whole vectors; one
/// that stays in the second cache besides.
const FEW: [usize; 3] = [128, 192, 320];
/// Bytes of a vector, and of a matrix that stays there.
const VECTOR: usize = 64;
const CACHED: usize = 1 << 20;
/// Columns from which on packing an `a` with contiguous columns pays.
const MANY: usize = 512;

/// A product of this size, times a factor.
struct Product<T: 'static> {
    tiles: &'static Tiles<T>,
    s: Size,
    a: Mat<*const T>,
    b: Mat<*const T>,
    factor: T,
    /// Whether it is added to the result.
    keep: bool,
    /// Whether the result is larger than a cache.
    far: bool,
}

/// The room for packed pieces, null for what is read as it lies.
#[derive(Clone, Copy)]
struct Packed<T> {
    left: *mut T,
    right: *mut T,
}

/// `c = factor a b`, or `c += factor a b` with `keep`, where rows of `c` are contiguous.
///
/// # Safety
/// The operands are valid for the sizes, and `c` overlaps neither.
pub(super) unsafe fn multiply<T: FloatTile + Bits>(
    tiles: &'static Tiles<T>,
    s: Size,
    c: Mat<*mut T>,
    keep: bool,
    a: Mat<*const T>,
    b: Mat<*const T>,
    factor: T,
) {
    let far = s.m.saturating_mul(s.n).saturating_mul(size_of::<T>()) > CACHED;
    // SAFETY: the caller's contract.
    unsafe { Product { tiles, s, a, b, factor, keep, far }.panels(c) }
}

impl<T: FloatTile + Bits> Product<T> {
    /// Columns of the widest tile.
    fn wide(&self) -> usize {
        self.tiles.run[0].1.len() * self.tiles.lanes
    }

    /// Whether rows of `b` are read as they lie.
    fn straight(&self) -> bool {
        let (size, step) = (size_of::<T>(), self.b.rs.unsigned_abs());
        let whole =
            self.b.ptr.addr().is_multiple_of(VECTOR) && (step * size).is_multiple_of(VECTOR);
        let cached = self.s.k.saturating_mul(self.s.n).saturating_mul(size) <= CACHED;
        self.b.cs == 1 && self.s.m <= FEW[usize::from(whole) + usize::from(whole && cached)]
    }

    /// # Safety
    /// As `multiply`.
    unsafe fn panels(&self, c: Mat<*mut T>) {
        let (s, [high, wide]) = (self.s, [HIGH, WIDE].map(|bytes| bytes / size_of::<T>()));
        // Pieces of one size, as few as there can be.
        let depth = s.k.div_ceil(s.k.div_ceil(DEPTH).max(1)).max(1);
        let sizes = [
            if self.a.rs == 1 && s.n >= MANY { depth * s.m.min(high) } else { 0 },
            if self.straight() { 0 } else { depth * s.n.min(wide).next_multiple_of(self.wide()) },
        ];
        let mut room;
        let mut packed = Packed { left: std::ptr::null_mut(), right: std::ptr::null_mut() };
        if sizes != [0, 0] {
            room = Room::new(sizes.iter().map(|&n| bytes_of::<T>(n)).sum());
            let mut parts = room.parts();
            let [left, right] = sizes.map(|n| match n {
                0 => std::ptr::null_mut(),
                n => parts.take::<T>(n).as_mut_ptr(),
            });
            packed = Packed { left, right };
        }
        for column in (0..s.n).step_by(wide) {
            let mut start = 0;
            while start < s.k || start == 0 {
                let (n, k) = (wide.min(s.n - column), depth.min(s.k - start));
                for row in (0..s.m).step_by(high) {
                    let size = Size { m: high.min(s.m - row), n, k };
                    let (a, b) = (self.a.from(row, start), self.b.from(start, column));
                    let piece = Product { s: size, a, b, keep: self.keep || start > 0, ..*self };
                    // SAFETY: the pieces lie inside the operands, and the room holds them up to whole tiles.
                    unsafe { piece.block(packed, row == 0, c.from(row, column)) };
                }
                start += depth;
            }
        }
    }

    /// The product of pieces that the caches hold. The columns of `b` are packed for the `first` rows.
    ///
    /// # Safety
    /// As `multiply`; the room holds the pieces.
    unsafe fn block(&self, packed: Packed<T>, first: bool, c: Mat<*mut T>) {
        let (s, lanes) = (self.s, self.tiles.lanes);
        if !packed.left.is_null() {
            // SAFETY: the caller's contract.
            unsafe { self.pack_left(packed.left) };
        }
        let mut right = packed.right;
        for j in (0..s.n).step_by(self.wide()) {
            let columns = self.wide().min(s.n - j);
            let wide = columns.next_multiple_of(lanes);
            let (mut from, mut step) = (self.b.from(0, j).ptr, self.b.rs);
            if !right.is_null() {
                if first {
                    // SAFETY: the caller's contract.
                    unsafe { self.pack_right(columns, wide, self.b.from(0, j), right) };
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
                    let (keep, far, factor) = (self.keep, self.far, self.factor);
                    let to =
                        Place { ptr: c.from(i, j).ptr, step: c.rs, columns, keep, far, factor };
                    // SAFETY: the caller's contract.
                    unsafe { tiles[wide / lanes - 1](s.k, a, from, step, to) };
                    i += rows;
                }
            }
        }
    }

    /// Packs columns of `b` to rows of `wide`.
    ///
    /// # Safety
    /// The columns are readable, and `to` has room for the rows.
    unsafe fn pack_right(&self, columns: usize, wide: usize, b: Mat<*const T>, to: *mut T) {
        let k = self.s.k;
        // SAFETY: the caller's contract.
        unsafe {
            match (b.rs, b.cs) {
                (_, 1) => pack_rows(k, columns, wide, b, to),
                (1, _) => (self.tiles.turn)(k, columns, b.ptr, b.cs, to, wide),
                _ => pack_any(k, columns, wide, b, to),
            }
        }
    }

    /// Packs the rows of `a`, which are neighbours: for each tile, column after column.
    ///
    /// # Safety
    /// The rows are readable, and `to` has room for them.
    unsafe fn pack_left(&self, to: *mut T) {
        let (s, a) = (self.s, self.a.transposed());
        let mut i = 0;
        for &(rows, _) in self.tiles.run {
            while rows <= s.m - i {
                let (from, to) = (a.from(0, i), to.wrapping_add(i * s.k));
                // SAFETY: the caller's contract.
                unsafe {
                    match rows {
                        6 => pack_few::<T, 6>(s.k, from, to),
                        _ => pack_any(s.k, rows, rows, from, to),
                    }
                }
                i += rows;
            }
        }
    }
}
