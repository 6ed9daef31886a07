//! Normalisation in vectors: the mean and the variance of a set or a row, and its elements scaled and shifted.
//!
//! Owns: the forward passes at the levels whose vectors can be masked. Never cuts a set.
//! Invariant: sums run over fixed blocks whose totals are kept in float64, in the order of the runs.

use super::channels::{At, Runs, reciprocal};
use super::rows::{Forward, Number};
use crate::dtype::Element;
use crate::kernels::simd::Lanes;

/// Elements of a block of a sum.
const BLOCK: usize = 1024;
/// Running sums side by side.
const SUMS: usize = 4;

/// A float of which there are vectors.
pub(super) trait InVectors: Number {
    /// The forward pass of one set, if the level of this process has vectors.
    ///
    /// # Safety
    /// `x` and `out` hold the runs, `weight` and `bias` an element for every channel, `stats` two for the set.
    unsafe fn forward(at: At<Self>, set: usize, runs: Runs, eps: f64) -> bool;
    /// The same of some rows.
    ///
    /// # Safety
    /// `x` and `y` hold `rows` rows of `n` elements, `stats` two elements per row, parameters `n` elements or none.
    unsafe fn rows_forward(
        at: Forward<Self>,
        n: usize,
        rows: usize,
        eps: f64,
        centred: bool,
    ) -> bool;
}

/// # Safety
/// As `InVectors::forward`, on a CPU with the vectors.
#[inline(always)]
unsafe fn forward<V: Lanes>(at: At<V::Part>, set: usize, runs: Runs, eps: f64)
where
    V::Part: Number,
{
    // SAFETY: the caller's contract.
    unsafe {
        let mut total = 0.0;
        for (start, len) in runs.joined() {
            total += sum::<V, false>(at.x.add(start), len, V::zero());
        }
        let mean = V::Part::from_f64(total / runs.elements());
        let shifted = V::all(V::Part::default() - mean);
        let mut squares = 0.0;
        for (start, len) in runs.joined() {
            squares += sum::<V, true>(at.x.add(start), len, shifted);
        }
        let var = V::Part::from_f64(squares / runs.elements());
        *at.stats.add(2 * set) = mean;
        *at.stats.add(2 * set + 1) = var;
        let r = V::Part::from_f64(reciprocal(var, eps));
        for i in 0..runs.count {
            let (run, channel) = runs.run(i);
            let (x, y) = (at.x.add(run * runs.inner), at.out.add(run * runs.inner));
            let factor = V::all(r * *at.weight.add(channel));
            scaled(x, y, runs.inner, [shifted, factor, V::all(*at.bias.add(channel))]);
        }
    }
}

/// # Safety
/// As `InVectors::rows_forward`, on a CPU with the vectors.
#[inline(always)]
unsafe fn rows_forward<V: Lanes>(
    at: Forward<V::Part>,
    n: usize,
    rows: usize,
    eps: f64,
    centred: bool,
) where
    V::Part: Number,
{
    let mut row = 0;
    while row < rows {
        // SAFETY: the caller's contract.
        unsafe {
            let (x, y) = (at.x.add(row * n), at.y.add(row * n));
            let mean = if centred { sum::<V, false>(x, n, V::zero()) / n as f64 } else { 0.0 };
            let mean = V::Part::from_f64(mean);
            let shift = V::all(V::Part::default() - mean);
            let squares = sum::<V, true>(x, n, shift);
            let scale = V::Part::from_f64((squares / n as f64 + eps).sqrt().recip());
            *at.stats.add(2 * row) = mean;
            *at.stats.add(2 * row + 1) = scale;
            weighed(x, y, n, [shift, V::all(scale)], [at.weight, at.bias]);
        }
        row += 1;
    }
}

/// `y = (x + shift) scale weight + bias`, of which the parameters may be missing.
///
/// # Safety
/// All hold `n` elements.
#[inline(always)]
unsafe fn weighed<V: Lanes>(
    x: *const V::Part,
    y: *mut V::Part,
    n: usize,
    [shift, scale]: [V; 2],
    [weight, bias]: [*const V::Part; 2],
) where
    V::Part: Number,
{
    let mut at = 0;
    while at < n {
        let mask = V::first(V::LANES.min(n - at));
        let (mut by, mut to) = (V::all(V::Part::from_f64(1.0)), V::zero());
        // SAFETY: the caller's contract; lanes beyond the row are neither read nor written.
        unsafe {
            let x = V::read_some(x.wrapping_add(at), mask).add(shift).fused(scale, to);
            if !weight.is_null() {
                by = V::read_some(weight.wrapping_add(at), mask);
            }
            if !bias.is_null() {
                to = V::read_some(bias.wrapping_add(at), mask);
            }
            x.fused(by, to).write_some(y.wrapping_add(at), mask);
        }
        at += V::LANES;
    }
}

