//! The implementations of `Fold`: sums, products, extremes, any and all of every dtype.

use std::marker::PhantomData;

use super::complex::{fold_products, fold_sums};
use super::float_extremes::{IgnoreNan, extreme_leaf};
use super::fold::{Fold, LEAF_ELEMENTS, prefetch};
use crate::dtype::{Complex, Complex64, Complex128, Truth};
use crate::kernels::multiversion::Levels;
use crate::kernels::number::complex_scalar::ComplexElement;

pub(crate) struct Sum<T>(PhantomData<T>);
pub(super) struct SumSquares<T>(PhantomData<T>);
pub(super) struct Prod<T>(PhantomData<T>);
pub(crate) struct Max<T>(PhantomData<T>);
pub(super) struct Min<T>(PhantomData<T>);
pub(super) struct Any<T>(PhantomData<T>);
pub(super) struct All<T>(PhantomData<T>);

macro_rules! fold {
    ($levels:ident $f:ident<$t:ty> -> $acc:ty as $merging:ident, $identity:expr, $empty:expr,
     |$x:ident| $load:expr, |$a:ident, $b:ident| $merge:expr) => {
        fold!($levels $f<$t> = $t; $acc as $merging<$acc>, $identity, $empty, |$x| $load, |$a, $b| $merge);
    };
    ($levels:ident $f:ty = $t:ty; $acc:ty as $merging:ty, $identity:expr, $empty:expr,
     |$x:ident| $load:expr, |$a:ident, $b:ident| $merge:expr) => {
        impl Fold for $f {
            type In = $t;
            type Acc = $acc;
            type Merging = $merging;
            const LEVELS: Levels = Levels::$levels;
            const IDENTITY: $acc = $identity;
            const EMPTY: $acc = $empty;
            #[inline(always)]
            fn load($x: $t) -> $acc {
                $load
            }
            #[inline(always)]
            fn merge($a: $acc, $b: $acc) -> $acc {
                $merge
            }
        }
    };
}

macro_rules! extreme {
    ($f:ident<$t:ty>, $identity:expr, $op:tt) => {
        impl Fold for $f<$t> {
            type In = $t;
            type Acc = $t;
            type Merging = Self;
            const TRANSPOSABLE: bool = true;
            const IDENTITY: $t = $identity;
            #[inline(always)]
            fn load(x: $t) -> $t {
                x
            }
            #[inline(always)]
            fn merge(a: $t, b: $t) -> $t {
                if b $op a || b != b { b } else { a }
            }
            #[inline(always)]
            unsafe fn leaf(p: *const $t, n: usize) -> $t {
                // SAFETY: the caller's contract.
                unsafe { extreme_leaf::<Self, IgnoreNan<Self>, $t>(p, n) }
            }
        }
        fold!(All IgnoreNan<$f<$t>> = $t; $t as Self, $identity, $identity, |x| x, |a, b| if b $op a { b } else { a });
    };
}

macro_rules! float_folds {
    ($($t:ty),*) => {$(
        // The sum of negative zeros is 0.0, as in NumPy: every sum starts with the identity element.
        fold!(UpToAvx2 Sum<$t> -> $t as Sum, 0.0, 0.0, |x| x, |a, b| a + b);
        fold!(UpToAvx2 SumSquares<$t> -> $t as Sum, 0.0, 0.0, |x| x * x, |a, b| a + b);
        fold!(UpToAvx2 Prod<$t> -> $t as Prod, 1.0, 1.0, |x| x, |a, b| a * b);
        // A NaN replaces anything, and no number replaces a NaN.
        extreme!(Max<$t>, <$t>::NEG_INFINITY, >);
        extreme!(Min<$t>, <$t>::INFINITY, <);
    )*};
}

macro_rules! int_folds {
    ($($t:ty),*) => {$(
        fold!(All Max<$t> -> $t as Max, <$t>::MIN, <$t>::MIN, |x| x, |a, b| if b > a { b } else { a });
        fold!(All Min<$t> -> $t as Min, <$t>::MAX, <$t>::MAX, |x| x, |a, b| if b < a { b } else { a });
    )*};
}

float_folds! { f64, f32 }
int_folds! { i64, u64 }
fold!(UpToAvx2 Sum<i64> -> i64 as Sum, 0, 0, |x| x, |a, b| a.wrapping_add(b));
fold!(UpToAvx2 Prod<i64> -> i64 as Prod, 1, 1, |x| x, |a, b| a.wrapping_mul(b));

