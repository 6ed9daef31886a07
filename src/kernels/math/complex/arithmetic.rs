//! The complex quotient and reciprocal, and the tests that select `CAREFUL` evaluation.
//!
//! Invariant: no intermediate value of a quotient overflows or underflows unless the quotient itself does.

use crate::dtype::Complex128;

/// 2^200: products of four parts below it and of their reciprocals are normal numbers.
const MAX_FAST_PART: f64 = 1.606938044258990275541962092341162602522202993782792835301376e60;
/// 2^900: beyond this product of two parts, a quotient is computed with scaled operands.
const MAX_PRODUCT: f64 =
    MAX_FAST_PART * MAX_FAST_PART * MAX_FAST_PART * MAX_FAST_PART * 1.2676506002282294e30;

/// Whether a part is infinite, NaN, very large, or very small and not zero.
#[inline(always)]
pub fn is_extreme(part: f64) -> bool {
    let size = part.abs();
    !((size < MAX_FAST_PART) & ((size > 1.0 / MAX_FAST_PART) | (size == 0.0)))
}

/// `a / b` as `a conj(b) / |b|²`; for `COMPLEX64` as a product with the reciprocal: two more roundings, which vanish in
/// complex64. A zero divisor gives infinities and NaN, as NumPy.
#[inline(always)]
fn fast_quotient<const COMPLEX64: bool>(a: Complex128, b: Complex128) -> Complex128 {
    let size = b.re * b.re + b.im * b.im;
    let (re, im) = (a.re * b.re + a.im * b.im, a.im * b.re - a.re * b.im);
    let is_zero = (b.re == 0.0) & (b.im == 0.0);
    let choose = |zero: f64, other: f64| if is_zero { zero } else { other };
    let (re, im, size) = (choose(a.re, re), choose(a.im, im), choose(b.re.abs(), size));
    if COMPLEX64 {
        let reciprocal = 1.0 / size;
        return Complex128::new(re * reciprocal, im * reciprocal);
    }
    Complex128::new(re / size, im / size)
}

/// The quotient.
#[inline(always)]
pub fn quotient<const CAREFUL: bool, const COMPLEX64: bool>(
    a: Complex128,
    b: Complex128,
) -> Complex128 {
    if CAREFUL { careful_quotient::<COMPLEX64>(a, b) } else { fast_quotient::<COMPLEX64>(a, b) }
}

/// The reciprocal: `conj(z) / |z|²`, with the signs of zeros of the conjugate.
#[inline(always)]
pub fn recip<const CAREFUL: bool>(z: Complex128) -> Complex128 {
    if CAREFUL {
        let inverse = careful_quotient::<false>(Complex128::new(1.0, 0.0), z);
        let signed = |part: f64, sign: f64| if part == 0.0 { part.copysign(sign) } else { part };
        return Complex128::new(signed(inverse.re, z.re), signed(inverse.im, -z.im));
    }
    let size = z.re * z.re + z.im * z.im;
    let is_zero = (z.re == 0.0) & (z.im == 0.0);
    let choose = |zero: f64, other: f64| if is_zero { zero } else { other };
    let size = choose(z.re.abs(), size);
    Complex128::new(choose(1.0, z.re) / size, choose(0.0, -z.im) / size)
}

/// The larger part.
#[inline(always)]
pub(super) fn largest(z: Complex128) -> f64 {
    z.re.abs().max(z.im.abs())
}

/// The quotient of any operands.
fn careful_quotient<const COMPLEX64: bool>(a: Complex128, b: Complex128) -> Complex128 {
    let (numerator, denominator) = (largest(a), largest(b));
    let within = |size: f64| size < MAX_PRODUCT && size > 1.0 / MAX_PRODUCT;
    let finite = [a.re, a.im, b.re, b.im].iter().all(|part| part.is_finite());
    if !finite {
        return smith(a, b);
    }
    if denominator == 0.0
        || within(denominator * denominator)
            && (numerator == 0.0 || within(numerator * denominator))
    {
        return fast_quotient::<COMPLEX64>(a, b);
    }
    // Scaling by powers of two is exact; the quotient is scaled back in two steps, of which only the last may
    // round.
    let (p, q) = (exponent(numerator), exponent(denominator));
    let quotient = fast_quotient::<COMPLEX64>(scaled(a, -p), scaled(b, -q));
    scaled(quotient, p - q)
}

/// Smith's algorithm (Communications of the ACM 5, 1962) as in NumPy, for operands with infinities or NaN.
fn smith(a: Complex128, b: Complex128) -> Complex128 {
    if b.re == 0.0 && b.im == 0.0 {
        return fast_quotient::<false>(a, b);
    }
    if b.re.abs() >= b.im.abs() {
        let ratio = b.im / b.re;
        let scale = 1.0 / (b.re + b.im * ratio);
        Complex128::new((a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale)
    } else {
        let ratio = b.re / b.im;
        let scale = 1.0 / (b.im + b.re * ratio);
        Complex128::new((a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale)
    }
}

/// The exponent of a finite number: `2^e <= size < 2^(e + 1)`; 0 for zero.
pub(super) fn exponent(size: f64) -> i32 {
    if size == 0.0 {
        return 0;
    }
    let bits = |size: f64| ((size.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    if size < f64::MIN_POSITIVE { bits(size * 18014398509481984.0) - 54 } else { bits(size) }
}

/// `z 2^e`, in steps that do not overflow.
pub(super) fn scaled(z: Complex128, e: i32) -> Complex128 {
    let mut z = z;
    let mut left = e;
    while left != 0 {
        let step = left.clamp(-1000, 1000);
        let factor = f64::from_bits(((step + 1023) as u64) << 52);
        z = Complex128::new(z.re * factor, z.im * factor);
        left -= step;
    }
    z
}

/// Whether a part is infinite or NaN.
#[inline(always)]
pub(super) fn is_special(z: Complex128) -> bool {
    !(z.re.is_finite() && z.im.is_finite())
}

/// `i z`.
#[inline(always)]
pub(super) fn mul_i(z: Complex128) -> Complex128 {
    Complex128::new(-z.im, z.re)
}

/// `-i z`.
#[inline(always)]
pub(super) fn mul_neg_i(z: Complex128) -> Complex128 {
    Complex128::new(z.im, -z.re)
}
