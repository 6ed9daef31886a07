//! The cube root and the Euclidean length of two numbers.
//!
//! `cbrt` takes `m^(-1/3)` from a cubic and refines it without a division. `hypot` scales by a power of two
//! if a square would overflow or underflow. Error: both below 1 ulp.

/// Defines the roots for one float width.
macro_rules! roots {
    (
        $module:ident, $t:ident, $round:ident, $logs:ident, refine: $refine:literal,
        cbrt_2: $cbrt_2:literal, inverse: $inverse:expr,
        large: ($large:literal, $down:literal), small: ($small:literal, $up:literal),
    ) => {
        /// Roots for one float width.
        #[allow(missing_docs)]
        pub(super) mod $module {
            use crate::kernels::math::basic::$round::{MAGIC, fma, horner};
            use crate::kernels::math::exp::$module::power_of_two;
            use crate::kernels::math::log::$logs::split;

            /// `m^(-1/3)` on the mantissas of `split`, to 2^-11.
            const INVERSE_ROOT: [$t; 4] = $inverse;
            const CBRT_2: $t = $cbrt_2;

            #[inline(always)]
            pub fn cbrt<const FMA: bool>(x: $t) -> $t {
                let a = x.abs();
                let (k, m) = split(a);
                let third = fma::<FMA>(k, 1.0 / 3.0, MAGIC) - MAGIC;
                let rest = k - 3.0 * third;
                let m = m
                    * (if rest < 0.0 {
                        0.5
                    } else if rest > 0.0 {
                        2.0
                    } else {
                        1.0
                    });
                let scale = if rest < 0.0 {
                    CBRT_2
                } else if rest > 0.0 {
                    1.0 / CBRT_2
                } else {
                    1.0
                };
                let guess = if rest < 0.0 {
                    m + m
                } else if rest > 0.0 {
                    0.5 * m
                } else {
                    m
                };
                let mut y = horner::<FMA, _>(&INVERSE_ROOT, guess) * scale;
                if $refine {
                    let e = fma::<FMA>(-m, y * y * y, 1.0);
                    y = fma::<FMA>(y * e, fma::<FMA>(e, 2.0 / 9.0, 1.0 / 3.0), y);
                }
                let c = m * (y * y);
                let e = fma::<FMA>(-c, y, 1.0);
                let c = fma::<FMA>(c * e, fma::<FMA>(e, 5.0 / 9.0, 2.0 / 3.0), c);
                let value = (c * power_of_two(third)).copysign(x);
                if (a > 0.0) & (a < <$t>::INFINITY) { value } else { x }
            }

            #[inline(always)]
            pub fn hypot<const FMA: bool>(x: $t, y: $t) -> $t {
                let (x, y) = (x.abs(), y.abs());
                let (a, b) = if x > y { (x, y) } else { (y, x) };
                let (large, small) = (a > $large, a < $small);
                let scale = if large {
                    $down
                } else if small {
                    $up
                } else {
                    1.0
                };
                let back = if large {
                    $up
                } else if small {
                    $down
                } else {
                    1.0
                };
                let (u, v) = (a * scale, b * scale);
                let value = fma::<FMA>(u, u, v * v).sqrt() * back;
                if (x == <$t>::INFINITY) | (y == <$t>::INFINITY) { <$t>::INFINITY } else { value }
            }
        }
    };
}

roots! {
    w64, f64, round64, logs64, refine: true,
    cbrt_2: 1.2599210498948732,
    inverse: [1.7260775382894122, -1.271944094799583, 0.7000734467866542, -0.1544003200736959],
    large: (1e150, 7.71174356832923e-180), small: (1e-150, 1.2967236152753103e+179),
}
roots! {
    w32, f32, round32, logs32, refine: false,
    cbrt_2: 1.2599211, inverse: [1.7260776, -1.271944, 0.7000734, -0.15440032],
    large: (1e18, 7.888_609e-31), small: (1e-18, 1.267_650_6e30),
}
