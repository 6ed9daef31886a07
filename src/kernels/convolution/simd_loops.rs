//! SIMD micro-kernels of convolutions: tiles of eight channels, four rows of one channel, and
//! products with windows.
//!
//! For CPU levels with fused multiply-add. Invariant: an element of a tile or row is one chain of
//! fused multiply-adds in the order of the taps, at every level; window products exist for one
//! level only.

use crate::kernels::isa::{Level, level};

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
pub(super) trait ConvTile: Sized {
    /// Positions of a tile: three of the widest vectors.
    const TILE_POSITIONS: usize;

    /// `y[k][p] = start[k] + sum(w[t][k] x[taps[t] + p])` over the taps `t`, for `TILE_CHANNELS`
    /// channels `k` and `TILE_POSITIONS` positions `p`. If the flag beside `start` is true,
    /// accumulates to `y` instead of starting from `start`. Rows of `y` are the second of its pair
    /// apart.
    ///
    /// # Safety
    /// `x` holds `TILE_POSITIONS` elements from each tap on, `w` a row of `TILE_CHANNELS` for each,
    /// `start` `TILE_CHANNELS` elements and `y` as many rows; tiles are available.
    unsafe fn tile(
        x: *const Self,
        taps: &[usize],
        w: *const Self,
        start: (*const Self, bool),
        y: (*mut Self, usize),
    );

