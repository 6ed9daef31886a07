//! The error functions.
//!
//! `erf` is an odd polynomial near zero and `1 - e^-q(x)` beyond; `erfc` is `e^-x²` times a polynomial in
//! `(x - c) / (x + c)`, with the rounding error of `x²` corrected. Error: `erf` below 2 ulp, `erfc` and
//! `normal_cdf` below 6 ulp, in the tail too.

/// Defines the error functions for one float width.
macro_rules! error_functions {
    (
        $module:ident, $t:ident, $round:ident, cut: $cut:literal, last: $last:literal,
        center: $center:literal, underflow: $underflow:literal,
        vanished: $vanished:literal, shift: $shift:literal, last_factor: $last_factor:literal,
        near: $near:expr, far: $far:expr, scaled: $scaled:expr,
    ) => {
        /// Error functions for one float width.
        #[allow(missing_docs)]
        pub(in crate::kernels::math) mod $module {
            use crate::kernels::math::basic::$round::{fma, horner, two_prod};
            use crate::kernels::math::exp::$module::{
                exp_moderate, power_of_two, reduce, reduced_expm1,
            };

            const NEAR: [$t; $near.len()] = $near;
            const FAR: [$t; $far.len()] = $far;
            const SCALED: [$t; $scaled.len()] = $scaled;

            #[inline(always)]
            pub fn erf<const FMA: bool>(x: $t) -> $t {
                let a = x.abs();
                let a = if a > $last { $last } else { a };
                let near = fma::<FMA>(a, horner::<FMA, _>(&NEAR, a * a), a);
                let far = 1.0 - exp_moderate::<FMA>(-horner::<FMA, _>(&FAR, a - $cut));
                (if a < $cut { near } else { far }).copysign(x)
            }

            /// `2^-$shift`: powers of two below the normal numbers are applied in two factors, the first of
            /// which is normal for every argument.
            const LAST: $t = $last_factor;

            /// `erfc(a) 2^$shift last` for `a >= 0`, given `-a²` in two parts. What certainly underflows to
            /// zero is multiplied by zero instead, because underflow is a hundred times slower.
            #[inline(always)]
            fn tail<const FMA: bool>(a: $t, (square, low): ($t, $t), last: $t) -> $t {
                let t = (a - $center) / (a + $center);
                let scaled = horner::<FMA, _>(&SCALED, t) / fma::<FMA>(2.0, a, 1.0);
                let (k, r) = reduce::<FMA>(square);
                let p = 1.0 + reduced_expm1::<FMA>(r + low);
                let last = if k > $vanished { last } else { 0.0 };
                scaled * p * power_of_two(k + $shift) * last
            }

            #[inline(always)]
            pub fn erfc<const FMA: bool>(x: $t) -> $t {
                let a = x.abs();
                let a = if a > $underflow { $underflow } else { a };
                let tail = tail::<FMA>(a, two_prod::<FMA>(a, -a), LAST);
                if x < 0.0 { 2.0 - tail } else { tail }
            }

            /// `erfc(-x / sqrt(2)) / 2`, with the square of `x` itself: rounding `x / sqrt(2)` would lose the
            /// accuracy of the far tail.
            #[inline(always)]
            pub fn normal_cdf<const FMA: bool>(x: $t) -> $t {
                const END: $t = $underflow * std::$t::consts::SQRT_2;
                let a = x.abs();
                let a = if a > END { END } else { a };
                let square = two_prod::<FMA>(a, -0.5 * a);
                let tail = tail::<FMA>(a * std::$t::consts::FRAC_1_SQRT_2, square, 0.5 * LAST);
                if x < 0.0 { tail } else { 1.0 - tail }
            }
        }
    };
}

error_functions! {
    w64, f64, round64, cut: 1.0, last: 6.0, center: 4.0, underflow: 28.0,
    vanished: -1076.0, shift: 512.0, last_factor: 7.458340731200207e-155,
    near: [
        0.12837916709551256, -0.37612638903183343, 0.1128379167093695, -0.026866170641951372,
        0.005223977596573977, -0.0008548325471635083, 0.00012055279914582352,
        -1.4924450806248459e-05, 1.644392160278656e-06, -1.6181883943700973e-07,
        1.3606060758429046e-08, -7.585140249887138e-10,
    ],
    far: [
        1.8496055099332482, 2.638967514234784, 0.8431072563590847, 0.04156109803063282,
        -0.010033825229959475, 0.0019779014995544492, -0.0002373174736527807,
        -2.6293710231873487e-05, 2.7194292889007427e-05, -9.665311871991283e-06,
        2.126177517826728e-06, -2.007842628218194e-07, -6.007296906001107e-08,
        3.4152362530124355e-08, -8.715597577767072e-09, 1.3528503722755306e-09,
        -1.2276473219211447e-10, 5.022363218781599e-12,
    ],
    scaled: [
        1.2329951186255526, -0.13962111684056316, 0.015379652102604979, 0.06809705425476188,
        -0.10103906603550396, 0.09373283499627383, -0.0663303658293187, 0.03716751556453975,
        -0.016197733868985, 0.005031969799266781, -0.0007577745085641045,
        -0.00019925608927148759, 0.0001506265763197515, -2.439998647014077e-05,
        -1.1234537776020341e-05, 5.7084148414092476e-06, 3.1387142457779576e-07,
        -8.191436004504282e-07, 5.54517589686659e-08, 1.0086663529407445e-07,
        -8.320694278620277e-09, -8.225685003968011e-09, 8.390997948736049e-11,
    ],
}
error_functions! {
    w32, f32, round32, cut: 0.9, last: 4.0, center: 2.0, underflow: 10.5,
    vanished: -151.0, shift: 64.0, last_factor: 5.421_011e-20,
    near: [
        0.12837915, -0.37612504, 0.11281922, -0.026770491, 0.004998956, -0.00060207734,
    ],
    far: [
        1.5940973, 2.471633, 0.830033, 0.045694925, -0.010882148, 0.0019568847, -0.00018724836,
    ],
    scaled: [
        1.2769784, -0.092764236, -0.16603006, 0.16405933, -0.054216262, -0.008079155,
        0.008663369, 0.001352332, -0.0012552788, -0.00042815006,
    ],
}
