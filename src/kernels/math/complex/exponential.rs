//! Complex exponential, trigonometric and hyperbolic functions: `e^(x+iy) = e^x (cos y + i sin y)` and what
//! follows from it.
//!
//! Where `e^x` may overflow although the product does not, the power of two is applied last. Invariant: sine,
//! cosine and tangent are the hyperbolic functions of `i z`, so that both families have the same bits.

use std::f64::consts::LN_2;

use super::{is_special, mul_i, mul_neg_i, quotient};
use crate::dtype::Complex128;
use crate::kernels::math::f64 as real;

/// `e^x = p 2^k`, with an exponent large enough for any part times `e^x`.
#[inline(always)]
fn exp_parts_of<const FMA: bool>(x: f64) -> (f64, f64) {
    let (k, r) = real::reduce::<FMA>(real::limit(x, -1400.0, 1400.0));
    (1.0 + real::reduced_expm1::<FMA>(r), k)
}

/// Sine and cosine.
#[inline(always)]
fn angle<const FMA: bool, const CAREFUL: bool>(y: f64) -> (f64, f64) {
    (real::sin::<FMA, CAREFUL>(y), real::cos::<FMA, CAREFUL>(y))
}

/// `e^z`.
#[inline(always)]
pub fn exp<const FMA: bool, const CAREFUL: bool>(z: Complex128) -> Complex128 {
    if CAREFUL && is_special(z) {
        return special_exp(z);
    }
    let (s, c) = angle::<FMA, CAREFUL>(z.im);
    let (p, k) = exp_parts_of::<FMA>(z.re);
    Complex128::new(real::scale::<FMA>(p * c, k), real::scale::<FMA>(p * s, k))
}

#[cold]
fn special_exp(z: Complex128) -> Complex128 {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        return Complex128::new(x.exp(), y);
    }
    if x == f64::NEG_INFINITY {
        let (s, c) = if y.is_finite() { y.sin_cos() } else { (y, 0.0) };
        return Complex128::new(0f64.copysign(c), 0f64.copysign(s));
    }
    if x == f64::INFINITY {
        if !y.is_finite() {
            return Complex128::new(x, f64::NAN);
        }
        return Complex128::new(x * y.cos(), x * y.sin());
    }
    Complex128::new(f64::NAN, f64::NAN)
}

/// Beyond this angle the rounding error of `y ln 2` is no longer a small angle.
const MAX_CORRECTED_ANGLE: f64 = 1e7;

/// Sine and cosine of the rounding error of an angle; those of the largest angles have no correct digit left.
#[cold]
fn rounding_angle<const FMA: bool>(y: f64, lost: f64) -> (f64, f64) {
    if y.abs() > 1e30 { (0.0, 1.0) } else { angle::<FMA, true>(lost) }
}

/// `2^z`: the real part is split in base 2, and the rounding error of `y ln 2` is corrected by the sum of
/// angles.
#[inline(always)]
pub fn exp2<const FMA: bool, const CAREFUL: bool>(z: Complex128) -> Complex128 {
    if CAREFUL && is_special(z) {
        return special_exp(Complex128::new(z.re * LN_2, z.im * LN_2));
    }
    let (turn, lost) = real::two_prod::<FMA>(z.im, LN_2);
    let lost = lost + z.im * 2.3190468138462996e-17;
    let (s, c) = angle::<FMA, CAREFUL>(turn);
    let (lost_s, lost_c) = if CAREFUL && z.im.abs() > MAX_CORRECTED_ANGLE {
        rounding_angle::<FMA>(z.im, lost)
    } else {
        (lost, 1.0)
    };
    // A zero keeps its sign.
    let (s, c) =
        (if z.im == 0.0 { z.im } else { s * lost_c + lost_s * c }, c * lost_c - lost_s * s);
    let x = real::limit(z.re, -2000.0, 2000.0);
    let k = real::round::<FMA>(x);
    let p = 1.0 + real::reduced_expm1::<FMA>((x - k) * LN_2);
    Complex128::new(real::scale::<FMA>(p * c, k), real::scale::<FMA>(p * s, k))
}

/// `e^z - 1 = (e^x - 1) cos y - 2 sin²(y/2) + i e^x sin y`.
#[inline(always)]
pub fn expm1<const FMA: bool, const CAREFUL: bool>(z: Complex128) -> Complex128 {
    let e = exp::<FMA, CAREFUL>(z);
    if CAREFUL && is_special(z) {
        return Complex128::new(e.re - 1.0, e.im);
    }
    let c = real::cos::<FMA, CAREFUL>(z.im);
    let half = real::sin::<FMA, CAREFUL>(0.5 * z.im);
    let near = real::expm1::<FMA>(real::limit(z.re, -800.0, 50.0)) * c - 2.0 * half * half;
    Complex128::new(if z.re > 50.0 { e.re } else { near }, e.im)
}

/// From here `cosh x` and `|sinh x|` are `e^|x| / 2` to the last bit.
const EXP_ONLY_FROM: f64 = 22.0;

