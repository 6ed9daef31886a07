//! Exponentials: `e^x` as a polynomial on `|r| <= ln(2) / 2` times a power of two.
//!
//! The power is applied in two factors, so that overflow, underflow and subnormal results of the last
//! multiplication are correctly rounded.
//! Error: `exp` below 1 ulp, `exp2` below 1.1, `expm1` and `sigmoid` below 2.

/// Defines the exponentials for one float width.
macro_rules! exponentials {
    (
        $module:ident, $t:ident, $round:ident,
        mantissa: $mantissa:literal of $bits:ty, bias: $bias:literal, lift: $lift:literal, ln2: ($ln2_hi:literal, $ln2_lo:literal),
        vanished: $vanished:literal,
        range: $low:literal .. $high:literal, range2: $low2:literal .. $high2:literal,
        all_one: $all_one:literal, direct: $direct:literal, poly: $poly:expr,
    ) => {
        /// Exponentials for one float width.
        #[allow(missing_docs)]
        pub(super) mod $module {
            use crate::kernels::math::basic::$round::{MAGIC, fma, horner};
            use std::$t::consts::{LN_2, LOG2_E};

            const BIASED: $t = MAGIC + $bias;
            const POLY: [$t; $poly.len()] = $poly;
            /// `ln(2)` in two parts, the first with trailing zeros.
            const LN2: ($t, $t) = ($ln2_hi, $ln2_lo);

            /// `2^k` for an integer `k` within the exponents of normal numbers.
            #[inline(always)]
            pub fn power_of_two(k: $t) -> $t {
                $t::from_bits((k + BIASED).to_bits() << $mantissa)
            }

            /// `value * 2^k`, where `2^k` itself may overflow or be subnormal. What certainly underflows to
            /// zero is multiplied by zero instead, because underflow is a hundred times slower.
            #[inline(always)]
            pub fn scale<const FMA: bool>(value: $t, k: $t) -> $t {
                let half = fma::<FMA>(k, 0.5, MAGIC) - MAGIC;
                let rest = if k > $vanished { power_of_two(k - half) } else { 0.0 };
                value * power_of_two(half) * rest
            }

            /// `x` clamped to a range; NaN stays.
            #[inline(always)]
            pub fn limit(x: $t, low: $t, high: $t) -> $t {
                let x = if x > high { high } else { x };
                if x < low { low } else { x }
            }

            /// `e^r - 1` for a reduced argument.
            #[inline(always)]
            pub fn reduced_expm1<const FMA: bool>(r: $t) -> $t {
                fma::<FMA>(r * r, horner::<FMA, _>(&POLY, r), r)
            }

            /// `e^r` for a reduced argument.
            #[inline(always)]
            pub fn reduced_exp<const FMA: bool>(r: $t) -> $t {
                if $direct && FMA {
                    return fma::<FMA>(fma::<FMA>(horner::<FMA, _>(&POLY, r), r, 1.0), r, 1.0);
                }
                1.0 + reduced_expm1::<FMA>(r)
            }

            /// The integer `k` and the remainder `r` with `x = k ln(2) + r`.
            #[inline(always)]
            pub fn reduce<const FMA: bool>(x: $t) -> ($t, $t) {
                let k = fma::<FMA>(x, LOG2_E, MAGIC) - MAGIC;
                let r = fma::<FMA>(k, -LN2.0, x);
                (k, fma::<FMA>(k, -LN2.1, r))
            }

            /// `e^x = p * 2^k`, for `e^(x + low)` with a small `low`.
            #[inline(always)]
            pub fn exp_parts<const FMA: bool>(x: $t, low: $t) -> ($t, $t) {
                let (k, r) = reduce::<FMA>(limit(x, $low, $high));
                (reduced_exp::<FMA>(r + low), k)
            }

            /// `e^x` where the result is neither subnormal nor infinite.
            #[inline(always)]
            pub fn exp_moderate<const FMA: bool>(x: $t) -> $t {
                let (k, r) = reduce::<FMA>(x);
                reduced_exp::<FMA>(r) * power_of_two(k)
            }

            #[inline(always)]
            pub fn exp<const FMA: bool>(x: $t) -> $t {
                let (k, r) = reduce::<FMA>(limit(x, $low, $high));
                scale::<FMA>(reduced_exp::<FMA>(r), k)
            }

            /// `e^x` for an `x` that is at most zero, up to rounding: the power of two cannot overflow, so
            /// that one factor applies it, lifted, and another one lowers it again. The bits are those of
            /// `exp`.
            #[inline(always)]
            pub fn exp_of_negative<const FMA: bool>(x: $t) -> $t {
                const BACK: $t = $t::from_bits(($bias - $lift) as $bits << $mantissa);
                let (k, r) = reduce::<FMA>(if x < $low { $low } else { x });
                let back = if k > $vanished { BACK } else { 0.0 };
                reduced_exp::<FMA>(r) * power_of_two(k + $lift) * back
            }

            #[inline(always)]
            pub fn exp2<const FMA: bool>(x: $t) -> $t {
                let x = limit(x, $low2, $high2);
                let k = (x + MAGIC) - MAGIC;
                scale::<FMA>(reduced_exp::<FMA>((x - k) * LN_2), k)
            }

            /// `(e^x - 1) 2^shift`.
            #[inline(always)]
            fn expm1_scaled<const FMA: bool>(x: $t, shift: $t) -> $t {
                // Below the limit the result is -1 to the last bit.
                let (k, r) = reduce::<FMA>(limit(x, $all_one, $high));
                let p = reduced_expm1::<FMA>(r);
                // 2^k (p + 1) - 1 as 2^k (p + (1 - 2^-k)): only exact terms cancel.
                let inverse = if k > 100.0 { 0.0 } else { power_of_two(-k) };
                scale::<FMA>(p + (1.0 - inverse), k + shift)
            }

            #[inline(always)]
            pub fn expm1<const FMA: bool>(x: $t) -> $t {
                let result = expm1_scaled::<FMA>(x, 0.0);
                if x.abs() < $t::EPSILON { x } else { result }
            }

            /// `(e^x - 1) / 2`, which overflows later than `expm1`.
            #[inline(always)]
            pub fn half_expm1<const FMA: bool>(x: $t) -> $t {
                let result = expm1_scaled::<FMA>(x, -1.0);
                if x.abs() < $t::EPSILON { 0.5 * x } else { result }
            }

            #[inline(always)]
            pub fn sigmoid<const FMA: bool>(x: $t) -> $t {
                let e = exp_of_negative::<FMA>(-x.abs());
                (if x >= 0.0 { 1.0 } else { e }) / (1.0 + e)
            }
        }
    };
}

exponentials! {
    w64, f64, round64,
    mantissa: 52 of u64, bias: 1023.0, lift: 64.0, ln2: (0.6931471805598903, 5.497923018708371e-14),
    vanished: -1076.0,
    range: -746.0 .. 712.0, range2: -1080.0 .. 1025.0, all_one: -40.0, direct: false,
    // Of the polynomials that give `e` itself at 1, with and without FMA, the one with the smallest error
    // found.
    poly: [
        0.5000000000000012, 0.16666666666666707, 0.04166666666651749, 0.008333333333303552,
        0.0013888888946200699, 0.00019841269909320726, 2.4801490731768415e-05,
        2.7557222073712426e-06, 2.763103066433803e-07, 2.511878414309727e-08,
    ],
}
exponentials! {
    w32, f32, round32,
    mantissa: 23 of u32, bias: 127.0, lift: 32.0, ln2: (0.693_145_75, 1.428_606_8e-6),
    vanished: -151.0,
    range: -105.0 .. 91.0, range2: -152.0 .. 129.0, all_one: -20.0, direct: true,
    poly: [0.5, 0.16666515, 0.04166658, 0.008369304, 0.0013923296],
}
