//! Plans of complex lines. Which algorithm serves a length: batches, rustfft's AVX planner, or plans
//! built here for CPUs without AVX.
//!
//! Invariant: every length has a plan.

use std::sync::Arc;

use rustfft::{Fft, FftDirection};

use super::batched::{BatchedPlan, passes, prefers_batched};
use super::float::Real;
use super::plan_cache::PlanCache;

/// The cached plan of complex lines of `n` points.
pub(super) fn plan<T: Real>(n: usize, forward: bool) -> Arc<dyn Fft<T>> {
    static PLANS: PlanCache = PlanCache::new();
    PLANS.get((n, u8::from(forward)), || -> Arc<dyn Fft<T>> {
        let direction = if forward { FftDirection::Forward } else { FftDirection::Inverse };
        let single = rustfft_plan(n, direction);
        if prefers_batched::<T>(n) {
            return Arc::new(BatchedPlan { passes: passes(n), single });
        }
        single
    })
}

/// A plan of rustfft's.
#[cfg(not(target_arch = "x86_64"))]
fn rustfft_plan<T: Real>(n: usize, direction: FftDirection) -> Arc<dyn Fft<T>> {
    rustfft::FftPlanner::new().plan_fft(n, direction)
}

/// A plan of rustfft's.
#[cfg(target_arch = "x86_64")]
fn rustfft_plan<T: Real>(n: usize, direction: FftDirection) -> Arc<dyn Fft<T>> {
    use crate::kernels::isa::{Level, level};
    if level() > Level::Baseline
        && let Ok(mut planner) = rustfft::FftPlannerAvx::new()
    {
        return planner.plan_fft(n, direction);
    }
    scalar_plan(n, direction)
}

/// A scalar plan. It uses few algorithms beyond those of the AVX planner, whose code is linked
/// anyway.
#[cfg(target_arch = "x86_64")]
fn scalar_plan<T: Real>(n: usize, direction: FftDirection) -> Arc<dyn Fft<T>> {
    use rustfft::algorithm::butterflies::*;
    use rustfft::algorithm::{BluesteinsAlgorithm, Dft, MixedRadix, Radix4};
    let twos = n.trailing_zeros();
    match n {
        2 => return Arc::new(Butterfly2::new(direction)),
        3 => return Arc::new(Butterfly3::new(direction)),
        4 => return Arc::new(Butterfly4::new(direction)),
        13 => return Arc::new(Butterfly13::new(direction)),
        17 => return Arc::new(Butterfly17::new(direction)),
        19 => return Arc::new(Butterfly19::new(direction)),
        23 => return Arc::new(Butterfly23::new(direction)),
        29 => return Arc::new(Butterfly29::new(direction)),
        31 => return Arc::new(Butterfly31::new(direction)),
        0 | 1 | 5 | 7 | 11 => return Arc::new(Dft::new(n, direction)),
        8.. if n.is_power_of_two() => {
            let base = scalar_plan(if twos.is_multiple_of(2) { 4 } else { 2 }, direction);
            return Arc::new(Radix4::new_with_base((twos - 1) / 2, base));
        }
        _ => {}
    }
    // Split off the power of two, else the largest divisor up to the square root.
    let near = || (2..=n.isqrt()).rev().find(|k| n.is_multiple_of(*k));
    match if twos > 0 { Some(1 << twos) } else { near() } {
        Some(k) => {
            Arc::new(MixedRadix::new(scalar_plan(k, direction), scalar_plan(n / k, direction)))
        }
        None => {
            let inner = scalar_plan((2 * n - 1).next_power_of_two(), direction);
            Arc::new(BluesteinsAlgorithm::new(n, inner))
        }
    }
}
