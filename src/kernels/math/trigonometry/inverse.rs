//! Inverse trigonometric functions: an odd polynomial near zero, after an argument reduction.
//!
//! `atan` divides once: it evaluates at `(n - d) / (n + d)`, which is pi/4 away from `n / d`, if that is the
//! smaller. `asin` and `acos` use `asin(sqrt((1 - a) / 2))` beyond a half.
//! Error: `asin` and `atan` below 2 ulp, `acos` and `atan2` below 2.

/// Defines the inverse trigonometric functions for one float width.
macro_rules! inverses {
    (
        $module:ident, $t:ident, $round:ident, huge: ($huge:literal, $shrink:literal),
        quarter: ($low:literal, $low3:literal), atan: $atan:expr, asin: $asin:expr,
    ) => {
        /// Inverse trigonometric functions for one float width.
        #[allow(missing_docs)]
        pub(in crate::kernels::math) mod $module {
            use crate::kernels::math::basic::$round::horner;
            use std::$t::consts::{FRAC_PI_2, FRAC_PI_4, SQRT_2};

            const ATAN: [$t; $atan.len()] = $atan;
            const ASIN: [$t; $asin.len()] = $asin;
            /// tan(pi/8): between this and its inverse the reduced argument is the smaller.
            const TAN_PI_8: $t = SQRT_2 - 1.0;

            /// `atan(t)` for a reduced argument, as `t` and a correction to add.
            #[inline(always)]
            fn reduced<const FMA: bool>(t: $t) -> ($t, $t) {
                let z = t * t;
                (t, (t * z) * horner::<FMA, _>(&ATAN, z))
            }

            #[inline(always)]
            pub fn atan<const FMA: bool>(x: $t) -> $t {
                let a = x.abs();
                let (middle, far) = (a > TAN_PI_8, a > 1.0 / TAN_PI_8);
                let over = if far {
                    -1.0
                } else if middle {
                    a - 1.0
                } else {
                    a
                };
                let under = if far {
                    a
                } else if middle {
                    a + 1.0
                } else {
                    1.0
                };
                let (t, rest) = reduced::<FMA>(over / under);
                let base = if far {
                    FRAC_PI_2
                } else if middle {
                    FRAC_PI_4
                } else {
                    0.0
                };
                let low = if far {
                    2.0 * $low
                } else if middle {
                    $low
                } else {
                    0.0
                };
                (base + (t + (rest + low))).copysign(x)
            }

            #[inline(always)]
            pub fn atan2<const FMA: bool>(y: $t, x: $t) -> $t {
                let (a, b) = (y.abs(), x.abs());
                let steep = a > b;
                let (n, d) = if steep { (b, a) } else { (a, b) };
                // Two infinities count as equal; beside an infinity a number counts as zero, and so does 0/0.
                let infinite = d == <$t>::INFINITY;
                let n = if infinite { if n == d { 1.0 } else { n * 0.0 } } else { n };
                let d = if infinite | (d == 0.0) { 1.0 } else { d };
                let shrink = if d > $huge { $shrink } else { 1.0 };
                let (n, d) = (n * shrink, d * shrink);
                let middle = n > d * TAN_PI_8;
                let over = if middle { n - d } else { n };
                let under = if middle { n + d } else { d };
                let (t, rest) = reduced::<FMA>(over / under);
                // The quarter turns from which the angle is measured, and its direction.
                let turns = if middle { 1.0 } else { 0.0 };
                let turns = if steep { 2.0 - turns } else { turns };
                let left = x.is_sign_negative();
                let turns: $t = if left { 4.0 - turns } else { turns };
                let low = if turns == 3.0 { $low3 } else { turns * $low };
                let back = steep != left;
                let (t, rest) = if back { (-t, -rest) } else { (t, rest) };
                (turns * FRAC_PI_4 + (t + (rest + low))).copysign(y)
            }

            /// `asin(s) - s` for `s` up to a half; with `s` itself and whether `x` was beyond a half.
            #[inline(always)]
            fn arc<const FMA: bool>(x: $t) -> ($t, $t, bool) {
                let a = x.abs();
                let far = a > 0.5;
                let z = if far { 0.5 * (1.0 - a) } else { a * a };
                let s = if far { z.sqrt() } else { a };
                (s, (s * z) * horner::<FMA, _>(&ASIN, z), far)
            }

            #[inline(always)]
            pub fn asin<const FMA: bool>(x: $t) -> $t {
                let (s, rest, far) = arc::<FMA>(x);
                let beyond = (FRAC_PI_2 - 2.0 * s) - (2.0 * rest - 2.0 * $low);
                (if far { beyond } else { s + rest }).copysign(x)
            }

            #[inline(always)]
            pub fn acos<const FMA: bool>(x: $t) -> $t {
                let (s, rest, far) = arc::<FMA>(x);
                let negative = x < 0.0;
                // pi/2 - asin(x) near zero; beyond, 2 asin(s), or pi minus that for negative x.
                let scale = if far { 2.0 } else { 1.0 };
                let (s, rest) = (scale * s, scale * rest);
                let (s, rest) = if negative == far { (s, rest) } else { (-s, -rest) };
                let quarters: $t = if far { if negative { 2.0 } else { 0.0 } } else { 1.0 };
                (quarters * FRAC_PI_2 - s) - (rest - quarters * (2.0 * $low))
            }
        }
    };
}

inverses! {
    w64, f64, round64, huge: (1e300, 1e-10),
    quarter: (3.061616997868383e-17, 9.184850993605148e-17),
    atan: [
        -0.3333333333333333, 0.19999999999999804, -0.14285714285659779, 0.11111111105150588,
        -0.09090908753259112, 0.07692296368042296, -0.0666642476020052, 0.05878927554473807,
        -0.05230443640686948, 0.045515447340221615, -0.03456931506332609, 0.016284375050043393,
    ],
    asin: [
        0.16666666666666669, 0.07499999999998433, 0.04464285714635543, 0.030381944138531247,
        0.02237217294214989, 0.017352392720869973, 0.013971212973552933, 0.011479177415184906,
        0.01032281435018578, 0.005457506718640358, 0.01740087944269402, -0.014851887071247204,
        0.028757851367421566,
    ],
}
inverses! {
    w32, f32, round32, huge: (1e37, 1e-5),
    quarter: (-2.1855694e-8, -5.9624403e-9),
    atan: [-0.3333333, 0.1999954, -0.1426395, 0.10743669, -0.064517185],
    asin: [0.16666666, 0.07500094, 0.044599403, 0.031100662, 0.017149238, 0.033690847],
}
