//! Element types of FFT lines: `Real` (the two float types with their plan caches) and `Number`.
//!
//! Invariant: every bit pattern is a valid number.

use std::ops::Mul;

use rustfft::{Fft, FftNum, num_complex::Complex};

use super::batched::BatchedFft;
use super::batched::Passes;
use super::mirrored::Combine;
use super::plan_cache::PlanCache;
use super::real_plan::RealPlan;
use super::twiddles::TwiddleTable;
use crate::kernels::workspace::Bits;

/// Elements of lines: floats and complex numbers.
pub(super) trait Number: Bits + Send + Sync + 'static {
    /// The float type of its parts.
    type Part: Real;
    fn scaled(self, by: Self::Part) -> Self;
}

/// A float type with plans.
pub(super) trait Real:
    FftNum + BatchedFft + Combine + Number<Part = Self> + Mul<Output = Self>
{
    fn narrow(v: f64) -> Self;
    fn complex_plans() -> &'static PlanCache<dyn Fft<Self>>;
    fn real_plans() -> &'static PlanCache<RealPlan<Self>>;
    fn twiddle_tables() -> &'static PlanCache<TwiddleTable<Self>>;
    fn pass_plans() -> &'static PlanCache<Option<Passes<Self>>>;
}

macro_rules! numbers {
    ($($t:ident),*) => {$(
        impl Number for $t {
            type Part = $t;
            #[inline(always)]
            fn scaled(self, by: $t) -> $t {
                self * by
            }
        }
        impl Number for Complex<$t> {
            type Part = $t;
            #[inline(always)]
            fn scaled(self, by: $t) -> Self {
                Complex::new(self.re * by, self.im * by)
            }
        }
        impl Real for $t {
            fn narrow(v: f64) -> $t {
                v as $t
            }
            fn complex_plans() -> &'static PlanCache<dyn Fft<$t>> {
                static CACHE: PlanCache<dyn Fft<$t>> = PlanCache::new();
                &CACHE
            }
            fn real_plans() -> &'static PlanCache<RealPlan<$t>> {
                static CACHE: PlanCache<RealPlan<$t>> = PlanCache::new();
                &CACHE
            }
            fn twiddle_tables() -> &'static PlanCache<TwiddleTable<$t>> {
                static CACHE: PlanCache<TwiddleTable<$t>> = PlanCache::new();
                &CACHE
            }
            fn pass_plans() -> &'static PlanCache<Option<Passes<$t>>> {
                static CACHE: PlanCache<Option<Passes<$t>>> = PlanCache::new();
                &CACHE
            }
        }
    )*};
}
numbers!(f64, f32);

/// Multiplies every element by a number.
pub(super) fn scale<A: Number>(line: &mut [A], by: A::Part) {
    line.iter_mut().for_each(|x| *x = x.scaled(by));
}
