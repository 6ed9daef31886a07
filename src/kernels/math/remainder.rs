//! The exact remainder of a division: from the quotient if that is small enough to be exact. Otherwise a `FULL_RANGE`
//! lane calls the standard library, and a lane without `FULL_RANGE` returns NaN.

/// Defines the remainder for one float width.
macro_rules! remainder {
    ($module:ident, $t:ident, $round:ident, most: $most:literal, range: $low:literal .. $high:literal) => {
        /// The remainder for one float width.
        #[allow(missing_docs)]
        pub(crate) mod $module {
            use crate::kernels::math::basic::$round::{residue, trunc};

            /// Whether the quotient has so many digits, or an operand is so extreme, that only a `FULL_RANGE` lane
            /// is exact.
            #[inline(always)]
            pub fn is_large_quotient(a: $t, b: $t) -> bool {
                let (a, b) = (a.abs(), b.abs());
                !((a <= b * $most) & (a < $high) & (b > $low) & (b < $high))
            }

            #[inline(always)]
            pub fn fmod<const FMA: bool, const FULL_RANGE: bool>(a: $t, b: $t) -> $t {
                let large = is_large_quotient(a, b);
                if FULL_RANGE && large {
                    return a % b;
                }
                let (u, v) = (a.abs(), b.abs());
                // The rounded quotient may be one too large, never too small.
                let rest = residue::<FMA>(u, trunc::<FMA>(u / v), v);
                let rest = if rest < 0.0 { rest + v } else { rest };
                if large { <$t>::NAN } else { rest.copysign(a) }
            }
        }
    };
}

remainder!(w64, f64, round64, most: 4503599627370496.0, range: 1e-280 .. 1e290);
remainder!(w32, f32, round32, most: 8388608.0, range: 1e-30 .. 1e34);