/// `(sinh x cos y, cosh x sin y)`, and `(cosh x cos y, sinh x sin y)`.
#[inline(always)]
fn hyperbolic<const FMA: bool, const CAREFUL: bool>(z: Complex128) -> (Complex128, Complex128) {
    let (s, c) = angle::<FMA, CAREFUL>(z.im);
    let (p, k) = exp_parts_of::<FMA>(z.re.abs());
    let far = |v: f64| real::scale::<FMA>(p * v, k - 1.0);
    let sign = 1f64.copysign(z.re);
    let (far_c, far_s) = (far(c), far(s));
    let x = real::limit(z.re, -EXP_ONLY_FROM, EXP_ONLY_FROM);
    let (sh, ch) = (real::sinh::<FMA>(x), real::cosh::<FMA>(x));
    let flat = z.re.abs() > EXP_ONLY_FROM;
    let pick = |a: f64, b: f64| if flat { a } else { b };
    (
        Complex128::new(pick(far_c * sign, sh * c), pick(far_s, ch * s)),
        Complex128::new(pick(far_c, ch * c), pick(far_s * sign, sh * s)),
    )
}

/// Hyperbolic sine.
#[inline(always)]
pub fn sinh<const FMA: bool, const CAREFUL: bool>(z: Complex128) -> Complex128 {
    if CAREFUL && is_special(z) {
        return special_sinh(z);
    }
    hyperbolic::<FMA, CAREFUL>(z).0
}

/// Hyperbolic cosine.
#[inline(always)]
pub fn cosh<const FMA: bool, const CAREFUL: bool>(z: Complex128) -> Complex128 {
    if CAREFUL && is_special(z) {
        return special_cosh(z);
    }
    hyperbolic::<FMA, CAREFUL>(z).1
}

#[cold]
fn special_sinh(z: Complex128) -> Complex128 {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        return Complex128::new(x.sinh(), y);
    }
    if x == 0.0 {
        return Complex128::new(x, f64::NAN);
    }
    if x.is_infinite() && y.is_finite() {
        return Complex128::new(x * y.cos(), f64::INFINITY * y.sin());
    }
    // C99 leaves the sign open.
    Complex128::new(if x.is_infinite() { f64::INFINITY } else { f64::NAN }, f64::NAN)
}

#[cold]
fn special_cosh(z: Complex128) -> Complex128 {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        return Complex128::new(x.cosh(), y * 1f64.copysign(x));
    }
    if x == 0.0 {
        return Complex128::new(f64::NAN, x);
    }
    if x.is_infinite() && y.is_finite() {
        return Complex128::new(f64::INFINITY * y.cos(), x * y.sin());
    }
    Complex128::new(if x.is_infinite() { f64::INFINITY } else { f64::NAN }, f64::NAN)
}

/// `sin z = -i sinh(i z)`.
#[inline(always)]
pub fn sin<const FMA: bool, const CAREFUL: bool>(z: Complex128) -> Complex128 {
    mul_neg_i(sinh::<FMA, CAREFUL>(mul_i(z)))
}

/// `cos z = cosh(i z)`.
#[inline(always)]
pub fn cos<const FMA: bool, const CAREFUL: bool>(z: Complex128) -> Complex128 {
    cosh::<FMA, CAREFUL>(mul_i(z))
}

/// `tanh z` after Kahan ("Branch cuts for complex elementary functions", 1987): with `t = tan y`,
/// `s = sinh x` and `b = 1 + t²` it is `(b s cosh x + i t) / (1 + b s²)`; where `tanh x` is 1 to the last
/// bit, `±1 + 4i sin y cos y e^(-2|x|)`.
#[inline(always)]
pub fn tanh<const FMA: bool, const CAREFUL: bool>(z: Complex128) -> Complex128 {
    if CAREFUL && is_special(z) {
        return special_tanh(z);
    }
    let x = real::limit(z.re, -EXP_ONLY_FROM, EXP_ONLY_FROM);
    let t = real::tan::<FMA, CAREFUL>(z.im);
    let (sh, ch) = (real::sinh::<FMA>(x), real::cosh::<FMA>(x));
    let b = 1.0 + t * t;
    let below = 1.0 + b * sh * sh;
    let (s, c) = angle::<FMA, CAREFUL>(z.im);
    let faded = 4.0 * (s * c) * real::exp::<FMA>(-2.0 * real::limit(z.re.abs(), 0.0, 400.0));
    let flat = z.re.abs() > EXP_ONLY_FROM;
    let pick = |a: f64, b: f64| if flat { a } else { b };
    Complex128::new(pick(1f64.copysign(z.re), b * ch * sh / below), pick(faded, t / below))
}

#[cold]
fn special_tanh(z: Complex128) -> Complex128 {
    let (x, y) = (z.re, z.im);
    if x.is_infinite() {
        let turn = if y.is_finite() { (2.0 * y).sin() } else { y };
        return Complex128::new(1f64.copysign(x), 0f64.copysign(turn));
    }
    if y == 0.0 {
        return Complex128::new(x.tanh(), y);
    }
    Complex128::new(if x == 0.0 { x } else { f64::NAN }, f64::NAN)
}

/// `tan z = -i tanh(i z)`.
#[inline(always)]
pub fn tan<const FMA: bool, const CAREFUL: bool>(z: Complex128) -> Complex128 {
    mul_neg_i(tanh::<FMA, CAREFUL>(mul_i(z)))
}

/// `1 / (1 + e^-z)`, with the exponential that does not overflow.
#[inline(always)]
pub fn sigmoid<const FMA: bool, const CAREFUL: bool>(z: Complex128) -> Complex128 {
    let low = z.re < 0.0;
    let e = exp::<FMA, CAREFUL>(if low { z } else { -z });
    let one = Complex128::new(1.0, 0.0);
    quotient::<true, false>(if low { e } else { one }, Complex128::new(1.0 + e.re, e.im))
}
