//! The derivatives of `sin(pi x) / (pi x)`: scalar code, in float64 for both widths.
//!
//! With `s(t) = sin(t) / t`, adjacent orders are related by `t s_n + n s_(n-1) = sin(t + n pi / 2)`. Upward
//! recurrence is stable where `t` exceeds the order; elsewhere downward recurrence, from a much higher order.
//! Error: about 1e-15 of the order's maximum, `pi^n / (n + 1)`.

use std::f64::consts::PI;

use crate::kernels::math::basic::round64::horner;
use crate::kernels::math::trig64::w64;

/// Higher orders give NaN: their value overflows the reference of its error bound.
const MAX_ORDER: f64 = 300.0;

/// `sin(t + n pi / 2)` from the sine and cosine of `t`.
fn shifted_sine(sin: f64, cos: f64, n: u32) -> f64 {
    match n % 4 {
        0 => sin,
        1 => cos,
        2 => -sin,
        _ => -cos,
    }
}

/// The derivative of `sin(t) / t`, over `t`, in powers of `t²`: `(-1)^k 2k / (2k + 1)!` from k = 1 on.
const SLOPE: [f64; 10] = [
    -0.3333333333333333,
    0.03333333333333333,
    -0.0011904761904761906,
    2.2045855379188714e-05,
    -2.505210838544172e-07,
    1.9270852604185937e-09,
    -1.0706029224547743e-11,
    4.498331606952833e-14,
    -1.4797143443923793e-16,
    3.9145882126782523e-19,
];

/// The first derivative: the series where `|t| < 1`, elsewhere `(cos t - sin(t) / t) / x`.
fn slope(x: f64) -> f64 {
    let t = PI * x;
    if t.abs() < 1.0 {
        return PI * t * horner::<false, _>(&SLOPE, t * t);
    }
    (w64::cos::<false, true>(t) - w64::sin::<false, true>(t) / t) / x
}

/// Derivative of order `n` of the normalised sinc; NaN unless `n` is an integer of at least 0.
#[inline(never)]
pub fn sinc(x: f64, n: f64) -> f64 {
    if !(0.0..=MAX_ORDER).contains(&n) || n != n.floor() || !x.is_finite() {
        return f64::NAN;
    }
    if n == 1.0 {
        return slope(x);
    }
    let (order, t) = (n as u32, PI * x);
    let (sin, cos) = t.sin_cos();
    let value = if t.abs() > n.max(1.0) {
        (1..=order).fold(sin / t, |below, k| (shifted_sine(sin, cos, k) - f64::from(k) * below) / t)
    } else {
        // The error of starting from 0 shrinks by |t| / k < 1 in every step.
        let start = 2 * order + 60;
        (order + 1..=start)
            .rev()
            .fold(0.0, |above, k| (shifted_sine(sin, cos, k) - t * above) / f64::from(k))
    };
    value * PI.powi(order as i32)
}

/// The same for float32.
pub(in crate::kernels::math) mod w32 {
    /// As for float64.
    pub fn sinc(x: f32, n: f32) -> f32 {
        super::sinc(x as f64, n as f64) as f32
    }
}
