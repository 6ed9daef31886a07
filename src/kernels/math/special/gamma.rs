//! The gamma family: `lgamma`, `digamma` and its derivative `trigamma`, in float64 for both widths.
//!
//! Arguments below 1/2 (0 for the derivatives) are reflected, middle ones shifted up by the recurrence, and
//! for the rest Stirling's series is a minimax polynomial in `1/x^2`.
//! Error: about 1e-15 of the larger of the value and 1: relative precision is lost near the zeros.

use crate::kernels::math::basic::round64::{fma, horner, round};
use crate::kernels::math::log::w64::ln;

/// `lgamma(2 + t) / t` on `|t| <= 1/2`.
const TWO: [f64; 21] = [
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

/// `x` times the remainder of Stirling's formula for `lgamma`, in `1/x^2`, from 4.5.
const STIRLING: [f64; 9] = [
    0.08333333333333315,
    -0.0027777777776454003,
    0.0007936507594718179,
    -0.0005952336224313424,
    0.0008414097478054697,
    -0.0019012795145597276,
    0.005909797613263754,
    -0.019410108872780288,
    0.041350976405930634,
];
/// `x^2 (ln(x) - 1/(2x) - digamma(x))` in `1/x^2`, from 6.
const DIGAMMA: [f64; 9] = [
    0.08333333333333331,
    -0.008333333333305736,
    0.003968253954115508,
    -0.0041666631067294796,
    0.007575242193860104,
    -0.02104706772565535,
    0.08078639212108676,
    -0.35414188634755417,
    1.1192509825486556,
];
/// `x^3 (trigamma(x) - 1/x - 1/(2x^2))` in `1/x^2`, from 6.
const TRIGAMMA: [f64; 9] = [
    0.16666666666666632,
    -0.03333333333282696,
    0.02380952355106628,
    -0.03333326834811204,
    0.07574825421649029,
    -0.2522940151165402,
    1.1210526754644836,
    -5.474231061687123,
    18.64396648709373,
];
/// `sin(pi r) / (pi r)` and `cos(pi r)` in `r^2`, to a half.
const SINE: [f64; 10] = [
    1.0,
    -1.6449340668482264,
    0.8117424252833498,
    -0.19075182412191993,
    0.02614784781421115,
    -0.0023460809953340777,
    0.00014842851935412455,
    -6.974784382638004e-06,
    2.507654988603274e-07,
    -5.107496651022828e-09,
];
const COSINE: [f64; 10] = [
    1.0,
    -4.934802200544679,
    4.058712126416728,
    -1.3352627688527912,
    0.2353306303203121,
    -0.025806890931080698,
    0.0019295711259298084,
    -0.00010462527123535797,
    4.274960323931844e-06,
    -1.1175474237621588e-07,
];

/// `x` or its reflection `1 - x`, whether it was reflected, and the fractional part of `x`.
#[inline(always)]
fn reflect<const FMA: bool>(x: f64, below: f64) -> (f64, bool, f64) {
    let reflected = x < below;
    (if reflected { 1.0 - x } else { x }, reflected, x - round::<FMA>(x))
}

/// Logarithm of the absolute value of the gamma function.
#[inline(always)]
pub fn lgamma<const FMA: bool>(x: f64) -> f64 {
    let (a, reflected, r) = reflect::<FMA>(x, 0.5);
    // Below 4.5: ln(factor) and the polynomial around 2.
    let (low, second, third) = (a < 1.5, a >= 2.5, a >= 3.5);
    let shift = (if second { 1.0 } else { 0.0 }) + (if third { 1.0 } else { 0.0 });
    let t = a - 2.0 + (if low { 1.0 } else { 0.0 }) - shift;
    let factor = if second { a - 1.0 } else { 1.0 };
    let factor = if third { factor * (a - 2.0) } else { factor };
    let factor = if low { a } else { factor };
    let near = t * horner::<FMA, _>(&TWO, t);
    // From there: Stirling's formula, the products first: a ln(a) alone overflows before the result does.
    let large = a >= 4.5;
    let log = ln::<FMA>(if large { a } else { factor });
    let inverse = 1.0 / a;
    const REST: f64 = 0.918_938_533_204_672_8 - 0.5;
    let series = fma::<FMA>(inverse, horner::<FMA, _>(&STIRLING, inverse * inverse), REST);
    let far = fma::<FMA>(a - 0.5, log - 1.0, series);
    let value = if large { far } else { near + (if low { -log } else { log }) };
    let sine = r.abs() * horner::<FMA, _>(&SINE, r * r);
    let value = if reflected { -ln::<FMA>(sine) - value } else { value };
    let pole = reflected & (r == 0.0);
    if pole | (x.abs() == f64::INFINITY) { f64::INFINITY } else { value }
}

/// `x` or `x + 6`, at least 6.
#[inline(always)]
fn shifted(x: f64) -> f64 {
    if x < 6.0 { x + 6.0 } else { x }
}

/// `pi / tan(pi r)`, and `pi / sin(pi r)` squared.
#[inline(always)]
fn reflection<const FMA: bool>(r: f64) -> (f64, f64) {
    // sin(pi r) / pi, so that the quotients include the factor already.
    let sine = r * horner::<FMA, _>(&SINE, r * r);
    let inverse = 1.0 / sine;
    (horner::<FMA, _>(&COSINE, r * r) * inverse, inverse * inverse)
}

/// Derivative of `lgamma`; NaN at negative integers, infinite at zero.
#[inline(always)]
pub fn digamma<const FMA: bool>(x: f64) -> f64 {
    let (a, reflected, r) = reflect::<FMA>(x, 0.0);
    let b = shifted(a);
    let inverse = 1.0 / b;
    let z = inverse * inverse;
    let value = ln::<FMA>(b) - fma::<FMA>(z, horner::<FMA, _>(&DIGAMMA, z), 0.5 * inverse);
    // 1 / (a + 1) to 1 / (a + 5) as one quotient: two pairs with the products v and v + 3, and w.
    let (v, w) = (fma::<FMA>(a, a + 6.0, 5.0), a + 3.0);
    let product = v * (v + 3.0);
    let sum = fma::<FMA>(w * w, 4.0 * v + 6.0, product) / (product * w) + 1.0 / a;
    let value = if a < 6.0 { value - sum } else { value };
    let value = if reflected { value - reflection::<FMA>(r).0 } else { value };
    let value = if reflected & (r == 0.0) { f64::NAN } else { value };
    if x == 0.0 { f64::INFINITY.copysign(-x) } else { value }
}

/// Derivative of `digamma`.
#[inline(always)]
pub fn trigamma<const FMA: bool>(x: f64) -> f64 {
    let (a, reflected, r) = reflect::<FMA>(x, 0.0);
    let b = shifted(a);
    let inverse = 1.0 / b;
    let z = inverse * inverse;
    let value = fma::<FMA>(0.5, z, inverse) + inverse * z * horner::<FMA, _>(&TRIGAMMA, z);
    // The skipped a + i pair up with the products u, u + 4 and u + 6; the first, whose square may overflow,
    // is separate.
    let u = a * (a + 5.0);
    let (v, w, first) = (u + 4.0, u + 6.0, 1.0 / u);
    let pairs = (2.0 * u + 17.0) * (w * w) + (2.0 * u + 13.0) * (v * v);
    let product = v * w;
    let sum = (2.0 * u + 25.0) * first * first + pairs / (product * product);
    let value = if a < 6.0 { value + sum } else { value };
    let value = if reflected { reflection::<FMA>(r).1 - value } else { value };
    if (x == 0.0) | (x == f64::NEG_INFINITY) { f64::INFINITY } else { value }
}

/// The same for float32, computed in float64.
#[allow(missing_docs)]
pub(in crate::kernels::math) mod w32 {
    #[inline(always)]
    pub fn lgamma<const FMA: bool>(x: f32) -> f32 {
        super::lgamma::<FMA>(x as f64) as f32
    }
    #[inline(always)]
    pub fn digamma<const FMA: bool>(x: f32) -> f32 {
        super::digamma::<FMA>(x as f64) as f32
    }
    #[inline(always)]
    pub fn trigamma<const FMA: bool>(x: f32) -> f32 {
        super::trigamma::<FMA>(x as f64) as f32
    }
}
