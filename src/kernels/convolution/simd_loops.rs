//! SIMD micro-kernels of convolutions: tiles of eight channels, four rows of one channel, and
//! products with windows.
//!
//! For CPU levels with fused multiply-add. Invariant: an element of a tile or row is one chain of
//! fused multiply-adds in the order of the taps, at every level; window products exist for one
//! level only.

use crate::kernels::isa::{Level, level};
use crate::kernels::simd::{Lanes, SimdFloat, leveled_simd};

/// Output channels of a tile.
pub(super) const TILE_CHANNELS: usize = 8;
/// Most positions of a tile.
pub(super) const MAX_POSITIONS: usize = 48;

/// Whether this CPU has these tiles.
pub(super) fn available() -> bool {
    cfg!(target_arch = "x86_64") && level() != Level::Baseline
}

/// Whether this CPU has window products.
pub(super) fn windows_available() -> bool {
    cfg!(target_arch = "x86_64") && level() == Level::Avx512
}

/// Rows of an output and the corresponding rows of an image: count, length, and stride in the
/// image.
#[derive(Clone, Copy)]
pub(super) struct RowLayout {
    pub(super) rows: usize,
    pub(super) width: usize,
    pub(super) stride: usize,
}

/// A float type with tiles.
pub(super) trait ConvTile: SimdFloat {
    /// Positions of a tile: three of the widest vectors.
    const TILE_POSITIONS: usize = 192 / size_of::<Self>();

    /// The sums of `y[k][i][j] x[windows[t] + i stride + j]` over the rows `i` and columns
    /// `j`, for some channels `k`.
    ///
    /// # Safety
    /// `x` and every `y` hold these rows; window products are available.
    unsafe fn window_products<const WINDOWS: usize, const CHANNELS: usize>(
        x: *const Self,
        windows: [usize; WINDOWS],
        y: [*const Self; CHANNELS],
        lines: RowLayout,
    ) -> [[Self; WINDOWS]; CHANNELS];
}

leveled_simd! {
    /// `y[k][p] = start[k] + sum(w[t][k] x[taps[t] + p])` over the taps `t`, for `TILE_CHANNELS`
    /// channels `k` and `TILE_POSITIONS` positions `p`. If the flag beside `start` is true,
    /// accumulates to `y` instead of starting from `start`. Rows of `y` are the second of its pair
    /// apart.
    pub(super) unsafe fn multiply_tile<T: ConvTile>(
        x: *const T, taps: &[usize], w: *const T, start: (*const T, bool), y: (*mut T, usize),
    ) -> Option<()> = multiply_tile_body
}

/// # Safety
/// `x` holds `TILE_POSITIONS` elements from each tap on, `w` a row of `TILE_CHANNELS` for each,
/// `start` `TILE_CHANNELS` elements and `y` as many rows; the CPU has these vectors.
#[inline(always)]
unsafe fn multiply_tile_body<V: Lanes>(
    x: *const V::Scalar,
    taps: &[usize],
    w: *const V::Scalar,
    (start, more): (*const V::Scalar, bool),
    (y, apart): (*mut V::Scalar, usize),
) {
    // SAFETY: the caller's contract.
    unsafe {
        if V::AVX512 {
            return multiply_part::<V, TILE_CHANNELS>(x, taps, w, (start, more), (y, apart));
        }
        // AVX2 has half as many registers of half the width.
        for (at, k) in [(0, 0), (0, 4), (3 * V::LANES, 0), (3 * V::LANES, 4)] {
            let y = (y.add(k * apart + at), apart);
            multiply_part::<V, 4>(x.add(at), taps, w.add(k), (start.add(k), more), y);
        }
    }
}

/// The part of a tile that has `CHANNELS` channels and three vectors of positions.
///
/// # Safety
/// As `multiply_tile`, for this part.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
unsafe fn multiply_part<V: Lanes, const CHANNELS: usize>(
    x: *const V::Scalar,
    taps: &[usize],
    w: *const V::Scalar,
    (start, more): (*const V::Scalar, bool),
    (y, apart): (*mut V::Scalar, usize),
) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut sums = [[V::zero(); 3]; CHANNELS];
        for k in 0..CHANNELS {
            sums[k] = if more {
                let y = y.add(k * apart);
                [V::load(y), V::load(y.add(V::LANES)), V::load(y.add(2 * V::LANES))]
            } else {
                [V::splat(*start.add(k)); 3]
            };
        }
        let mut w = w;
        for &tap in taps {
            let x = x.add(tap);
            let x = [V::load(x), V::load(x.add(V::LANES)), V::load(x.add(2 * V::LANES))];
            for k in 0..CHANNELS {
                let w = V::splat(*w.add(k));
                sums[k][0] = w.mul_add(x[0], sums[k][0]);
                sums[k][1] = w.mul_add(x[1], sums[k][1]);
                sums[k][2] = w.mul_add(x[2], sums[k][2]);
            }
            w = w.add(TILE_CHANNELS);
        }
        for k in 0..CHANNELS {
            let y = y.add(k * apart);
            sums[k][0].store(y);
            sums[k][1].store(y.add(V::LANES));
            sums[k][2].store(y.add(2 * V::LANES));
        }
    }
}

