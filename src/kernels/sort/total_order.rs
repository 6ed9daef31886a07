//! Total orders and unsigned sort keys of elements, and sorting by a comparison.
//!
//! Invariant: NaN is greater than everything.

use std::cmp::Ordering;

#[cfg(target_arch = "x86_64")]
use super::{ints_as_floats, sort_avx512, sort_floats};
use crate::dtype::{Complex64, Complex128, Half, Truth};
use crate::kernels::multiversion::Levels;

/// Copies the first of each run of equal elements; returns their count.
#[cfg(target_arch = "x86_64")]
type UniqueFn<T> = unsafe fn(*const T, usize, *mut T) -> usize;

/// An element with a total order.
pub trait TotalOrder: Copy + Send + Sync {
    /// Ascending order, NaN last.
    fn order(self, other: Self) -> Ordering;
    /// Whether two elements count as equal: also any two NaN.
    fn same(self, other: Self) -> bool;
    /// Whether it is NaN.
    #[inline(always)]
    fn is_nan_value(self) -> bool {
        false
    }
    /// The SIMD version of `unique_sorted`, if there is one.
    #[cfg(target_arch = "x86_64")]
    const SIMD_UNIQUE: Option<UniqueFn<Self>> = None;
}

macro_rules! float_keys {
    ($($t:ty, $unique:expr;)*) => {$(
        impl TotalOrder for $t {
            #[cfg(target_arch = "x86_64")]
            const SIMD_UNIQUE: Option<UniqueFn<$t>> = $unique;
            #[inline]
            fn order(self, other: $t) -> Ordering {
                match self.partial_cmp(&other) {
                    Some(order) => order,
                    None => self.is_nan().cmp(&other.is_nan()),
                }
            }
            #[inline(always)]
            fn same(self, other: $t) -> bool {
                (self == other) | (self.is_nan() & other.is_nan())
            }
            #[inline(always)]
            fn is_nan_value(self) -> bool {
                self.is_nan()
            }
        }
    )*};
}
float_keys! { f64, Some(sort_avx512::doubles::unique); f32, Some(sort_avx512::singles::unique); Half, None; }

macro_rules! plain_keys {
    ($($t:ty),*) => {$(
        impl TotalOrder for $t {
            #[inline]
            fn order(self, other: $t) -> Ordering {
                self.cmp(&other)
            }
            #[inline(always)]
            fn same(self, other: $t) -> bool {
                self == other
            }
        }
    )*};
}
plain_keys!(i64, i32, i16, i8, u64, u32, u16, u8, bool);

/// NumPy's order: by the real part, then the imaginary one; numbers with a NaN last, those with a real part
/// that is a number first.
macro_rules! complex_keys {
    ($($t:ty),*) => {$(
        impl TotalOrder for $t {
            #[inline]
            fn order(self, other: $t) -> Ordering {
                let nan_parts = |z: $t| (z.re.is_nan(), z.im.is_nan());
                let parts = || self.re.order(other.re).then(self.im.order(other.im));
                nan_parts(self).cmp(&nan_parts(other)).then_with(parts)
            }
            #[inline(always)]
            fn same(self, other: $t) -> bool {
                (self == other) | (self.is_nan_value() & other.is_nan_value())
            }
            #[inline(always)]
            fn is_nan_value(self) -> bool {
                self.re.is_nan() | self.im.is_nan()
            }
        }
    )*};
}
complex_keys!(Complex128, Complex64);

impl TotalOrder for Truth {
    #[inline]
    fn order(self, other: Truth) -> Ordering {
        self.holds().cmp(&other.holds())
    }
    #[inline(always)]
    fn same(self, other: Truth) -> bool {
        self.holds() == other.holds()
    }
}

/// The indices below `n`, stably sorted by a comparison. Compiled once: for elements there is
/// `argsort_lines`.
pub fn argsort_by(n: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| compare(a, b));
    order
}

/// Sorts numbers to other memory or in place; `false` if it met a NaN. See `sort_avx512.rs`.
#[cfg(target_arch = "x86_64")]
pub(super) type SortFn<T> = unsafe fn(*const T, *mut T, usize) -> bool;

/// The same for any elements, ascending or descending.
#[cfg(target_arch = "x86_64")]
pub(super) type SortElementsFn<T> = unsafe fn(*const T, *mut T, usize, bool);

/// An element with an unsigned key of the same order.
pub(super) trait SortKey: TotalOrder {
    type Key: UnsignedKey;
    /// The instruction-set levels of the loops between elements and keys.
    const LEVELS: Levels = Levels::Baseline;
    /// The SIMD sort of these elements, if there is one.
    #[cfg(target_arch = "x86_64")]
    const SIMD_SORT: Option<SortElementsFn<Self>> = None;
    fn key(self) -> Self::Key;
    /// Whether sorting by `signed_zero_key` is a valid sort.
    const SORTS_BY_KEY: bool = true;
    /// A key that distinguishes the two zeros, and its inverse.
    fn signed_zero_key(self) -> Self::Key;
    fn from_signed_zero_key(key: Self::Key) -> Self;
}

