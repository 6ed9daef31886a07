//! The innermost loops of direct convolutions: eight channels of a result at neighbouring positions, or their products with
//! three windows, in registers.
//!
//! Owns: `Tile`, for the levels that have fused multiply-add. Never walks over images.
//! Invariant: an element of a tile is one chain of fused multiply-adds in the order of the taps, at every level; products with
//! windows are for one level only.

use crate::kernels::isa::{Level, level};

/// Channels of a tile.
pub(super) const OUT: usize = 8;
/// Positions of a tile, at most.
pub(super) const MOST: usize = 48;

/// Whether this process has such tiles.
pub(super) fn available() -> bool {
    cfg!(target_arch = "x86_64") && level() != Level::Baseline
}

/// Whether this process has products with windows.
pub(super) fn windows_available() -> bool {
    cfg!(target_arch = "x86_64") && level() == Level::Avx512
}

/// Windows whose products are taken together.
pub(super) const WINDOWS: usize = 3;

/// Rows of a result beside the rows of an image: how many, their length, and how far those of the image are apart.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    pub(super) rows: usize,
    pub(super) width: usize,
    pub(super) apart: usize,
}

/// A float with tiles.
pub(super) trait Tile: Sized {
    /// Positions of a tile: three of the widest vectors.
    const WIDE: usize;

    /// `y[k][p] = start[k] + sum(w[t][k] x[taps[t] + p])` over the taps `t`, for `OUT` channels `k` and `WIDE` positions `p`.
    ///
    /// # Safety
    /// `x` holds `WIDE` elements from each tap on, `w` a row of `OUT` for each, `start` `OUT` elements and `y` as many rows;
    /// tiles are available.
    unsafe fn tile(
        x: *const Self,
        taps: &[usize],
        w: *const Self,
        start: *const Self,
        y: *mut Self,
    );

    /// The sums of `y[k][i][j] x[windows[t] + i apart + j]` over the rows `i` and columns `j`, for `OUT` channels `k`.
    ///
    /// # Safety
    /// `x` and every `y` hold these lines; products with windows are available.
    unsafe fn products(
        x: *const Self,
        windows: [usize; WINDOWS],
        y: [*const Self; OUT],
        lines: Lines,
    ) -> [[Self; WINDOWS]; OUT];
}

/// A tile of three vectors by so many channels.
#[cfg(target_arch = "x86_64")]
macro_rules! tile {
    ($name:ident, $t:ty, $features:literal, $lanes:literal by $channels:literal,
     $load:ident, $splat:ident, $fma:ident, $store:ident) => {
        /// # Safety
        /// As `Tile::tile`, for a part of its channels and positions.
        #[target_feature(enable = $features)]
        unsafe fn $name(x: *const $t, taps: &[usize], w: *const $t, start: *const $t, y: *mut $t) {
            use std::arch::x86_64::{$fma, $load, $splat, $store};
            // SAFETY: the caller's contract.
            unsafe {
                let mut sums = [[$splat(0.0); 3]; $channels];
                for k in 0..$channels {
                    sums[k] = [$splat(*start.add(k)); 3];
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
                    w = w.add(OUT);
                }
                for k in 0..$channels {
                    let y = y.add(k * <$t>::WIDE);
                    $store(y, sums[k][0]);
                    $store(y.add($lanes), sums[k][1]);
                    $store(y.add(2 * $lanes), sums[k][2]);
                }
            }
        }
    };
}

