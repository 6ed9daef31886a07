//! Sine, cosine and tangent of float64: `x = k pi/2 + r` with `r` in two parts, and a polynomial for each of
//! sine and cosine on `|r| <= pi/4`, selected by the quadrant.
//!
//! The reduction is accurate up to `MAX_FAST_ANGLE`; beyond, a `FULL_RANGE` lane calls the standard library, and the
//! result of another is undefined. Error: sine and cosine below 1 ulp, tangent below 2.

/// Arguments above this magnitude need a `FULL_RANGE` lane for sin, cos and tan.
pub(in crate::kernels::math) const MAX_FAST_ANGLE: f64 = 65536.0;

/// The reduced argument: the two low bits of the multiple of pi/2, and the remainder in two parts.
#[derive(Clone, Copy)]
struct Reduced {
    quadrant: u32,
    rest: f64,
    low: f64,
}

/// The difference and its rounding error, for an `a` that is a multiple of the last digit of `b`: then a
/// subtraction from the argument leaves a multiple of it, whichever of the two is larger.
macro_rules! two_diff {
    ($a:ident, $b:ident) => {{
        let high = $a - $b;
        (high, ($a - high) - $b)
    }};
}

/// Reduces without FMA: the parts of pi/2 are short, so that their products are exact.
#[inline(always)]
fn reduce_split(x: f64) -> (f64, f64, f64) {
    use crate::kernels::math::basic::round64::MAGIC;
    let t = x * std::f64::consts::FRAC_2_PI + MAGIC;
    let k = t - MAGIC;
    let a = x - k * 1.5707963267341256;
    let b = k * 6.077100506303966e-11;
    let (high, error) = two_diff!(a, b);
    (t, high, error - k * 2.0222662487959506e-21)
}

impl Reduced {
    #[inline(always)]
    fn new<const FMA: bool>(x: f64) -> Self {
        use crate::kernels::math::basic::round64::{MAGIC, fma, two_prod};
        let (t, high, low) = if FMA {
            let t = fma::<FMA>(x, std::f64::consts::FRAC_2_PI, MAGIC);
            let k = t - MAGIC;
            let a = fma::<FMA>(-k, std::f64::consts::FRAC_PI_2, x);
            let (b, b_low) = two_prod::<FMA>(k, 6.123233995736765e-17);
            let (high, error) = two_diff!(a, b);
            (t, high, fma::<FMA>(-k, 1.0828566739219139e-32, error - b_low))
        } else {
            reduce_split(x)
        };
        let rest = high + low;
        Reduced { quadrant: t.to_bits() as u32, rest, low: (high - rest) + low }
    }
}

const SIN: [f64; 6] = [
    -0.16666666666666632,
    0.008333333333322462,
    -0.00019841269829820547,
    2.755731369016851e-06,
    -2.5050757115843673e-08,
    1.5896704327810241e-10,
];
const COS: [f64; 6] = [
    0.041666666666666616,
    -0.0013888888888876482,
    2.4801587290752503e-05,
    -2.7557314676042357e-07,
    2.087576271446539e-09,
    -1.1361500527392826e-11,
];

/// Trigonometry of float64.
#[allow(missing_docs)]
pub(in crate::kernels::math) mod w64 {
    use super::{COS, MAX_FAST_ANGLE, Reduced, SIN};
    use crate::kernels::math::basic::round64::{fma, horner};

    /// Sine and cosine of the remainder.
    #[inline(always)]
    fn both<const FMA: bool>(x: &Reduced) -> (f64, f64) {
        let (r, z) = (x.rest, x.rest * x.rest);
        let s = r + fma::<FMA>(r * z, horner::<FMA, _>(&SIN, z), x.low);
        let half = 0.5 * z;
        let c = 1.0 - half;
        let c_low = (1.0 - c) - half;
        let c_tail = z * z * horner::<FMA, _>(&COS, z) - r * x.low;
        (s, c + (c_low + c_tail))
    }

    /// The sine of `x` shifted by quadrants.
    #[inline(always)]
    fn shifted_sin<const FMA: bool>(x: f64, quadrants: u32) -> f64 {
        let reduced = Reduced::new::<FMA>(x);
        let q = reduced.quadrant.wrapping_add(quadrants);
        let (s, c) = both::<FMA>(&reduced);
        let value = if q & 1 == 0 { s } else { c };
        if q & 2 == 0 { value } else { -value }
    }

    /// Whether the standard library has to compute it: large, infinite or NaN, in a `FULL_RANGE` lane.
    #[inline(always)]
    fn needs_library<const FULL_RANGE: bool>(x: f64) -> bool {
        FULL_RANGE && (x.abs() > MAX_FAST_ANGLE || x.is_nan())
    }

    #[inline(always)]
    pub fn sin<const FMA: bool, const FULL_RANGE: bool>(x: f64) -> f64 {
        if needs_library::<FULL_RANGE>(x) {
            return x.sin();
        }
        let value = shifted_sin::<FMA>(x, 0);
        if x.abs() < 1e-8 { x } else { value }
    }

    #[inline(always)]
    pub fn cos<const FMA: bool, const FULL_RANGE: bool>(x: f64) -> f64 {
        if needs_library::<FULL_RANGE>(x) {
            return x.cos();
        }
        shifted_sin::<FMA>(x, 1)
    }

    #[inline(always)]
    pub fn tan<const FMA: bool, const FULL_RANGE: bool>(x: f64) -> f64 {
        if needs_library::<FULL_RANGE>(x) {
            return x.tan();
        }
        let reduced = Reduced::new::<FMA>(x);
        let (s, c) = both::<FMA>(&reduced);
        let odd = reduced.quadrant & 1 != 0;
        let value = (if odd { -c } else { s }) / (if odd { s } else { c });
        if x.abs() < 1e-8 { x } else { value }
    }
}
