//! Loops of `//`, `%` and `fmod` on integers, with NumPy's results: division by zero yields 0, and overflow
//! wraps.
//!
//! Invariant: the results are exact. Numbers of up to 51 bits are divided as float64, in vectors: a quotient
//! that is not an integer is further from the next one than the rounding error, and the product of the
//! rounded quotient with the divisor is exact.

use super::loop_call::Loop;
use super::loops::operands;
use crate::kernels::multiversion::multiversion;

/// Elements tested together: if all fit float64 they are divided in vectors, else one by one.
const CHUNK: usize = 256;
/// 1.5 · 2^52 and its bits: adding it moves an integer to the low bits of a float64.
const ROUNDING_SHIFT: f64 = 6_755_399_441_055_744.0;
const ROUNDING_SHIFT_BITS: i64 = 0x4338_0000_0000_0000;

/// Which result of a division is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DivisionKind {
    FloorDivide,
    Remainder,
    Fmod,
}

/// A result of a division, as a type.
pub trait DivisionResult {
    #[doc(hidden)]
    const KIND: u8;
}

macro_rules! division_results {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;
        impl DivisionResult for $name {
            const KIND: u8 = DivisionKind::$name as u8;
        }
    )*};
}
division_results! {
    /// The quotient, rounded down.
    FloorDivide,
    /// The remainder with the sign of the divisor.
    Remainder,
    /// The remainder with the sign of the dividend.
    Fmod
}

/// An integer dtype with division.
trait Integer: Copy {
    /// Whether its loop is vectorised.
    const VECTORISED: bool;
    /// Whether the value is exact in a float64 of at most 51 bits.
    fn fits(self) -> bool;
    fn to_float(self) -> f64;
    /// Wraps.
    fn from_float(value: f64) -> Self;
    /// The scalar division.
    fn divide(self, b: Self, kind: u8) -> Self;
}

macro_rules! integers {
    ($($t:ty: $vectors:literal |$x:ident| $fits:expr, $float:expr;)*) => {$(
        impl Integer for $t {
            const VECTORISED: bool = $vectors;
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
                ((value + ROUNDING_SHIFT).to_bits() as i64).wrapping_sub(ROUNDING_SHIFT_BITS) as $t
            }
            #[inline]
            #[allow(unused_comparisons)]
            fn divide(self, b: $t, kind: u8) -> $t {
                if b == 0 {
                    return 0;
                }
                let (q, r) = (self.wrapping_div(b), self.wrapping_rem(b));
                let round_down = r != 0 && (r < 0) != (b < 0);
                match kind {
                    0 => if round_down { q - 1 } else { q },
                    1 => if round_down { r + b } else { r },
                    _ => r,
                }
            }
        }
    )*};
}
/// An integer of at most 51 bits as float64, without conversion instructions that only AVX-512 has.
#[inline(always)]
fn float_of(x: i64) -> f64 {
    f64::from_bits(x.wrapping_add(ROUNDING_SHIFT_BITS) as u64) - ROUNDING_SHIFT
}
integers! {
    i64: true |x| (x.wrapping_add(1 << 50) as u64) >> 51 == 0, float_of(x);
    i32: true |x| true, f64::from(x);
    u64: false |x| false, 0.0;
    u8: false |x| false, 0.0;
}

/// The division of two integers of at most 51 bits; 0 where the divisor is 0.
#[inline(always)]
fn divide_floats(a: f64, b: f64, kind: u8) -> f64 {
    let quotient = a / b;
    let result = match kind {
        0 => quotient.floor(),
        1 => a - quotient.floor() * b,
        _ => a - quotient.trunc() * b,
    };
    if b == 0.0 { 0.0 } else { result }
}

/// # Safety
/// As `Loop`, for two operands of `T`.
#[inline(always)]
unsafe fn body<T: Integer, P: DivisionResult>(ins: *const *const u8, out: *mut u8, n: usize) {
    // SAFETY: the caller keeps the contract of `Loop`.
    unsafe {
        let [a, b] = operands::<T, 2>(ins);
        let out = out.cast::<T>();
        for start in (0..n).step_by(CHUNK) {
            let end = n.min(start + CHUNK);
            let mut fit = true;
            for i in if T::VECTORISED { start..end } else { 0..0 } {
                fit &= (*a.add(i)).fits() & (*b.add(i)).fits();
            }
            if !T::VECTORISED || !fit {
                (start..end).for_each(|i| *out.add(i) = (*a.add(i)).divide(*b.add(i), P::KIND));
                continue;
            }
            for i in start..end {
                let (a, b) = ((*a.add(i)).to_float(), (*b.add(i)).to_float());
                *out.add(i) = T::from_float(divide_floats(a, b, P::KIND));
            }
        }
    }
}

multiversion! {
    /// The loop of one instruction-set level.
    unsafe fn division_loop<T: Integer, P: DivisionResult>(ins: *const *const u8, out: *mut u8, n: usize) = body,
        if T::VECTORISED { crate::kernels::multiversion::Levels::UpToAvx2 } else { crate::kernels::multiversion::Levels::Baseline }
}

/// # Safety
/// As `Loop`.
unsafe fn of<T: Integer, P: DivisionResult>(
    ins: *const *const u8,
    out: *mut u8,
    n: usize,
    _: *const f64,
) {
    // SAFETY: the same contract.
    unsafe { division_loop::<T, P>(ins, out, n) }
}

/// The loops of int64, int32, uint8 and uint64.
pub const fn loops<P: DivisionResult>() -> [Option<Loop>; 4] {
    [
        Some(Loop::new(of::<i64, P>)),
        Some(Loop::new(of::<i32, P>)),
        Some(Loop::new(of::<u8, P>)),
        Some(Loop::new(of::<u64, P>)),
    ]
}
