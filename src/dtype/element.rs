//! The Rust types that are elements.
//!
//! Owns: `Element`, and what of it the table's macro does not write. Never converts between dtypes as arrays do.
//! Invariant: only the types of the table's rows implement it.

use std::fmt;

use super::{Complex64, Complex128, DType, Half};

pub(super) mod sealed {
    pub trait Sealed {}
}

/// A Rust type that is the element of some dtype. Sealed: the rows of the table are all there are.
pub trait Element: sealed::Sealed + Copy + Send + Sync + PartialEq + fmt::Debug + 'static {
    /// The dtype of this type.
    const DTYPE: DType;
    /// The value as a float64 (rounded for large integers; the real part of a complex number).
    fn to_f64(self) -> f64;
    /// The value nearest to a float64, as Rust's `as` converts.
    fn from_f64(v: f64) -> Self;
    /// The value of an integer; those that do not fit wrap.
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

/// The float32 of a float64 that is cut off and keeps in its last bit whether anything was, so that rounding it again is
/// as rounding once.
#[inline(always)]
pub(crate) fn sticky(v: f64) -> f32 {
    const BELOW: u64 = (1 << 29) - 1;
    let bits = v.to_bits();
    f64::from_bits((bits | ((bits & BELOW) + BELOW)) & !BELOW) as f32
}

/// The float16 nearest to a float64, ties to even.
#[inline]
pub(crate) fn half_of(v: f64) -> Half {
    Half::from_f32(sticky(v))
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
        half_of(v)
    }
    #[inline(always)]
    fn from_i64(v: i64) -> Self {
        // Beyond 2^53 every integer is beyond the range, so that the two roundings are one.
        half_of(v as f64)
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
