//! Tests for arguments that need `FULL_RANGE` lanes, the slower evaluation that is accurate for every argument.
//!
//! Invariant: where the test is false, the fast lane has the correct value.

use super::{erfinv, remainder, trig64::MAX_FAST_ANGLE};

/// An argument that loops test before they choose between fast and `FULL_RANGE` lanes.
pub trait FullRangeTest: Copy {
    /// Whether sin, cos and tan need a `FULL_RANGE` lane.
    fn is_large_angle(self) -> bool;
    /// Whether the remainder of `self / o` needs a `FULL_RANGE` lane.
    fn is_large_quotient(self, o: Self) -> bool;
    /// Whether the inverse error function needs a `FULL_RANGE` lane.
    fn is_near_domain_end(self) -> bool;
}

macro_rules! full_range_test {
    ($($t:ident $module:ident),*) => {$(
        impl FullRangeTest for $t {
            #[inline(always)]
            fn is_large_angle(self) -> bool {
                self.abs() > MAX_FAST_ANGLE as $t
            }
            #[inline(always)]
            fn is_large_quotient(self, o: Self) -> bool {
                remainder::$module::is_large_quotient(self, o)
            }
            #[inline(always)]
            fn is_near_domain_end(self) -> bool {
                erfinv::$module::is_near_domain_end(self)
            }
        }
    )*};
}
full_range_test!(f64 w64, f32 w32);
