//! Complex inverse trigonometric and hyperbolic functions.
//!
//! Arc sine and cosine after Hull, Fairgrieve and Tang ("Implementing the complex arcsine and arccosine
//! functions using exception handling", ACM TOMS 23, 1997), the inverse hyperbolic tangent after Kahan
//! ("Branch cuts for complex elementary functions", 1987). Differences that cancel are formed algebraically.
//! Invariant: the other functions are these of `i z`; each is computed for the first quadrant, and the signs
//! are restored.

use std::f64::consts::{FRAC_PI_2, LN_2, PI};

use super::arithmetic::{is_extreme, largest, quotient};
use super::{is_special, logarithm, mul_i, mul_neg_i};
use crate::dtype::Complex128;
use crate::kernels::math::f64 as real;

/// Below this ratio of `x / a` arc sine and cosine of it are accurate.
const CROSSOVER: f64 = 0.6417;

/// Whether a part is so large that adding 1 has no effect.
#[inline(always)]
fn is_beyond(z: Complex128) -> bool {
    is_extreme(largest(z)) && largest(z) > 1.0
}

/// The common quantities of arc sine and arc cosine in the first quadrant: `a` is half the sum of the
/// distances from -1 (`r`) and 1 (`s`).
struct Ellipse {
    x: f64,
    y: f64,
    r: f64,
    s: f64,
    a: f64,
}

impl Ellipse {
    #[inline(always)]
    fn of(z: Complex128) -> Ellipse {
        let (x, y) = (z.re.abs(), z.im.abs());
        // The square of a small part may underflow.
        let far = |d: f64| if d == 0.0 { y } else { (d * d + y * y).sqrt() };
        let (r, s) = (far(x + 1.0), far(x - 1.0));
        Ellipse { x, y, r, s, a: 0.5 * (r + s) }
    }

    /// `ln(a + (a² - 1)^(1/2))`: the imaginary part of both.
    #[inline(always)]
    fn height<const FMA: bool>(&self) -> f64 {
        let Ellipse { x, y, r, s, a } = *self;
        if a > 1.5 {
            return real::ln::<FMA>(a + (a * a - 1.0).sqrt());
        }
        if x < 1.0 && y < 1e-100 {
            // The square below would underflow.
            return y / ((1.0 - x) * (1.0 + x)).sqrt();
        }
        let right = if x < 1.0 { y * y / (s + (1.0 - x)) } else { s + (x - 1.0) };
        let am1 = 0.5 * (y * y / (r + (x + 1.0)) + right);
        real::log1p::<FMA>(am1 + (am1 * (a + 1.0)).sqrt())
    }

    /// `(a² - x²)^(1/2)`.
    #[inline(always)]
    fn width(&self) -> f64 {
        let Ellipse { x, y, r, s, a } = *self;
        let sum = a + x;
        if x <= 1.0 {
            (0.5 * sum * (y * y / (r + (x + 1.0)) + (s + (1.0 - x)))).sqrt()
        } else {
            y * (0.5 * (sum / (r + (x + 1.0)) + sum / (s + (x - 1.0)))).sqrt()
        }
    }
}

/// `ln |2z|` and the angle of `(|x|, |y|)`, for a point so large that `z² - 1` is `z²`.
fn log_of_double<const FMA: bool>(z: Complex128) -> Complex128 {
    let log = logarithm::ln::<FMA, true>(Complex128::new(z.re.abs(), z.im.abs()));
    Complex128::new(log.re + LN_2, log.im)
}

/// Arc sine: `-i asinh(i z)`.
#[inline(always)]
pub fn asin<const FMA: bool, const CAREFUL: bool>(z: Complex128) -> Complex128 {
    mul_neg_i(asinh::<FMA, CAREFUL>(mul_i(z)))
}

/// `asinh z = -i asin(i z)`; the arc sine formulas are evaluated at `(y, x)`.
#[inline(always)]
pub fn asinh<const FMA: bool, const CAREFUL: bool>(z: Complex128) -> Complex128 {
    let signed = |re: f64, im: f64| Complex128::new(re.copysign(z.re), im.copysign(z.im));
    if CAREFUL && is_special(z) {
        return special_asinh::<FMA>(z);
    }
    if CAREFUL && is_beyond(z) {
        let far = log_of_double::<FMA>(z);
        return signed(far.re, far.im);
    }
    if CAREFUL && is_extreme(largest(z)) || largest(z) == 0.0 {
        return z;
    }
    let ellipse = Ellipse::of(Complex128::new(z.im, z.re));
    let b = ellipse.x / ellipse.a;
    let angle = if b <= CROSSOVER {
        real::asin::<FMA>(b)
    } else {
        real::atan::<FMA>(ellipse.x / ellipse.width())
    };
    signed(ellipse.height::<FMA>(), angle)
}

