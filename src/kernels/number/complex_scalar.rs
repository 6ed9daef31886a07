//! `ComplexLane`: the complex number on which complex loops evaluate a `Real` formula, with the functions of
//! `math::complex`.
//!
//! Branch-free except in `CAREFUL` lanes, so that LLVM vectorises the loop. Invariant: where an argument
//! needs no `CAREFUL` lane, both kinds of lane have the same bits. A formula with functions that have no
//! complex version (an error function, a remainder) has no complex loop.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::real::Real;
use crate::dtype::{Complex64, Complex128};
use crate::kernels::math::complex;

/// One complex number of a loop; complex64 is computed in complex128 and rounded once. `FMA`: the loop is
/// compiled for a CPU with fused multiply-add. `CAREFUL`: parts may be infinite, NaN, or so large or small
/// that squares overflow or underflow; without it the result of such parts is undefined. `COMPLEX64`: the result
/// is rounded to complex64, so that a quotient may be a product with a reciprocal.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct ComplexLane<const FMA: bool, const CAREFUL: bool = false, const COMPLEX64: bool = false>(
    pub Complex128,
);

/// The type of a complex element in memory.
pub trait ComplexElement: Copy {
    /// The value as complex128.
    fn widen(self) -> Complex128;
    /// The nearest value of this type.
    fn narrow(value: Complex128) -> Self;
}

impl ComplexElement for Complex128 {
    #[inline(always)]
    fn widen(self) -> Complex128 {
        self
    }
    #[inline(always)]
    fn narrow(value: Complex128) -> Complex128 {
        value
    }
}

impl ComplexElement for Complex64 {
    #[inline(always)]
    fn widen(self) -> Complex128 {
        Complex128::new(self.re as f64, self.im as f64)
    }
    #[inline(always)]
    fn narrow(value: Complex128) -> Complex64 {
        Complex64::new(value.re as f32, value.im as f32)
    }
}

/// NumPy's product: infinities and NaN follow from the sums of products.
#[inline(always)]
fn times(a: Complex128, b: Complex128) -> Complex128 {
    Complex128::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
}

macro_rules! operators {
    ($($op:ident $f:ident |$a:ident, $b:ident| $value:expr;)*) => {$(
        impl<const FMA: bool, const CAREFUL: bool, const COMPLEX64: bool> $op for ComplexLane<FMA, CAREFUL, COMPLEX64> {
            type Output = Self;
            #[inline(always)]
            fn $f(self, o: Self) -> Self {
                let ($a, $b) = (self.0, o.0);
                ComplexLane($value)
            }
        }
        impl<const FMA: bool, const CAREFUL: bool, const COMPLEX64: bool> $op<f64> for ComplexLane<FMA, CAREFUL, COMPLEX64> {
            type Output = Self;
            #[inline(always)]
            fn $f(self, o: f64) -> Self {
                $op::$f(self, Self::lit(o))
            }
        }
        impl<const FMA: bool, const CAREFUL: bool, const COMPLEX64: bool> $op<ComplexLane<FMA, CAREFUL, COMPLEX64>> for f64 {
            type Output = ComplexLane<FMA, CAREFUL, COMPLEX64>;
            #[inline(always)]
            fn $f(self, o: ComplexLane<FMA, CAREFUL, COMPLEX64>) -> ComplexLane<FMA, CAREFUL, COMPLEX64> {
                $op::$f(ComplexLane::<FMA, CAREFUL, COMPLEX64>::lit(self), o)
            }
        }
    )*};
}
operators! {
    Add add |a, b| Complex128::new(a.re + b.re, a.im + b.im);
    Sub sub |a, b| Complex128::new(a.re - b.re, a.im - b.im);
    Mul mul |a, b| times(a, b);
    Div div |a, b| complex::quotient::<CAREFUL, COMPLEX64>(a, b);
}

impl<const FMA: bool, const CAREFUL: bool, const COMPLEX64: bool> Neg
    for ComplexLane<FMA, CAREFUL, COMPLEX64>
{
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        ComplexLane(-self.0)
    }
}