/// The sum of `n` elements, or of the squares of what they are with `shift` added.
///
/// # Safety
/// There are so many.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
unsafe fn sum<V: Lanes, const SQUARES: bool>(x: *const V::Part, n: usize, shift: V) -> f64
where
    V::Part: Number,
{
    let mut total = 0.0;
    let mut start = 0;
    while start < n {
        let (x, n) = (x.wrapping_add(start), BLOCK.min(n - start));
        start += BLOCK;
        let mut sums = [V::zero(); SUMS];
        let whole = n - n % (SUMS * V::LANES);
        // SAFETY: the caller's contract; lanes beyond the elements are not read.
        unsafe {
            let mut at = 0;
            while at < whole {
                for j in 0..SUMS {
                    let x = V::read(x.wrapping_add(at + j * V::LANES));
                    sums[j] = added::<V, SQUARES>(sums[j], x, shift, None);
                }
                at += SUMS * V::LANES;
            }
            for j in 0..SUMS {
                let at = whole + j * V::LANES;
                if at >= n {
                    break;
                }
                let mask = V::first(V::LANES.min(n - at));
                let x = V::read_some(x.wrapping_add(at), mask);
                sums[j] = added::<V, SQUARES>(sums[j], x, shift, Some(mask));
            }
        }
        let [a, b, c, d] = sums;
        total += a.add(b).add(c.add(d)).total().to_f64();
    }
    total
}

#[inline(always)]
fn added<V: Lanes, const SQUARES: bool>(sum: V, x: V, shift: V, mask: Option<V::Mask>) -> V {
    if !SQUARES {
        return sum.add(x);
    }
    let mut gap = x.add(shift);
    if let Some(mask) = mask {
        gap = gap.kept(mask);
    }
    gap.fused(gap, sum)
}

/// `y = (x + shift) factor + bias`.
///
/// # Safety
/// Both hold `n` elements.
#[inline(always)]
unsafe fn scaled<V: Lanes>(
    x: *const V::Part,
    y: *mut V::Part,
    n: usize,
    [shift, factor, bias]: [V; 3],
) {
    let whole = n - n % V::LANES;
    // SAFETY: the caller's contract; lanes beyond the elements are neither read nor written.
    unsafe {
        let mut at = 0;
        while at < whole {
            let x = V::read(x.wrapping_add(at));
            x.add(shift).fused(factor, bias).write(y.wrapping_add(at));
            at += V::LANES;
        }
        if whole < n {
            let mask = V::first(n - whole);
            let x = V::read_some(x.wrapping_add(whole), mask);
            x.add(shift).fused(factor, bias).write_some(y.wrapping_add(whole), mask);
        }
    }
}

macro_rules! in_vectors {
    ($($t:ty: $avx512:ident $rows512:ident of $wide:ident, $avx2:ident $rows2:ident of $narrow:ident;)*) => {$(
        /// # Safety
        /// As `InVectors::rows_forward`.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,popcnt,bmi2")]
        unsafe fn $rows512(at: Forward<$t>, n: usize, rows: usize, eps: f64, centred: bool) {
            // SAFETY: the same contract.
            unsafe { rows_forward::<std::arch::x86_64::$wide>(at, n, rows, eps, centred) }
        }
        /// # Safety
        /// As `InVectors::rows_forward`.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn $rows2(at: Forward<$t>, n: usize, rows: usize, eps: f64, centred: bool) {
            // SAFETY: the same contract.
            unsafe { rows_forward::<std::arch::x86_64::$narrow>(at, n, rows, eps, centred) }
        }
        /// # Safety
        /// As `InVectors::forward`.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,popcnt,bmi2")]
        unsafe fn $avx512(at: At<$t>, set: usize, runs: Runs, eps: f64) {
            // SAFETY: the same contract.
            unsafe { forward::<std::arch::x86_64::$wide>(at, set, runs, eps) }
        }
        /// # Safety
        /// As `InVectors::forward`.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn $avx2(at: At<$t>, set: usize, runs: Runs, eps: f64) {
            // SAFETY: the same contract.
            unsafe { forward::<std::arch::x86_64::$narrow>(at, set, runs, eps) }
        }
        impl InVectors for $t {
            #[inline]
            unsafe fn forward(at: At<$t>, set: usize, runs: Runs, eps: f64) -> bool {
                #[cfg(target_arch = "x86_64")]
                {
                    use crate::kernels::isa::{Level, level};
                    // SAFETY: the CPU has the features of its level; the rest is the caller's contract.
                    unsafe {
                        match level() {
                            Level::Avx512 => $avx512(at, set, runs, eps),
                            Level::Avx2 => $avx2(at, set, runs, eps),
                            Level::Baseline => return false,
                        }
                    }
                    true
                }
                #[cfg(not(target_arch = "x86_64"))]
                {
                    let _ = (at, set, runs, eps);
                    false
                }
            }
            #[inline]
            unsafe fn rows_forward(at: Forward<$t>, n: usize, rows: usize, eps: f64, centred: bool) -> bool {
                #[cfg(target_arch = "x86_64")]
                {
                    use crate::kernels::isa::{Level, level};
                    // SAFETY: as above.
                    unsafe {
                        match level() {
                            Level::Avx512 => $rows512(at, n, rows, eps, centred),
                            Level::Avx2 => $rows2(at, n, rows, eps, centred),
                            Level::Baseline => return false,
                        }
                    }
                    true
                }
                #[cfg(not(target_arch = "x86_64"))]
                {
                    let _ = (at, n, rows, eps, centred);
                    false
                }
            }
        }
    )*};
}
in_vectors! {
    f64: avx512_f64 avx512_f64_rows of __m512d, avx2_f64 avx2_f64_rows of __m256d;
    f32: avx512_f32 avx512_f32_rows of __m512, avx2_f32 avx2_f32_rows of __m256;
}
