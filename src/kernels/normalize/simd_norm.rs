//! SIMD forward passes of normalisation, for CPU levels with masked vectors.
//!
//! Invariant: sums run over fixed blocks whose totals are kept in float64, in the order of the
//! runs; they have the same bits in vectors of either width.

use super::channels::{ChannelOperands, SetRuns, inverse_std};
use super::rows::{ForwardOperands, Number};
use crate::dtype::Element;
use crate::kernels::simd::{Lanes, leveled_simd};

/// Elements of a block of a sum.
const BLOCK: usize = 1024;
/// Bytes of all accumulators of a sum: the order of additions is the same at every vector width.
const ACCUMULATOR_BYTES: usize = 256;
/// Vectors in them where vectors are narrowest.
const MOST_ACCUMULATORS: usize = 8;

leveled_simd! {
    /// The forward pass of one set.
    pub(super) unsafe fn normalize_set<T: Number>(
        at: ChannelOperands<T>, set: usize, runs: SetRuns, eps: f64,
    ) -> Option<()> = normalize_set_body
}

leveled_simd! {
    /// The forward pass of some rows.
    pub(super) unsafe fn normalize_rows<T: Number>(
        at: ForwardOperands<T>, n: usize, rows: usize, eps: f64, centred: bool,
    ) -> Option<()> = normalize_rows_body
}

/// # Safety
/// `x` and `out` hold the runs, `weight` and `bias` an element for every channel, `stats` two for the
/// set; the CPU has these vectors.
#[inline(always)]
unsafe fn normalize_set_body<V: Lanes>(
    at: ChannelOperands<V::Scalar>,
    set: usize,
    runs: SetRuns,
    eps: f64,
) where
    V::Scalar: Number,
{
    // SAFETY: the caller's contract.
    unsafe {
        let mut total = 0.0;
        for (start, len) in runs.contiguous_runs() {
            total += sum::<V, false>(at.x.add(start), len, V::zero());
        }
        let mean = V::Scalar::from_f64(total / runs.elements());
        let shifted = V::splat(V::Scalar::default() - mean);
        let mut squares = 0.0;
        for (start, len) in runs.contiguous_runs() {
            squares += sum::<V, true>(at.x.add(start), len, shifted);
        }
        let var = V::Scalar::from_f64(squares / runs.elements());
        *at.stats.add(2 * set) = mean;
        *at.stats.add(2 * set + 1) = var;
        let r = V::Scalar::from_f64(inverse_std(var, eps));
        for i in 0..runs.count {
            let (run, channel) = runs.run(i);
            let (x, y) = (at.x.add(run * runs.inner), at.out.add(run * runs.inner));
            let factor = V::splat(r * *at.weight.add(channel));
            scale_shift(x, y, runs.inner, [shifted, factor, V::splat(*at.bias.add(channel))]);
        }
    }
}

/// # Safety
/// `x` and `y` hold `rows` rows of `n` elements, `stats` two elements per row, parameters `n` elements
/// or none; the CPU has these vectors.
#[inline(always)]
unsafe fn normalize_rows_body<V: Lanes>(
    at: ForwardOperands<V::Scalar>,
    n: usize,
    rows: usize,
    eps: f64,
    centred: bool,
) where
    V::Scalar: Number,
{
    let mut row = 0;
    while row < rows {
        // SAFETY: the caller's contract.
        unsafe {
            let (x, y) = (at.x.add(row * n), at.y.add(row * n));
            let mean = if centred { sum::<V, false>(x, n, V::zero()) / n as f64 } else { 0.0 };
            let mean = V::Scalar::from_f64(mean);
            let shift = V::splat(V::Scalar::default() - mean);
            let squares = sum::<V, true>(x, n, shift);
            let scale = V::Scalar::from_f64((squares / n as f64 + eps).sqrt().recip());
            *at.stats.add(2 * row) = mean;
            *at.stats.add(2 * row + 1) = scale;
            normalize_row(x, y, n, [shift, V::splat(scale)], [at.weight, at.bias]);
        }
        row += 1;
    }
}

