//! Unary functions: formula and derivative side by side.
elementwise! { family "elementwise" [in_place];
    /// Absolute value; of complex numbers a real one. Derivative: `g sign(x)`, 0 at 0.
    [numpy("absolute"), aliases("absolute")]
    fn abs_(x) = ABS {
        complex |x| crate::ops::elementwise::complex::complex_abs(x[0]);
        forward { float: |x| x.abs(); ints [avx2]: |x| if x < 0 { x.wrapping_neg() } else { x }; bool: |x| x; cost: 0.3; }
        by x { float |g, x| g * x.sign() }
    }
    /// Sign: -1, 0 or 1; NaN for NaN; a complex number over its absolute value, and 0 for 0. Derivative: zero, and of complex numbers that of the quotient.
    [numpy("sign"), aliases("sgn"), no_bool]
    fn sign(x) = SIGN {
        complex |x| crate::ops::elementwise::complex::complex_sign(x[0]);
        forward { float: |x| x.sign(); ints: |x| ((x > 0) as T).wrapping_sub((x < 0) as T); cost: 0.4; }
        by x { zero }
    }
    /// Square, `x²`. Derivative: `2 g x`.
    [numpy("square")]
    fn square(x) = SQUARE {
        forward { complex [ring]: |x| x * x; ints [avx2]: |x| x.wrapping_mul(x); cost: 0.3; }
        by x { complex [ring] |g, x| g * 2.0 * x }
    }
    /// Square root; NaN below zero. Derivative: `g / (2 y)`, infinite at 0.
    [numpy("sqrt")]
    fn sqrt(x) = SQRT {
        forward { complex: |x| x.sqrt(); cost: 1.0; }
        by x { complex |g, y| g * 0.5 / y }
    }
    /// Reciprocal square root. Derivative: `-g y / (2 x)`.
    fn rsqrt(x) = RSQRT {
        forward { complex: |x| R::lit(1.0) / x.sqrt(); cost: 1.2; }
        by x { complex |g, x, y| g * -0.5 * y / x }
    }
    /// Cube root. Derivative: `g / (3 y²)`.
    [numpy("cbrt")]
    fn cbrt(x) = CBRT {
        forward { float: |x| x.cbrt(); cost: 2.0; }
        by x { float |g, y| g / (y * y * 3.0) }
    }
    /// Reciprocal, `1 / x`; integers become float64. Derivative: `-g y²`.
    [numpy("reciprocal"), float64]
    fn reciprocal(x) = RECIPROCAL {
        forward { complex: |x| x.recip(); cost: 0.5; }
        by x { complex [ring] |g, y| -g * y * y }
    }
    /// Exponential. Derivative: `g y`.
    [numpy("exp")]
    fn exp(x) = EXP {
        forward { complex [exponential]: |x| x.exp(); cost: 0.75; }
        by x { complex [ring] |g, y| g * y }
    }
    /// `2^x`. Derivative: `g y ln 2`.
    [numpy("exp2")]
    fn exp2(x) = EXP2 {
        forward { complex [exponential]: |x| x.exp2(); cost: 0.75; }
        by x { complex [ring] |g, y| g * y * std::f64::consts::LN_2 }
    }
    /// `e^x - 1`, accurate near zero. Derivative: `g e^x`.
    [numpy("expm1")]
    fn expm1(x) = EXPM1 {
        forward { complex [exponential]: |x| x.expm1(); cost: 1.5; }
        by x { complex [exponential] |g, x| g * x.exp() }
    }
    /// Natural logarithm. Derivative: `g / x`.
    [numpy("log")]
    fn log(x) = LOG {
        forward { complex: |x| x.ln(); cost: 1.0; }
        by x { complex |g, x| g / x }
    }
    /// Logarithm to base 2. Derivative: `g / (x ln 2)`.
    [numpy("log2")]
    fn log2(x) = LOG2 {
        forward { complex: |x| x.log2(); cost: 1.0; }
        by x { complex |g, x| g / (x * std::f64::consts::LN_2) }
    }
    /// Logarithm to base 10. Derivative: `g / (x ln 10)`.
    [numpy("log10")]
    fn log10(x) = LOG10 {
        forward { complex: |x| x.log10(); cost: 1.4; }
        by x { complex |g, x| g / (x * std::f64::consts::LN_10) }
    }
    /// `ln(1 + x)`, accurate near zero. Derivative: `g / (1 + x)`.
    [numpy("log1p")]
    fn log1p(x) = LOG1P {
        forward { complex: |x| x.log1p(); cost: 1.5; }
        by x { complex |g, x| g / (1.0 + x) }
    }
    /// Sine. Derivative: `g cos x`.
    [numpy("sin")]
    fn sin(x) = SIN {
        forward { complex [exponential, angles]: |x| x.sin(); cost: 1.4; }
        by x { complex [exponential, angles] |g, x| g * x.cos() }
    }
    /// Cosine. Derivative: `-g sin x`.
    [numpy("cos")]
    fn cos(x) = COS {
        forward { complex [exponential, angles]: |x| x.cos(); cost: 1.4; }
        by x { complex [exponential, angles] |g, x| -g * x.sin() }
    }
    /// Tangent. Derivative: `g (1 + y²)`.
    [numpy("tan")]
    fn tan(x) = TAN {
        forward { complex [exponential, angles]: |x| x.tan(); cost: 1.6; }
        by x { complex [ring] |g, y| g * (1.0 + y * y) }
    }
    /// Inverse sine. Derivative: `g / sqrt(1 - x²)`.
    [numpy("arcsin"), aliases("asin")]
    fn arcsin(x) = ARCSIN {
        forward { complex: |x| x.asin(); cost: 1.4; }
        by x { complex |g, x| g / (1.0 - x * x).sqrt() }
    }
    /// Inverse cosine. Derivative: `-g / sqrt(1 - x²)`.
    [numpy("arccos"), aliases("acos")]
    fn arccos(x) = ARCCOS {
        forward { complex: |x| x.acos(); cost: 1.4; }
        by x { complex |g, x| -g / (1.0 - x * x).sqrt() }
    }
    /// Inverse tangent. Derivative: `g / (1 + x²)`.
    [numpy("arctan"), aliases("atan")]
    fn arctan(x) = ARCTAN {
        forward { complex: |x| x.atan(); cost: 1.2; }
        by x { complex |g, x| g / (1.0 + x * x) }
    }
    /// Hyperbolic sine. Derivative: `g cosh x`.
    [numpy("sinh")]
    fn sinh(x) = SINH {
        forward { complex [exponential]: |x| x.sinh(); cost: 1.6; }
        by x { complex [exponential] |g, x| g * x.cosh() }
    }
    /// Hyperbolic cosine. Derivative: `g sinh x`.
    [numpy("cosh")]
    fn cosh(x) = COSH {
        forward { complex [exponential]: |x| x.cosh(); cost: 1.1; }
        by x { complex [exponential] |g, x| g * x.sinh() }
    }
    /// Hyperbolic tangent. Derivative: `g (1 - y²)`.
    [numpy("tanh")]
    fn tanh(x) = TANH {
        forward { complex [exponential]: |x| x.tanh(); cost: 1.1; }
        by x { complex [ring] |g, y| g * (1.0 - y * y) }
    }
    /// Inverse hyperbolic sine. Derivative: `g / sqrt(x² + 1)`.
    [numpy("arcsinh"), aliases("asinh")]
    fn arcsinh(x) = ARCSINH {
        forward { complex: |x| x.asinh(); cost: 2.8; }
        by x { complex |g, x| g / (x * x + 1.0).sqrt() }
    }
    /// Inverse hyperbolic cosine. Derivative: `g / sqrt(x² - 1)`.
    [numpy("arccosh"), aliases("acosh")]
    fn arccosh(x) = ARCCOSH {
        forward { complex: |x| x.acosh(); cost: 2.6; }
        by x { complex |g, x| g / ((x - 1.0).sqrt() * (x + 1.0).sqrt()) }
    }
    /// Inverse hyperbolic tangent. Derivative: `g / (1 - x²)`.
    [numpy("arctanh"), aliases("atanh")]
    fn arctanh(x) = ARCTANH {
        forward { complex: |x| x.atanh(); cost: 1.7; }
        by x { complex |g, x| g / (1.0 - x * x) }
    }
    /// Error function. Derivative: `g 2/sqrt(pi) e^(-x²)`.
    [numpy("scipy.special.erf")]
    fn erf(x) = ERF {
        forward { float: |x| x.erf(); cost: 2.0; }
        by x { float |g, x| g * (-(x * x)).exp() * std::f64::consts::FRAC_2_SQRT_PI }
    }
    /// Complementary error function, `1 - erf(x)`. Derivative: `-g 2/sqrt(pi) e^(-x²)`.
    [numpy("scipy.special.erfc")]
    fn erfc(x) = ERFC {
        forward { float: |x| x.erfc(); cost: 2.5; }
        by x { float |g, x| g * (-(x * x)).exp() * -std::f64::consts::FRAC_2_SQRT_PI }
    }
    /// Inverse error function. Derivative: `g sqrt(pi)/2 e^(y²)`.
    [numpy("scipy.special.erfinv")]
    fn erfinv(x) = ERFINV {
        forward { float [ends]: |x| x.erfinv(); cost: 3.0; }
        by x { float |g, y| g * (y * y).exp() * 0.886226925452758 }
    }
    /// Logarithm of the absolute value of the gamma function. Derivative: `g digamma(x)`.
    [numpy("scipy.special.gammaln"), aliases("gammaln")]
    fn lgamma(x) = LGAMMA {
        forward { float: |x| x.lgamma(); cost: 5.2; }
        by x { float |g, x| g * x.digamma() }
    }
    /// Derivative of `lgamma`. Derivative: `g polygamma(1, x)`.
    [numpy("scipy.special.digamma", "scipy.special.psi"), aliases("psi")]
    fn digamma(x) = DIGAMMA {
        forward { float: |x| x.digamma(); cost: 3.7; }
        by x { float |g, x| g * x.trigamma() }
    }
    /// Degrees to radians.
    [numpy("deg2rad", "radians"), aliases("radians")]
    fn deg2rad(x) = DEG2RAD {
        forward { float: |x| x * 0.017453292519943295; cost: 0.3; }
        by x { float |g| g * 0.017453292519943295 }
    }
    /// Radians to degrees.
    [numpy("rad2deg", "degrees"), aliases("degrees")]
    fn rad2deg(x) = RAD2DEG {
        forward { float: |x| x * 57.29577951308232; cost: 0.3; }
        by x { float |g| g * 57.29577951308232 }
    }
    /// Largest integer not above. Derivative: zero.
    [numpy("floor")]
    fn floor(x) = FLOOR {
        forward { float: |x| x.floor(); ints: |x| x; bool: |x| x; cost: 0.4; }
        by x { zero }
    }
    /// Smallest integer not below. Derivative: zero.
    [numpy("ceil")]
    fn ceil(x) = CEIL {
        forward { float: |x| x.ceil(); ints: |x| x; bool: |x| x; cost: 0.4; }
        by x { zero }
    }
    /// Nearest integer, ties to even. Derivative: zero.
    [numpy("rint")]
    fn rint(x) = RINT {
        complex |x| crate::ops::elementwise::complex::round_parts(x[0]);
        forward { float: |x| x.round(); cost: 0.4; }
        by x { zero }
    }
    /// Integer part. Derivative: zero.
    [numpy("trunc", "fix"), aliases("fix")]
    fn trunc(x) = TRUNC {
        forward { float: |x| x.trunc(); ints: |x| x; bool: |x| x; cost: 0.4; }
        by x { zero }
    }
    /// `sin(pi x) / (pi x)`, 1 at 0. Derivative: `g` times that of the next order, finite at 0 for every order.
    [numpy("sinc"), float64]
    fn sinc(x) = SINC {
        forward { complex [exponential, angles]: |x| R::select(x.eq(R::lit(0.0)), R::lit(1.0), (x * std::f64::consts::PI).sin() / (x * std::f64::consts::PI)); cost: 2.0; }
        by x { complex [exponential, calls] |g, x| g * x.sinc(R::lit(1.0)) }
    }
}

