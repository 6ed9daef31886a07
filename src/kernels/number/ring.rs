//! `Ring`: the addition and multiplication of each dtype.
//!
//! Invariant: integers wrap; a boolean sum is an or, a boolean product an and.

use crate::dtype::{Complex64, Complex128, Half, Truth};

/// An element type with its sum and product.
pub(in super::super) trait Ring: Copy + Send + Sync {
    const ZERO: Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    #[inline(always)]
    fn muladd(self, a: Self, b: Self) -> Self {
        self.plus(a.times(b))
    }
}

macro_rules! rings {
    ($($t:ty, $zero:expr, |$a:ident, $b:ident| $plus:expr, $times:expr;)*) => {$(
        impl Ring for $t {
            const ZERO: $t = $zero;
            #[inline(always)]
            fn plus(self, $b: $t) -> $t {
                let $a = self;
                $plus
            }
            #[inline(always)]
            fn times(self, $b: $t) -> $t {
                let $a = self;
                $times
            }
        }
    )*};
}
rings! {
    Complex128, Complex128::new(0.0, 0.0), |a, b| a + b, a * b;
    Complex64, Complex64::new(0.0, 0.0), |a, b| a + b, a * b;
    u64, 0, |a, b| a.wrapping_add(b), a.wrapping_mul(b);
    f64, 0.0, |a, b| a + b, a * b;
    f32, 0.0, |a, b| a + b, a * b;
    i64, 0, |a, b| a.wrapping_add(b), a.wrapping_mul(b);
    i32, 0, |a, b| a.wrapping_add(b), a.wrapping_mul(b);
    u8, 0, |a, b| a.wrapping_add(b), a.wrapping_mul(b);
    i16, 0, |a, b| a.wrapping_add(b), a.wrapping_mul(b);
    i8, 0, |a, b| a.wrapping_add(b), a.wrapping_mul(b);
    u32, 0, |a, b| a.wrapping_add(b), a.wrapping_mul(b);
    u16, 0, |a, b| a.wrapping_add(b), a.wrapping_mul(b);
    Half, Half::ZERO, |a, b| Half::from_f32(a.to_f32() + b.to_f32()), Half::from_f32(a.to_f32() * b.to_f32());
    Truth, Truth(0),
        |a, b| Truth((a.holds() | b.holds()) as u8), Truth((a.holds() & b.holds()) as u8);
}
