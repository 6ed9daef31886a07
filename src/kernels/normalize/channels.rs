//! Group and batch normalisation: one weight and one bias per channel, over (n, groups, channels
//! per group, inner).
//!
//! A set of statistics is one group of one row, or one channel over all rows if `across`.
//! Invariant: sums of a run are kept separately and added in the order of the runs, so results do
//! not depend on the number of threads.

use std::sync::Arc;

use super::super::launch::{self, KernelFn, launch};
use super::super::view::{View, ViewMut, with_float};
use super::batch_norm;
use super::batch_norm::{BLOCK_COLUMNS, ColumnBlock};
use super::rows::{Number, fill, sum};
use super::simd_norm::normalize_set;
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::kernels::multiversion::{Levels, multiversion};
use crate::threads::{parallel_for, parallel_ranges};

/// These loops are memory-bound: AVX-512 does not help.
pub(super) const LEVELS: Levels = Levels::UpToAvx2;
/// Elements per parallel block.
const ELEMENTS_PER_BLOCK: usize = 1 << 15;

/// The runs of contiguous elements of a set.
#[derive(Clone, Copy)]
pub(super) struct SetRuns {
    first: usize,
    /// Runs from one run of the set to the next.
    step: usize,
    pub(super) count: usize,
    pub(super) inner: usize,
    channels: usize,
}

impl SetRuns {
    fn of(set: usize, dims: &[usize], across: bool) -> SetRuns {
        let &[n, groups, own, inner] = dims else { unreachable!("four axes") };
        let channels = groups * own;
        if across {
            assert!(own == 1, "a channel is a group of its own");
            return SetRuns { first: set, step: channels, count: n, inner, channels };
        }
        SetRuns { first: set * own, step: 1, count: own, inner, channels }
    }

    /// Index of run `i`, and its channel.
    #[inline(always)]
    pub(super) fn run(&self, i: usize) -> (usize, usize) {
        let run = self.first + i * self.step;
        (run, run % self.channels)
    }

    pub(super) fn elements(&self) -> f64 {
        (self.count * self.inner) as f64
    }

    /// Offsets and lengths of the set's elements, in as few runs as possible.
    #[inline(always)]
    pub(super) fn contiguous_runs(self) -> impl Iterator<Item = (usize, usize)> {
        let (runs, len) =
            if self.step == 1 { (1, self.count * self.inner) } else { (self.count, self.inner) };
        (0..runs).map(move |i| ((self.first + i * self.step) * self.inner, len))
    }
}

/// The number of sets of statistics.
fn sets(dims: &[usize], across: bool) -> usize {
    if across { dims[1] } else { dims[0] * dims[1] }
}

/// Calls `body` with each set, in parallel blocks.
fn for_each_set(dims: &[usize], across: bool, body: impl Fn(usize) + Sync) {
    let sets = sets(dims, across);
    let blocks = (dims.iter().product::<usize>() / ELEMENTS_PER_BLOCK).clamp(1, sets.max(1));
    parallel_ranges(sets, blocks, &|first, end| (first..end).for_each(&body));
}

/// Whether runs are single elements, so that sets are columns.
fn sets_are_columns(dims: &[usize], across: bool) -> bool {
    across && dims[3] == 1
}

/// Calls `body` with blocks of columns, in parallel.
fn for_each_column_block(dims: &[usize], body: impl Fn(ColumnBlock) + Sync) {
    let (rows, channels) = (dims[0], dims[1]);
    parallel_for(channels.div_ceil(BLOCK_COLUMNS), &|i| {
        let first = i * BLOCK_COLUMNS;
        body(ColumnBlock { rows, channels, first, width: BLOCK_COLUMNS.min(channels - first) });
    });
}

fn check(x: &View, params: &[View], stats: &[usize], across: bool) {
    let channels = x.dims[1] * x.dims[2];
    assert!(x.dims.len() == 4 && x.is_contiguous() && stats == [sets(x.dims, across), 2]);
    assert!(params.iter().all(|p| p.dims == [channels] && p.is_contiguous()));
}

