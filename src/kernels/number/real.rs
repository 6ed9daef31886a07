//! `Real`: the scalar operations in which an element-wise operation and its derivative are written once, and
//! evaluated on floats, SIMD vectors, complex numbers and symbols.
//!
//! Invariant: a formula has no branches on values; a choice is a `select` on a mask.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A float literal to the left of an operator: `1.0 - y`. Written `where f64: Lit<R>`.
pub trait Lit<R>:
    Add<R, Output = R> + Sub<R, Output = R> + Mul<R, Output = R> + Div<R, Output = R>
{
}

impl<R> Lit<R> for f64 where
    f64: Add<R, Output = R> + Sub<R, Output = R> + Mul<R, Output = R> + Div<R, Output = R>
{
}

/// Calls `$with!` with the name and doc of every one-argument method that a `Real` must supply.
#[macro_export]
#[doc(hidden)]
macro_rules! for_each_real_unary {
    ($with:ident) => {
        $with! {
            abs "Absolute value.",
            sqrt "Square root; NaN below zero.",
            cbrt "Cube root.",
            exp "`e^x`.",
            exp2 "`2^x`.",
            expm1 "`e^x - 1`, accurate near zero.",
            ln "Natural logarithm.",
            log2 "Logarithm to base 2.",
            log10 "Logarithm to base 10.",
            log1p "`ln(1 + x)`, accurate near zero.",
            logit "`ln(x / (1 - x))`, accurate near a half.",
            sin "Sine.",
            cos "Cosine.",
            tan "Tangent.",
            sinh "Hyperbolic sine.",
            cosh "Hyperbolic cosine.",
            tanh "Hyperbolic tangent.",
            asin "Arc sine.",
            acos "Arc cosine.",
            atan "Arc tangent.",
            asinh "Inverse hyperbolic sine.",
            acosh "Inverse hyperbolic cosine.",
            atanh "Inverse hyperbolic tangent.",
            sigmoid "`1 / (1 + e^-x)`.",
            erf "Error function.",
            erfc "Complementary error function.",
            erfinv "Inverse of the error function.",
            lgamma "Logarithm of the absolute value of the gamma function.",
            digamma "Derivative of `lgamma`.",
            trigamma "Derivative of `digamma`.",
            floor "Largest integer not above.",
            ceil "Smallest integer not below.",
            round "Nearest integer, ties to even.",
            trunc "Integer part."
        }
    };
}

/// Calls `$with!` with the name and doc of every two-argument method that a `Real` must supply.
#[macro_export]
#[doc(hidden)]
macro_rules! for_each_real_binary {
    ($with:ident) => {
        $with! {
            powf "`self` to the power `o`.",
            atan2 "Angle of the point (`o`, `self`).",
            hypot "`sqrt(self² + o²)` without overflow.",
            max "The larger; NaN if either is NaN.",
            min "The smaller; NaN if either is NaN.",
            copysign "The magnitude of `self` with the sign of `o`.",
            fmod "Remainder with the sign of `self`, as C.",
            polygamma "Derivative of order `o` of `digamma`, for an integer `o` of at least 0.",
            sinc "Derivative of order `o` of `sin(pi x) / (pi x)`, for an integer `o` of at least 0."
        }
    };
}

