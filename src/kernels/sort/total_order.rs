//! What elements are ordered by.
//!
//! Owns: the comparison that makes floats totally ordered, unsigned numbers that sort the same way, and sorting by any
//! comparison. Never reads a view. Invariant: a NaN is above everything.

use std::cmp::Ordering;

#[cfg(target_arch = "x86_64")]
use super::{ints_as_floats, sort_avx512, sort_floats};
use crate::dtype::{Complex64, Complex128, Half, Truth};
use crate::kernels::multiversion::Levels;

/// Copies the first of each run of equals among so many elements to where there is room for all, and says how many.
#[cfg(target_arch = "x86_64")]
type Firsts<T> = unsafe fn(*const T, usize, *mut T) -> usize;

/// An element with a total order.
pub trait Key: Copy + Send + Sync {
    /// Ascending order, NaN last.
    fn order(self, other: Self) -> Ordering;
    /// Whether two count as one: equals, and any two NaN.
    fn alike(self, other: Self) -> bool;
    /// Whether it is no number.
    #[inline(always)]
    fn nan(self) -> bool {
        false
    }
    /// Writes the first of each run of equal numbers to other memory and says how many these are, where the CPU has it.
    #[cfg(target_arch = "x86_64")]
    const FIRSTS: Option<Firsts<Self>> = None;
}

macro_rules! float_keys {
    ($($t:ty, $firsts:expr;)*) => {$(
        impl Key for $t {
            #[cfg(target_arch = "x86_64")]
            const FIRSTS: Option<Firsts<$t>> = $firsts;
            #[inline]
            fn order(self, other: $t) -> Ordering {
                match self.partial_cmp(&other) {
                    Some(order) => order,
                    None => self.is_nan().cmp(&other.is_nan()),
                }
            }
            #[inline(always)]
            fn alike(self, other: $t) -> bool {
                (self == other) | (self.is_nan() & other.is_nan())
            }
            #[inline(always)]
            fn nan(self) -> bool {
                self.is_nan()
            }
        }
    )*};
}
float_keys! { f64, Some(sort_avx512::doubles::firsts); f32, Some(sort_avx512::singles::firsts); Half, None; }

macro_rules! plain_keys {
    ($($t:ty),*) => {$(
        impl Key for $t {
            #[inline]
            fn order(self, other: $t) -> Ordering {
                self.cmp(&other)
            }
            #[inline(always)]
            fn alike(self, other: $t) -> bool {
                self == other
            }
        }
    )*};
}
plain_keys!(i64, i32, i16, i8, u64, u32, u16, u8, bool);

/// NumPy's order: by the real part, then by the imaginary one; numbers with a NaN last, those with a real one first.
macro_rules! complex_keys {
    ($($t:ty),*) => {$(
        impl Key for $t {
            #[inline]
            fn order(self, other: $t) -> Ordering {
                let nan = |z: $t| (z.re.is_nan(), z.im.is_nan());
                let parts = || self.re.order(other.re).then(self.im.order(other.im));
                nan(self).cmp(&nan(other)).then_with(parts)
            }
            #[inline(always)]
            fn alike(self, other: $t) -> bool {
                (self == other) | (self.nan() & other.nan())
            }
            #[inline(always)]
            fn nan(self) -> bool {
                self.re.is_nan() | self.im.is_nan()
            }
        }
    )*};
}
complex_keys!(Complex128, Complex64);

impl Key for Truth {
    #[inline]
    fn order(self, other: Truth) -> Ordering {
        self.holds().cmp(&other.holds())
    }
    #[inline(always)]
    fn alike(self, other: Truth) -> bool {
        self.holds() == other.holds()
    }
}

/// The numbers below `n` in the order of a comparison; equals stay in theirs. Compiled once: for elements there is `lines`.
pub fn sorted(n: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| compare(a, b));
    order
}

/// Sorts so many numbers from one place to another or in place; `false` where it met a NaN. See `vectors.rs`.
#[cfg(target_arch = "x86_64")]
pub(super) type Sort<T> = unsafe fn(*const T, *mut T, usize) -> bool;

/// The same of any elements, ascending or descending.
#[cfg(target_arch = "x86_64")]
pub(super) type Arrange<T> = unsafe fn(*const T, *mut T, usize, bool);

/// An element as an unsigned number in the order of `Key`.
pub(super) trait Digits: Key {
    type Number: Number;
    /// For which levels the loops between elements and numbers are compiled.
    const LEVELS: Levels = Levels::Baseline;
    /// The sort by vectors for these elements, where the CPU has one.
    #[cfg(target_arch = "x86_64")]
    const BY_VECTORS: Option<Arrange<Self>> = None;
    fn number(self) -> Self::Number;
    /// Whether the numbers that tell zeros apart have the order of the others.
    const WHOLE: bool = true;
    /// A number that tells the two zeros apart, and the element that has it.
    fn distinct(self) -> Self::Number;
    fn of_distinct(number: Self::Number) -> Self;
}

