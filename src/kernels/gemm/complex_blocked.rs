//! The product of complex matrices: operands cut into what the caches hold, tile by tile.
//!
//! Owns: the cut, and the packing of what does not lie well. Three real products instead of four would be faster and lose
//! what is small beside the other part, on which derivatives by complex steps rest.
//! Never splits over threads. Invariant: the inner axis is cut into the same pieces whichever block of the result is
//! computed, and packing moves numbers only, so that what is packed decides no bit.

use super::complex_tile::{Place, TilePart, Tiles};
use super::product::{Mat, Size};
use crate::dtype::{Complex64, Complex128};
use crate::kernels::workspace::{Bits, Room, bytes_of};

/// Inner size of a piece at most: of deeper ones, what a tile reads leaves the first cache; of others, the result is read and
/// written more often.
const DEPTH: usize = 256;
/// Rows of `a` that stay in the second cache, a multiple of the rows of every tile.
const HIGH: usize = 48;
/// Columns of `b` that are packed together, a multiple of the columns of every tile.
const WIDE: usize = 256;
/// Tiles that are packed side by side: stretches of a row as long as these are read as fast as whole rows.
const TOGETHER: usize = 4;
/// Rows that are called for ahead of the one that is packed.
const AHEAD: usize = 4;
/// Bytes between the places that a tile reads one after the other from which on packing costs less.
const FAR: usize = 2048;

/// A complex number of which matrices are multiplied.
pub(in crate::kernels) trait ComplexGemm: Copy {
    /// Its parts, of which it is an array of two.
    type Part: TilePart + Bits;
}
impl ComplexGemm for Complex128 {
    type Part = f64;
}
impl ComplexGemm for Complex64 {
    type Part = f32;
}

/// `c = a b`, `c += a b` with `keep`; with `minus` the other sign of the product.
///
/// # Safety
/// The operands are valid for the sizes, and `c` overlaps neither.
pub(in crate::kernels) unsafe fn multiply<C: ComplexGemm>(
    s: Size,
    c: Mat<*mut C>,
    keep: bool,
    a: Mat<*const C>,
    b: Mat<*const C>,
    minus: bool,
) {
    let parts = |m: Mat<*const C>| Mat::new(m.ptr.cast::<[C::Part; 2]>(), [m.rs, m.cs]);
    let (a, b, c) = (parts(a), parts(b), Mat::new(c.ptr.cast(), [c.rs, c.cs]));
    let sign = if minus { -C::Part::ONE } else { C::Part::ONE };
    let tiles = C::Part::tiles();
    // The rows of the result are to be the contiguous ones: else the transposed product is computed.
    let turned = if s.n == 1 { s.m > 1 } else { c.cs.unsigned_abs() > c.rs.unsigned_abs() };
    // SAFETY: the caller's contract, also for the transposed product.
    unsafe {
        if turned {
            let s = Size { m: s.n, n: s.m, k: s.k };
            Product { tiles, sign, s, a: b.transposed(), b: a.transposed() }
                .panels(c.transposed(), keep);
        } else {
            Product { tiles, sign, s, a, b }.panels(c, keep);
        }
    }
}

/// The tile for what is left of an axis: the large one unless the small one covers it. Also its size.
fn fitting(sizes: [usize; 2], left: usize) -> (usize, usize) {
    let small = usize::from(left <= sizes[1]);
    (small, sizes[small])
}

/// A product of this size, times a sign.
struct Product<T: 'static> {
    tiles: &'static Tiles<T>,
    sign: T,
    s: Size,
    a: Mat<*const [T; 2]>,
    b: Mat<*const [T; 2]>,
}

/// The room for packed pieces.
#[derive(Clone, Copy)]
struct Packed<T> {
    left: *mut [T; 2],
    right: *mut [T; 2],
}

impl<T: TilePart + Bits> Product<T> {
    /// Whether places that many elements apart are so far from each other that packing pays.
    fn far(step: isize) -> bool {
        step.unsigned_abs() >= FAR / size_of::<[T; 2]>()
    }

    /// # Safety
    /// As `multiply`.
    unsafe fn panels(&self, c: Mat<*mut [T; 2]>, keep: bool) {
        let s = self.s;
        // Pieces of one size, as few as there can be.
        let depth = s.k.div_ceil(s.k.div_ceil(DEPTH).max(1)).max(1);
        let left = if Self::far(self.a.cs) { depth * s.m.min(HIGH) } else { 0 };
        let right = depth * s.n.min(WIDE).next_multiple_of(self.tiles.columns[0]);
        let mut room = Room::new(bytes_of::<T>(2 * left) + bytes_of::<T>(2 * right));
        let mut parts = room.parts();
        let left = parts.take::<T>(2 * left).as_mut_ptr().cast();
        let right = parts.take::<T>(2 * right).as_mut_ptr().cast();
        let packed = Packed { left, right };
        for column in (0..s.n).step_by(WIDE) {
            let mut start = 0;
            while start < s.k || start == 0 {
                let (n, k) = (WIDE.min(s.n - column), depth.min(s.k - start));
                let b = self.b.from(start, column);
                // SAFETY: the pieces lie inside the operands, and the room holds them up to whole tiles.
                unsafe {
                    self.pack_columns(k, n, b, right);
                    for row in (0..s.m).step_by(HIGH) {
                        let piece = Size { m: HIGH.min(s.m - row), n, k };
                        let a = self.a.from(row, start);
                        self.block(piece, a, b, packed, c.from(row, column), keep || start > 0);
                    }
                }
                start += depth;
            }
        }
    }

