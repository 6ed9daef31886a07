//! `x^y = 2^(y log2 x)`, with the logarithm as a sum of two numbers: of the exponent, of a table at the first five bits of the
//! mantissa, and of a polynomial in what is left, whose product with the table's inverse is exact in two parts.

use super::Sixteen;
use crate::kernels::math::basic::round32::MAGIC;
use std::f64::consts::LOG2_E;

/// `log2(1 + r) / r` after its first term, over `r`.
const TAIL: [f32; 4] = [-0.7213475, 0.4809001, -0.36073363, 0.2811912];
/// `(2^r - 1) / r`.
pub(super) const EXP2: [f32; 6] =
    [0.6931472, 0.24022648, 0.055503596, 0.0096185, 0.0013390976, 0.00015328902];
const FIRST: (f32, f32) = (LOG2_E as f32, (LOG2_E - LOG2_E as f32 as f64) as f32);
/// An inverse of the mantissa in few bits, 1 on both sides of 1, and what it takes from the logarithm, in two parts.
const INVERSE: [f32; 32] = [
    1.0, 0.9550781, 0.9277344, 0.9013672, 0.8769531, 0.8535156, 0.8310547, 0.8105469, 0.79003906,
    0.7714844, 0.7529297, 0.73535156, 0.71875, 0.703125, 0.68847656, 0.6738281, 1.3193359,
    1.2929688, 1.2675781, 1.2431641, 1.21875, 1.1962891, 1.1738281, 1.1533203, 1.1328125,
    1.1132812, 1.09375, 1.0751953, 1.0576172, 1.0410156, 1.0244141, 1.0,
];
const LOG_HIGH: [f32; 32] = [
    0.0,
    0.06628418,
    0.10821533,
    0.14984131,
    0.18945312,
    0.22851562,
    0.26696777,
    0.30303955,
    0.34002686,
    0.37426758,
    0.40942383,
    0.44348145,
    0.47644043,
    0.5081177,
    0.5385132,
    0.56951904,
    -0.3998413,
    -0.3706665,
    -0.34210205,
    -0.31402588,
    -0.2854004,
    -0.25854492,
    -0.23120117,
    -0.20581055,
    -0.17993164,
    -0.15484619,
    -0.12927246,
    -0.10461426,
    -0.08081055,
    -0.0579834,
    -0.03479004,
    0.0,
];
const LOG_LOW: [f32; 32] = [
    -0.0,
    2.516536e-05,
    9.647505e-07,
    -2.814624e-05,
    -2.4759742e-05,
    -5.0945005e-06,
    1.6904876e-05,
    -7.0770157e-06,
    -2.27479e-05,
    2.357881e-05,
    -1.08780405e-05,
    1.2500015e-05,
    -2.3857444e-06,
    2.922789e-05,
    7.36912e-06,
    2.8405366e-05,
    2.9349269e-05,
    -2.09029e-05,
    2.7382783e-05,
    9.175005e-06,
    -1.8282373e-06,
    -2.1112015e-05,
    -2.0008836e-05,
    1.7297478e-05,
    2.255061e-05,
    2.8082353e-05,
    -1.05560075e-05,
    1.5504249e-05,
    -6.9807334e-06,
    -8.324321e-06,
    -8.9235145e-06,
    -0.0,
];

impl Sixteen {
    /// `log2(|self|)` as a sum, whose second part is undefined where the first is not finite.
    #[inline(always)]
    fn log2_pair(self) -> (Sixteen, Sixteen) {
        let m = self.abs().mantissa();
        let k = self.exponent() - m.exponent();
        let at = m.leading_bits();
        let inverse = at.looked_up_32(&INVERSE);
        let p = m * inverse;
        let p_low = m.fma(inverse, -p);
        let r = p - 1.0;
        let both = r + p_low;
        // r (FIRST + r TAIL) as a sum.
        let bend = (both * both) * both.polynomial(&TAIL);
        let t = r * Sixteen::lit(FIRST.0);
        let t_low = r.fma(Sixteen::lit(FIRST.0), -t);
        let t_low = r.fma(Sixteen::lit(FIRST.1), t_low);
        let t_low = p_low.fma(Sixteen::lit(FIRST.0), t_low) + at.looked_up_32(&LOG_LOW);
        let whole = k + at.looked_up_32(&LOG_HIGH);
        let bent = t + bend;
        let bent_low = ((t - bent) + bend) + t_low;
        let sum = whole + bent;
        (sum, ((whole - sum) + bent) + bent_low)
    }

    /// `self^y`.
    #[inline(always)]
    pub(crate) fn powf(self, y: Sixteen) -> Sixteen {
        let (one, magic) = (Sixteen::lit(1.0), Sixteen::lit(MAGIC));
        let (high, low) = self.log2_pair();
        let p = high * y;
        let p_low = low.fma(y, high.fma(y, -p)).where_or_zero(p.abs().lt(Sixteen::lit(200.0)));
        let p = p.at_most(200.0);
        let n = (p + magic) - magic;
        let r = (p - n) + p_low;
        let value = r.fma(r.polynomial(&EXP2), one);
        let value = value.scaled_where(p.nlt(Sixteen::lit(-151.0)), n);
        let value = if self.negative() == 0 { value } else { value.of_negative(self, y) };
        one.where_(self.eq(one) | y.eq(Sixteen::lit(0.0)), value)
    }

    /// The power of `x`, given that of its magnitude, where some of `x` may be negative.
    #[inline(always)]
    fn of_negative(self, x: Sixteen, y: Sixteen) -> Sixteen {
        let (zero, one) = (Sixteen::lit(0.0), Sixteen::lit(1.0));
        // Whatever is as large is even.
        let limited = y.at_most(1e12).at_least(-1e12);
        let rest = (limited * Sixteen::lit(0.5)).trunc().taken(Sixteen::lit(2.0), limited).abs();
        let (odd, whole) = (rest.eq(one), rest.eq(one) | rest.eq(zero));
        let refused = x.lt(zero) & Sixteen::lit(f32::NEG_INFINITY).lt(x) & !whole;
        let value = self.copysign(x).where_(odd, self);
        let value = Sixteen::lit(f32::NAN).where_(refused, value);
        one.where_(x.eq(-one) & y.abs().eq(Sixteen::lit(f32::INFINITY)), value)
    }
}