/// An unsigned number, read byte by byte.
pub(super) trait Number:
    Copy + Ord + Send + Sync + std::ops::BitXor<Output = Self> + std::ops::Not<Output = Self> + Default
{
    const BYTES: usize;
    /// The sort by vectors for these numbers, where the CPU has one.
    #[cfg(target_arch = "x86_64")]
    const BY_VECTORS: Option<unsafe fn(&mut [Self])>;
    /// The byte of weight `256^at`.
    fn byte(self, at: usize) -> usize;
}

macro_rules! numbers {
    ($($t:ty, $by_vectors:expr;)*) => {$(
        impl Number for $t {
            const BYTES: usize = size_of::<$t>();
            #[cfg(target_arch = "x86_64")]
            const BY_VECTORS: Option<unsafe fn(&mut [$t])> = $by_vectors;
            #[inline(always)]
            fn byte(self, at: usize) -> usize {
                (self >> (8 * at)) as usize & 0xff
            }
        }
    )*};
}
numbers! { u128, None; u64, Some(ints_as_floats::sort); u32, None; }

macro_rules! float_digits {
    ($($t:ty => $u:ty, $by_vectors:expr;)*) => {$(
        impl Digits for $t {
            type Number = $u;
            const LEVELS: Levels = Levels::All;
            #[cfg(target_arch = "x86_64")]
            const BY_VECTORS: Option<Arrange<$t>> = Some(|from, to, n, descending| {
                // SAFETY: the caller's contract.
                unsafe { sort_floats::arrange(from, to, n, descending, $by_vectors) }
            });
            #[inline(always)]
            fn number(self) -> $u {
                // Adding zero makes the two zeros one.
                (self + 0.0).distinct()
            }
            #[inline(always)]
            fn distinct(self) -> $u {
                const SIGN: $u = 1 << (<$u>::BITS - 1);
                let bits = self.to_bits();
                let ordered = if bits & SIGN == 0 { bits | SIGN } else { !bits };
                if self.is_nan() { <$u>::MAX } else { ordered }
            }
            #[inline(always)]
            fn of_distinct(number: $u) -> $t {
                const SIGN: $u = 1 << (<$u>::BITS - 1);
                <$t>::from_bits(if number & SIGN == 0 { !number } else { number ^ SIGN })
            }
        }
    )*};
}
float_digits! { f64 => u64, sort_avx512::doubles::sort; f32 => u32, sort_avx512::singles::sort; }

macro_rules! int_digits {
    ($($t:ty => $u:ty, $sign:expr);*) => {$(
        impl Digits for $t {
            type Number = $u;
            #[inline(always)]
            fn number(self) -> $u {
                self as $u ^ $sign
            }
            #[inline(always)]
            fn distinct(self) -> $u {
                self.number()
            }
            #[inline(always)]
            fn of_distinct(number: $u) -> $t {
                (number ^ $sign) as $t
            }
        }
    )*};
}
int_digits!(i64 => u64, 1 << 63; i32 => u32, 1 << 31; u64 => u64, 0; u8 => u32, 0);

/// The two numbers side by side. Behind those without a NaN come those of which only the imaginary part is one, in the order
/// of their real parts, and then the others.
macro_rules! complex_digits {
    ($($t:ty => $half:ty, $u:ty;)*) => {$(
        impl Digits for $t {
            type Number = $u;
            // A zero in front would come before what is behind it.
            const WHOLE: bool = false;
            #[inline(always)]
            fn number(self) -> $u {
                Self::new(self.re + 0.0, self.im + 0.0).distinct()
            }
            #[inline(always)]
            fn distinct(self) -> $u {
                let (re, im) = (self.re.distinct(), self.im.distinct());
                let (high, low) = match (self.re.is_nan(), self.im.is_nan()) {
                    (false, false) => (re, im),
                    (false, true) => (<$half>::MAX - 1, re),
                    (true, _) => (<$half>::MAX, im),
                };
                (high as $u) << <$half>::BITS | low as $u
            }
            #[inline(always)]
            fn of_distinct(number: $u) -> $t {
                let (high, low) = ((number >> <$half>::BITS) as $half, number as $half);
                let (re, im) = match high {
                    <$half>::MAX => (high, low),
                    high if high == <$half>::MAX - 1 => (low, <$half>::MAX),
                    high => (high, low),
                };
                Self::new(Digits::of_distinct(re), Digits::of_distinct(im))
            }
        }
    )*};
}
complex_digits! { Complex128 => u64, u128; Complex64 => u32, u64; }

impl Digits for Truth {
    type Number = u32;
    #[inline(always)]
    fn number(self) -> u32 {
        self.holds() as u32
    }
    #[inline(always)]
    fn distinct(self) -> u32 {
        self.number()
    }
    #[inline(always)]
    fn of_distinct(number: u32) -> Truth {
        Truth(number as u8)
    }
}
