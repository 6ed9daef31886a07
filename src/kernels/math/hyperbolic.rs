//! Hyperbolic functions from the exponentials, their inverses from `log1p`.
//!
//! Error: `tanh` below 2 ulp; the others below 4 ulp.

/// Defines the hyperbolic functions for one float width.
macro_rules! hyperbolic {
    (
        $module:ident, $t:ident, $round:ident,
        saturated: $saturated:literal, huge: $huge:literal, ln2: ($ln2_hi:literal, $ln2_lo:literal),
        p: $p:expr, q: $q:expr, asinh: $asinh:expr, artanh: $artanh:expr,
    ) => {
        /// Hyperbolic functions for one float width.
        #[allow(missing_docs)]
        pub(super) mod $module {
            use crate::kernels::math::basic::$round::{fma, horner};
            use crate::kernels::math::exp::$module::{
                exp_moderate, exp_parts, half_expm1, power_of_two, scale,
            };
            use crate::kernels::math::log::$module::{log1p, split};
            use std::$t::consts::{LN_2, SQRT_2};

            const P: [$t; $p.len()] = $p;
            const Q: [$t; $q.len()] = $q;
            /// `asinh(a) / a - 1` below a half, over `a²`.
            const ASINH: [$t; $asinh.len()] = $asinh;
            /// `2 artanh(s) / s - 2` up to a third, over `s²`.
            const ARTANH: [$t; $artanh.len()] = $artanh;

            /// `x + x³ P/Q` near zero, `1 - 2 / (e^2x + 1)` elsewhere, with one division.
            #[inline(always)]
            pub fn tanh<const FMA: bool>(x: $t) -> $t {
                let a = x.abs();
                let z = a * a;
                let limited = if a > $saturated { $saturated } else { a };
                let grown = exp_moderate::<FMA>(limited + limited) + 1.0;
                let small = a < 0.5625;
                let over = if small { a * z * horner::<FMA, _>(&P, z) } else { -2.0 };
                let under = if small { horner::<FMA, _>(&Q, z) } else { grown };
                let base = if small { a } else { 1.0 };
                (base + over / under).copysign(x)
            }

            /// `e^a / 2` and `e^-a / 2` for `a >= 0`.
            #[inline(always)]
            fn halves<const FMA: bool>(a: $t) -> ($t, $t) {
                let (p, k) = exp_parts::<FMA>(a, 0.0);
                let grown = scale::<FMA>(p, k - 1.0);
                (grown, 0.25 / grown)
            }

            #[inline(always)]
            pub fn sinh<const FMA: bool>(x: $t) -> $t {
                // With e = e^a - 1: (e + e / (e + 1)) / 2, halved first so that it overflows last.
                let half = half_expm1::<FMA>(x.abs());
                let value = half + half / (half + half + 1.0);
                let value = if half < $t::INFINITY { value } else { half };
                // x itself if x³ / 6 is below the last digit; half of x may be subnormal.
                (if x.abs() < $t::EPSILON { x.abs() } else { value }).copysign(x)
            }

            #[inline(always)]
            pub fn cosh<const FMA: bool>(x: $t) -> $t {
                let (up, down) = halves::<FMA>(x.abs());
                up + down
            }

            /// `ln(1 + near)`, or `ln(2a)` beyond `huge`, where a square would overflow.
            #[inline(always)]
            fn log_of<const FMA: bool>(near: $t, a: $t) -> $t {
                // The condition is tested twice in different ways, or the compiler computes both logarithms.
                let near = if a >= $huge { a } else { near };
                let far = a.to_bits() >= <$t>::to_bits($huge);
                log1p::<FMA>(near) + (if far { LN_2 } else { 0.0 })
            }

            #[inline(always)]
            pub fn asinh<const FMA: bool>(x: $t) -> $t {
                let a = x.abs();
                let z = a * a;
                let near = fma::<FMA>(a * z, horner::<FMA, _>(&ASINH, z), a);
                let root = fma::<FMA>(a, a, 1.0).sqrt();
                // Above a half nothing cancels in a + (root - 1).
                let far = log_of::<FMA>(a + (root - 1.0), a);
                (if a < 0.5 { near } else { far }).copysign(x)
            }

            #[inline(always)]
            pub fn acosh<const FMA: bool>(x: $t) -> $t {
                let t = x - 1.0;
                let value = log_of::<FMA>(t + fma::<FMA>(t, t, t + t).sqrt(), x);
                if x >= 1.0 { value } else { $t::NAN }
            }

            #[inline(always)]
            pub fn atanh<const FMA: bool>(x: $t) -> $t {
                let a = x.abs();
                // (1 + a) / (1 - a) = 2^k m, and artanh of (m - 1) / (m + 1) with one division.
                let (k, _) = split(1.0 - a);
                let k = (if a > SQRT_2 - 1.0 { 1.0 } else { 0.0 }) - k;
                let (up, down) = ((1.0 + a) * power_of_two(-k), 1.0 - a);
                let s = (up - down) / (up + down);
                // Without a power of two that is a itself, which the sums would round.
                let s = if k == 0.0 { a } else { s };
                let z = s * s;
                let rest = (s * z) * horner::<FMA, _>(&ARTANH, z);
                let low = fma::<FMA>(k, $ln2_lo, rest);
                let value = 0.5 * fma::<FMA>(k, $ln2_hi, fma::<FMA>(2.0, s, low));
                let value = if a == 1.0 { $t::INFINITY } else { value };
                if a <= 1.0 { value.copysign(x) } else { $t::NAN }
            }
        }
    };
}

hyperbolic! {
    w64, f64, round64, saturated: 22.0, huge: 1e150, ln2: (0.6931471805598903, 5.497923018708371e-14),
    p: [-0.3333333333333333, -0.020501454202625308, -0.00019929568127201146],
    q: [1.0, 0.4615043626078747, 0.0232948701822494, 0.0002066597347034641],
    asinh: [
        -0.16666666666666666, 0.0749999999999992, -0.044642857142677225, 0.030381944428513684,
        -0.022372158355736263, 0.0173527441556904, -0.013964483323351326, 0.011547475926257406,
        -0.009725716144151688, 0.00818236764637779, -0.0064746008466359025, 0.00413835813140252,
        -0.0014988358499957474,
    ],
    artanh: [
        0.6666666666666666, 0.39999999999999525, 0.285714285716001, 0.2222222219823677,
        0.18181819897962714, 0.1538454396486055, 0.13335178631449257, 0.11734279061303197,
        0.10845178394880015, 0.07492143795550767, 0.1563057780092285,
    ],
}
hyperbolic! {
    w32, f32, round32, saturated: 10.0, huge: 1e18, ln2: (0.693_145_75, 1.428_606_8e-6),
    p: [-0.333_333_3, -0.00155782],
    q: [1.0, 0.40466926],
    asinh: [-0.16666667, 0.07499973, -0.04463002, 0.030156178, -0.020526793, 0.009936504],
    artanh: [0.6666667, 0.39999706, 0.28592357, 0.21706575, 0.2322433],
}