/// The operation for each method of `Real`, used by the symbolic interpretation.
pub(crate) mod real {
    use crate::ops::core::elementwise::Elementwise;
    use crate::ops::elementwise::{activation, arithmetic, special, unary};

    macro_rules! stands_for {
        ($($method:ident $module:ident::$spec:ident),* $(,)?) => {$(
            #[inline]
            pub(crate) fn $method() -> &'static Elementwise { &$module::$spec }
        )*};
    }
    stands_for! {
        abs unary::ABS, sqrt unary::SQRT, cbrt unary::CBRT, exp unary::EXP, exp2 unary::EXP2, expm1 unary::EXPM1,
        ln unary::LOG, log2 unary::LOG2, log10 unary::LOG10, log1p unary::LOG1P, logit activation::LOGIT, sin unary::SIN, cos unary::COS,
        tan unary::TAN, sinh unary::SINH, cosh unary::COSH, tanh unary::TANH, asin unary::ARCSIN, acos unary::ARCCOS,
        atan unary::ARCTAN, asinh unary::ARCSINH, acosh unary::ARCCOSH, atanh unary::ARCTANH,
        sigmoid activation::SIGMOID, erf unary::ERF, erfc unary::ERFC, erfinv unary::ERFINV,
        lgamma unary::LGAMMA, digamma unary::DIGAMMA, trigamma special::TRIGAMMA, floor unary::FLOOR, ceil unary::CEIL, round unary::RINT,
        trunc unary::TRUNC, powf arithmetic::POWER, atan2 arithmetic::ARCTAN2, hypot arithmetic::HYPOT, max arithmetic::MAXIMUM,
        min arithmetic::MINIMUM, copysign arithmetic::COPYSIGN, fmod arithmetic::FMOD, polygamma special::POLYGAMMA,
        sinc special::SINC_ORDER,
    }
}
