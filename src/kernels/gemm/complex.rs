//! The product of complex matrices: operands packed by planes, tile by tile.
//!
//! Owns: the packing and the cut into what the caches hold. Three real products instead of four would be faster and lose
//! what is small beside the other part, on which derivatives by complex steps rest.
//! Never splits over threads. Invariant: the inner axis is cut into the same pieces whichever block of the result is
//! computed.

use super::super::leveled::leveled;
use super::super::room::{Bits, Room, bytes_of};
use super::product::{Mat, Size};
use super::tile::{Place, TilePart, Tiles};
use crate::dtype::{Complex64, Complex128};

/// Inner size of a piece: of `b`, the rows of a tile fit into the first cache.
const DEPTH: usize = 128;
/// Rows of `a` that are packed together, a multiple of the rows of every tile.
const HIGH: usize = 96;
/// Columns of `b` that are packed together.
const WIDE: usize = 512;

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
    // The rows of the result are to be the contiguous ones: else the transposed product is computed.
    let turned = if s.n == 1 { s.m > 1 } else { c.cs.unsigned_abs() > c.rs.unsigned_abs() };
    // SAFETY: the caller's contract, also for the transposed product.
    unsafe {
        if turned {
            let s = Size { m: s.n, n: s.m, k: s.k };
            panels(s, c.transposed(), keep, b.transposed(), a.transposed(), minus);
        } else {
            panels(s, c, keep, a, b, minus);
        }
    }
}

/// # Safety
/// As `multiply`.
unsafe fn panels<T: TilePart + Bits>(
    s: Size,
    c: Mat<*mut [T; 2]>,
    keep: bool,
    a: Mat<*const [T; 2]>,
    b: Mat<*const [T; 2]>,
    minus: bool,
) {
    let tiles = T::tiles();
    let [deep, high] = [s.k.min(DEPTH), s.m.min(HIGH).next_multiple_of(tiles.rows[0])];
    let wide = s.n.min(WIDE).next_multiple_of(tiles.columns[0]);
    let (left, right) = (2 * deep * high, 2 * deep * wide);
    let mut room = Room::new(bytes_of::<T>(left) + bytes_of::<T>(right));
    let mut parts = room.parts();
    let (left, right) = (parts.take::<T>(left).as_mut_ptr(), parts.take::<T>(right).as_mut_ptr());
    for column in (0..s.n).step_by(WIDE) {
        let n = WIDE.min(s.n - column);
        let mut start = 0;
        while start < s.k || start == 0 {
            let k = DEPTH.min(s.k - start);
            // SAFETY: the pieces lie inside the operands, and the room holds them up to whole tiles.
            unsafe {
                pack_columns(tiles, k, n, b.from(start, column), right);
                for row in (0..s.m).step_by(HIGH) {
                    let m = HIGH.min(s.m - row);
                    pack_rows(tiles, m, k, a.from(row, start), minus, left);
                    let piece = Size { m, n, k };
                    block(tiles, piece, c.from(row, column), keep || start > 0, left, right);
                }
            }
            start += DEPTH;
        }
    }
}

/// The tile for what is left of an axis: the large one unless the small one covers it. Also its size.
fn fitting(sizes: [usize; 2], left: usize) -> (usize, usize) {
    let small = usize::from(left <= sizes[1]);
    (small, sizes[small])
}

/// # Safety
/// The packed operands are of this size, and the result is writable.
unsafe fn block<T: TilePart>(
    tiles: &Tiles<T>,
    s: Size,
    c: Mat<*mut [T; 2]>,
    keep: bool,
    left: *const T,
    right: *const T,
) {
    let (mut j, mut b) = (0, right);
    while j < s.n {
        let (narrow, wide) = fitting(tiles.columns, s.n - j);
        let (mut i, mut a) = (0, left);
        while i < s.m {
            let (low, high) = fitting(tiles.rows, s.m - i);
            let to = Place {
                ptr: c.from(i, j).ptr,
                strides: [c.rs, c.cs],
                rows: high.min(s.m - i),
                columns: wide.min(s.n - j),
                keep,
            };
            // SAFETY: the caller's contract.
            unsafe {
                (tiles.run[low][narrow])(s.k, a, b, to);
                a = a.add(2 * high * s.k);
            }
            i += high;
        }
        // SAFETY: as above.
        b = unsafe { b.add(2 * wide * s.k) };
        j += wide;
    }
}

