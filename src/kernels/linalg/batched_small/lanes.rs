//! Numbers of several matrices side by side.
//!
//! Owns: `Lane`, one number of each of `LANES` matrices, its arithmetic, and masks of lanes. Never branches.
//! Invariant: a lane is computed from its own numbers alone, and every instruction set computes the same bits.

use std::ops::{Add, BitAnd, BitOr, Div, Mul, Not, Sub};

/// Matrices that are computed with together.
pub(in crate::kernels::linalg) const LANES: usize = 4;
/// The most rows and columns of such a matrix.
pub(in crate::kernels::linalg) const SIDE: usize = 8;

/// A number of each matrix.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(in crate::kernels::linalg) struct Lane(pub(in crate::kernels::linalg) [f64; LANES]);

/// Which matrices: all bits or none.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(in crate::kernels::linalg) struct Mask([u64; LANES]);

/// The numbers of matrices of at most `SIDE` rows and columns.
pub(in crate::kernels::linalg) type Block = [[Lane; SIDE]; SIDE];

pub(in crate::kernels::linalg) const ZERO: Lane = Lane([0.0; LANES]);
pub(in crate::kernels::linalg) const ONE: Lane = Lane([1.0; LANES]);
pub(in crate::kernels::linalg) const EMPTY: Block = [[ZERO; SIDE]; SIDE];

/// What `of` says of every lane, written out: a loop over them would stay one in some builds.
#[inline(always)]
fn each<T>(of: impl Fn(usize) -> T) -> [T; LANES] {
    [of(0), of(1), of(2), of(3)]
}

macro_rules! by_lane {
    ($($name:ident $method:ident |$a:ident, $b:ident| $body:expr;)*) => {$(
        impl $name for Lane {
            type Output = Lane;
            #[inline(always)]
            fn $method(self, other: Lane) -> Lane {
                Lane(each(|l| {
                    let ($a, $b) = (self.0[l], other.0[l]);
                    $body
                }))
            }
        }
    )*};
}
by_lane! {
    Add add |a, b| a + b;
    Sub sub |a, b| a - b;
    Mul mul |a, b| a * b;
    Div div |a, b| a / b;
}

impl Lane {
    #[inline(always)]
    pub(in crate::kernels::linalg) fn all(x: f64) -> Lane {
        Lane([x; LANES])
    }

    #[inline(always)]
    pub(in crate::kernels::linalg) fn map(self, of: impl Fn(f64) -> f64) -> Lane {
        Lane(each(|l| of(self.0[l])))
    }

    #[inline(always)]
    pub(in crate::kernels::linalg) fn abs(self) -> Lane {
        self.map(f64::abs)
    }

    #[inline(always)]
    pub(in crate::kernels::linalg) fn sqrt(self) -> Lane {
        self.map(f64::sqrt)
    }

    /// The magnitude with the sign of another.
    #[inline(always)]
    pub(in crate::kernels::linalg) fn signed(self, sign: Lane) -> Lane {
        Lane(each(|l| self.0[l].copysign(sign.0[l])))
    }

    #[inline(always)]
    pub(in crate::kernels::linalg) fn above(self, other: Lane) -> Mask {
        Mask(each(|l| if self.0[l] > other.0[l] { u64::MAX } else { 0 }))
    }

    #[inline(always)]
    pub(in crate::kernels::linalg) fn equals(self, other: Lane) -> Mask {
        Mask(each(|l| if self.0[l] == other.0[l] { u64::MAX } else { 0 }))
    }

    /// The larger of two, neither of which is NaN.
    #[inline(always)]
    pub(in crate::kernels::linalg) fn most(self, other: Lane) -> Lane {
        self.above(other).pick(self, other)
    }

    /// Where the number is finite.
    #[inline(always)]
    pub(in crate::kernels::linalg) fn finite(self) -> Mask {
        Mask(each(|l| if self.0[l].is_finite() { u64::MAX } else { 0 }))
    }
}

impl Mask {
    pub(in crate::kernels::linalg) const ALL: Mask = Mask([u64::MAX; LANES]);
    pub(in crate::kernels::linalg) const NONE: Mask = Mask([0; LANES]);

    /// `a` in the lanes of the mask, else `b`.
    #[inline(always)]
    pub(in crate::kernels::linalg) fn pick(self, a: Lane, b: Lane) -> Lane {
        Lane(each(|l| {
            let (a, b) = (a.0[l].to_bits() & self.0[l], b.0[l].to_bits() & !self.0[l]);
            f64::from_bits(a | b)
        }))
    }

    /// Exchanges two numbers in the lanes of the mask.
    #[inline(always)]
    pub(in crate::kernels::linalg) fn swap(self, (a, b): (Lane, Lane)) -> (Lane, Lane) {
        (self.pick(b, a), self.pick(a, b))
    }

    /// Whether there is a lane in it.
    #[inline(always)]
    pub(in crate::kernels::linalg) fn any(self) -> bool {
        self.0.iter().fold(0, |all, x| all | x) != 0
    }

    #[inline(always)]
    pub(in crate::kernels::linalg) fn has(self, lane: usize) -> bool {
        self.0[lane] != 0
    }
}

impl BitAnd for Mask {
    type Output = Mask;
    #[inline(always)]
    fn bitand(self, o: Mask) -> Mask {
        Mask(each(|l| self.0[l] & o.0[l]))
    }
}

impl BitOr for Mask {
    type Output = Mask;
    #[inline(always)]
    fn bitor(self, o: Mask) -> Mask {
        Mask(each(|l| self.0[l] | o.0[l]))
    }
}

impl Not for Mask {
    type Output = Mask;
    #[inline(always)]
    fn not(self) -> Mask {
        Mask(each(|l| !self.0[l]))
    }
}
