//! Fused and exact products, polynomials, rounding, and functions of the hardware or the standard library.
//!
//! Invariant: without `FMA` no function calls a library.

/// Defines `fma`, `horner`, `two_prod` and the rounding functions for one float width.
macro_rules! round {
    ($module:ident, $t:ident, $split:literal, $magic:literal, $whole:literal) => {
        /// Rounding and products for one float width.
        #[allow(missing_docs)]
        pub(super) mod $module {
            /// `a * b + c`, rounded once if `FMA`.
            #[inline(always)]
            pub fn fma<const FMA: bool>(a: $t, b: $t, c: $t) -> $t {
                if FMA { a.mul_add(b, c) } else { a * b + c }
            }

            /// The polynomial with these coefficients, lowest first.
            #[inline(always)]
            pub fn horner<const FMA: bool, const N: usize>(c: &[$t; N], x: $t) -> $t {
                let mut sum = c[N - 1];
                let mut k = N - 1;
                while k > 0 {
                    k -= 1;
                    sum = fma::<FMA>(sum, x, c[k]);
                }
                sum
            }

            /// The product and the error of its rounding.
            #[inline(always)]
            pub fn two_prod<const FMA: bool>(a: $t, b: $t) -> ($t, $t) {
                let p = a * b;
                if FMA {
                    return (p, a.mul_add(b, -p));
                }
                let halves = |v: $t| {
                    let c = v * $split;
                    let high = c - (c - v);
                    (high, v - high)
                };
                let ((ah, al), (bh, bl)) = (halves(a), halves(b));
                (p, ((ah * bh - p) + ah * bl + al * bh) + al * bl)
            }

            /// `c - a * b`, for an `a * b` so close to `c` that the difference is exact.
            #[inline(always)]
            pub fn residue<const FMA: bool>(c: $t, a: $t, b: $t) -> $t {
                if FMA {
                    return (-a).mul_add(b, c);
                }
                let (p, low) = two_prod::<FMA>(a, b);
                (c - p) - low
            }

            /// Rounds to the nearest integer without a rounding instruction: adds a number so large that only
            /// integers remain.
            #[inline(always)]
            fn nearest(x: $t) -> $t {
                let a = x.abs();
                let rounded = if a < $whole { (a + $whole) - $whole } else { a };
                rounded.copysign(x)
            }

            #[inline(always)]
            pub fn round<const FMA: bool>(x: $t) -> $t {
                if FMA { x.round_ties_even() } else { nearest(x) }
            }

            #[inline(always)]
            pub fn floor<const FMA: bool>(x: $t) -> $t {
                if FMA {
                    return x.floor();
                }
                let r = nearest(x);
                (if r > x { r - 1.0 } else { r }).copysign(x)
            }

            #[inline(always)]
            pub fn ceil<const FMA: bool>(x: $t) -> $t {
                -floor::<FMA>(-x)
            }

            #[inline(always)]
            pub fn trunc<const FMA: bool>(x: $t) -> $t {
                if FMA { x.trunc() } else { floor::<FMA>(x.abs()).copysign(x) }
            }

            /// Added to a number, leaves its nearest integer in the low bits of the sum.
            pub const MAGIC: $t = $magic;
        }
    };
}
round!(round64, f64, 134217729.0, 6755399441055744.0, 4503599627370496.0);
round!(round32, f32, 4097.0, 12582912.0, 8388608.0);

/// Defines the functions that one instruction or the standard library computes.
macro_rules! calls {
    ($module:ident, $t:ident) => {
        /// Functions of the hardware or the standard library, for one float width.
        #[allow(missing_docs)]
        pub(super) mod $module {
            macro_rules! unary {
                ($name:ident) => {
                    #[inline(always)]
                    pub fn $name(x: $t) -> $t {
                        x.$name()
                    }
                };
            }
            unary!(abs);
            unary!(sqrt);

            #[inline(always)]
            pub fn max(a: $t, b: $t) -> $t {
                if (a >= b) | a.is_nan() { a } else { b }
            }

            #[inline(always)]
            pub fn min(a: $t, b: $t) -> $t {
                if (a <= b) | a.is_nan() { a } else { b }
            }

            #[inline(always)]
            pub fn copysign(a: $t, b: $t) -> $t {
                a.copysign(b)
            }
        }
    };
}
calls!(calls64, f64);
calls!(calls32, f32);