/// Products with windows. What is beyond a row is zero on both sides: it may be no number.
#[cfg(target_arch = "x86_64")]
macro_rules! products {
    ($name:ident, $t:ty, $mask:ty, $lanes:literal, $load:ident, $zero:ident, $fma:ident, $sum:ident) => {
        /// # Safety
        /// As `Tile::products`.
        #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl")]
        unsafe fn $name(
            x: *const $t,
            windows: [usize; WINDOWS],
            y: [*const $t; OUT],
            lines: Lines,
        ) -> [[$t; WINDOWS]; OUT] {
            use std::arch::x86_64::{$fma, $load, $sum, $zero};
            let mut sums = [[$zero(); WINDOWS]; OUT];
            for row in 0..lines.rows {
                let mut j = 0;
                while j < lines.width {
                    let left = lines.width - j;
                    let mask = if left < $lanes { (1 << left) - 1 } else { <$mask>::MAX };
                    // SAFETY: the caller's contract.
                    unsafe {
                        let at = x.add(row * lines.apart + j);
                        let x0 = $load(mask, at.add(windows[0]));
                        let x1 = $load(mask, at.add(windows[1]));
                        let x2 = $load(mask, at.add(windows[2]));
                        for k in 0..OUT {
                            let y = $load(mask, y[k].add(row * lines.width + j));
                            sums[k][0] = $fma(y, x0, sums[k][0]);
                            sums[k][1] = $fma(y, x1, sums[k][1]);
                            sums[k][2] = $fma(y, x2, sums[k][2]);
                        }
                    }
                    j += $lanes;
                }
            }
            let mut all = [[0.0; WINDOWS]; OUT];
            for k in 0..OUT {
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
    ($t:ty, $wide:literal, $whole:ident, $part:ident, $products:ident) => {
        impl Tile for $t {
            const WIDE: usize = $wide;

            #[cfg(target_arch = "x86_64")]
            unsafe fn tile(
                x: *const $t,
                taps: &[usize],
                w: *const $t,
                start: *const $t,
                y: *mut $t,
            ) {
                // SAFETY: the caller's contract; the level has the features.
                unsafe {
                    if level() == Level::Avx512 {
                        return $whole(x, taps, w, start, y);
                    }
                    // Half as many registers of half the width.
                    for (at, k) in [(0, 0), (0, 4), ($wide / 2, 0), ($wide / 2, 4)] {
                        let y = y.add(k * $wide + at);
                        $part(x.add(at), taps, w.add(k), start.add(k), y);
                    }
                }
            }

            #[cfg(target_arch = "x86_64")]
            unsafe fn products(
                x: *const $t,
                windows: [usize; WINDOWS],
                y: [*const $t; OUT],
                lines: Lines,
            ) -> [[$t; WINDOWS]; OUT] {
                // SAFETY: the caller's contract.
                unsafe { $products(x, windows, y, lines) }
            }

            #[cfg(not(target_arch = "x86_64"))]
            unsafe fn products(
                _: *const $t,
                _: [usize; WINDOWS],
                _: [*const $t; OUT],
                _: Lines,
            ) -> [[$t; WINDOWS]; OUT] {
                unreachable!("products with windows are not available")
            }

            #[cfg(not(target_arch = "x86_64"))]
            unsafe fn tile(_: *const $t, _: &[usize], _: *const $t, _: *const $t, _: *mut $t) {
                unreachable!("tiles are not available")
            }
        }
    };
}
tiles! { f32, 48, whole_f32, part_f32, products_f32 }
tiles! { f64, 24, whole_f64, part_f64, products_f64 }

#[cfg(target_arch = "x86_64")]
tile! { whole_f32, f32, "avx512f", 16 by 8, _mm512_loadu_ps, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_storeu_ps }
#[cfg(target_arch = "x86_64")]
tile! { whole_f64, f64, "avx512f", 8 by 8, _mm512_loadu_pd, _mm512_set1_pd, _mm512_fmadd_pd, _mm512_storeu_pd }
#[cfg(target_arch = "x86_64")]
tile! { part_f32, f32, "avx2,fma", 8 by 4, _mm256_loadu_ps, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_storeu_ps }
#[cfg(target_arch = "x86_64")]
tile! { part_f64, f64, "avx2,fma", 4 by 4, _mm256_loadu_pd, _mm256_set1_pd, _mm256_fmadd_pd, _mm256_storeu_pd }
