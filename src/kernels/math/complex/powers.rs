//! Complex powers, by squaring for small integer exponents, and the derivatives of `sin(pi z) / (pi z)`.
//!
//! Invariant: `z^0` is 1, and `0^w` is 0 if `w` has a positive real part and NaN otherwise, as in NumPy.

use std::f64::consts::PI;

use super::{cos, exp, ln, quotient, sin};
use crate::dtype::Complex128;

const ONE: Complex128 = Complex128::new(1.0, 0.0);

/// The product of `ComplexLane`.
#[inline(always)]
fn times(a: Complex128, b: Complex128) -> Complex128 {
    Complex128::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
}

/// `z^n` by squaring.
fn whole_power(z: Complex128, n: i32) -> Complex128 {
    let (mut left, mut square, mut product) = (n.unsigned_abs(), z, ONE);
    loop {
        if left & 1 == 1 {
            product = if product == ONE { square } else { times(product, square) };
        }
        left >>= 1;
        if left == 0 {
            break;
        }
        square = times(square, square);
    }
    if n < 0 { quotient::<true, false>(ONE, product) } else { product }
}

/// `z^w = e^(w ln z)`.
pub fn powf<const FMA: bool, const CAREFUL: bool>(z: Complex128, w: Complex128) -> Complex128 {
    if w.re == 0.0 && w.im == 0.0 {
        return ONE;
    }
    if z.re == 0.0 && z.im == 0.0 {
        let nan = Complex128::new(f64::NAN, f64::NAN);
        return if w.re > 0.0 { Complex128::new(0.0, 0.0) } else { nan };
    }
    if w.im == 0.0 && w.re.abs() < 100.0 && w.re.trunc() == w.re {
        return whole_power(z, w.re as i32);
    }
    exp::<FMA, true>(times(w, ln::<FMA, true>(z)))
}

/// The derivative of order `o` of `sin(pi z) / (pi z)`: near zero the series, elsewhere
/// `f_n = (sin^(n) - n f_(n-1)) / u`.
pub fn sinc<const FMA: bool, const CAREFUL: bool>(z: Complex128, o: Complex128) -> Complex128 {
    let n = o.re;
    if o.im != 0.0 || !(0.0..1e3).contains(&n) || n.trunc() != n {
        return Complex128::new(f64::NAN, f64::NAN);
    }
    let (n, u) = (n as i32, Complex128::new(z.re * PI, z.im * PI));
    let outer = PI.powi(n);
    let value =
        if u.re.hypot(u.im) < f64::from(n) + 2.0 { series(u, n) } else { recurrence::<FMA>(u, n) };
    Complex128::new(value.re * outer, value.im * outer)
}

/// The sum of `(-1)^k u^(2k-n) / ((2k-n)! (2k+1))` over `2k >= n`.
fn series(u: Complex128, n: i32) -> Complex128 {
    let first = (n + 1) / 2;
    let mut power = if 2 * first == n { ONE } else { u };
    let (square, mut sum) = (times(u, u), Complex128::new(0.0, 0.0));
    for k in first..first + 60 + n {
        let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
        let share = sign / f64::from(2 * k + 1);
        sum = Complex128::new(sum.re + power.re * share, sum.im + power.im * share);
        let m = f64::from(2 * k - n);
        power = times(power, square);
        power =
            Complex128::new(power.re / ((m + 1.0) * (m + 2.0)), power.im / ((m + 1.0) * (m + 2.0)));
    }
    sum
}

fn recurrence<const FMA: bool>(u: Complex128, n: i32) -> Complex128 {
    let (s, c) = (sin::<FMA, true>(u), cos::<FMA, true>(u));
    let derivative = [s, c, -s, -c];
    let mut value = quotient::<true, false>(s, u);
    for k in 1..=n {
        let top = derivative[(k % 4) as usize];
        let order = f64::from(k);
        value = quotient::<true, false>(
            Complex128::new(top.re - order * value.re, top.im - order * value.im),
            u,
        );
    }
    value
}