leveled_simd! {
    /// `y[i][j] = start + sum(w[t] x[taps[t] + i stride + j])` over the taps `t`, for rows `i` and
    /// columns `j`; `start` is the second of the pair with `w`.
    pub(super) unsafe fn multiply_rows<T: ConvTile>(
        x: *const T, taps: &[usize], w: (*const T, T), y: *mut T, lines: RowLayout,
    ) -> Option<()> = multiply_rows_body
}

/// Four rows, a vector of each at a time. The last vector of a row overlaps the one before; in rows
/// shorter than a vector, elements stored beyond a row are overwritten by the next row.
///
/// # Safety
/// `x` holds these rows and 16 elements behind them from each tap on, `w` one element for each, `y`
/// the rows; the CPU has these vectors.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
unsafe fn multiply_rows_body<V: Lanes>(
    x: *const V::Scalar,
    taps: &[usize],
    (w, start): (*const V::Scalar, V::Scalar),
    y: *mut V::Scalar,
    lines: RowLayout,
) {
    const ROWS: usize = 4;
    let (width, end) = (lines.width, lines.rows * lines.width);
    for first in (0..lines.rows).step_by(ROWS) {
        // Missing rows repeat the last one.
        let rows: [usize; ROWS] = std::array::from_fn(|r| (first + r).min(lines.rows - 1));
        let from = rows.map(|row| row * lines.stride);
        for j in (0..width).step_by(V::LANES) {
            let j = j.min(width.saturating_sub(V::LANES));
            // SAFETY: the caller's contract.
            unsafe {
                let x = x.add(j);
                let mut sums = [V::splat(start); ROWS];
                for (t, &tap) in taps.iter().enumerate() {
                    let (x, w) = (x.add(tap), V::splat(*w.add(t)));
                    for r in 0..ROWS {
                        sums[r] = w.mul_add(V::load(x.add(from[r])), sums[r]);
                    }
                }
                for r in 0..ROWS {
                    let at = rows[r] * width + j;
                    if at + V::LANES <= end {
                        sums[r].store(y.add(at));
                    } else {
                        sums[r].masked_store(y.add(at), V::first_n(end - at));
                    }
                }
            }
        }
    }
}

/// Window products. Both operands are masked at the end of a row, because the elements beyond may
/// be NaN.
#[cfg(target_arch = "x86_64")]
macro_rules! products {
    ($name:ident, $t:ty, $mask:ty, $lanes:literal, $load:ident, $zero:ident, $fma:ident, $sum:ident) => {
        /// # Safety
        /// As `ConvTile::window_products`.
        #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl")]
        unsafe fn $name<const WINDOWS: usize, const CHANNELS: usize>(
            x: *const $t,
            windows: [usize; WINDOWS],
            y: [*const $t; CHANNELS],
            lines: RowLayout,
        ) -> [[$t; WINDOWS]; CHANNELS] {
            use std::arch::x86_64::{$fma, $load, $sum, $zero};
            let mut sums = [[$zero(); WINDOWS]; CHANNELS];
            for row in 0..lines.rows {
                let mut j = 0;
                while j < lines.width {
                    let left = lines.width - j;
                    let mask = if left < $lanes { (1 << left) - 1 } else { <$mask>::MAX };
                    // SAFETY: the caller's contract.
                    unsafe {
                        let at = x.add(row * lines.stride + j);
                        let mut x = [$zero(); WINDOWS];
                        for t in 0..WINDOWS {
                            x[t] = $load(mask, at.add(windows[t]));
                        }
                        for k in 0..CHANNELS {
                            let y = $load(mask, y[k].add(row * lines.width + j));
                            for t in 0..WINDOWS {
                                sums[k][t] = $fma(y, x[t], sums[k][t]);
                            }
                        }
                    }
                    j += $lanes;
                }
            }
            // Loops, not closures: LLVM would call those with vectors in memory.
            let mut all = [[0.0; WINDOWS]; CHANNELS];
            for k in 0..CHANNELS {
                for t in 0..WINDOWS {
                    all[k][t] = $sum(sums[k][t]);
                }
            }
            all
        }
    };
}
#[cfg(target_arch = "x86_64")]
products! { products_f32, f32, u16, 16, _mm512_maskz_loadu_ps, _mm512_setzero_ps, _mm512_fmadd_ps, _mm512_reduce_add_ps }
#[cfg(target_arch = "x86_64")]
products! { products_f64, f64, u8, 8, _mm512_maskz_loadu_pd, _mm512_setzero_pd, _mm512_fmadd_pd, _mm512_reduce_add_pd }

macro_rules! tiles {
    ($($t:ty, $products:ident;)*) => {$(
        impl ConvTile for $t {
            #[cfg(target_arch = "x86_64")]
            unsafe fn window_products<const WINDOWS: usize, const CHANNELS: usize>(
                x: *const $t,
                windows: [usize; WINDOWS],
                y: [*const $t; CHANNELS],
                lines: RowLayout,
            ) -> [[$t; WINDOWS]; CHANNELS] {
                // SAFETY: the caller's contract.
                unsafe { $products(x, windows, y, lines) }
            }

            #[cfg(not(target_arch = "x86_64"))]
            unsafe fn window_products<const WINDOWS: usize, const CHANNELS: usize>(
                _: *const $t,
                _: [usize; WINDOWS],
                _: [*const $t; CHANNELS],
                _: RowLayout,
            ) -> [[$t; WINDOWS]; CHANNELS] {
                unreachable!("products with windows are not available")
            }
        }
    )*};
}
tiles! { f32, products_f32; f64, products_f64; }
