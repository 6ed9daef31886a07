//! The numbers that lines are made of.
//!
//! Owns: `Real` (the two float types with their caches of plans), `Number` (what can be scaled).
//! Never transforms. Invariant: every bit pattern is a number.

use std::ops::Mul;

use rustfft::{Fft, FftNum, num_complex::Complex};

use super::batched::Lanes;
use super::batched::Passes;
use super::mirrored::Combine;
use super::plan_cache::Cache;
use super::real_plan::RealPlan;
use super::twiddles::Table;
use crate::kernels::workspace::Bits;

/// Elements of lines: floats and complex numbers, in which any bits are a number.
pub(super) trait Number: Bits + Send + Sync + 'static {
    /// The float that it consists of.
    type Part: Real;
    fn scaled(self, by: Self::Part) -> Self;
}

/// A float type for which there are plans.
pub(super) trait Real:
    FftNum + Lanes + Combine + Number<Part = Self> + Mul<Output = Self>
{
    fn narrow(v: f64) -> Self;
    fn complex() -> &'static Cache<dyn Fft<Self>>;
    fn real() -> &'static Cache<RealPlan<Self>>;
    fn tables() -> &'static Cache<Table<Self>>;
    fn passes() -> &'static Cache<Option<Passes<Self>>>;
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
            fn complex() -> &'static Cache<dyn Fft<$t>> {
                static CACHE: Cache<dyn Fft<$t>> = Cache::new();
                &CACHE
            }
            fn real() -> &'static Cache<RealPlan<$t>> {
                static CACHE: Cache<RealPlan<$t>> = Cache::new();
                &CACHE
            }
            fn tables() -> &'static Cache<Table<$t>> {
                static CACHE: Cache<Table<$t>> = Cache::new();
                &CACHE
            }
            fn passes() -> &'static Cache<Option<Passes<$t>>> {
                static CACHE: Cache<Option<Passes<$t>>> = Cache::new();
                &CACHE
            }
        }
    )*};
}
numbers!(f64, f32);

/// Every element times a number.
pub(super) fn scale<A: Number>(line: &mut [A], by: A::Part) {
    line.iter_mut().for_each(|x| *x = x.scaled(by));
}
