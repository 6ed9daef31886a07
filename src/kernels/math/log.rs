//! Logarithms: `x = 2^k m` with `m` in `[sqrt(1/2), sqrt(2))`, and `ln(m)`, with `f = m - 1`,
//! as `2 artanh(s)` with `s = f / (2 + f)`, an odd polynomial in `s`.
//!
//! Error: `ln` below 1 ulp, the others below 2 ulp.

/// Defines the logarithms of one width.
macro_rules! logarithms {
    (
        $module:ident, $t:ident, $bits:ident, $round:ident, $exp:ident,
        mantissa: $mantissa:literal, exponent_mask: $mask:literal, root_half: $root_half:literal,
        one_integer: $one:literal, lift: ($lift:literal, $lift_power:literal),
        ln2: ($ln2_hi:literal, $ln2_lo:literal),
        log10: ($log10_2_hi:literal, $log10_2_lo:literal, $log10e_lo:literal),
        poly: $poly:expr,
    ) => {
        /// Logarithms of one width.
        #[allow(missing_docs)]
        pub(super) mod $module {
            use crate::kernels::math::basic::$round::{fma, horner, two_prod};
            use crate::kernels::math::exp::$exp::power_of_two;
            use std::$t::consts::{LOG2_E, LOG10_E};

            const POLY: [$t; $poly.len()] = $poly;
            const MANTISSA: $bits = (1 << $mantissa) - 1;
            /// The bits of the sign-free 1, and of `sqrt(1/2)`.
            const ONE: $bits = $mask << $mantissa;

            /// `(k, m)` with `x = 2^k m`, for finite `x > 0`.
            #[inline(always)]
            pub(crate) fn split(x: $t) -> ($t, $t) {
                let tiny = x < $t::MIN_POSITIVE;
                let lifted = if tiny { x * $lift } else { x };
                let bits = lifted.to_bits().wrapping_add(ONE - $root_half);
                let exponent = $t::from_bits((bits >> $mantissa) | $one.to_bits()) - $one;
                let k = exponent - $mask as $t - (if tiny { $lift_power } else { 0.0 });
                (k, $t::from_bits((bits & MANTISSA).wrapping_add($root_half)))
            }

            /// `ln(1 + f)` less `f - f²/2`, and `f²/2`.
            #[inline(always)]
            fn tail<const FMA: bool>(f: $t) -> ($t, $t) {
                let half_square = 0.5 * f * f;
                let s = f / (2.0 + f);
                let z = s * s;
                let r = z * horner::<FMA, _>(&POLY, z);
                (s * (half_square + r), half_square)
            }

            /// `k ln(2) + ln(1 + f)`.
            #[inline(always)]
            fn join<const FMA: bool>(k: $t, f: $t) -> $t {
                let (t, half_square) = tail::<FMA>(f);
                let low = fma::<FMA>(k, $ln2_lo, t);
                fma::<FMA>(k, $ln2_hi, f - (half_square - low))
            }

            /// The value at 0, below 0, at infinity and NaN; elsewhere `value`.
            #[inline(always)]
            fn edges(x: $t, value: $t) -> $t {
                let value = if x < $t::INFINITY { value } else { x };
                let value = if x > 0.0 { value } else { $t::NAN };
                if x == 0.0 { $t::NEG_INFINITY } else { value }
            }

            #[inline(always)]
            pub fn ln<const FMA: bool>(x: $t) -> $t {
                let (k, m) = split(x);
                edges(x, join::<FMA>(k, m - 1.0))
            }

            #[inline(always)]
            pub fn log2<const FMA: bool>(x: $t) -> $t {
                let (k, m) = split(x);
                let f = m - 1.0;
                let (t, half_square) = tail::<FMA>(f);
                edges(x, fma::<FMA>(f - (half_square - t), LOG2_E, k))
            }

            #[inline(always)]
            pub fn log10<const FMA: bool>(x: $t) -> $t {
                let (k, m) = split(x);
                let f = m - 1.0;
                let (t, half_square) = tail::<FMA>(f);
                // The logarithm in two parts, the product with k exact: powers of ten give integers.
                let high = f - half_square;
                let low = ((f - high) - half_square) + t;
                let (p, p_low) = two_prod::<FMA>(high, LOG10_E);
                let base = k * $log10_2_hi;
                let sum = base + p;
                let lost = (base - sum) + p;
                let rest = fma::<FMA>(low, LOG10_E, fma::<FMA>(high, $log10e_lo, p_low));
                edges(x, sum + (fma::<FMA>(k, $log10_2_lo, rest) + lost))
            }

            #[inline(always)]
            pub fn log1p<const FMA: bool>(x: $t) -> $t {
                let sum = 1.0 + x;
                let added = sum - 1.0;
                let lost = (1.0 - (sum - added)) + (x - added);
                let (k, m) = split(sum);
                // What 1 + x lost, in units of the mantissa; nothing once x dwarfs the 1.
                let lost = if k > 100.0 { 0.0 } else { lost * power_of_two(-k) };
                let value = edges(sum, join::<FMA>(k, (m - 1.0) + lost));
                if x.abs() < 0.5 * $t::EPSILON { x } else { value }
            }
        }
    };
}

logarithms! {
    logs64, f64, u64, round64, w64,
    mantissa: 52, exponent_mask: 1023, root_half: 0x3fe6_a09e_667f_3bcd,
    one_integer: 4503599627370496.0f64, lift: (18014398509481984.0, 54.0),
    ln2: (0.6931471805598903, 5.497923018708371e-14),
    log10: (0.30102999566383914, 1.42050232272661e-13, 1.098319650216765e-17),
    poly: [
        0.6666666666666731, 0.3999999999942358, 0.2857142874274129, 0.22222198356476758,
        0.18183583179414828, 0.15313403692744879, 0.14803859381047904,
    ],
}
logarithms! {
    logs32, f32, u32, round32, w32,
    mantissa: 23, exponent_mask: 127, root_half: 0x3f35_04f3,
    one_integer: 8388608.0f32, lift: (33554432.0, 25.0),
    ln2: (0.693_145_75, 1.428_606_8e-6),
    log10: (0.301_025_4, 4.605_039e-6, -1.010_305e-8),
    poly: [0.66666776, 0.39977443, 0.2987711],
}

/// Logarithms of float64.
#[allow(missing_docs)]
pub(super) mod w64 {
    pub(crate) use super::logs64::split;
    pub use super::logs64::{ln, log1p, log2, log10};
}

/// Logarithms of float32.
#[allow(missing_docs)]
pub(super) mod w32 {
    pub(crate) use super::logs32::split;
    pub use super::logs32::{ln, log1p, log2, log10};
}
