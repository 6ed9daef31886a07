//! The ways of lines that follow on each other to the lanes of rows and back, by transposes of tiles.
//!
//! Owns: these ways. Never passes: `rows` does.
//! Invariant: the same line has the same lane at every position.

use std::mem::MaybeUninit;

use rustfft::num_complex::Complex;

use super::passes::Row;
use super::simd::Vector;

/// The numbers of a vector, which are the lines and the positions of a tile.
#[inline(always)]
const fn near<V: Vector>() -> usize {
    V::LANES / 2
}

/// Copies lines to rows; lanes without a line are as the last one. Parts change places where it is not `forward`.
///
/// # Safety
/// The lines are readable, and there are `n` rows.
#[inline(always)]
pub(super) unsafe fn gather<V: Vector>(
    n: usize,
    from: *const Complex<V::Part>,
    lines: usize,
    rows: *mut Row<V>,
    forward: bool,
) {
    let whole = n - n % near::<V>();
    let parts = |[re, im]: Row<V>| if forward { [re, im] } else { [im, re] };
    // SAFETY: the caller's contract; zeros are numbers.
    unsafe {
        for start in (0..whole).step_by(near::<V>()) {
            let mut tiles = [[V::zero(); 8]; 2];
            for line in 0..V::LANES {
                let from = from.add(line.min(lines - 1) * n + start);
                tiles[line / near::<V>()][line % near::<V>()] = V::read(from.cast());
            }
            let [a, b] = [V::transposed(tiles[0]), V::transposed(tiles[1])];
            for i in 0..near::<V>() {
                *rows.add(start + i) = parts(V::split(a[i], b[i]));
            }
        }
        for i in whole..n {
            let mut numbers = MaybeUninit::<[V; 2]>::uninit();
            for line in 0..V::LANES {
                let number = *from.add(line.min(lines - 1) * n + i);
                numbers.as_mut_ptr().cast::<Complex<V::Part>>().add(line).write(number);
            }
            let [a, b] = numbers.assume_init();
            *rows.add(i) = parts(V::split(a, b));
        }
    }
}

/// The reverse of `gather`.
///
/// # Safety
/// There are `n` rows, and the lines are writable.
#[inline(always)]
pub(super) unsafe fn scatter<V: Vector>(
    n: usize,
    rows: *const Row<V>,
    to: *mut Complex<V::Part>,
    lines: usize,
    forward: bool,
) {
    let whole = n - n % near::<V>();
    let numbers = |[re, im]: Row<V>| V::join(if forward { [re, im] } else { [im, re] });
    // SAFETY: the caller's contract.
    unsafe {
        for start in (0..whole).step_by(near::<V>()) {
            let mut tiles = [[V::zero(); 8]; 2];
            // A loop over indices is unrolled, so that tiles stay in registers.
            #[allow(clippy::needless_range_loop)]
            for i in 0..near::<V>() {
                [tiles[0][i], tiles[1][i]] = numbers(*rows.add(start + i));
            }
            let tiles = [V::transposed(tiles[0]), V::transposed(tiles[1])];
            for line in 0..V::LANES {
                if line < lines {
                    let to = to.add(line * n + start);
                    tiles[line / near::<V>()][line % near::<V>()].write(to.cast());
                }
            }
        }
        for i in whole..n {
            let row = numbers(*rows.add(i));
            for line in 0..lines {
                *to.add(line * n + i) = *(&raw const row).cast::<Complex<V::Part>>().add(line);
            }
        }
    }
}