/// The panic of a complex loop whose formula has a function without a complex version.
#[cold]
#[inline(never)]
fn no_complex_version(what: &str) -> ! {
    panic!("{what} has no complex reading")
}

macro_rules! functions {
    (reads { $($name:ident),* } reads2 { $($name2:ident),* } unread { $($real:ident),* } unread2 { $($real2:ident),* }) => {
        $(
            #[inline(always)]
            fn $name(self) -> Self {
                ComplexLane(complex::$name::<FMA, CAREFUL>(self.0))
            }
        )*
        $(
            #[inline(always)]
            fn $name2(self, o: Self) -> Self {
                ComplexLane(complex::$name2::<FMA, CAREFUL>(self.0, o.0))
            }
        )*
        $(fn $real(self) -> Self { no_complex_version(stringify!($real)) })*
        $(fn $real2(self, _: Self) -> Self { no_complex_version(stringify!($real2)) })*
    };
}

impl<const FMA: bool, const CAREFUL: bool, const COMPLEX64: bool> Real
    for ComplexLane<FMA, CAREFUL, COMPLEX64>
{
    type Mask = bool;

    #[inline(always)]
    fn lit(v: f64) -> Self {
        ComplexLane(Complex128::new(v, 0.0))
    }
    /// By the real parts, then by the imaginary ones, as NumPy.
    #[inline(always)]
    fn lt(self, o: Self) -> bool {
        let ordered = !(self.0.im.is_nan() | o.0.im.is_nan());
        (self.0.re < o.0.re) & ordered | (self.0.re == o.0.re) & (self.0.im < o.0.im)
    }
    #[inline(always)]
    fn le(self, o: Self) -> bool {
        let ordered = !(self.0.im.is_nan() | o.0.im.is_nan());
        (self.0.re < o.0.re) & ordered | (self.0.re == o.0.re) & (self.0.im <= o.0.im)
    }
    #[inline(always)]
    fn eq(self, o: Self) -> bool {
        (self.0.re == o.0.re) & (self.0.im == o.0.im)
    }
    #[inline(always)]
    fn ne(self, o: Self) -> bool {
        !self.eq(o)
    }
    #[inline(always)]
    fn select(m: bool, a: Self, b: Self) -> Self {
        let part = |a, b| if m { a } else { b };
        ComplexLane(Complex128::new(part(a.0.re, b.0.re), part(a.0.im, b.0.im)))
    }
    #[inline(always)]
    fn mask_and(a: bool, b: bool) -> bool {
        a & b
    }
    #[inline(always)]
    fn mask_or(a: bool, b: bool) -> bool {
        a | b
    }
    #[inline(always)]
    fn mask_not(a: bool) -> bool {
        !a
    }
    #[inline(always)]
    fn conj(self) -> Self {
        ComplexLane(Complex128::new(self.0.re, -self.0.im))
    }
    #[inline(always)]
    fn is_infinite(self) -> bool {
        (self.0.re.abs() == f64::INFINITY) | (self.0.im.abs() == f64::INFINITY)
    }
    #[inline(always)]
    fn is_finite(self) -> bool {
        (self.0.re.abs() < f64::INFINITY) & (self.0.im.abs() < f64::INFINITY)
    }
    #[inline(always)]
    fn recip(self) -> Self {
        ComplexLane(complex::recip::<CAREFUL>(self.0))
    }
    functions! {
        reads { sqrt, exp, exp2, expm1, ln, log2, log10, log1p, sin, cos, tan, sinh, cosh, tanh, asin, acos, atan, asinh, acosh, atanh, sigmoid }
        reads2 { powf, sinc }
        unread { abs, cbrt, logit, erf, erfc, erfinv, lgamma, digamma, trigamma, floor, ceil, round, trunc }
        unread2 { atan2, hypot, max, min, copysign, fmod, polygamma }
    }
}
