//! The gamma family: scalar code, in float64 for both widths.
//!
//! Error: `lgamma`, `digamma` and `polygamma` about 1e-15 of the larger of the
//! value and 1 (relative precision is lost near the zeros of the first two on the negative axis).

use std::f64::consts::PI;

/// `lgamma(2 + t) / t` on `|t| <= 1/2`.
const LGAMMA_TWO: [f64; 21] = [
    0.42278433509846713,
    0.3224670334241132,
    -0.06735230105319809,
    0.020580808427784626,
    -0.007385551028674528,
    0.0028905103307346794,
    -0.0011927539116741302,
    0.0005096695250154254,
    -0.0002231547592567561,
    9.945750683944926e-05,
    -4.492622383906363e-05,
    2.0507290457285826e-05,
    -9.439616925825616e-06,
    4.374232932033403e-06,
    -2.038397418253254e-06,
    9.583862115052038e-07,
    -4.525518274669959e-07,
    2.0200721510992505e-07,
    -9.231626647343247e-08,
    6.466780533269762e-08,
    -3.34720048410064e-08,
];

/// The Bernoulli numbers B2, B4, … B20.
const BERNOULLI: [f64; 10] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
    -174611.0 / 330.0,
];

/// Beyond this the asymptotic series are exact to the last bit.
const LARGE: f64 = 12.0;
/// And with all ten Bernoulli numbers, beyond this.
const LARGE_FOR_ALL: f64 = 8.0;

/// Whether the gamma function has a pole here.
fn is_pole(x: f64) -> bool {
    x <= 0.0 && x == x.floor()
}

/// Logarithm of the absolute value of the gamma function.
#[inline(never)]
pub fn lgamma(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x.is_infinite() || is_pole(x) {
        return f64::INFINITY;
    }
    if x < 0.5 {
        if x.abs() < 1e-17 {
            return -x.abs().ln();
        }
        let sine = (PI * (x - x.round())).sin().abs();
        return (PI / sine).ln() - lgamma(1.0 - x);
    }
    if x < 1.5 {
        return near_two(x - 1.0) - (x - 1.0).ln_1p();
    }
    if x < LARGE {
        let (mut x, mut product) = (x, 1.0);
        while x > 2.5 {
            x -= 1.0;
            product *= x;
        }
        return near_two(x - 2.0) + f64::ln(product);
    }
    let inverse = 1.0 / x;
    let mut power = inverse;
    let mut series = 0.0;
    for (k, b) in BERNOULLI.iter().take(8).enumerate() {
        let n = 2.0 * (k as f64 + 1.0);
        series += b / (n * (n - 1.0)) * power;
        power *= inverse * inverse;
    }
    const HALF_LN_TWO_PI: f64 = 0.918_938_533_204_672_8;
    // The products first: x ln(x) alone overflows before the result does.
    (x - 0.5) * (x.ln() - 1.0) + (HALF_LN_TWO_PI - 0.5 + series)
}

/// `lgamma(2 + t)` for `|t| <= 1/2`.
fn near_two(t: f64) -> f64 {
    t * LGAMMA_TWO.iter().rev().fold(0.0, |sum, c| sum * t + c)
}

/// Derivative of `lgamma`; NaN at negative integers, infinite at zero.
#[inline(never)]
pub fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return f64::INFINITY.copysign(-x);
    }
    if x == f64::INFINITY || x.is_nan() {
        return x;
    }
    if is_pole(x) {
        return f64::NAN;
    }
    if x < 0.0 {
        return digamma(1.0 - x) - PI / (PI * (x - x.round())).tan();
    }
    let (mut x, mut sum) = (x, 0.0);
    while x < LARGE_FOR_ALL {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let mut power = inverse;
    let mut series = 0.0;
    for (k, b) in BERNOULLI.iter().enumerate() {
        series += b / (2.0 * (k as f64 + 1.0)) * power;
        power *= inverse;
    }
    sum + x.ln() - 0.5 / x - series
}

/// Derivative of order `n` of `digamma`; NaN unless `n` is an integer of at least 0.
#[inline(never)]
pub fn polygamma(x: f64, n: f64) -> f64 {
    if n == 0.0 {
        return digamma(x);
    }
    if n < 0.0 || n != n.floor() || n.is_nan() || x.is_nan() {
        return f64::NAN;
    }
    let factorial = (1..=n.min(171.0) as u32).fold(1.0, |product, k| product * f64::from(k));
    let sign = if n % 2.0 == 0.0 { -1.0 } else { 1.0 };
    sign * factorial * hurwitz_zeta(n + 1.0, x)
}

/// The sum of `(x + k)^-s` over all `k >= 0`, for an integer `s >= 2`.
fn hurwitz_zeta(s: f64, x: f64) -> f64 {
    const STEPS: f64 = 1e6;
    if is_pole(x) {
        return f64::INFINITY;
    }
    if x == f64::INFINITY {
        return 0.0;
    }
    if x < -STEPS {
        return f64::NAN;
    }
    let power = |base: f64| base.powi(-(s.min(400.0) as i32));
    let (mut x, mut sum) = (x, 0.0);
    // Beyond order 400 the terms vanish faster than the series could matter.
    while x < LARGE + s.min(400.0) {
        sum += power(x);
        x += 1.0;
    }
    // Euler–Maclaurin for the rest.
    let last = power(x);
    let mut tail = last * x / (s - 1.0) + 0.5 * last;
    let mut factor = s * last / x;
    for (k, b) in BERNOULLI.iter().enumerate() {
        let n = 2.0 * (k as f64 + 1.0);
        // b / n! times s (s + 1) … (s + n - 2) x^-(s + n - 1)
        let factorial = (1..=n as u32).fold(1.0, |product, k| product * f64::from(k));
        tail += b / factorial * factor;
        factor *= (s + n - 1.0) * (s + n) / (x * x);
    }
    sum + tail
}

/// The same for float32.
#[allow(missing_docs)]
pub(super) mod w32 {
    pub fn lgamma(x: f32) -> f32 {
        super::lgamma(x as f64) as f32
    }
    pub fn digamma(x: f32) -> f32 {
        super::digamma(x as f64) as f32
    }
    pub fn polygamma(x: f32, n: f32) -> f32 {
        super::polygamma(x as f64, n as f64) as f32
    }
}