#[cold]
fn special_asinh<const FMA: bool>(z: Complex128) -> Complex128 {
    let (x, y) = (z.re, z.im);
    if x.is_nan() || y.is_nan() {
        return match () {
            () if x.is_infinite() => Complex128::new(x, f64::NAN),
            // C99 leaves the sign open.
            () if y.is_infinite() => Complex128::new(f64::INFINITY, f64::NAN),
            () if y == 0.0 => Complex128::new(f64::NAN, y),
            () => Complex128::new(f64::NAN, f64::NAN),
        };
    }
    let angle = real::atan2::<FMA>(y.abs(), x.abs());
    Complex128::new(f64::INFINITY.copysign(x), angle.copysign(y))
}

/// Arc cosine.
#[inline(always)]
pub fn acos<const FMA: bool, const CAREFUL: bool>(z: Complex128) -> Complex128 {
    // The imaginary part has the sign of -y.
    let down = |height: f64| if z.im.is_sign_negative() { height } else { -height };
    if CAREFUL && is_special(z) {
        return special_acos::<FMA>(z);
    }
    if CAREFUL && is_beyond(z) {
        let far = log_of_double::<FMA>(z);
        return Complex128::new(if z.re < 0.0 { PI - far.im } else { far.im }, down(far.re));
    }
    let ellipse = Ellipse::of(z);
    let b = ellipse.x / ellipse.a;
    let angle = if b <= CROSSOVER {
        real::acos::<FMA>(b)
    } else {
        real::atan::<FMA>(ellipse.width() / ellipse.x)
    };
    Complex128::new(if z.re < 0.0 { PI - angle } else { angle }, down(ellipse.height::<FMA>()))
}

#[cold]
fn special_acos<const FMA: bool>(z: Complex128) -> Complex128 {
    let (x, y) = (z.re, z.im);
    if x.is_nan() || y.is_nan() {
        return match () {
            () if x.is_infinite() => Complex128::new(f64::NAN, f64::NEG_INFINITY),
            () if y.is_infinite() => Complex128::new(f64::NAN, -y),
            () if x == 0.0 => Complex128::new(FRAC_PI_2, f64::NAN),
            () => Complex128::new(f64::NAN, f64::NAN),
        };
    }
    let angle = real::atan2::<FMA>(y.abs(), x);
    Complex128::new(angle, (-f64::INFINITY).copysign(if y.is_sign_negative() { 1.0 } else { -1.0 }))
}

/// `±i acos z`, with the sign for which the real part is not negative.
#[inline(always)]
pub fn acosh<const FMA: bool, const CAREFUL: bool>(z: Complex128) -> Complex128 {
    let found = acos::<FMA, CAREFUL>(z);
    if found.re.is_nan() && found.im.is_nan() {
        return found;
    }
    if found.re.is_nan() {
        return Complex128::new(found.im.abs(), found.re);
    }
    if found.im.is_nan() {
        return Complex128::new(found.im, found.re);
    }
    Complex128::new(found.im.abs(), found.re.copysign(z.im))
}

/// Arc tangent: `-i atanh(i z)`.
#[inline(always)]
pub fn atan<const FMA: bool, const CAREFUL: bool>(z: Complex128) -> Complex128 {
    mul_neg_i(atanh::<FMA, CAREFUL>(mul_i(z)))
}

/// `atanh z`: a quarter of `ln(1 + 4x / ((1-x)² + y²))`, and half the angle of `((1-x)(1+x) - y², 2y)`.
#[inline(always)]
pub fn atanh<const FMA: bool, const CAREFUL: bool>(z: Complex128) -> Complex128 {
    if CAREFUL && is_special(z) {
        return special_atanh(z);
    }
    if CAREFUL && is_beyond(z) {
        let inverse = quotient::<true, false>(Complex128::new(1.0, 0.0), z);
        return Complex128::new(inverse.re.copysign(z.re), FRAC_PI_2.copysign(z.im));
    }
    let (x, y) = (z.re.abs(), z.im);
    let size = if CAREFUL && x == 1.0 && y != 0.0 && is_extreme(y) {
        0.5 * (LN_2 - real::ln::<FMA>(y.abs()))
    } else {
        0.25 * real::log1p::<FMA>(4.0 * x / ((1.0 - x) * (1.0 - x) + y * y))
    };
    let angle = 0.5 * real::atan2::<FMA>(2.0 * y, (1.0 - x) * (1.0 + x) - y * y);
    Complex128::new(size.copysign(z.re), angle)
}

#[cold]
fn special_atanh(z: Complex128) -> Complex128 {
    let (x, y) = (z.re, z.im);
    if x.is_infinite() || y.is_infinite() {
        let angle = if y.is_nan() { y } else { FRAC_PI_2.copysign(y) };
        return Complex128::new(0f64.copysign(x), angle);
    }
    Complex128::new(if x == 0.0 { x } else { f64::NAN }, f64::NAN)
}