macro_rules! declare_unary {
    ($($name:ident $doc:literal),*) => { $( #[doc = $doc] fn $name(self) -> Self; )* };
}
macro_rules! declare_binary {
    ($($name:ident $doc:literal),*) => { $( #[doc = $doc] fn $name(self, o: Self) -> Self; )* };
}

/// A value of a formula: a lane of a vectorised loop, or a symbol that traces the operations applied to it.
pub trait Real:
    Copy
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
{
    /// The result of a comparison.
    type Mask: Copy;

    /// A constant.
    fn lit(v: f64) -> Self;

    /// `self < o`; false if either is NaN.
    fn lt(self, o: Self) -> Self::Mask;
    /// `self <= o`; false if either is NaN.
    fn le(self, o: Self) -> Self::Mask;
    /// `self == o`; false if either is NaN.
    fn eq(self, o: Self) -> Self::Mask;
    /// `self != o`; true if either is NaN.
    fn ne(self, o: Self) -> Self::Mask;
    /// `self > o`; false if either is NaN.
    #[inline(always)]
    fn gt(self, o: Self) -> Self::Mask {
        o.lt(self)
    }
    /// `self >= o`; false if either is NaN.
    #[inline(always)]
    fn ge(self, o: Self) -> Self::Mask {
        o.le(self)
    }

    /// `a` where `m` holds, else `b`; the value not selected has no effect, even if it is NaN.
    fn select(m: Self::Mask, a: Self, b: Self) -> Self;
    /// Logical and.
    fn mask_and(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Logical or.
    fn mask_or(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Logical not.
    fn mask_not(a: Self::Mask) -> Self::Mask;

    for_each_real_unary!(declare_unary);
    for_each_real_binary!(declare_binary);

    /// Whether the value is NaN.
    #[inline(always)]
    fn is_nan(self) -> Self::Mask {
        self.ne(self)
    }
    /// The complex conjugate; a real number is its own.
    #[inline(always)]
    fn conj(self) -> Self {
        self
    }
    /// Whether the value is infinite.
    #[inline(always)]
    fn is_infinite(self) -> Self::Mask {
        self.abs().eq(Self::lit(f64::INFINITY))
    }
    /// Whether the value is neither infinite nor NaN.
    #[inline(always)]
    fn is_finite(self) -> Self::Mask {
        self.abs().lt(Self::lit(f64::INFINITY))
    }
    /// `self * self`.
    #[inline(always)]
    fn square(self) -> Self {
        self * self
    }
    /// `1 / self`.
    #[inline(always)]
    fn recip(self) -> Self {
        Self::lit(1.0) / self
    }
    /// -1, 0 or 1; NaN for NaN.
    #[inline(always)]
    fn sign(self) -> Self {
        let zero = Self::lit(0.0);
        let down = Self::select(self.lt(zero), Self::lit(-1.0), zero);
        let sign = Self::select(self.gt(zero), Self::lit(1.0), down);
        Self::select(self.is_nan(), self, sign)
    }
    /// `ln(e^self + e^o)` without overflow.
    #[inline(always)]
    fn logaddexp(self, o: Self) -> Self {
        self.max(o) + (-self.gap(o).abs()).exp().log1p()
    }
    /// Whether both are equal, or both NaN.
    #[inline(always)]
    fn ties(self, o: Self) -> Self::Mask {
        Self::mask_or(self.eq(o), Self::mask_and(self.is_nan(), o.is_nan()))
    }
    /// `self - o`, and 0 between equal infinities.
    #[inline(always)]
    fn gap(self, o: Self) -> Self {
        let infinite = self.abs().eq(Self::lit(f64::INFINITY));
        Self::select(Self::mask_and(self.eq(o), infinite), Self::lit(0.0), self - o)
    }
    /// The cumulative distribution function of the normal distribution, accurate in both tails.
    #[inline(always)]
    fn normal_cdf(self) -> Self {
        (self * -std::f64::consts::FRAC_1_SQRT_2).erfc() * 0.5
    }
    /// Remainder with the sign of the divisor, as Python and NumPy.
    #[inline(always)]
    fn rem(self, o: Self) -> Self {
        let zero = Self::lit(0.0);
        let r = self.fmod(o);
        let (neg_r, neg_o) = (r.lt(zero), o.lt(zero));
        let opposed = Self::mask_or(
            Self::mask_and(neg_r, Self::mask_not(neg_o)),
            Self::mask_and(Self::mask_not(neg_r), neg_o),
        );
        let shifted = Self::select(opposed, r + o, r);
        Self::select(r.eq(zero), zero.copysign(o), shifted)
    }
    /// The largest integer not above the exact quotient, as Python and NumPy.
    #[inline(always)]
    fn floor_div(self, o: Self) -> Self {
        let (zero, one) = (Self::lit(0.0), Self::lit(1.0));
        let ratio = self / o;
        // (self - fmod) / o is an integer up to rounding: round it down and correct the rounding.
        let q = (self - self.fmod(o)) / o;
        let r = self.fmod(o);
        let opposed = Self::mask_or(
            Self::mask_and(r.lt(zero), o.gt(zero)),
            Self::mask_and(r.gt(zero), o.lt(zero)),
        );
        let q = Self::select(opposed, q - one, q);
        let down = q.floor();
        let near = Self::select((q - down).gt(Self::lit(0.5)), down + one, down);
        let signed_zero = zero.copysign(ratio);
        let near = Self::select(q.eq(zero), signed_zero, near);
        Self::select(o.eq(zero), ratio, near)
    }
}