/// Pointers to the operands, shared by threads.
#[derive(Clone, Copy)]
pub(super) struct ChannelOperands<T> {
    pub(super) x: *const T,
    pub(super) weight: *const T,
    pub(super) bias: *const T,
    pub(super) stats: *mut T,
    pub(super) g: *const T,
    pub(super) out: *mut T,
    pub(super) sums: *mut [f64; 2],
}
// SAFETY: made from views, which are Send + Sync; sets write disjoint parts.
unsafe impl<T> Sync for ChannelOperands<T> {}

/// `y = (x - mean) r weight + bias`, with `r = 1 / sqrt(var + eps)`; `stats` (sets, 2) receives the
/// mean and the variance.
pub fn channels_forward(
    [x, weight, bias]: [View; 3],
    eps: f64,
    across: bool,
    y: ViewMut,
    stats: ViewMut,
) {
    launch!("normalize_channels", [x, weight, bias] => [y, stats];;
        forward([x, weight, bias], eps, across, &y, &stats));
}

fn forward([x, w, b]: [View; 3], eps: f64, across: bool, y: &ViewMut, stats: &ViewMut) {
    check(&x, &[w, b], stats.dims, across);
    assert!(y.dims == x.dims && y.is_contiguous() && stats.is_contiguous());
    with_float!([x, w, b, y, stats], T => {
        let at = ChannelOperands::<T> {
            x: x.at(0),
            weight: w.at(0),
            bias: b.at(0),
            stats: stats.at(0),
            g: std::ptr::null(),
            out: y.at(0),
            sums: std::ptr::null_mut(),
        };
        let at = &at;
        if sets_are_columns(x.dims, across) {
            // SAFETY: the views hold the columns, and the parameters an element for every channel.
            return for_each_column_block(x.dims, |some| unsafe { batch_norm::forward::<T>(*at, some, eps) });
        }
        for_each_set(x.dims, across, |set| {
            // SAFETY: the views hold the runs of every set, and the parameters an element for every channel.
            unsafe {
                let runs = SetRuns::of(set, x.dims, across);
                if normalize_set::<T>(*at, set, runs, eps).is_none() {
                    forward_set::<T>(*at, set, runs, eps);
                }
            }
        });
    });
}

/// # Safety
/// `x` and `out` hold the runs, `weight` and `bias` an element for every channel, `stats` two for the set.
unsafe fn forward_set<T: Number>(at: ChannelOperands<T>, set: usize, runs: SetRuns, eps: f64) {
    // SAFETY: the caller's contract.
    unsafe {
        let mean = T::from_f64(mean_of(at.x, runs, |x| x));
        let var = T::from_f64(mean_of(at.x, runs, |x| {
            let gap = x - mean;
            gap * gap
        }));
        *at.stats.add(2 * set) = mean;
        *at.stats.add(2 * set + 1) = var;
        let r = T::from_f64(inverse_std(var, eps));
        for i in 0..runs.count {
            let (run, channel) = runs.run(i);
            let (x, y) = (at.x.add(run * runs.inner), at.out.add(run * runs.inner));
            let (factor, shift) = (r * *at.weight.add(channel), *at.bias.add(channel));
            fill(runs.inner, y, |i| (*x.add(i) - mean) * factor + shift);
        }
    }
}

/// The mean of `term` over the elements of a set.
///
/// # Safety
/// `x` holds the runs.
#[inline(always)]
unsafe fn mean_of<T: Number>(x: *const T, runs: SetRuns, term: impl Fn(T) -> T) -> f64 {
    let mut total = 0.0;
    for (start, len) in runs.contiguous_runs() {
        // SAFETY: the caller's contract.
        total += unsafe {
            let x = x.add(start);
            sum(len, |i| term(*x.add(i)))
        };
    }
    total / runs.elements()
}