    /// Whether columns of `b` are read as they lie, `wide` of them where a tile has so many.
    fn straight(&self, b: Mat<*const [T; 2]>, columns: usize, wide: usize) -> bool {
        b.cs == 1 && columns >= wide && !Self::far(b.rs)
    }

    /// # Safety
    /// The pieces are of this size, columns that are not read as they lie are packed, and the result is writable.
    unsafe fn block(
        &self,
        s: Size,
        a: Mat<*const [T; 2]>,
        b: Mat<*const [T; 2]>,
        packed: Packed<T>,
        c: Mat<*mut [T; 2]>,
        keep: bool,
    ) {
        let far = Self::far(a.cs);
        let mut right = packed.right.cast_const();
        if far {
            // SAFETY: the caller's contract.
            unsafe { self.pack_rows(s.m, s.k, a, packed.left) };
        }
        let mut j = 0;
        while j < s.n {
            let (narrow, wide) = fitting(self.tiles.columns, s.n - j);
            let (from, step) = match self.straight(b, s.n - j, wide) {
                true => (b.from(0, j).ptr, b.rs),
                false => (right, wide as isize),
            };
            let (mut i, mut left) = (0, packed.left.cast_const());
            while i < s.m {
                let (low, high) = fitting(self.tiles.rows, s.m - i);
                let rows = high.min(s.m - i);
                let ptr = c.from(i, j).ptr;
                let columns = wide.min(s.n - j);
                let to = Place { ptr, strides: [c.rs, c.cs], rows, columns, keep, sign: self.sign };
                let a = if far { Mat::new(left, [1, rows as isize]) } else { a.from(i, 0) };
                // SAFETY: the caller's contract.
                unsafe { (self.tiles.run[low][narrow])(s.k, a, from, step, to) };
                left = left.wrapping_add(rows * s.k);
                i += high;
            }
            right = right.wrapping_add(wide * s.k);
            j += wide;
        }
    }

    /// Packs rows of `a`: for each tile, column after column.
    ///
    /// # Safety
    /// The matrix is readable, and `to` has room for it.
    unsafe fn pack_rows(&self, m: usize, k: usize, a: Mat<*const [T; 2]>, to: *mut [T; 2]) {
        let (mut i, mut to) = (0, to);
        while i < m {
            let (_, high) = fitting(self.tiles.rows, m - i);
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

    /// Packs columns of `b` that are not read as they lie: for each tile, row after row, with zeros where there is no column.
    ///
    /// # Safety
    /// The matrix is readable, and `to` has room for whole tiles.
    unsafe fn pack_columns(&self, k: usize, n: usize, b: Mat<*const [T; 2]>, to: *mut [T; 2]) {
        let wide = self.tiles.columns[0];
        let whole = if b.cs == 1 && !self.straight(b, n, wide) { n / wide } else { 0 };
        for first in (0..whole).step_by(TOGETHER) {
            let (b, to) = (b.from(0, first * wide), to.wrapping_add(first * wide * k));
            let tiles = TOGETHER.min(whole - first);
            // SAFETY: the caller's contract.
            unsafe { pack_whole(k, wide, tiles, b, to) };
        }
        let (mut j, mut to) = (whole * wide, to.wrapping_add(whole * wide * k));
        while j < n {
            let (_, wide) = fitting(self.tiles.columns, n - j);
            if !self.straight(b, n - j, wide) {
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

/// Calls for so many numbers, if this target can.
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

/// Packs neighbouring tiles whose numbers are neighbours, row after row.
///
/// # Safety
/// The matrix is readable, and `to` has room for `k` rows of `wide` for each tile.
unsafe fn pack_whole<T: TilePart>(
    k: usize,
    wide: usize,
    tiles: usize,
    b: Mat<*const [T; 2]>,
    to: *mut [T; 2],
) {
    // Rows of a tile are whole lines at every level.
    let lines = wide * size_of::<[T; 2]>() / LINE;
    for p in 0..k {
        let (from, next) = (b.from(p, 0).ptr.cast::<[u8; LINE]>(), b.from(p + AHEAD, 0).ptr);
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
/// The matrix is readable, and `to` has room for `k` rows of `wide`.
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