/// An unsigned key, read byte by byte.
pub(super) trait UnsignedKey:
    Copy + Ord + Send + Sync + std::ops::BitXor<Output = Self> + std::ops::Not<Output = Self> + Default
{
    const BYTES: usize;
    /// The SIMD sort of these keys, if there is one.
    #[cfg(target_arch = "x86_64")]
    const SIMD_SORT: Option<unsafe fn(&mut [Self])>;
    /// The byte of weight `256^at`.
    fn byte(self, at: usize) -> usize;
}

macro_rules! numbers {
    ($($t:ty, $simd_sort:expr;)*) => {$(
        impl UnsignedKey for $t {
            const BYTES: usize = size_of::<$t>();
            #[cfg(target_arch = "x86_64")]
            const SIMD_SORT: Option<unsafe fn(&mut [$t])> = $simd_sort;
            #[inline(always)]
            fn byte(self, at: usize) -> usize {
                (self >> (8 * at)) as usize & 0xff
            }
        }
    )*};
}
numbers! { u128, None; u64, Some(ints_as_floats::sort); u32, None; }

macro_rules! float_digits {
    ($($t:ty => $u:ty, $simd_sort:expr;)*) => {$(
        impl SortKey for $t {
            type Key = $u;
            const LEVELS: Levels = Levels::All;
            #[cfg(target_arch = "x86_64")]
            const SIMD_SORT: Option<SortElementsFn<$t>> = Some(|from, to, n, descending| {
                // SAFETY: the caller's contract.
                unsafe { sort_floats::sort_floats(from, to, n, descending, $simd_sort) }
            });
            #[inline(always)]
            fn key(self) -> $u {
                // Adding zero makes the two zeros equal.
                (self + 0.0).signed_zero_key()
            }
            #[inline(always)]
            fn signed_zero_key(self) -> $u {
                const SIGN: $u = 1 << (<$u>::BITS - 1);
                let bits = self.to_bits();
                let ordered = if bits & SIGN == 0 { bits | SIGN } else { !bits };
                if self.is_nan() { <$u>::MAX } else { ordered }
            }
            #[inline(always)]
            fn from_signed_zero_key(key: $u) -> $t {
                const SIGN: $u = 1 << (<$u>::BITS - 1);
                <$t>::from_bits(if key & SIGN == 0 { !key } else { key ^ SIGN })
            }
        }
    )*};
}
float_digits! { f64 => u64, sort_avx512::doubles::sort; f32 => u32, sort_avx512::singles::sort; }

macro_rules! int_digits {
    ($($t:ty => $u:ty, $sign:expr);*) => {$(
        impl SortKey for $t {
            type Key = $u;
            #[inline(always)]
            fn key(self) -> $u {
                self as $u ^ $sign
            }
            #[inline(always)]
            fn signed_zero_key(self) -> $u {
                self.key()
            }
            #[inline(always)]
            fn from_signed_zero_key(key: $u) -> $t {
                (key ^ $sign) as $t
            }
        }
    )*};
}
int_digits!(i64 => u64, 1 << 63; i32 => u32, 1 << 31; u64 => u64, 0; u8 => u32, 0);

/// The two keys concatenated. After numbers without NaN come those whose imaginary part alone is NaN, in the
/// order of their real parts, and then the others.
macro_rules! complex_digits {
    ($($t:ty => $half:ty, $u:ty;)*) => {$(
        impl SortKey for $t {
            type Key = $u;
            // A negative zero in the real part would precede a positive one whatever the imaginary parts are.
            const SORTS_BY_KEY: bool = false;
            #[inline(always)]
            fn key(self) -> $u {
                Self::new(self.re + 0.0, self.im + 0.0).signed_zero_key()
            }
            #[inline(always)]
            fn signed_zero_key(self) -> $u {
                let (re, im) = (self.re.signed_zero_key(), self.im.signed_zero_key());
                let (high, low) = match (self.re.is_nan(), self.im.is_nan()) {
                    (false, false) => (re, im),
                    (false, true) => (<$half>::MAX - 1, re),
                    (true, _) => (<$half>::MAX, im),
                };
                (high as $u) << <$half>::BITS | low as $u
            }
            #[inline(always)]
            fn from_signed_zero_key(key: $u) -> $t {
                let (high, low) = ((key >> <$half>::BITS) as $half, key as $half);
                let (re, im) = match high {
                    <$half>::MAX => (high, low),
                    high if high == <$half>::MAX - 1 => (low, <$half>::MAX),
                    high => (high, low),
                };
                Self::new(SortKey::from_signed_zero_key(re), SortKey::from_signed_zero_key(im))
            }
        }
    )*};
}
complex_digits! { Complex128 => u64, u128; Complex64 => u32, u64; }

impl SortKey for Truth {
    type Key = u32;
    #[inline(always)]
    fn key(self) -> u32 {
        self.holds() as u32
    }
    #[inline(always)]
    fn signed_zero_key(self) -> u32 {
        self.key()
    }
    #[inline(always)]
    fn from_signed_zero_key(key: u32) -> Truth {
        Truth(key as u8)
    }
}
