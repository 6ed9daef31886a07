//! Loads and stores contiguous lines as rows of vectors, by transposes of tiles.
//!
//! Invariant: a line has the same lane at every position.

use std::mem::MaybeUninit;

use rustfft::num_complex::Complex;

use super::passes::Row;
use crate::kernels::fft::float::Vector;

/// Complex numbers in a vector: the side of a tile.
#[inline(always)]
const fn tile_side<V: Vector>() -> usize {
    V::LANES / 2
}

/// Copies lines to rows; unused lanes repeat the last line. Unless `forward`, swaps real and
/// imaginary parts.
///
/// # Safety
/// The lines are readable, and the `n` rows are writable.
#[inline(always)]
pub(super) unsafe fn gather<V: Vector>(
    n: usize,
    from: *const Complex<V::Scalar>,
    lines: usize,
    rows: *mut Row<V>,
    forward: bool,
) {
    let whole = n - n % tile_side::<V>();
    let parts = |[re, im]: Row<V>| if forward { [re, im] } else { [im, re] };
    // SAFETY: the caller's contract; zeros are numbers.
    unsafe {
        for start in (0..whole).step_by(tile_side::<V>()) {
            let mut tiles = [[V::zero(); 8]; 2];
            for line in 0..V::LANES {
                let from = from.add(line.min(lines - 1) * n + start);
                tiles[line / tile_side::<V>()][line % tile_side::<V>()] = V::load(from.cast());
            }
            let [a, b] = [V::transpose(tiles[0]), V::transpose(tiles[1])];
            for i in 0..tile_side::<V>() {
                *rows.add(start + i) = parts(V::deinterleave(a[i], b[i]));
            }
        }
        for i in whole..n {
            let mut numbers = MaybeUninit::<[V; 2]>::uninit();
            for line in 0..V::LANES {
                let number = *from.add(line.min(lines - 1) * n + i);
                numbers.as_mut_ptr().cast::<Complex<V::Scalar>>().add(line).write(number);
            }
            let [a, b] = numbers.assume_init();
            *rows.add(i) = parts(V::deinterleave(a, b));
        }
    }
}

/// The inverse of `gather`.
///
/// # Safety
/// The `n` rows are readable, and the lines are writable.
#[inline(always)]
pub(super) unsafe fn scatter<V: Vector>(
    n: usize,
    rows: *const Row<V>,
    to: *mut Complex<V::Scalar>,
    lines: usize,
    forward: bool,
) {
    let whole = n - n % tile_side::<V>();
    let numbers = |[re, im]: Row<V>| V::interleave(if forward { [re, im] } else { [im, re] });
    // SAFETY: the caller's contract.
    unsafe {
        for start in (0..whole).step_by(tile_side::<V>()) {
            let mut tiles = [[V::zero(); 8]; 2];
            // LLVM unrolls a loop over indices, which keeps the tiles in registers.
            #[allow(clippy::needless_range_loop)]
            for i in 0..tile_side::<V>() {
                [tiles[0][i], tiles[1][i]] = numbers(*rows.add(start + i));
            }
            let tiles = [V::transpose(tiles[0]), V::transpose(tiles[1])];
            for line in 0..V::LANES {
                if line < lines {
                    let to = to.add(line * n + start);
                    tiles[line / tile_side::<V>()][line % tile_side::<V>()].store(to.cast());
                }
            }
        }
        for i in whole..n {
            let row = numbers(*rows.add(i));
            for line in 0..lines {
                *to.add(line * n + i) = *(&raw const row).cast::<Complex<V::Scalar>>().add(line);
            }
        }
    }
}
