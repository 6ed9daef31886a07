//! `x^y = e^(y ln x)`, with the logarithm in twice the digits so that the product keeps them.
//!
//! Error: below 2 ulp. Edges as C and NumPy: `x^0` and `1^y` are 1 even for NaN, a negative base
//! needs an integer exponent, and an odd one keeps the sign.

use super::basic::round64::{trunc, two_prod};
use super::exp::w64::{exp, exp_parts, scale};
use super::log::w64::{edges, ln, ln_extended};

/// Puts the sign and the special cases on `|x|^y`.
#[inline(always)]
fn finish<const FMA: bool>(x: f64, y: f64, magnitude: f64) -> f64 {
    let half = y * 0.5;
    let whole = (trunc::<FMA>(y) == y) | y.is_infinite();
    let odd = whole & (trunc::<FMA>(half) != half);
    // The magnitudes 0, 1 and infinity, where y ln |x| is 0 times infinity.
    let a = x.abs();
    let magnitude = if (a == 1.0) & !y.is_nan() { 1.0 } else { magnitude };
    let value = if odd { magnitude.copysign(x) } else { magnitude };
    let value = if (x < 0.0) & (x > f64::NEG_INFINITY) & !whole { f64::NAN } else { value };
    if (y == 0.0) | (x == 1.0) { 1.0 } else { value }
}

/// `self^o` of float64.
#[inline(always)]
pub fn powf64<const FMA: bool>(x: f64, y: f64) -> f64 {
    let a = x.abs();
    let (high, low) = ln_extended::<FMA>(a);
    let edge = !((a > 0.0) & (a < f64::INFINITY));
    let (high, low) = if edge { (edges(a, high), 0.0) } else { (high, low) };
    let (p, p_low) = two_prod::<FMA>(high, y);
    let p_low = p_low + low * y;
    // Far beyond the range of the exponential the low part means nothing, and may be NaN.
    let p_low = if p.abs() < 1000.0 { p_low } else { 0.0 };
    let (value, k) = exp_parts::<FMA>(p, p_low);
    finish::<FMA>(x, y, scale::<FMA>(value, k))
}

/// `self^o` of float32, in float64.
#[inline(always)]
pub fn powf32<const FMA: bool>(x: f32, y: f32) -> f32 {
    let (x, y) = (x as f64, y as f64);
    finish::<FMA>(x, y, exp::<FMA>(ln::<FMA>(x.abs()) * y)) as f32
}
