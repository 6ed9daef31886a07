//! Logarithms: `x = 2^k m` with `m` in `[3/4, 3/2)`, found by instructions that know subnormal numbers and the edges, and a
//! polynomial in `f = m - 1`.

use super::Sixteen;
use crate::kernels::math::exp::w32::LN2;
use std::f32::consts::{LOG2_E, LOG10_E};

/// `(ln(1 + f) - f + f²/2) / f³`.
const POLY: [f32; 8] = [
    0.3333345,
    -0.250001,
    0.19990808,
    -0.16647078,
    0.14478694,
    -0.13163644,
    0.10466301,
    -0.04508488,
];
/// The logarithm of 2 to base 10 in two parts, and what the float32 `log10(e)` lacks.
const LOG10: (f32, f32, f32) = (0.301_025_4, 4.605_039e-6, -1.010_305e-8);

impl Sixteen {
    /// `(k, m)` with `self = 2^k m`.
    #[inline(always)]
    pub(super) fn split(self) -> (Sixteen, Sixteen) {
        let m = self.mantissa();
        (self.exponent() - m.exponent(), m)
    }

    /// `ln(1 + f)` less `f`, plus `more`.
    #[inline(always)]
    fn bend(self, more: Sixteen) -> Sixteen {
        let square = self * self;
        let rest = (self * square).fma(self.halved_polynomial(&POLY), more);
        square.taken(Sixteen::lit(0.5), rest)
    }

    /// `k ln(2) + ln(1 + f)`.
    #[inline(always)]
    fn joined(self, k: Sixteen) -> Sixteen {
        k.fma(Sixteen::lit(LN2.0), self + self.bend(k * Sixteen::lit(LN2.1)))
    }

    #[inline(always)]
    pub(crate) fn ln(self) -> Sixteen {
        let (k, m) = self.split();
        (m - 1.0).joined(k)
    }

    #[inline(always)]
    pub(crate) fn log2(self) -> Sixteen {
        let (k, m) = self.split();
        let f = m - 1.0;
        (f + f.bend(Sixteen::lit(0.0))).fma(Sixteen::lit(LOG2_E), k)
    }

    #[inline(always)]
    pub(crate) fn log10(self) -> Sixteen {
        let (k, m) = self.split();
        let f = m - 1.0;
        let low = f.bend(Sixteen::lit(0.0)).fma(Sixteen::lit(LOG10_E), k * Sixteen::lit(LOG10.1));
        let low = f.fma(Sixteen::lit(LOG10.2), low);
        k.fma(Sixteen::lit(LOG10.0), f.fma(Sixteen::lit(LOG10_E), low))
    }

    #[inline(always)]
    pub(crate) fn log1p(self) -> Sixteen {
        let one = Sixteen::lit(1.0);
        let sum = self + one;
        let added = sum - one;
        let lost = (one - (sum - added)) + (self - added);
        let (k, m) = sum.split();
        // What the sum lost, in units of the mantissa; nothing once `self` dwarfs the 1.
        let lost = lost.scaled_where(k.le(Sixteen::lit(100.0)), (-k).at_most(100.0));
        ((m - one) + lost).joined(k).copysign(self)
    }
}