/// Folds of complex numbers, in float64.
macro_rules! complex_folds {
    ($($f:ident<$t:ty>, $identity:expr, $empty:expr, $lanes:ident, |$a:ident, $b:ident| $merge:expr;)*) => {$(
        impl Fold for $f<$t> {
            type In = $t;
            type Acc = Complex128;
            type Merging = $f<Complex128>;
            const LEVELS: Levels = Levels::UpToAvx2;
            const IDENTITY: Complex128 = $identity;
            const EMPTY: Complex128 = $empty;
            #[inline(always)]
            fn load(x: $t) -> Complex128 {
                x.widen()
            }
            #[inline(always)]
            fn merge($a: Complex128, $b: Complex128) -> Complex128 {
                $merge
            }
            #[inline(always)]
            unsafe fn leaf(p: *const $t, n: usize) -> Complex128 {
                // SAFETY: the caller's contract.
                unsafe { $lanes::<Self>(p, n) }
            }
        }
    )*};
}
complex_folds! {
    Sum<Complex128>, Complex::new(0.0, 0.0), Complex::new(0.0, 0.0), fold_sums, |a, b| a + b;
    Sum<Complex64>, Complex::new(0.0, 0.0), Complex::new(0.0, 0.0), fold_sums, |a, b| a + b;
    Prod<Complex128>, Complex::new(1.0, 0.0), Complex::new(1.0, 0.0), fold_products, |a, b| a * b;
    Prod<Complex64>, Complex::new(1.0, 0.0), Complex::new(1.0, 0.0), fold_products, |a, b| a * b;
}

/// Truth of elements, with lanes of the element size: comparisons give masks of that width.
macro_rules! truth_folds {
    ($($t:ty as $mask:ty;)*) => {$(
        truth_folds!(@one Any, $t, $mask, 0, |any| any as u8, |x| x != 0 as $t, |a, b| a | b);
        truth_folds!(@one All, $t, $mask, 1, |any| !any as u8, |x| x == 0 as $t, |a, b| a & b);
    )*};
    (@one $f:ident, $t:ty, $mask:ty, $identity:literal, |$any:ident| $truth:expr,
     |$x:ident| $found:expr, |$a:ident, $b:ident| $merge:expr) => {
        impl Fold for $f<$t> {
            type In = $t;
            type Acc = u8;
            type Merging = $f<u8>;
            const IDENTITY: u8 = $identity;
            #[inline(always)]
            fn load($x: $t) -> u8 {
                let $any = $found;
                $truth
            }
            #[inline(always)]
            fn merge($a: u8, $b: u8) -> u8 {
                $merge
            }
            #[inline(always)]
            unsafe fn leaf(p: *const $t, n: usize) -> u8 {
                const WIDTH: usize = 256 / size_of::<$t>();
                const TAIL_LANES: usize = WIDTH / 8;
                let (mut lanes, mut tail): ([$mask; WIDTH], [$mask; TAIL_LANES]) = ([0; WIDTH], [0; TAIL_LANES]);
                let mut found = false;
                // SAFETY: every index is below `n`.
                unsafe {
                    let or_block = |at: usize, lanes: &mut [$mask]| {
                        for (j, lane) in lanes.iter_mut().enumerate() {
                            let $x = *p.add(at + j);
                            *lane |= if $found { <$mask>::MAX } else { 0 };
                        }
                    };
                    let whole = n - n % WIDTH;
                    for start in (0..whole).step_by(WIDTH) {
                        prefetch(p.add(start), WIDTH);
                        or_block(start, &mut lanes);
                    }
                    if n < TAIL_LANES {
                        for i in 0..n {
                            let $x = *p.add(i);
                            found |= $found;
                        }
                    } else {
                        // The last block overlaps the one before, which changes nothing.
                        for start in (whole..n).step_by(TAIL_LANES) {
                            or_block(start.min(n - TAIL_LANES), &mut tail);
                        }
                    }
                }
                // Without a branch per lane.
                let or = |a: $mask, b: &$mask| a | b;
                found |= tail.iter().fold(0, or) != 0;
                let $any = found | (lanes.iter().fold(0, or) != 0);
                $truth
            }
        }
    };
}
truth_folds! { f64 as u64; f32 as u32; u8 as u8; }

/// The number of true bytes: the count of a leaf fits single-byte lanes, which are much faster.
impl Fold for Sum<Truth> {
    type In = Truth;
    type Acc = i64;
    type Merging = Sum<i64>;
    const IDENTITY: i64 = 0;
    #[inline(always)]
    fn load(x: Truth) -> i64 {
        (x.0 != 0) as i64
    }
    #[inline(always)]
    fn merge(a: i64, b: i64) -> i64 {
        a + b
    }
    #[inline(always)]
    unsafe fn leaf(p: *const Truth, n: usize) -> i64 {
        let mut lanes = [0u8; 64];
        let mut i = 0;
        // SAFETY: every index is below `n`. A leaf adds at most LEAF / 64 + 3 to a lane.
        unsafe {
            while i + 64 <= n {
                for (j, lane) in lanes.iter_mut().enumerate() {
                    *lane += ((*p.add(i + j)).0 != 0) as u8;
                }
                i += 64;
            }
            let (tail, _) = lanes.split_at_mut(16);
            while i + 16 <= n {
                for (j, lane) in tail.iter_mut().enumerate() {
                    *lane += ((*p.add(i + j)).0 != 0) as u8;
                }
                i += 16;
            }
            let rest = (i..n).map(|i| Self::load(*p.add(i))).sum::<i64>();
            rest + lanes.iter().map(|&lane| lane as i64).sum::<i64>()
        }
    }
}
const _: () = assert!(LEAF_ELEMENTS / 64 + 3 < 256);
