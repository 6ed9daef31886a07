//! The tail of the normal distribution: `e^(-f a²)` times a polynomial in `t = (a - c) / (a + c)`, and one reciprocal for both
//! `t` and the size of the tail.

use super::Sixteen;
use super::power::EXP2;
use crate::kernels::math::basic::round32::MAGIC;
use std::f64::consts::LOG2_E;

/// A tail: `f`, `c`, the `a` from which on it rounds to zero, and `(a + c)` times what the exponential leaves, in `t`.
struct Tail {
    f: f64,
    c: f32,
    vanished: f32,
    scaled: [f32; 9],
}

/// `erfc(a)`.
const ERFC: Tail = Tail {
    f: 1.0,
    c: 2.0,
    vanished: 10.06,
    scaled: [
        1.0215827,
        -0.6871609,
        0.27946997,
        -0.03643593,
        -0.02148521,
        0.006439635,
        0.0029823824,
        -0.00075690745,
        -0.0004640646,
    ],
};
/// `erfc(a / sqrt(2)) / 2`.
const NORMAL: Tail = Tail {
    f: 0.5,
    c: 3.0,
    vanished: 14.17,
    scaled: [
        0.72908366,
        -0.5093322,
        0.23001939,
        -0.047256943,
        -0.010480046,
        0.0069259168,
        0.0010766253,
        -0.0009046536,
        -0.00026741257,
    ],
};

impl Sixteen {
    /// The tail beyond a number of at least zero. Underflow, which is a hundred times slower, is left out where the result
    /// rounds to zero.
    #[inline(always)]
    fn tail(self, tail: &Tail) -> Sixteen {
        let one = Sixteen::lit(1.0);
        let c = Sixteen::lit(tail.c);
        let rough = (self + c).rough_inverse();
        // Of the sum itself, without its rounding.
        let e = self.taken(rough, c.taken(rough, one));
        let twice = rough * Sixteen::lit(-2.0 * tail.c);
        let t = twice.fma(e, one + twice);
        let scaled = t.polynomial(&tail.scaled) * rough.fma(e, rough);
        let to_two = -tail.f * LOG2_E;
        let (high, low) = (to_two as f32, (to_two - to_two as f32 as f64) as f32);
        let square = self * self;
        let lost = self.fma(self, -square);
        let k = square.fma(Sixteen::lit(high), Sixteen::lit(MAGIC)) - Sixteen::lit(MAGIC);
        let r = square.fma(Sixteen::lit(high), -k);
        let r = lost.fma(Sixteen::lit(high), square.fma(Sixteen::lit(low), r));
        let p = scaled * r.fma(r.polynomial(&EXP2), one);
        p.scaled_where(Sixteen::lit(tail.vanished).nlt(self), k)
    }

    #[inline(always)]
    pub(crate) fn erfc(self) -> Sixteen {
        let tail = self.abs().at_most(11.0).tail(&ERFC);
        (Sixteen::lit(2.0) - tail).where_(self.lt(Sixteen::lit(0.0)), tail)
    }

    #[inline(always)]
    pub(crate) fn normal_cdf(self) -> Sixteen {
        let tail = self.abs().at_most(15.0).tail(&NORMAL);
        tail.where_(self.lt(Sixteen::lit(0.0)), Sixteen::lit(1.0) - tail)
    }
}
