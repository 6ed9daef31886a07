//! Hyperbolic functions from the exponentials, their inverses from `log1p`.
//!
//! Error: `tanh` below 2 ulp; the others below 4 ulp.

/// Defines the hyperbolic functions of one width.
macro_rules! hyperbolic {
    (
        $module:ident, $t:ident, $round:ident,
        saturated: $saturated:literal, huge: $huge:literal, p: $p:expr, q: $q:expr,
    ) => {
        /// Hyperbolic functions of one width.
        #[allow(missing_docs)]
        pub(super) mod $module {
            use crate::kernels::math::basic::$round::horner;
            use crate::kernels::math::exp::$module::{exp_moderate, exp_parts, expm1, scale};
            use crate::kernels::math::log::$module::{ln, log1p};
            use std::$t::consts::LN_2;

            const P: [$t; $p.len()] = $p;
            const Q: [$t; $q.len()] = $q;

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
                let a = x.abs();
                let (up, down) = halves::<FMA>(a);
                let e = expm1::<FMA>(if a > 2.0 { 2.0 } else { a });
                let near = 0.5 * (e + e / (e + 1.0));
                (if a < 1.0 { near } else { up - down }).copysign(x)
            }

            #[inline(always)]
            pub fn cosh<const FMA: bool>(x: $t) -> $t {
                let (up, down) = halves::<FMA>(x.abs());
                up + down
            }

            /// `ln(2a)`: what the inverses are beyond `huge`, where a square would overflow.
            #[inline(always)]
            fn log_twice<const FMA: bool>(a: $t) -> $t {
                ln::<FMA>(a) + LN_2
            }

            #[inline(always)]
            pub fn asinh<const FMA: bool>(x: $t) -> $t {
                let a = x.abs();
                let limited = if a > $huge { $huge } else { a };
                let square = limited * limited;
                let near = log1p::<FMA>(limited + square / (1.0 + (1.0 + square).sqrt()));
                (if a < $huge { near } else { log_twice::<FMA>(a) }).copysign(x)
            }

            #[inline(always)]
            pub fn acosh<const FMA: bool>(x: $t) -> $t {
                let t = (if x > $huge { $huge } else { x }) - 1.0;
                let near = log1p::<FMA>(t + (t * (t + 2.0)).sqrt());
                let value = if x < $huge { near } else { log_twice::<FMA>(x) };
                if x >= 1.0 { value } else { $t::NAN }
            }

            #[inline(always)]
            pub fn atanh<const FMA: bool>(x: $t) -> $t {
                let a = x.abs();
                let twice = a + a;
                let value = 0.5 * log1p::<FMA>(twice + twice * a / (1.0 - a));
                if a <= 1.0 { value.copysign(x) } else { $t::NAN }
            }
        }
    };
}

hyperbolic! {
    w64, f64, round64, saturated: 22.0, huge: 1e9,
    p: [-0.3333333333333333, -0.020501454202625308, -0.00019929568127201146],
    q: [1.0, 0.4615043626078747, 0.0232948701822494, 0.0002066597347034641],
}
hyperbolic! {
    w32, f32, round32, saturated: 10.0, huge: 1e5,
    p: [-0.333_333_3, -0.00155782],
    q: [1.0, 0.40466926],
}
