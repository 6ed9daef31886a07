//! The branch-free loops of `nextafter`: one step in the bits of a float.

use super::loop_call::Loop;
use super::loop_table::LoopTable;
use super::loops::{int_map, no_float_table};
use crate::kernels::multiversion::multiversion;

/// A float with a next representable value.
trait NextAfter: Copy {
    fn next_after(self, b: Self) -> Self;
}

macro_rules! next_after_floats {
    ($($t:ident $bits:ident $signed:ident),*) => {$(
        impl NextAfter for $t {
            #[inline(always)]
            fn next_after(self, b: $t) -> $t {
                let (bits, up) = (self.to_bits() as $signed, self < b);
                let away_from_zero = up == (self > 0.0);
                let moved = if away_from_zero { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
                let from_zero = if up { 1 } else { $signed::MIN | 1 };
                let moved = $t::from_bits((if self == 0.0 { from_zero } else { moved }) as $bits);
                let moved = if self == b { b } else { moved };
                if (self.is_nan()) | (b.is_nan()) { self + b } else { moved }
            }
        }
    )*};
}
next_after_floats!(f64 u64 i64, f32 u32 i32);

/// # Safety
/// As `Loop`, for two operands of `T`.
#[inline(always)]
unsafe fn body<T: NextAfter>(ins: *const *const u8, out: *mut u8, n: usize) {
    // SAFETY: the caller keeps the contract of `Loop`.
    unsafe { int_map::<T, T, 2>(ins, out, n, |[a, b]| a.next_after(b)) }
}

multiversion! {
    /// The loop of one instruction-set level.
    unsafe fn next_after_loop<T: NextAfter>(ins: *const *const u8, out: *mut u8, n: usize) = body, crate::kernels::multiversion::Levels::UpToAvx2
}

/// # Safety
/// As `Loop`.
unsafe fn of<T: NextAfter>(ins: *const *const u8, out: *mut u8, n: usize, _: *const f64) {
    // SAFETY: the same contract.
    unsafe { next_after_loop::<T>(ins, out, n) }
}

/// The float next to the first operand in the direction of the second.
pub static NEXT_AFTER: LoopTable = LoopTable {
    float: true,
    f64: [Loop::new(of::<f64>); 3],
    f32: [Loop::new(of::<f32>); 3],
    cost: 0.5,
    text: "a, b | nextafter(a, b)",
    ..no_float_table()
};