/// Packs rows of `a`: for each tile, column after column of complex numbers, with zeros where there is no row.
///
/// # Safety
/// The matrix is readable, and `to` has room for whole tiles.
unsafe fn pack_rows<T: TilePart>(
    tiles: &Tiles<T>,
    m: usize,
    k: usize,
    a: Mat<*const [T; 2]>,
    minus: bool,
    to: *mut T,
) {
    let (mut i, mut to) = (0, to.cast::<[T; 2]>());
    while i < m {
        let (_, high) = fitting(tiles.rows, m - i);
        let rows = high.min(m - i);
        for r in 0..high {
            let from = a.from(i + r, 0).ptr;
            for p in 0..k {
                // SAFETY: the caller's contract.
                unsafe {
                    *to.add(p * high + r) = if r >= rows {
                        [T::default(); 2]
                    } else {
                        let [x, y] = *from.offset(p as isize * a.cs);
                        if minus { [-x, -y] } else { [x, y] }
                    };
                }
            }
        }
        // SAFETY: as above.
        to = unsafe { to.add(high * k) };
        i += high;
    }
}

/// Packs columns of `b`: for each tile, row after row, real parts before imaginary ones.
///
/// # Safety
/// As `pack_rows`.
unsafe fn pack_columns<T: TilePart>(
    tiles: &Tiles<T>,
    k: usize,
    n: usize,
    b: Mat<*const [T; 2]>,
    to: *mut T,
) {
    let (mut j, mut to) = (0, to);
    while j < n {
        let (_, wide) = fitting(tiles.columns, n - j);
        let columns = wide.min(n - j);
        // SAFETY: the caller's contract.
        unsafe {
            if b.cs == 1 {
                planes(k, columns, wide, b.from(0, j), to);
            } else {
                across(k, columns, wide, b.from(0, j), to);
            }
            to = to.add(2 * wide * k);
        }
        j += wide;
    }
}

leveled! {
    /// Packs columns that are neighbours in memory.
    unsafe fn planes<T: TilePart>(k: usize, columns: usize, wide: usize, b: Mat<*const [T; 2]>, to: *mut T) = planes_body
}

/// # Safety
/// As `pack_rows`.
#[inline(always)]
unsafe fn planes_body<T: TilePart>(
    k: usize,
    columns: usize,
    wide: usize,
    b: Mat<*const [T; 2]>,
    to: *mut T,
) {
    for p in 0..k {
        // SAFETY: the caller's contract.
        unsafe {
            let (from, re) = (b.from(p, 0).ptr, to.add(2 * wide * p));
            let im = re.add(wide);
            for j in 0..columns {
                let [x, y] = *from.add(j);
                *re.add(j) = x;
                *im.add(j) = y;
            }
            for j in columns..wide {
                (*re.add(j), *im.add(j)) = (T::default(), T::default());
            }
        }
    }
}

/// Packs columns along their strides.
///
/// # Safety
/// As `pack_rows`.
unsafe fn across<T: TilePart>(
    k: usize,
    columns: usize,
    wide: usize,
    b: Mat<*const [T; 2]>,
    to: *mut T,
) {
    for j in 0..wide {
        for p in 0..k {
            // SAFETY: the caller's contract.
            unsafe {
                let [x, y] = if j < columns { *b.from(p, j).ptr } else { [T::default(); 2] };
                let at = to.add(2 * wide * p + j);
                *at = x;
                *at.add(wide) = y;
            }
        }
    }
}
