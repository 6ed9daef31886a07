//! The folds there are: sums, products, extremes and truth of every dtype.
//!
//! Owns: the implementations of `Fold`. Never walks more than a leaf. Invariant: as that of `Fold`.

use std::marker::PhantomData;

use super::fold::{Fold, LEAF, halve, in_order, lanes, prefetch};
use crate::dtype::Truth;

/// `lanes` of an extreme of floats: `pick` ignores NaN, which is looked for beside it. One comparison
/// that does both at once takes twice the time.
///
/// # Safety
/// `n` elements are readable.
#[inline(always)]
#[allow(clippy::eq_op)]
unsafe fn extreme_lanes<F: Fold<In = T, Acc = T> + ?Sized, T: Copy + PartialOrd, const L: usize>(
    p: *const T,
    n: usize,
    pick: impl Fn(T, T) -> T,
) -> T {
    if n < L {
        // SAFETY: the caller's contract.
        return unsafe { lanes::<F, L>(p, n) };
    }
    let mut best = [F::IDENTITY; L];
    let mut unordered = [false; L];
    let mut at = p;
    // SAFETY: every index below is below `n`.
    unsafe {
        for _ in 0..n / L {
            prefetch(at, L);
            for j in 0..L {
                let x = *at.add(j);
                best[j] = pick(best[j], x);
                unordered[j] |= x != x;
            }
            at = at.add(L);
        }
        let rest = in_order::<F>(at, n % L);
        if unordered.contains(&true) {
            // Rare: again, with the comparison that keeps a NaN.
            return lanes::<F, L>(p, n);
        }
        F::merge(halve::<F>(&mut best), rest)
    }
}

pub(crate) struct Sum<T>(PhantomData<T>);
pub(super) struct SumSquares<T>(PhantomData<T>);
pub(super) struct Prod<T>(PhantomData<T>);
pub(crate) struct Max<T>(PhantomData<T>);
pub(super) struct Min<T>(PhantomData<T>);
pub(super) struct Any<T>(PhantomData<T>);
pub(super) struct All<T>(PhantomData<T>);

macro_rules! fold {
    ($f:ident<$t:ty> -> $acc:ty, $identity:expr, $empty:expr, $lanes:literal,
     |$x:ident| $load:expr, |$a:ident, $b:ident| $merge:expr) => {
        impl Fold for $f<$t> {
            type In = $t;
            type Acc = $acc;
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
            #[inline(always)]
            unsafe fn leaf(p: *const $t, n: usize) -> $acc {
                // SAFETY: the caller's contract.
                unsafe { lanes::<Self, $lanes>(p, n) }
            }
        }
    };
}

macro_rules! extreme {
    ($f:ident<$t:ty>, $identity:expr, $lanes:literal, $beats:tt) => {
        impl Fold for $f<$t> {
            type In = $t;
            type Acc = $t;
            const IDENTITY: $t = $identity;
            #[inline(always)]
            fn load(x: $t) -> $t {
                x
            }
            #[inline(always)]
            fn merge(a: $t, b: $t) -> $t {
                if b $beats a || b != b { b } else { a }
            }
            #[inline(always)]
            unsafe fn leaf(p: *const $t, n: usize) -> $t {
                // SAFETY: the caller's contract.
                unsafe {
                    extreme_lanes::<Self, $t, $lanes>(p, n, |a, b| if a $beats b { a } else { b })
                }
            }
        }
    };
}

macro_rules! float_folds {
    ($($t:ty, $lanes:literal;)*) => {$(
        // -0.0 is the identity of floating-point addition: -0.0 + 0.0 is 0.0.
        fold!(Sum<$t> -> $t, -0.0, 0.0, $lanes, |x| x, |a, b| a + b);
        fold!(SumSquares<$t> -> $t, 0.0, 0.0, $lanes, |x| x * x, |a, b| a + b);
        fold!(Prod<$t> -> $t, 1.0, 1.0, $lanes, |x| x, |a, b| a * b);
        // A NaN replaces anything, and nothing replaces a NaN.
        extreme!(Max<$t>, <$t>::NEG_INFINITY, $lanes, >);
        extreme!(Min<$t>, <$t>::INFINITY, $lanes, <);
    )*};
}

macro_rules! int_folds {
    ($($t:ty, $lanes:literal;)*) => {$(
        fold!(Sum<$t> -> i64, 0, 0, 32, |x| x as i64, |a, b| a.wrapping_add(b));
        fold!(Prod<$t> -> i64, 1, 1, 32, |x| x as i64, |a, b| a.wrapping_mul(b));
        fold!(Max<$t> -> $t, <$t>::MIN, <$t>::MIN, $lanes, |x| x, |a, b| if b > a { b } else { a });
        fold!(Min<$t> -> $t, <$t>::MAX, <$t>::MAX, $lanes, |x| x, |a, b| if b < a { b } else { a });
    )*};
}

float_folds! { f64, 32; f32, 64; }
int_folds! { i64, 32; }

macro_rules! truth_folds {
    ($($t:ty)*) => {$(
        fold!(Any<$t> -> u8, 0, 0, 64, |x| (x != 0 as $t) as u8, |a, b| a | b);
        fold!(All<$t> -> u8, 1, 1, 64, |x| (x != 0 as $t) as u8, |a, b| a & b);
    )*};
}
truth_folds! { f64 f32 u8 }

/// The number of true bytes: a leaf fits lanes of single bytes, which are much faster to count in.
impl Fold for Sum<Truth> {
    type In = Truth;
    type Acc = i64;
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
        // SAFETY: every index is below `n`. A leaf adds at most LEAF / 64 to a lane.
        unsafe {
            while i + 64 <= n {
                for (j, lane) in lanes.iter_mut().enumerate() {
                    *lane += ((*p.add(i + j)).0 != 0) as u8;
                }
                i += 64;
            }
            let rest = (i..n).map(|i| Self::load(*p.add(i))).sum::<i64>();
            rest + lanes.iter().map(|&lane| lane as i64).sum::<i64>()
        }
    }
}
const _: () = assert!(LEAF / 64 < 256);
