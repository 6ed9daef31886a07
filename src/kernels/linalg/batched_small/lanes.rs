//! SIMD types of `batched_small`: `F64x4` holds one number of each of four matrices.
//!
//! Invariant: a lane is computed from its own numbers alone, and every instruction set computes the
//! same bits.

use std::ops::{Add, BitAnd, BitOr, Div, Mul, Not, Sub};

/// Matrices computed together.
pub(in crate::kernels::linalg) const LANES: usize = 4;
/// Most rows and columns of such a matrix.
pub(in crate::kernels::linalg) const MAX_SIDE: usize = 8;

/// One number of each matrix.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(in crate::kernels::linalg) struct F64x4(pub(in crate::kernels::linalg) [f64; LANES]);

/// A mask of lanes: all bits set, or none.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(in crate::kernels::linalg) struct Mask([u64; LANES]);

/// Four matrices of at most `MAX_SIDE` rows and columns, interleaved.
pub(in crate::kernels::linalg) type LaneMatrix = [[F64x4; MAX_SIDE]; MAX_SIDE];

pub(in crate::kernels::linalg) const ZERO: F64x4 = F64x4([0.0; LANES]);
pub(in crate::kernels::linalg) const ONE: F64x4 = F64x4([1.0; LANES]);
pub(in crate::kernels::linalg) const ZERO_MATRIX: LaneMatrix = [[ZERO; MAX_SIDE]; MAX_SIDE];

/// `of(lane)` of every lane, unrolled by hand: LLVM leaves a loop in some builds.
#[inline(always)]
fn per_lane<T>(of: impl Fn(usize) -> T) -> [T; LANES] {
    [of(0), of(1), of(2), of(3)]
}

macro_rules! lanewise {
    ($($name:ident $method:ident |$a:ident, $b:ident| $body:expr;)*) => {$(
        impl $name for F64x4 {
            type Output = F64x4;
            #[inline(always)]
            fn $method(self, other: F64x4) -> F64x4 {
                F64x4(per_lane(|l| {
                    let ($a, $b) = (self.0[l], other.0[l]);
                    $body
                }))
            }
        }
    )*};
}
lanewise! {
    Add add |a, b| a + b;
    Sub sub |a, b| a - b;
    Mul mul |a, b| a * b;
    Div div |a, b| a / b;
}

impl F64x4 {
    #[inline(always)]
    pub(in crate::kernels::linalg) fn splat(x: f64) -> F64x4 {
        F64x4([x; LANES])
    }

    #[inline(always)]
    pub(in crate::kernels::linalg) fn map(self, of: impl Fn(f64) -> f64) -> F64x4 {
        F64x4(per_lane(|l| of(self.0[l])))
    }

    #[inline(always)]
    pub(in crate::kernels::linalg) fn abs(self) -> F64x4 {
        self.map(f64::abs)
    }

    #[inline(always)]
    pub(in crate::kernels::linalg) fn sqrt(self) -> F64x4 {
        self.map(f64::sqrt)
    }

    #[inline(always)]
    pub(in crate::kernels::linalg) fn copysign(self, sign: F64x4) -> F64x4 {
        F64x4(per_lane(|l| self.0[l].copysign(sign.0[l])))
    }

    #[inline(always)]
    pub(in crate::kernels::linalg) fn gt(self, other: F64x4) -> Mask {
        Mask(per_lane(|l| if self.0[l] > other.0[l] { u64::MAX } else { 0 }))
    }

    #[inline(always)]
    pub(in crate::kernels::linalg) fn equals(self, other: F64x4) -> Mask {
        Mask(per_lane(|l| if self.0[l] == other.0[l] { u64::MAX } else { 0 }))
    }

    /// The larger of two numbers that are not NaN.
    #[inline(always)]
    pub(in crate::kernels::linalg) fn max(self, other: F64x4) -> F64x4 {
        self.gt(other).select(self, other)
    }

    /// The lanes with a finite number.
    #[inline(always)]
    pub(in crate::kernels::linalg) fn is_finite(self) -> Mask {
        Mask(per_lane(|l| if self.0[l].is_finite() { u64::MAX } else { 0 }))
    }
}

impl Mask {
    pub(in crate::kernels::linalg) const ALL: Mask = Mask([u64::MAX; LANES]);
    pub(in crate::kernels::linalg) const NONE: Mask = Mask([0; LANES]);

    /// `a` in the lanes of the mask, else `b`.
    #[inline(always)]
    pub(in crate::kernels::linalg) fn select(self, a: F64x4, b: F64x4) -> F64x4 {
        F64x4(per_lane(|l| {
            let (a, b) = (a.0[l].to_bits() & self.0[l], b.0[l].to_bits() & !self.0[l]);
            f64::from_bits(a | b)
        }))
    }

    /// Swaps two numbers in the lanes of the mask.
    #[inline(always)]
    pub(in crate::kernels::linalg) fn swap(self, (a, b): (F64x4, F64x4)) -> (F64x4, F64x4) {
        (self.select(b, a), self.select(a, b))
    }

    /// Whether any lane is set.
    #[inline(always)]
    pub(in crate::kernels::linalg) fn any(self) -> bool {
        self.0.iter().fold(0, |bits, x| bits | x) != 0
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
        Mask(per_lane(|l| self.0[l] & o.0[l]))
    }
}

impl BitOr for Mask {
    type Output = Mask;
    #[inline(always)]
    fn bitor(self, o: Mask) -> Mask {
        Mask(per_lane(|l| self.0[l] | o.0[l]))
    }
}

impl Not for Mask {
    type Output = Mask;
    #[inline(always)]
    fn not(self) -> Mask {
        Mask(per_lane(|l| !self.0[l]))
    }
}
