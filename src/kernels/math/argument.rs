//! Tests for arguments that need `WIDE` lanes, the slower exact evaluation.
//!
//! Invariant: where the test is false, the fast lane has the correct value.

use super::{erfinv, remainder, trig::WIDE_ABOVE};

/// An argument that loops test before they choose between fast and `WIDE` lanes.
pub trait Argument: Copy {
    /// Whether sin, cos and tan need a `WIDE` lane.
    fn is_wide_angle(self) -> bool;
    /// Whether the remainder of `self / o` needs a `WIDE` lane.
    fn is_far_quotient(self, o: Self) -> bool;
    /// Whether the inverse error function needs a `WIDE` lane.
    fn is_outer(self) -> bool;
}

macro_rules! argument {
    ($($t:ident $module:ident),*) => {$(
        impl Argument for $t {
            #[inline(always)]
            fn is_wide_angle(self) -> bool {
                self.abs() > WIDE_ABOVE as $t
            }
            #[inline(always)]
            fn is_far_quotient(self, o: Self) -> bool {
                remainder::$module::is_far_quotient(self, o)
            }
            #[inline(always)]
            fn is_outer(self) -> bool {
                erfinv::$module::is_outer(self)
            }
        }
    )*};
}
argument!(f64 w64, f32 w32);
