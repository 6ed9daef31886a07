//! The reading of a text as sixteen lanes of AVX-512.
//!
//! Owns: the choice between functions that are written for sixteen numbers and those of a lane, applied to each. Never
//! computes one itself. Invariant: the bounds of the functions are those of `Lane`.

use super::real::Real;
use crate::kernels::math;
use crate::kernels::math::sixteen::Sixteen;

macro_rules! sixteen {
    (own { $($own:ident),* } each { $($each:ident),* } wide { $($wide:ident),* } own2 { $($own2:ident),* }
     each2 { $($each2:ident),* } plain2 { $($plain2:ident),* }) => {
        impl Real for Sixteen {
            type Mask = u16;

            #[inline(always)]
            fn lit(v: f64) -> Self {
                Sixteen::lit(v as f32)
            }
            #[inline(always)]
            fn lt(self, o: Self) -> u16 {
                self.lt(o)
            }
            #[inline(always)]
            fn le(self, o: Self) -> u16 {
                self.le(o)
            }
            #[inline(always)]
            fn eq(self, o: Self) -> u16 {
                self.eq(o)
            }
            #[inline(always)]
            fn ne(self, o: Self) -> u16 {
                !self.eq(o)
            }
            #[inline(always)]
            fn select(m: u16, a: Self, b: Self) -> Self {
                a.where_(m, b)
            }
            #[inline(always)]
            fn mask_and(a: u16, b: u16) -> u16 {
                a & b
            }
            #[inline(always)]
            fn mask_or(a: u16, b: u16) -> u16 {
                a | b
            }
            #[inline(always)]
            fn mask_not(a: u16) -> u16 {
                !a
            }
            $(
                #[inline(always)]
                fn $own(self) -> Self {
                    self.$own()
                }
            )*
            $(
                #[inline(always)]
                fn $each(self) -> Self {
                    self.each(math::f32::$each::<true>)
                }
            )*
            $(
                #[inline(always)]
                fn $wide(self) -> Self {
                    self.each(math::f32::$wide::<true, true>)
                }
            )*
            $(
                #[inline(always)]
                fn $own2(self, o: Self) -> Self {
                    self.$own2(o)
                }
            )*
            $(
                #[inline(always)]
                fn $each2(self, o: Self) -> Self {
                    self.each2(o, math::f32::$each2::<true>)
                }
            )*
            $(
                #[inline(always)]
                fn $plain2(self, o: Self) -> Self {
                    self.each2(o, math::f32::$plain2)
                }
            )*
            #[inline(always)]
            fn fmod(self, o: Self) -> Self {
                self.each2(o, math::f32::fmod::<true, true>)
            }
        }
    };
}

sixteen! {
    own { abs, sqrt, cbrt, exp, ln, log2, log10, log1p, sinh, cosh, sigmoid, erfc, normal_cdf, floor, ceil, round, trunc }
    each { lgamma, digamma, trigamma, asin, acos, atan, exp2, expm1, logit, tanh, asinh, acosh, atanh, erf }
    wide { sin, cos, tan, erfinv }
    own2 { powf, copysign, max, min }
    each2 { atan2, hypot }
    plain2 { polygamma, sinc }
}
