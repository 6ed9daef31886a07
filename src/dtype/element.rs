//! `Element`: the Rust types of array elements, one per row of the table.

use std::fmt;

use super::{Complex64, Complex128, DType, Half};

pub(super) mod sealed {
    pub trait Sealed {}
}

/// A Rust type that is the element type of a dtype. Sealed.
pub trait Element: sealed::Sealed + Copy + Send + Sync + PartialEq + fmt::Debug + 'static {
    /// The dtype of this type.
    const DTYPE: DType;
    /// The value as float64 (large integers are rounded; the real part of a complex number).
    fn to_f64(self) -> f64;
    /// Converts a float64 as Rust's `as` does.
    fn from_f64(v: f64) -> Self;
    /// Converts an integer; values out of range wrap.
    fn from_i64(v: i64) -> Self;
}

impl sealed::Sealed for bool {}
impl Element for bool {
    const DTYPE: DType = DType::Bool;
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self as u8 as f64
    }
    #[inline(always)]
    fn from_f64(v: f64) -> Self {
        v != 0.0
    }
    #[inline(always)]
    fn from_i64(v: i64) -> Self {
        v != 0
    }
}

/// Rounds a float64 to float32 by round-to-odd: the last bit is set if the result is inexact, so that a second rounding
/// gives the same as a single one.
#[inline(always)]
pub(crate) fn round_to_odd(v: f64) -> f32 {
    const BELOW: u64 = (1 << 29) - 1;
    let bits = v.to_bits();
    f64::from_bits((bits | ((bits & BELOW) + BELOW)) & !BELOW) as f32
}

/// The float16 nearest to a float64, ties to even.
#[inline]
pub(crate) fn f16_from_f64(v: f64) -> Half {
    Half::from_f32(round_to_odd(v))
}

impl sealed::Sealed for Half {}
impl Element for Half {
    const DTYPE: DType = DType::F16;
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn from_f64(v: f64) -> Self {
        f16_from_f64(v)
    }
    #[inline(always)]
    fn from_i64(v: i64) -> Self {
        // Integers beyond 2^53 are out of float16's range, so double rounding cannot occur.
        f16_from_f64(v as f64)
    }
}

macro_rules! complex_elements {
    ($($t:ty, $part:ty, $dtype:ident;)*) => {$(
        impl sealed::Sealed for $t {}
        impl Element for $t {
            const DTYPE: DType = DType::$dtype;
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.re as f64
            }
            #[inline(always)]
            fn from_f64(v: f64) -> Self {
                Self::new(v as $part, 0.0)
            }
            #[inline(always)]
            fn from_i64(v: i64) -> Self {
                Self::new(v as $part, 0.0)
            }
        }
    )*};
}
complex_elements! { Complex128, f64, C128; Complex64, f32, C64; }
