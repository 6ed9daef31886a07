//! `polygamma` of any order: scalar code, in float64 for both widths. Error: about 1e-15 of the larger of
//! the value and 1.

use super::gamma::digamma;

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

/// From here the asymptotic series are exact to the last bit.
const ASYMPTOTIC_FROM: f64 = 12.0;
/// Whether the gamma function has a pole here.
fn is_pole(x: f64) -> bool {
    x <= 0.0 && x == x.floor()
}

/// Derivative of order `n` of `digamma`; NaN unless `n` is an integer of at least 0.
#[inline(never)]
pub fn polygamma(x: f64, n: f64) -> f64 {
    if n == 0.0 {
        return digamma::<{ cfg!(target_arch = "aarch64") }>(x);
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
    if is_pole(x) {
        return f64::INFINITY;
    }
    if x == f64::INFINITY {
        return 0.0;
    }
    if x < -ASYMPTOTIC_FROM {
        // The sum over all integers, without the negative ones: their terms are those of `1 - x`, up to sign.
        let part = x - x.floor();
        let rest = hurwitz_zeta(s, 1.0 - part) - hurwitz_zeta(s, 1.0 - x);
        return hurwitz_zeta(s, part) + if s % 2.0 == 0.0 { rest } else { -rest };
    }
    let power = |base: f64| base.powi(-(s.min(400.0) as i32));
    let (mut x, mut sum) = (x, 0.0);
    // Beyond order 400 the terms vanish faster than the series could matter.
    while x < ASYMPTOTIC_FROM + s.min(400.0) {
        sum += power(x);
        x += 1.0;
    }
    // Euler–Maclaurin for the remainder.
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
pub(in crate::kernels::math) mod w32 {
    pub fn polygamma(x: f32, n: f32) -> f32 {
        super::polygamma(x as f64, n as f64) as f32
    }
}
