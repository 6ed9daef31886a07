//! Complex logarithms and the square root: `ln z = ln |z| + i arg z`, with `|z|²` in two parts, so that it is
//! accurate near the unit circle, too.
//!
//! Parts whose squares overflow or underflow are scaled by a power of two. Invariant: the branch cut is the
//! negative real axis; the sign of a zero imaginary part selects the side.

use std::f64::consts::{LN_2, LOG2_E, LOG10_E};

use super::arithmetic::{exponent, largest, scaled};
use super::{is_extreme, is_special};
use crate::dtype::Complex128;
use crate::kernels::math::f64 as real;

/// `x² + y² + extra` as a float64 and its rounding error, if one part of the sum is a normal number.
#[inline(always)]
fn square_sum<const FMA: bool>(x: f64, y: f64, extra: f64) -> (f64, f64) {
    let swap = x.abs() < y.abs();
    let (a, b) = (if swap { y } else { x }, if swap { x } else { y });
    let (p, p_low) = real::two_prod::<FMA>(a, a);
    let (q, q_low) = real::two_prod::<FMA>(b, b);
    let high = p + q;
    let rest = (q - (high - p)) + (p_low + q_low) + extra;
    // Renormalised, so that the logarithm of the high part cancels against the low part by at most one bit.
    let sum = high + rest;
    (sum, rest - (sum - high))
}

/// The logarithm of `(high + low)^(1/2)` in a base: `log` is the logarithm of `high`, and `factor` converts a
/// natural one.
#[inline(always)]
fn half_log((high, low): (f64, f64), log: f64, factor: f64) -> f64 {
    let correction = if high == 0.0 { 0.0 } else { low / high };
    0.5 * (log + correction * factor)
}

/// A logarithm: `log` is the real one of the base, and `factor` converts a natural one.
#[inline(always)]
fn logarithm<const FMA: bool, const CAREFUL: bool>(
    z: Complex128,
    log: impl Fn(f64) -> f64,
    factor: f64,
) -> Complex128 {
    let turn = real::atan2::<FMA>(z.im, z.re) * factor;
    if CAREFUL && is_special(z) {
        let size = if z.re.is_infinite() || z.im.is_infinite() { f64::INFINITY } else { f64::NAN };
        return Complex128::new(size, turn);
    }
    if CAREFUL && is_extreme(largest(z)) {
        let e = exponent(largest(z));
        let near = scaled(z, -e);
        let sum = square_sum::<FMA>(near.re, near.im, 0.0);
        return Complex128::new(
            half_log(sum, log(sum.0), factor) + f64::from(e) * LN_2 * factor,
            turn,
        );
    }
    let sum = square_sum::<FMA>(z.re, z.im, 0.0);
    Complex128::new(half_log(sum, log(sum.0), factor), turn)
}

/// Natural logarithm.
#[inline(always)]
pub fn ln<const FMA: bool, const CAREFUL: bool>(z: Complex128) -> Complex128 {
    logarithm::<FMA, CAREFUL>(z, real::ln::<FMA>, 1.0)
}

/// Logarithm to base 2.
#[inline(always)]
pub fn log2<const FMA: bool, const CAREFUL: bool>(z: Complex128) -> Complex128 {
    logarithm::<FMA, CAREFUL>(z, real::log2::<FMA>, LOG2_E)
}

/// Logarithm to base 10.
#[inline(always)]
pub fn log10<const FMA: bool, const CAREFUL: bool>(z: Complex128) -> Complex128 {
    logarithm::<FMA, CAREFUL>(z, real::log10::<FMA>, LOG10_E)
}

/// `ln(1 + z)`, with `1 + x` in two parts.
#[inline(always)]
pub fn log1p<const FMA: bool, const CAREFUL: bool>(z: Complex128) -> Complex128 {
    let one = 1.0 + z.re;
    if CAREFUL && (is_special(z) || is_extreme(largest(z)) && largest(z) > 1.0) {
        return ln::<FMA, true>(Complex128::new(one, z.im));
    }
    let added = one - z.re;
    let lost = (z.re - (one - added)) + (1.0 - added);
    let sum = square_sum::<FMA>(one, z.im, 2.0 * one * lost + lost * lost);
    // Near the vertical line above -1, the size is the imaginary part, whose square may underflow.
    let above = one == 0.0;
    let log = real::ln::<FMA>(if above { z.im.abs() } else { sum.0 });
    let size = if above { log } else { half_log(sum, log, 1.0) };
    Complex128::new(size, real::atan2::<FMA>(z.im, one))
}

/// The square root in the right half-plane: with `t = ((|x| + |z|) / 2)^(1/2)` the parts are `t` and
/// `|y| / 2t`, in the order given by the sign of `x`.
#[inline(always)]
fn root<const FMA: bool>(z: Complex128) -> Complex128 {
    let size = (z.re * z.re + z.im * z.im).sqrt();
    let t = (0.5 * (z.re.abs() + size)).sqrt();
    let other = if t == 0.0 { 0.0 } else { 0.5 * z.im.abs() / t };
    let right = !z.re.is_sign_negative();
    Complex128::new(if right { t } else { other }, (if right { other } else { t }).copysign(z.im))
}

/// Square root, its real part not negative.
#[inline(always)]
pub fn sqrt<const FMA: bool, const CAREFUL: bool>(z: Complex128) -> Complex128 {
    if CAREFUL && is_special(z) {
        return special_root(z);
    }
    if CAREFUL && is_extreme(largest(z)) {
        let e = exponent(largest(z)) & !1;
        return scaled(root::<FMA>(scaled(z, -e)), e / 2);
    }
    root::<FMA>(z)
}

#[cold]
fn special_root(z: Complex128) -> Complex128 {
    let (x, y) = (z.re, z.im);
    if y.is_infinite() {
        return Complex128::new(f64::INFINITY, y);
    }
    if x == f64::INFINITY {
        return Complex128::new(x, if y.is_nan() { y } else { 0f64.copysign(y) });
    }
    if x == f64::NEG_INFINITY {
        let side = f64::INFINITY.copysign(y);
        return if y.is_nan() { Complex128::new(y, side) } else { Complex128::new(0.0, side) };
    }
    Complex128::new(f64::NAN, f64::NAN)
}
