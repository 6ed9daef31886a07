//! Cached tables of twiddle factors for cosine transforms.
//!
//! Invariant: twiddles are computed in float64 and rounded once.

use std::f64::consts::PI;
use std::sync::Arc;

use rustfft::num_complex::Complex;

use super::float::Real;
use super::plan_cache::PlanCache;

/// Points on the unit circle.
pub(super) type TwiddleTable<T> = Vec<Complex<T>>;

static TABLES: PlanCache = PlanCache::new();

/// `e^(-iπ k/(2n))` for the frequencies `k` of a half spectrum of `n` points.
pub(super) fn dct2_twiddles<T: Real>(n: usize) -> Arc<TwiddleTable<T>> {
    TABLES.get((n, 0), || points(n / 2 + 1, |k| k / (2 * n) as f64))
}

/// `e^(-iπ (8k + 1)/(8n))` for `k < n/2`, or with odd `n` `e^(-iπ (4k + 1)/(8n))` for `k < n`.
pub(super) fn dct4_twiddles<T: Real>(n: usize) -> Arc<TwiddleTable<T>> {
    TABLES.get((n, 1), || match n.is_multiple_of(2) {
        true => points(n / 2, |k| (8.0 * k + 1.0) / (8 * n) as f64),
        false => points(n, |k| (4.0 * k + 1.0) / (8 * n) as f64),
    })
}

fn points<T: Real>(count: usize, half_turns: impl Fn(f64) -> f64) -> Arc<TwiddleTable<T>> {
    let point = |k: usize| {
        let (sin, cos) = (-PI * half_turns(k as f64)).sin_cos();
        Complex::new(T::narrow(cos), T::narrow(sin))
    };
    Arc::new((0..count).map(point).collect())
}
