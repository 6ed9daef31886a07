//! `Lane`: the float on which loops evaluate a `Real` formula, with the functions of `math`.
//!
//! Branch-free except in `FULL_RANGE` lanes, so that LLVM vectorises the loop. Invariant: the value of a formula
//! depends on its operands and on `FMA`, not on the loop's shape.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::real::Real;
use crate::kernels::math;

/// One float of a loop. `FMA`: the loop is compiled for a CPU with fused multiply-add. `FULL_RANGE`: `sin`,
/// `cos`, `tan`, `erfinv` and `fmod` are accurate for every argument and slower; without it their result for
/// arguments that `math::FullRangeTest` tests for is undefined.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Lane<T, const FMA: bool, const FULL_RANGE: bool = false>(pub T);

macro_rules! operators {
    ($t:ty: $($op:ident $f:ident $s:tt),*) => {$(
        impl<const FMA: bool, const FULL_RANGE: bool> $op for Lane<$t, FMA, FULL_RANGE> {
            type Output = Self;
            #[inline(always)]
            fn $f(self, o: Self) -> Self {
                Lane(self.0 $s o.0)
            }
        }
        impl<const FMA: bool, const FULL_RANGE: bool> $op<f64> for Lane<$t, FMA, FULL_RANGE> {
            type Output = Self;
            #[inline(always)]
            fn $f(self, o: f64) -> Self {
                Lane(self.0 $s o as $t)
            }
        }
        impl<const FMA: bool, const FULL_RANGE: bool> $op<Lane<$t, FMA, FULL_RANGE>> for f64 {
            type Output = Lane<$t, FMA, FULL_RANGE>;
            #[inline(always)]
            fn $f(self, o: Lane<$t, FMA, FULL_RANGE>) -> Lane<$t, FMA, FULL_RANGE> {
                Lane(self as $t $s o.0)
            }
        }
    )*};
}

macro_rules! compare {
    ($($name:ident $s:tt),*) => {$(
        #[inline(always)]
        fn $name(self, o: Self) -> bool {
            self.0 $s o.0
        }
    )*};
}

macro_rules! lane {
    ($t:ident: plain { $($plain:ident),* } fused { $($fused:ident),* } full_range { $($full_range:ident),* }
     plain2 { $($plain2:ident),* } fused2 { $($fused2:ident),* } full_range2 { $($full_range2:ident),* }) => {
        operators!($t: Add add +, Sub sub -, Mul mul *, Div div /);

        impl<const FMA: bool, const FULL_RANGE: bool> Neg for Lane<$t, FMA, FULL_RANGE> {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Lane(-self.0)
            }
        }

        impl<const FMA: bool, const FULL_RANGE: bool> Real for Lane<$t, FMA, FULL_RANGE> {
            type Mask = bool;

            #[inline(always)]
            fn lit(v: f64) -> Self {
                Lane(v as $t)
            }
            compare!(lt <, le <=, eq ==, ne !=, gt >, ge >=);
            #[inline(always)]
            fn select(m: bool, a: Self, b: Self) -> Self {
                Lane(if m { a.0 } else { b.0 })
            }
            #[inline(always)]
            fn mask_and(a: bool, b: bool) -> bool {
                a & b
            }
            #[inline(always)]
            fn mask_or(a: bool, b: bool) -> bool {
                a | b
            }
            #[inline(always)]
            fn mask_not(a: bool) -> bool {
                !a
            }
            $(
                #[inline(always)]
                fn $plain(self) -> Self {
                    Lane(math::$t::$plain(self.0))
                }
            )*
            $(
                #[inline(always)]
                fn $fused(self) -> Self {
                    Lane(math::$t::$fused::<FMA>(self.0))
                }
            )*
            $(
                #[inline(always)]
                fn $full_range(self) -> Self {
                    Lane(math::$t::$full_range::<FMA, FULL_RANGE>(self.0))
                }
            )*
            $(
                #[inline(always)]
                fn $plain2(self, o: Self) -> Self {
                    Lane(math::$t::$plain2(self.0, o.0))
                }
            )*
            $(
                #[inline(always)]
                fn $fused2(self, o: Self) -> Self {
                    Lane(math::$t::$fused2::<FMA>(self.0, o.0))
                }
            )*
            $(
                #[inline(always)]
                fn $full_range2(self, o: Self) -> Self {
                    Lane(math::$t::$full_range2::<FMA, FULL_RANGE>(self.0, o.0))
                }
            )*
        }
    };
}

macro_rules! both {
    ($($lists:tt)*) => {
        lane!(f64: $($lists)*);
        lane!(f32: $($lists)*);
    };
}

both! {
    plain { abs, sqrt }
    fused { lgamma, digamma, trigamma, cbrt, asin, acos, atan, exp, exp2, expm1, ln, log2, log10, log1p, logit, sinh, cosh, tanh, asinh, acosh, atanh, sigmoid, erf, erfc, normal_cdf, floor, ceil, round, trunc }
    full_range { sin, cos, tan, erfinv }
    plain2 { max, min, copysign, polygamma, sinc }
    fused2 { powf, atan2, hypot }
    full_range2 { fmod }
}