    /// `y[i][j] = start + sum(w[t] x[taps[t] + i stride + j])` over the taps `t`, for rows
    /// `i` and columns `j`.
    ///
    /// # Safety
    /// `x` holds these rows and 16 elements behind them from each tap on, `w` one element for each,
    /// `y` the rows; tiles are available.
    unsafe fn rows(
        x: *const Self,
        taps: &[usize],
        w: (*const Self, Self),
        y: *mut Self,
        lines: RowLayout,
    );

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

/// A tile of three vectors by this many channels.
#[cfg(target_arch = "x86_64")]
macro_rules! tile {
    ($name:ident, $t:ty, $features:literal, $lanes:literal by $channels:literal,
     $load:ident, $splat:ident, $fma:ident, $store:ident) => {
        /// # Safety
        /// As `ConvTile::tile`, for a part of its channels and positions.
        #[target_feature(enable = $features)]
        unsafe fn $name(
            x: *const $t,
            taps: &[usize],
            w: *const $t,
            (start, more): (*const $t, bool),
            (y, apart): (*mut $t, usize),
        ) {
            use std::arch::x86_64::{$fma, $load, $splat, $store};
            // SAFETY: the caller's contract.
            unsafe {
                let mut sums = [[$splat(0.0); 3]; $channels];
                for k in 0..$channels {
                    sums[k] = if more {
                        let y = y.add(k * apart);
                        [$load(y), $load(y.add($lanes)), $load(y.add(2 * $lanes))]
                    } else {
                        [$splat(*start.add(k)); 3]
                    };
                }
                let mut w = w;
                for &tap in taps {
                    let x = x.add(tap);
                    let x = [$load(x), $load(x.add($lanes)), $load(x.add(2 * $lanes))];
                    for k in 0..$channels {
                        let w = $splat(*w.add(k));
                        sums[k][0] = $fma(w, x[0], sums[k][0]);
                        sums[k][1] = $fma(w, x[1], sums[k][1]);
                        sums[k][2] = $fma(w, x[2], sums[k][2]);
                    }
                    w = w.add(TILE_CHANNELS);
                }
                for k in 0..$channels {
                    let y = y.add(k * apart);
                    $store(y, sums[k][0]);
                    $store(y.add($lanes), sums[k][1]);
                    $store(y.add(2 * $lanes), sums[k][2]);
                }
            }
        }
    };
}

/// Four rows of one channel, a vector of each at a time. The last vector of a row overlaps the one
/// before; in rows shorter than a vector, elements stored beyond a row are overwritten by the next
/// row.
#[cfg(target_arch = "x86_64")]
macro_rules! rows {
    ($name:ident, $t:ty, $features:literal, $lanes:literal, $load:ident, $splat:ident, $fma:ident, $store:ident) => {
        /// # Safety
        /// As `ConvTile::rows`.
        #[target_feature(enable = $features)]
        unsafe fn $name(
            x: *const $t,
            taps: &[usize],
            (w, start): (*const $t, $t),
            y: *mut $t,
            lines: RowLayout,
        ) {
            use std::arch::x86_64::{$fma, $load, $splat, $store};
            const ROWS: usize = 4;
            let (width, end) = (lines.width, lines.rows * lines.width);
            for first in (0..lines.rows).step_by(ROWS) {
                // Missing rows repeat the last one.
                let rows: [usize; ROWS] = std::array::from_fn(|r| (first + r).min(lines.rows - 1));
                let from = rows.map(|row| row * lines.stride);
                for j in (0..width).step_by($lanes) {
                    let j = j.min(width.saturating_sub($lanes));
                    // SAFETY: the caller's contract.
                    unsafe {
                        let x = x.add(j);
                        let mut sums = [$splat(start); ROWS];
                        for (t, &tap) in taps.iter().enumerate() {
                            let (x, w) = (x.add(tap), $splat(*w.add(t)));
                            for r in 0..ROWS {
                                sums[r] = $fma(w, $load(x.add(from[r])), sums[r]);
                            }
                        }
                        for r in 0..ROWS {
                            let at = rows[r] * width + j;
                            if at + $lanes <= end {
                                $store(y.add(at), sums[r]);
                                continue;
                            }
                            let mut part = [0.0; $lanes];
                            $store(part.as_mut_ptr(), sums[r]);
                            for (k, &sum) in part.iter().enumerate().take(end - at) {
                                *y.add(at + k) = sum;
                            }
                        }
                    }
                }
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
rows! { rows512_f32, f32, "avx512f", 16, _mm512_loadu_ps, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_storeu_ps }
#[cfg(target_arch = "x86_64")]
rows! { rows512_f64, f64, "avx512f", 8, _mm512_loadu_pd, _mm512_set1_pd, _mm512_fmadd_pd, _mm512_storeu_pd }
#[cfg(target_arch = "x86_64")]
rows! { rows256_f32, f32, "avx2,fma", 8, _mm256_loadu_ps, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_storeu_ps }
#[cfg(target_arch = "x86_64")]
rows! { rows256_f64, f64, "avx2,fma", 4, _mm256_loadu_pd, _mm256_set1_pd, _mm256_fmadd_pd, _mm256_storeu_pd }

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
    ($t:ty, $wide:literal, $whole:ident, $part:ident, $rows:ident, $half:ident, $products:ident) => {
        impl ConvTile for $t {
            const TILE_POSITIONS: usize = $wide;

            #[cfg(target_arch = "x86_64")]
            unsafe fn tile(
                x: *const $t,
                taps: &[usize],
                w: *const $t,
                (start, more): (*const $t, bool),
                (y, apart): (*mut $t, usize),
            ) {
                // SAFETY: the caller's contract; the level has the features.
                unsafe {
                    if level() == Level::Avx512 {
                        return $whole(x, taps, w, (start, more), (y, apart));
                    }
                    // AVX2 has half as many registers of half the width.
                    for (at, k) in [(0, 0), (0, 4), ($wide / 2, 0), ($wide / 2, 4)] {
                        let y = (y.add(k * apart + at), apart);
                        $part(x.add(at), taps, w.add(k), (start.add(k), more), y);
                    }
                }
            }

            #[cfg(target_arch = "x86_64")]
            unsafe fn rows(
                x: *const $t,
                taps: &[usize],
                w: (*const $t, $t),
                y: *mut $t,
                lines: RowLayout,
            ) {
                // SAFETY: the caller's contract; the level has the features.
                unsafe {
                    if level() == Level::Avx512 {
                        $rows(x, taps, w, y, lines)
                    } else {
                        $half(x, taps, w, y, lines)
                    }
                }
            }

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
            unsafe fn rows(
                _: *const $t,
                _: &[usize],
                _: (*const $t, $t),
                _: *mut $t,
                _: RowLayout,
            ) {
                unreachable!("tiles are not available")
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

            #[cfg(not(target_arch = "x86_64"))]
            unsafe fn tile(
                _: *const $t,
                _: &[usize],
                _: *const $t,
                _: (*const $t, bool),
                _: (*mut $t, usize),
            ) {
                unreachable!("tiles are not available")
            }
        }
    };
}
tiles! { f32, 48, whole_f32, part_f32, rows512_f32, rows256_f32, products_f32 }
tiles! { f64, 24, whole_f64, part_f64, rows512_f64, rows256_f64, products_f64 }

#[cfg(target_arch = "x86_64")]
tile! { whole_f32, f32, "avx512f", 16 by 8, _mm512_loadu_ps, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_storeu_ps }
#[cfg(target_arch = "x86_64")]
tile! { whole_f64, f64, "avx512f", 8 by 8, _mm512_loadu_pd, _mm512_set1_pd, _mm512_fmadd_pd, _mm512_storeu_pd }
#[cfg(target_arch = "x86_64")]
tile! { part_f32, f32, "avx2,fma", 8 by 4, _mm256_loadu_ps, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_storeu_ps }
#[cfg(target_arch = "x86_64")]
tile! { part_f64, f64, "avx2,fma", 4 by 4, _mm256_loadu_pd, _mm256_set1_pd, _mm256_fmadd_pd, _mm256_storeu_pd }