#[inline(always)]
pub(super) fn inverse_std<T: Number>(var: T, eps: f64) -> f64 {
    (var.to_f64() + eps).sqrt().recip()
}

/// The gradients of `channels_forward`: of the weight, the bias and, if there is a third output, of
/// `x`, which is `r (h - mean(h) - y mean(h y))` with `h = g weight` and `y` the normalised
/// elements.
pub fn channels_backward(
    [x, weight, stats, g]: [View; 4],
    eps: f64,
    across: bool,
    writes: &mut [ViewMut],
) -> Result<()> {
    let run: KernelFn = Arc::new(move |reads, writes, _| {
        let &[x, weight, stats, g] = reads else { unreachable!("what normalisation reads") };
        backward([x, weight, stats, g], eps, across, writes)
    });
    let name = "normalize_channels_backward";
    launch::run_kernel(name, &[x, weight, stats, g], writes, run, &mut Vec::new())
}

fn backward([x, w, stats, g]: [View; 4], eps: f64, across: bool, writes: &[ViewMut]) -> Result<()> {
    let (params, out) = writes.split_at(2);
    check(&x, &[w, params[0].as_view(), params[1].as_view()], stats.dims, across);
    assert!(stats.is_contiguous() && g.dims == x.dims && g.is_contiguous());
    assert!(out.iter().all(|out| out.dims == x.dims && out.is_contiguous()));
    let channels = w.dims[0];
    let mut sums = Vec::new();
    if sums.try_reserve_exact(x.dims[0] * channels).is_err() {
        return Err(Box::new(Error::Memory {
            bytes: x.dims[0] * channels * size_of::<[f64; 2]>(),
        }));
    }
    sums.resize(x.dims[0] * channels, [0.0; 2]);
    with_float!([x, w, stats, g, params[0], params[1]], T => {
        let at = ChannelOperands::<T> {
            x: x.at(0),
            weight: w.at(0),
            bias: std::ptr::null(),
            stats: stats.at::<T>(0).cast_mut(),
            g: g.at(0),
            out: out.first().map_or(std::ptr::null_mut(), |out| out.at(0)),
            sums: sums.as_mut_ptr(),
        };
        let at = &at;
        if sets_are_columns(x.dims, across) {
            // SAFETY: as in `forward`; there are sums for every column.
            for_each_column_block(x.dims, |some| unsafe { batch_norm::backward::<T>(*at, some, eps) });
        } else {
            for_each_set(x.dims, across, |set| {
                // SAFETY: as in `forward`; there are sums for every run.
                unsafe { backward_set::<T>(*at, set, SetRuns::of(set, x.dims, across), eps) }
            });
        }
        for channel in 0..channels {
            let mut total = [0.0; 2];
            for own in sums[channel..].iter().step_by(channels) {
                total = [total[0] + own[0], total[1] + own[1]];
            }
            for (to, value) in params.iter().zip(total) {
                // SAFETY: the views are contiguous and hold an element for every channel.
                unsafe { *to.at::<T>(channel as isize) = T::from_f64(value) };
            }
        }
    });
    Ok(())
}

multiversion! {
    /// The backward pass of one set.
    unsafe fn backward_set<T: Number>(
        at: ChannelOperands<T>, set: usize, runs: SetRuns, eps: f64,
    ) = backward_body, LEVELS
}

