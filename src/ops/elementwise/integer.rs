//! Integer arithmetic with NumPy's results, where Rust's operators differ or would panic.
//!
//! Owns: division, remainder, power and shifts of integers as NumPy computes them. Never panics.
//! Invariant: division by zero yields 0, as NumPy's integer loops do.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels::View;
use crate::kernels::launch::decide;
use crate::ops::core::declare::{Axes, Scalar};
use crate::ops::core::elementwise::Slot;
use crate::ops::core::layout::astype;

/// `a // b`, rounded down; 0 when `b` is 0.
#[inline(always)]
pub(crate) fn floor_divide(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let q = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { q - 1 } else { q }
}

/// `a % b` with the sign of `b`; 0 when `b` is 0.
#[inline(always)]
pub(crate) fn remainder(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let r = a.wrapping_rem(b);
    if r != 0 && (r < 0) != (b < 0) { r + b } else { r }
}

/// The remainder with the sign of `a`; 0 when `b` is 0.
#[inline(always)]
pub(crate) fn fmod(a: i64, b: i64) -> i64 {
    if b == 0 { 0 } else { a.wrapping_rem(b) }
}

/// `a ** b` with wrap-around; a negative exponent is refused before it gets here and yields 0.
#[inline(always)]
pub(crate) fn power(a: i64, b: i64) -> i64 {
    match u32::try_from(b) {
        Ok(b) => a.wrapping_pow(b),
        Err(_) if b < 0 => 0,
        Err(_) => large_power(a, b),
    }
}

/// The power of an exponent of more than 32 bits: `(a ** 2**32) ** high * a ** low`.
#[cold]
fn large_power(a: i64, b: i64) -> i64 {
    let squared = (0..32).fold(a, |power, _| power.wrapping_mul(power));
    squared.wrapping_pow((b >> 32) as u32).wrapping_mul(a.wrapping_pow(b as u32))
}

/// NumPy has no integer for an integer to a negative power, so neither have we.
pub(crate) fn refuse_negative_power(operands: &[Slot<'_>], dtype: DType) -> Result<()> {
    if dtype.is_inexact() {
        return Ok(());
    }
    let lowest = match operands.get(1) {
        Some(Slot::Scalar(Scalar::Int(i))) => *i,
        Some(Slot::Tensor(t)) if t.size() > 0 && dtype != DType::U8 => {
            let lowest = astype(&t.detach().min(Axes::All, false)?, DType::I64)?;
            let negative = |lowest: &[View<'_>]| u64::from(lowest[0].to_vec::<i64>()[0] < 0);
            match decide("power", &[lowest.view_of()], negative) {
                0 => 0,
                _ => lowest.item::<i64>()?,
            }
        }
        _ => 0,
    };
    if lowest >= 0 {
        return Ok(());
    }
    Err(Box::new(Error::Argument {
        op: "power".into(),
        what: format!("an integer ({dtype}) to the negative integer power {lowest}"),
        remedy: "convert the base to a float with astype(fg.float64) first".into(),
    }))
}

/// `a << b`; 0 when all bits are shifted out, or `b` is negative.
#[inline(always)]
pub(crate) fn left_shift(a: i64, b: i64, bits: i64) -> i64 {
    if (0..bits).contains(&b) { a.wrapping_shl(b as u32) } else { 0 }
}

/// `a >> b`; the sign alone when all bits are shifted out, or `b` is negative.
#[inline(always)]
pub(crate) fn right_shift(a: i64, b: i64, bits: i64) -> i64 {
    if (0..bits).contains(&b) { a >> b } else { a >> 63 }
}