/// `y = (x + shift) scale weight + bias`, where the parameters may be null.
///
/// # Safety
/// All hold `n` elements.
#[inline(always)]
unsafe fn normalize_row<V: Lanes>(
    x: *const V::Scalar,
    y: *mut V::Scalar,
    n: usize,
    [shift, scale]: [V; 2],
    [weight, bias]: [*const V::Scalar; 2],
) where
    V::Scalar: Number,
{
    let mut at = 0;
    while at < n {
        let mask = V::first_n(V::LANES.min(n - at));
        let (mut by, mut to) = (V::splat(V::Scalar::from_f64(1.0)), V::zero());
        // SAFETY: the caller's contract; lanes beyond the row are masked off.
        unsafe {
            let x = V::masked_load(x.wrapping_add(at), mask).add(shift).mul_add(scale, to);
            if !weight.is_null() {
                by = V::masked_load(weight.wrapping_add(at), mask);
            }
            if !bias.is_null() {
                to = V::masked_load(bias.wrapping_add(at), mask);
            }
            x.mul_add(by, to).masked_store(y.wrapping_add(at), mask);
        }
        at += V::LANES;
    }
}

/// The sum of `n` elements, or with `SQUARES` of `(x + shift)²`.
///
/// # Safety
/// `x` holds `n` elements.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
unsafe fn sum<V: Lanes, const SQUARES: bool>(x: *const V::Scalar, n: usize, shift: V) -> f64
where
    V::Scalar: Number,
{
    let accumulators = const { ACCUMULATOR_BYTES / size_of::<V>() };
    let mut total = 0.0;
    let mut start = 0;
    while start < n {
        let (x, n) = (x.wrapping_add(start), BLOCK.min(n - start));
        start += BLOCK;
        let mut sums = [V::zero(); MOST_ACCUMULATORS];
        let whole = n - n % (accumulators * V::LANES);
        // SAFETY: the caller's contract; lanes beyond the elements are masked off.
        unsafe {
            let mut at = 0;
            while at < whole {
                for j in 0..accumulators {
                    let x = V::load(x.wrapping_add(at + j * V::LANES));
                    sums[j] = accumulate::<V, SQUARES>(sums[j], x, shift, None);
                }
                at += accumulators * V::LANES;
            }
            for j in 0..accumulators {
                let at = whole + j * V::LANES;
                if at >= n {
                    break;
                }
                let mask = V::first_n(V::LANES.min(n - at));
                let x = V::masked_load(x.wrapping_add(at), mask);
                sums[j] = accumulate::<V, SQUARES>(sums[j], x, shift, Some(mask));
            }
        }
        let [a, b, c, d, e, f, g, h] = sums;
        let sum = if accumulators == MOST_ACCUMULATORS {
            // Even vectors are the lower halves of wide ones, odd vectors the upper halves.
            V::pairwise_add_blocks(a.add(c).add(e.add(g)), b.add(d).add(f.add(h)))
        } else {
            a.add(b).add(c.add(d))
        };
        total += sum.reduce_sum().to_f64();
    }
    total
}

#[inline(always)]
fn accumulate<V: Lanes, const SQUARES: bool>(sum: V, x: V, shift: V, mask: Option<V::Mask>) -> V {
    if !SQUARES {
        return sum.add(x);
    }
    let mut gap = x.add(shift);
    if let Some(mask) = mask {
        gap = gap.select_or_zero(mask);
    }
    gap.mul_add(gap, sum)
}

/// `y = (x + shift) factor + bias`.
///
/// # Safety
/// Both hold `n` elements.
#[inline(always)]
unsafe fn scale_shift<V: Lanes>(
    x: *const V::Scalar,
    y: *mut V::Scalar,
    n: usize,
    [shift, factor, bias]: [V; 3],
) {
    let whole = n - n % V::LANES;
    // SAFETY: the caller's contract; lanes beyond the elements are masked off.
    unsafe {
        let mut at = 0;
        while at < whole {
            let x = V::load(x.wrapping_add(at));
            x.add(shift).mul_add(factor, bias).store(y.wrapping_add(at));
            at += V::LANES;
        }
        if whole < n {
            let mask = V::first_n(n - whole);
            let x = V::masked_load(x.wrapping_add(whole), mask);
            x.add(shift).mul_add(factor, bias).masked_store(y.wrapping_add(whole), mask);
        }
    }
}
