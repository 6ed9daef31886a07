//! What elements are ordered by.
//!
//! Owns: the comparison that makes floats totally ordered, unsigned numbers that sort the same way, and sorting by any
//! comparison. Never reads a view. Invariant: a NaN is above everything.

use std::cmp::Ordering;

use crate::dtype::Truth;

/// An element with a total order.
pub trait Key: Copy + Send + Sync {
    /// Ascending order, NaN last.
    fn order(self, other: Self) -> Ordering;
}

macro_rules! float_keys {
    ($($t:ty),*) => {$(
        impl Key for $t {
            #[inline]
            fn order(self, other: $t) -> Ordering {
                match self.partial_cmp(&other) {
                    Some(order) => order,
                    None => self.is_nan().cmp(&other.is_nan()),
                }
            }
        }
    )*};
}
float_keys!(f64, f32);

macro_rules! plain_keys {
    ($($t:ty),*) => {$(
        impl Key for $t {
            #[inline]
            fn order(self, other: $t) -> Ordering {
                self.cmp(&other)
            }
        }
    )*};
}
plain_keys!(i64, i32, u8, bool);

impl Key for Truth {
    #[inline]
    fn order(self, other: Truth) -> Ordering {
        self.holds().cmp(&other.holds())
    }
}

/// The numbers below `n` in the order of a comparison; equals stay in theirs. Compiled once: for elements there is `lines`.
pub fn sorted(n: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| compare(a, b));
    order
}

/// An element as an unsigned number in the order of `Key`.
pub(super) trait Digits: Copy + Sync {
    type Number: Number;
    fn number(self) -> Self::Number;
    /// A number that tells the two zeros apart, and the element that has it.
    fn distinct(self) -> Self::Number;
    fn of_distinct(number: Self::Number) -> Self;
}

/// An unsigned number, read byte by byte.
pub(super) trait Number: Copy + Ord + std::ops::Not<Output = Self> + Default {
    const BYTES: usize;
    /// The byte of weight `256^at`.
    fn byte(self, at: usize) -> usize;
}

macro_rules! numbers {
    ($($t:ty),*) => {$(
        impl Number for $t {
            const BYTES: usize = size_of::<$t>();
            #[inline(always)]
            fn byte(self, at: usize) -> usize {
                (self >> (8 * at)) as usize & 0xff
            }
        }
    )*};
}
numbers!(u64, u32);

macro_rules! float_digits {
    ($($t:ty => $u:ty),*) => {$(
        impl Digits for $t {
            type Number = $u;
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
float_digits!(f64 => u64, f32 => u32);

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
int_digits!(i64 => u64, 1 << 63; i32 => u32, 1 << 31; u8 => u32, 0);

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
