//! Quotients and remainders of integers, as NumPy computes them.
//!
//! Owns: the loops of `//`, `%` and `fmod`. Never panics: division by zero yields 0, and what does not fit wraps.
//! Invariant: the results are exact. Numbers of up to 51 bits divide as float64, in vectors: a quotient that is no whole
//! number is further from the next one than it is rounded, and the product of the whole one with the divisor is exact.

use super::loop_table::Loop;
use super::loops::operands;
use crate::kernels::multiversion::leveled;

/// Elements that are looked at together: either all of them fit float64, or they are divided one by one.
const CHUNK: usize = 256;
/// What moves whole numbers to the last digits of a float64, 1.5 · 2^52, and its bits.
const SHIFT: f64 = 6_755_399_441_055_744.0;
const SHIFT_BITS: i64 = 0x4338_0000_0000_0000;

/// Which result of a division is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    FloorDivide,
    Remainder,
    Fmod,
}

/// A result of a division, as a type.
pub trait Part {
    #[doc(hidden)]
    const WANTED: u8;
}

macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;
        impl Part for $name {
            const WANTED: u8 = Wanted::$name as u8;
        }
    )*};
}
parts! {
    /// The quotient, rounded down.
    FloorDivide,
    /// The remainder with the sign of the divisor.
    Remainder,
    /// The remainder with the sign of the dividend.
    Fmod
}

/// An integer that is divided.
trait Whole: Copy {
    /// Whether its loops are vectors.
    const VECTORS: bool;
    /// Whether it is a float64 of at most 51 bits.
    fn fits(self) -> bool;
    fn to_float(self) -> f64;
    /// Wraps.
    fn from_float(value: f64) -> Self;
    /// One by one.
    fn part(self, b: Self, wanted: u8) -> Self;
}

macro_rules! whole {
    ($($t:ty: $vectors:literal |$x:ident| $fits:expr, $float:expr;)*) => {$(
        impl Whole for $t {
            const VECTORS: bool = $vectors;
            #[inline(always)]
            #[allow(unused_variables)]
            fn fits(self) -> bool {
                let $x = self;
                $fits
            }
            #[inline(always)]
            #[allow(unused_variables)]
            fn to_float(self) -> f64 {
                let $x = self;
                $float
            }
            #[inline(always)]
            fn from_float(value: f64) -> $t {
                ((value + SHIFT).to_bits() as i64).wrapping_sub(SHIFT_BITS) as $t
            }
            #[inline]
            #[allow(unused_comparisons)]
            fn part(self, b: $t, wanted: u8) -> $t {
                if b == 0 {
                    return 0;
                }
                let (q, r) = (self.wrapping_div(b), self.wrapping_rem(b));
                let between = r != 0 && (r < 0) != (b < 0);
                match wanted {
                    0 => if between { q - 1 } else { q },
                    1 => if between { r + b } else { r },
                    _ => r,
                }
            }
        }
    )*};
}
/// The float64 of a whole number of at most 51 bits, without an instruction that only some processors have.
#[inline(always)]
fn float_of(x: i64) -> f64 {
    f64::from_bits(x.wrapping_add(SHIFT_BITS) as u64) - SHIFT
}
whole! {
    i64: true |x| (x.wrapping_add(1 << 50) as u64) >> 51 == 0, float_of(x);
    i32: true |x| true, f64::from(x);
    u64: false |x| false, 0.0;
    u8: false |x| false, 0.0;
}

/// The part of the division of two numbers of at most 51 bits; 0 where the divisor is 0.
#[inline(always)]
fn divided(a: f64, b: f64, wanted: u8) -> f64 {
    let quotient = a / b;
    let part = match wanted {
        0 => quotient.floor(),
        1 => a - quotient.floor() * b,
        _ => a - quotient.trunc() * b,
    };
    if b == 0.0 { 0.0 } else { part }
}

/// # Safety
/// As `Loop`, for two operands of `T`.
#[inline(always)]
unsafe fn body<T: Whole, P: Part>(ins: *const *const u8, out: *mut u8, n: usize) {
    // SAFETY: the caller keeps the contract of `Loop`.
    unsafe {
        let [a, b] = operands::<T, 2>(ins);
        let out = out.cast::<T>();
        for start in (0..n).step_by(CHUNK) {
            let end = n.min(start + CHUNK);
            let mut fit = true;
            for i in if T::VECTORS { start..end } else { 0..0 } {
                fit &= (*a.add(i)).fits() & (*b.add(i)).fits();
            }
            if !T::VECTORS || !fit {
                (start..end).for_each(|i| *out.add(i) = (*a.add(i)).part(*b.add(i), P::WANTED));
                continue;
            }
            for i in start..end {
                let (a, b) = ((*a.add(i)).to_float(), (*b.add(i)).to_float());
                *out.add(i) = T::from_float(divided(a, b, P::WANTED));
            }
        }
    }
}

leveled! {
    /// The loop of one level.
    unsafe fn quotients<T: Whole, P: Part>(ins: *const *const u8, out: *mut u8, n: usize) = body,
        if T::VECTORS { crate::kernels::multiversion::Levels::UpToAvx2 } else { crate::kernels::multiversion::Levels::Baseline }
}

/// # Safety
/// As `Loop`.
unsafe fn of<T: Whole, P: Part>(ins: *const *const u8, out: *mut u8, n: usize, _: *const f64) {
    // SAFETY: the same contract.
    unsafe { quotients::<T, P>(ins, out, n) }
}

/// The loops of int64, int32, uint8 and uint64.
pub const fn loops<P: Part>() -> [Option<Loop>; 4] {
    [Some(of::<i64, P>), Some(of::<i32, P>), Some(of::<u8, P>), Some(of::<u64, P>)]
}