/// # Safety
/// As `forward_set`, with `g` like `x`, and `sums` for every run; `out` may be null.
#[inline(always)]
unsafe fn backward_body<T: Number>(at: ChannelOperands<T>, set: usize, runs: SetRuns, eps: f64) {
    // SAFETY: the caller's contract.
    unsafe {
        let (mean, r) = (*at.stats.add(2 * set), inverse_std(*at.stats.add(2 * set + 1), eps));
        let (mut grad_sum, mut grad_dot) = (0.0, 0.0);
        for i in 0..runs.count {
            let (run, channel) = runs.run(i);
            let (x, g) = (at.x.add(run * runs.inner), at.g.add(run * runs.inner));
            let to_bias = sum(runs.inner, |i| *g.add(i));
            let to_weight = sum(runs.inner, |i| *g.add(i) * (*x.add(i) - mean)) * r;
            *at.sums.add(run) = [to_weight, to_bias];
            let weight = (*at.weight.add(channel)).to_f64();
            grad_sum += weight * to_bias;
            grad_dot += weight * to_weight;
        }
        if at.out.is_null() {
            return;
        }
        let shift = T::from_f64(r * grad_sum / runs.elements());
        let slope = T::from_f64(r * r * grad_dot / runs.elements());
        for i in 0..runs.count {
            let (run, channel) = runs.run(i);
            let start = run * runs.inner;
            let (x, g, out) = (at.x.add(start), at.g.add(start), at.out.add(start));
            let factor = T::from_f64(r) * *at.weight.add(channel);
            fill(runs.inner, out, |i| *g.add(i) * factor - (*x.add(i) - mean) * slope - shift);
        }
    }
}

/// `y = (x - mean) weight + bias` with per-channel parameters, for (n, channels, inner).
pub fn channels_scaled([x, mean, weight, bias]: [View; 4], y: ViewMut) {
    launch!("scale_channels", [x, mean, weight, bias] => [y];;
        scaled([x, mean, weight, bias], &y));
}

fn scaled([x, mean, w, b]: [View; 4], y: &ViewMut) {
    let &[n, channels, inner] = x.dims else { unreachable!("three axes") };
    assert!(x.is_contiguous() && y.dims == x.dims && y.is_contiguous());
    assert!([mean, w, b].iter().all(|p| p.dims == [channels] && p.is_contiguous()));
    with_float!([x, mean, w, b, y], T => {
        let at = ChannelOperands::<T> {
            x: x.at(0),
            weight: w.at(0),
            bias: b.at(0),
            stats: mean.at::<T>(0).cast_mut(),
            g: std::ptr::null(),
            out: y.at(0),
            sums: std::ptr::null_mut(),
        };
        let at = &at;
        let blocks = (n * channels * inner / ELEMENTS_PER_BLOCK).clamp(1, (n * channels).max(1));
        parallel_ranges(n * channels, blocks, &|first, end| {
            // SAFETY: the views hold these runs, and the parameters an element for every channel.
            unsafe { scaled_runs::<T>(*at, (first, end), inner, channels) }
        });
    });
}

multiversion! {
    /// Scales and shifts the runs of a range.
    unsafe fn scaled_runs<T: Number>(
        at: ChannelOperands<T>, runs: (usize, usize), inner: usize, channels: usize,
    ) = scaled_body, LEVELS
}

/// # Safety
/// `x` and `out` hold the runs; `stats` (the means), `weight` and `bias` hold an element for every channel.
#[inline(always)]
unsafe fn scaled_body<T: Number>(
    at: ChannelOperands<T>,
    runs: (usize, usize),
    inner: usize,
    channels: usize,
) {
    let mut run = runs.0;
    while run < runs.1 {
        let channel = run % channels;
        // SAFETY: the caller's contract.
        unsafe {
            let (x, y) = (at.x.add(run * inner), at.out.add(run * inner));
            if inner == 1 {
                // Channels are contiguous.
                let count = (channels - channel).min(runs.1 - run);
                let [mean, weight, bias] =
                    [at.stats.cast_const(), at.weight, at.bias].map(|p| p.add(channel));
                fill(count, y, |i| (*x.add(i) - *mean.add(i)) * *weight.add(i) + *bias.add(i));
                run += count;
                continue;
            }
            let mean = *at.stats.add(channel);
            let (weight, bias) = (*at.weight.add(channel), *at.bias.add(channel));
            fill(inner, y, |i| (*x.add(i) - mean) * weight + bias);
        }
        run += 1;
    }
}
