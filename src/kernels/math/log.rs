//! Logarithms: `x = 2^k m` with `m` in `[sqrt(1/2), sqrt(2))`, and `ln(m)`, with `f = m - 1`: for
//! float64 `2 artanh(s)` with `s = f / (2 + f)`, an odd polynomial in `s`; for float32 one in `f`.
//!
//! Error: `ln` below 1 ulp, the others below 2 ulp.

/// Defines the logarithms for one float width.
macro_rules! logarithms {
    (
        $module:ident, $t:ident, $round:ident, $exp:ident, $parts:ident,
        ln2: ($ln2_hi:literal, $ln2_lo:literal),
        log10: ($log10_2_hi:literal, $log10_2_lo:literal, $log10e_lo:literal),
    ) => {
        /// Logarithms for one float width.
        #[allow(missing_docs)]
        pub(super) mod $module {
            pub(crate) use super::$parts::split;
            use super::$parts::{ARTANH, tail};
            use crate::kernels::math::basic::$round::{fma, horner, two_prod};
            use crate::kernels::math::exp::$exp::power_of_two;
            use std::$t::consts::{LOG2_E, LOG10_E};

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
                // The product with k is exact in two parts, so that powers of ten give integers.
                let low = fma::<FMA>(t - half_square, LOG10_E, k * $log10_2_lo);
                let low = fma::<FMA>(f, $log10e_lo, low);
                let rest = if FMA {
                    fma::<FMA>(f, LOG10_E, low)
                } else {
                    let (p, p_low) = two_prod::<FMA>(f, LOG10_E);
                    p + (p_low + low)
                };
                edges(x, fma::<FMA>(k, $log10_2_hi, rest))
            }

            /// `ln(x / (1 - x))`: around 1/2 `2 artanh(2x - 1)` as a polynomial.
            #[inline(always)]
            pub fn logit<const FMA: bool>(x: $t) -> $t {
                let t = x + x - 1.0;
                let z = t * t;
                let near = t + fma::<FMA>(t * z, horner::<FMA, _>(&ARTANH, z), t);
                let far = ln::<FMA>(x / (1.0 - x));
                if t.abs() < 0.4 { near } else { far }
            }

            #[inline(always)]
            pub fn log1p<const FMA: bool>(x: $t) -> $t {
                let sum = 1.0 + x;
                let added = sum - 1.0;
                let lost = (1.0 - (sum - added)) + (x - added);
                let (k, m) = split(sum);
                // The rounding error of 1 + x, in units of the mantissa; nothing once x dwarfs the 1.
                let lost = if k > 100.0 { 0.0 } else { lost * power_of_two(-k) };
                let value = edges(sum, join::<FMA>(k, (m - 1.0) + lost));
                if x.abs() < 0.5 * $t::EPSILON { x } else { value }
            }
        }
    };
}

/// Constants and argument reduction of float64.
mod parts64 {
    use crate::kernels::math::basic::round64::horner;

    /// `2 artanh(s) / s` after its first term, over `s^2`.
    const POLY: [f64; 7] = [
        0.6666666666666731,
        0.3999999999942358,
        0.2857142874274129,
        0.22222198356476758,
        0.18183583179414828,
        0.15313403692744879,
        0.14803859381047904,
    ];
    /// `2 (artanh(t) - t) / t^3` in `t^2`, to 0.4.
    pub(super) const ARTANH: [f64; 11] = [
        0.6666666666666754,
        0.3999999999968686,
        0.28571428610413396,
        0.22222219806292157,
        0.18181904940738944,
        0.15382663670994437,
        0.13361933544068882,
        0.11488499284964487,
        0.12257008331080205,
        0.02870136305637236,
        0.222270492725853,
    ];
    const INTEGER: f64 = 4503599627370496.0;
    const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;

    /// `(k, m)` with `x = 2^k m`, for finite `x > 0`.
    #[inline(always)]
    pub(crate) fn split(x: f64) -> (f64, f64) {
        let tiny = x < f64::MIN_POSITIVE;
        let scaled = if tiny { x * 18014398509481984.0 } else { x };
        let bits = scaled.to_bits().wrapping_add((1023 << 52) - ROOT_HALF);
        let exponent = f64::from_bits((bits >> 52) | INTEGER.to_bits()) - INTEGER;
        let k = exponent - 1023.0 - (if tiny { 54.0 } else { 0.0 });
        (k, f64::from_bits((bits & ((1 << 52) - 1)).wrapping_add(ROOT_HALF)))
    }

    /// `ln(1 + f)` less `f - f²/2`, and `f²/2`.
    #[inline(always)]
    pub(super) fn tail<const FMA: bool>(f: f64) -> (f64, f64) {
        let half_square = 0.5 * f * f;
        let s = f / (2.0 + f);
        let z = s * s;
        let r = z * horner::<FMA, _>(&POLY, z);
        (s * (half_square + r), half_square)
    }
}

/// Constants and argument reduction of float32.
mod parts32 {
    use crate::kernels::math::basic::round32::horner;

    /// `(ln(1 + f) - f + f^2 / 2) / f^3`.
    const POLY: [f32; 8] = [
        0.3333333,
        -0.25000823,
        0.20001255,
        -0.16623323,
        0.14201413,
        -0.13160348,
        0.12762299,
        -0.07633291,
    ];
    /// `2 (artanh(t) - t) / t^3` in `t^2`, to 0.4.
    pub(super) const ARTANH: [f32; 5] = [0.6666673, 0.3999457, 0.28724587, 0.20375986, 0.27826953];
    const ROOT_HALF: u32 = 0x3f35_04f3;

    /// `(k, m)` with `x = 2^k m`, for finite `x > 0`.
    #[inline(always)]
    pub(crate) fn split(x: f32) -> (f32, f32) {
        let tiny = x < f32::MIN_POSITIVE;
        let bits = (if tiny { x * 33554432.0 } else { x }).to_bits();
        let exponent = (bits.wrapping_sub(ROOT_HALF) as i32) >> 23;
        let k = exponent as f32 - (if tiny { 25.0 } else { 0.0 });
        (k, f32::from_bits(bits.wrapping_sub((exponent << 23) as u32)))
    }

    /// `ln(1 + f)` less `f - f²/2`, and `f²/2`.
    #[inline(always)]
    pub(super) fn tail<const FMA: bool>(f: f32) -> (f32, f32) {
        let square = f * f;
        ((f * square) * horner::<FMA, _>(&POLY, f), 0.5 * square)
    }
}

logarithms! {
    logs64, f64, round64, w64, parts64,
    ln2: (0.6931471805598903, 5.497923018708371e-14),
    log10: (0.30102999566383914, 1.42050232272661e-13, 1.098319650216765e-17),
}
logarithms! {
    logs32, f32, round32, w32, parts32,
    ln2: (0.693_145_75, 1.428_606_8e-6),
    log10: (0.301_025_4, 4.605_039e-6, -1.010_305e-8),
}

/// Logarithms of float64.
#[allow(missing_docs)]
pub(super) mod w64 {
    pub(crate) use super::logs64::split;
    pub use super::logs64::{ln, log1p, log2, log10, logit};
}

/// Logarithms of float32.
#[allow(missing_docs)]
pub(super) mod w32 {
    pub(crate) use super::logs32::split;
    pub use super::logs32::{ln, log1p, log2, log10, logit};
}
