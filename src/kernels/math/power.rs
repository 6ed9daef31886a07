//! `x^y = 2^(y log2 x)`, with the logarithm as a sum of two numbers so that the product keeps its accuracy.
//!
//! Error: below 1 ulp for float64, 2 for float32. Edges as C and NumPy: `x^0` and `1^y` are 1 even for
//! NaN, a negative base needs an integer exponent, and an odd one keeps the sign.

/// Defines the power for one float width.
macro_rules! power {
    (
        $module:ident, $t:ident, $round:ident, $logs:ident, most: $most:literal,
        range: $low:literal .. $high:literal, first: ($first:literal, $first_low:literal),
        second: $second:literal, tail: $tail:expr, exp2: $exp2:expr,
    ) => {
        /// The power for one float width.
        #[allow(missing_docs)]
        pub(super) mod $module {
            use crate::kernels::math::basic::$round::{
                MAGIC, fma, horner, residue, trunc, two_prod,
            };
            use crate::kernels::math::exp::$module::{limit, scale};
            use crate::kernels::math::log::$logs::split;

            /// `log2(m) / s` with `s = (m - 1) / (m + 1)`, after its first two terms, over `s^4`.
            const TAIL: [$t; $tail.len()] = $tail;
            /// `(2^r - 1) / r`.
            const EXP2: [$t; $exp2.len()] = $exp2;

            /// `a * b + c` and its rounding error, for a `c` that is 0 or larger than the product.
            #[inline(always)]
            fn sum_of_product<const FMA: bool>(a: $t, b: $t, c: $t) -> ($t, $t) {
                if FMA {
                    let sum = fma::<FMA>(a, b, c);
                    return (sum, fma::<FMA>(a, b, c - sum));
                }
                let (p, p_low) = two_prod::<FMA>(a, b);
                let sum = c + p;
                (sum, ((c - sum) + p) + p_low)
            }

            /// `log2(a)` for `a >= 0` as a sum of two numbers; the second is undefined if the first is not
            /// finite.
            #[inline(always)]
            fn log2_pair<const FMA: bool>(a: $t) -> ($t, $t) {
                let (k, m) = split(a);
                let (f, d) = (m - 1.0, m + 1.0);
                let d_low = m - (d - 1.0);
                let inverse = 1.0 / d;
                let s = f * inverse;
                let s_low = (residue::<FMA>(f, s, d) - s * d_low) * inverse;
                let (z, z_low) = two_prod::<FMA>(s, s);
                let z_low = fma::<FMA>(s + s, s_low, z_low);
                let t = fma::<FMA>(z * z, horner::<FMA, _>(&TAIL, z), $first_low);
                let w = fma::<FMA>(z, $second, t);
                let v = $first + w;
                let v_low = fma::<FMA>(z_low, $second, ($first - v) + w);
                let (sum, low) = sum_of_product::<FMA>(s, v, k);
                let low = fma::<FMA>(s, v_low, fma::<FMA>(s_low, v, low));
                let sum = if a < <$t>::INFINITY { sum } else { a };
                (if a == 0.0 { <$t>::NEG_INFINITY } else { sum }, low)
            }

            #[inline(always)]
            pub fn powf<const FMA: bool>(x: $t, y: $t) -> $t {
                let (high, low) = log2_pair::<FMA>(x.abs());
                // The sign of an even exponent of `most` is decided already, and its product with zero is not
                // NaN.
                let limited = limit(y, -$most, $most);
                let (p, p_low) = two_prod::<FMA>(high, limited);
                let p_low = fma::<FMA>(low, limited, p_low);
                let inside = p.abs() < $high - $low;
                let p = limit(p, $low, $high);
                let n = (p + MAGIC) - MAGIC;
                let r = (p - n) + (if inside { p_low } else { 0.0 });
                let magnitude = scale::<FMA>(fma::<FMA>(r, horner::<FMA, _>(&EXP2, r), 1.0), n);
                let rest = fma::<FMA>(-2.0, trunc::<FMA>(0.5 * limited), limited);
                let odd = rest.abs() == 1.0;
                let value = if odd { magnitude.copysign(x) } else { magnitude };
                let refused = (x < 0.0) & (x > <$t>::NEG_INFINITY) & !(odd | (rest == 0.0));
                let value = if refused { <$t>::NAN } else { value };
                if (y == 0.0) | (x == 1.0) { 1.0 } else { value }
            }
        }
    };
}

power! {
    w64, f64, round64, logs64, most: 1e30, range: -1080.0 .. 1026.0,
    first: (2.8853900817779268, 4.0710547481862066e-17),
    second: 0.9617966939259756,
    tail: [
        0.5770780163555858, 0.4121985831098338, 0.3205988986801571, 0.2623080459898803,
        0.22196692033039642, 0.19167599099455052, 0.1863023673611604,
    ],
    exp2: [
        std::f64::consts::LN_2, 0.24022650695910072, 0.055504108664821625, 0.00961812910762848,
        0.001333355814640647, 0.00015403530393370734, 1.5252733841556773e-05,
        1.3215486808705563e-06, 1.0178057087733941e-07, 7.0548973041554995e-09,
        4.4558179083360645e-10, 2.5729324177362305e-11,
    ],
}
power! {
    w32, f32, round32, logs32, most: 1e12, range: -152.0 .. 130.0,
    first: (2.885_39, 3.851_926e-8),
    second: 0.961_796_7,
    tail: [0.5770782, 0.41206598, 0.33251455],
    exp2: [std::f32::consts::LN_2, 0.2402265, 0.05550357, 0.009618083, 0.0013390863, 0.00015453163],
}
