//! The innermost loop of a direct convolution: eight channels of a result at neighbouring positions, in registers.
//!
//! Owns: `Tile`, for the levels that have fused multiply-add. Never walks over images.
//! Invariant: every element is one chain of fused multiply-adds in the order of the taps, at every level.

use crate::kernels::isa::{Level, level};

/// Channels of a tile.
pub(super) const OUT: usize = 8;
/// Positions of a tile, at most.
pub(super) const MOST: usize = 48;

/// Whether this process has such tiles.
pub(super) fn available() -> bool {
    cfg!(target_arch = "x86_64") && level() != Level::Baseline
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

macro_rules! tiles {
    ($t:ty, $wide:literal, $whole:ident, $part:ident) => {
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

            #[cfg(not(target_arch = "x86_64"))]
            unsafe fn tile(_: *const $t, _: &[usize], _: *const $t, _: *const $t, _: *mut $t) {
                unreachable!("tiles are not available")
            }
        }
    };
}
tiles! { f32, 48, whole_f32, part_f32 }
tiles! { f64, 24, whole_f64, part_f64 }

#[cfg(target_arch = "x86_64")]
tile! { whole_f32, f32, "avx512f", 16 by 8, _mm512_loadu_ps, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_storeu_ps }
#[cfg(target_arch = "x86_64")]
tile! { whole_f64, f64, "avx512f", 8 by 8, _mm512_loadu_pd, _mm512_set1_pd, _mm512_fmadd_pd, _mm512_storeu_pd }
#[cfg(target_arch = "x86_64")]
tile! { part_f32, f32, "avx2,fma", 8 by 4, _mm256_loadu_ps, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_storeu_ps }
#[cfg(target_arch = "x86_64")]
tile! { part_f64, f64, "avx2,fma", 4 by 4, _mm256_loadu_pd, _mm256_set1_pd, _mm256_fmadd_pd, _mm256_storeu_pd }
