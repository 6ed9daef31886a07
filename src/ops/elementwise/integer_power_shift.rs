//! Integer power and shifts with NumPy's results where Rust's operators differ or would panic. Division is in
//! `kernels/elementwise/integer_division.rs`.

use crate::dtype::{DType, Kind};
use crate::error::{Error, Result};
use crate::kernels::View;
use crate::kernels::launch::decide;
use crate::ops::core::broadcast::astype;
use crate::ops::core::elementwise::OperandRef;
use crate::ops::core::op_decl::{Axes, Scalar};

/// An integer type that has loops.
pub(crate) trait LoopInteger: Copy {
    /// `a ** b`, wrapping; 0 for a negative exponent, which is refused earlier.
    fn power(self, b: Self) -> Self;
    /// `a << b`; 0 if all bits are shifted out or `b` is negative.
    fn left_shift(self, b: Self) -> Self;
    /// `a >> b`; the sign bits if all bits are shifted out or `b` is negative.
    fn right_shift(self, b: Self) -> Self;
}

macro_rules! whole {
    ($($t:ty),*) => {$(
        #[allow(unused_comparisons, clippy::absurd_extreme_comparisons)]
        impl LoopInteger for $t {
            #[inline(always)]
            fn power(self, b: $t) -> $t {
                if b < 0 {
                    return 0;
                }
                let (low, high) = (b as u64 as u32, (b as u64 >> 32) as u32);
                if high == 0 {
                    return self.wrapping_pow(low);
                }
                // `(a ** 2**32) ** high * a ** low`.
                let squared = (0..32).fold(self, |power, _| power.wrapping_mul(power));
                squared.wrapping_pow(high).wrapping_mul(self.wrapping_pow(low))
            }
            #[inline(always)]
            fn left_shift(self, b: $t) -> $t {
                if (b as u64) < u64::from(<$t>::BITS) { self.wrapping_shl(b as u32) } else { 0 }
            }
            #[inline(always)]
            fn right_shift(self, b: $t) -> $t {
                if (b as u64) < u64::from(<$t>::BITS) {
                    self >> b
                } else if self < 0 {
                    !0
                } else {
                    0
                }
            }
        }
    )*};
}
whole!(i64, i32, u8, u64);

macro_rules! functions {
    ($($name:ident),*) => {$(
        #[inline(always)]
        pub(crate) fn $name<T: LoopInteger>(a: T, b: T) -> T {
            T::$name(a, b)
        }
    )*};
}
functions!(power, left_shift, right_shift);

/// Refuses integers to negative integer powers, as NumPy does.
pub(crate) fn refuse_negative_power(
    operands: &[OperandRef<'_>],
    dtype: DType,
    _: &[f64],
) -> Result<()> {
    if dtype.is_inexact() {
        return Ok(());
    }
    let lowest = match operands.get(1) {
        Some(OperandRef::Scalar(Scalar::Int(i))) if dtype.row().kind != Kind::Unsigned => *i,
        Some(OperandRef::Tensor(t)) if t.size() > 0 && dtype.row().kind == Kind::Signed => {
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
