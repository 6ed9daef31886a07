//! Sine, cosine and tangent of float32: `x = k pi/2 + r` with `r` in two parts, and polynomials on
//! `|r| <= pi/4`; the tangent is a quotient.
//!
//! Without FMA the reduction is done in float64. As in `trig64`, a `FULL_RANGE` lane calls the standard library
//! beyond `MAX_FAST_ANGLE`. Error: all below 1.5 ulp.

use super::trig64::MAX_FAST_ANGLE;
use crate::kernels::math::basic::round32;

/// `(sin(r) - r) / r^3`, `(cos(r) - 1 + r^2 / 2) / r^4` and `(tan(r) - r) / r^3` in `r^2`.
const SIN: [f32; 3] = [-0.16666655, 0.00833219, -0.00019518398];
const COS: [f32; 3] = [0.041666646, -0.0013887298, 2.4429984e-05];
const TAN: [f32; 6] = [0.33333156, 0.13338836, 0.053408302, 0.024440598, 0.0031033733, 0.009395112];

/// pi/2 in three float32, the second positive: no multiple of it turns the remainder of -0 into 0.
const PIO2: [f32; 3] = {
    let first = f32::from_bits(std::f32::consts::FRAC_PI_2.to_bits() - 1);
    let rest = std::f64::consts::FRAC_PI_2 - first as f64;
    let second = rest as f32;
    [first, second, ((rest - second as f64) + 6.123233995736766e-17) as f32]
};

/// A number with the nearest multiple of pi/2 in its low bits, and the remainder in two parts.
#[inline(always)]
fn reduce<const FMA: bool>(x: f32) -> (u32, f32, f32) {
    let t = round32::fma::<FMA>(x, std::f32::consts::FRAC_2_PI, round32::MAGIC);
    let k = t - round32::MAGIC;
    if FMA {
        // Exact: both terms are multiples of the last digit of the difference.
        let a = (-k).mul_add(PIO2[0], x);
        let (b, b_low) = round32::two_prod::<FMA>(k, PIO2[1]);
        let rest = a - b;
        let low = ((a - rest) - b) - b_low;
        return (t.to_bits(), rest, (-k).mul_add(PIO2[2], low));
    }
    let k = k as f64;
    // The first part is so short that its product with k is exact.
    let whole = (x as f64 - k * 1.5707963267341256) - k * 6.077100506303966e-11;
    let rest = whole as f32;
    (t.to_bits(), rest, (whole - rest as f64) as f32)
}

/// Whether the standard library has to compute it: large, infinite or NaN, in a `FULL_RANGE` lane.
#[inline(always)]
fn needs_library<const FULL_RANGE: bool>(x: f32) -> bool {
    FULL_RANGE && (x.abs() > MAX_FAST_ANGLE as f32 || x.is_nan())
}

/// Trigonometry of float32.
#[allow(missing_docs)]
pub(in crate::kernels::math) mod w32 {
    use super::*;
    use round32::{fma, horner};

    /// The sine of `x` shifted by quadrants.
    #[inline(always)]
    fn shifted_sin<const FMA: bool>(x: f32, quadrants: u32) -> f32 {
        let (t, r, low) = reduce::<FMA>(x);
        let q = t.wrapping_add(quadrants);
        let z = r * r;
        let s = (r + fma::<FMA>(r * z, horner::<FMA, _>(&SIN, z), low)).copysign(r);
        let c = fma::<FMA>(-0.5, z, 1.0);
        let c_low = fma::<FMA>(-0.5, z, 1.0 - c);
        let c_low = fma::<FMA>(z * z, horner::<FMA, _>(&COS, z), c_low);
        let c = c + fma::<FMA>(-r, low, c_low);
        let value = if q & 1 == 0 { s } else { c };
        f32::from_bits(value.to_bits() ^ ((q & 2) << 30))
    }

    #[inline(always)]
    pub fn sin<const FMA: bool, const FULL_RANGE: bool>(x: f32) -> f32 {
        if needs_library::<FULL_RANGE>(x) { x.sin() } else { shifted_sin::<FMA>(x, 0) }
    }

    #[inline(always)]
    pub fn cos<const FMA: bool, const FULL_RANGE: bool>(x: f32) -> f32 {
        if needs_library::<FULL_RANGE>(x) { x.cos() } else { shifted_sin::<FMA>(x, 1) }
    }

    #[inline(always)]
    pub fn tan<const FMA: bool, const FULL_RANGE: bool>(x: f32) -> f32 {
        if needs_library::<FULL_RANGE>(x) {
            return x.tan();
        }
        let (t, r, low) = reduce::<FMA>(x);
        let z = r * r;
        let p = (r + fma::<FMA>(r * z, horner::<FMA, _>(&TAN, z), low)).copysign(r);
        let odd = t & 1 != 0;
        (if odd { -1.0 } else { p }) / (if odd { p } else { 1.0 })
    }
}
