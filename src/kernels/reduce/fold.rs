//! What a reduction does to elements: load, identity, merge; and the loops over a run of them.
//!
//! Owns: the trait `Fold`, its implementations, and the block loops with their fixed association.
//! Never walks strides, never splits work.
//! Invariant: the order in which a loop merges depends on the number of elements only, so the result
//! is the same at every instruction-set level and thread count.

use std::marker::PhantomData;

use super::super::cast::Truth;
use super::super::leveled::leveled;

/// Elements that are merged into lanes before the lanes are merged: the leaf of the pairwise tree.
pub(crate) const LEAF: usize = 1024;

/// A reduction of elements of type `In` in an accumulator of type `Acc`.
pub(crate) trait Fold: 'static {
    type In: Copy + 'static;
    type Acc: Copy + Send + Sync + 'static;
    /// Merged with anything, gives that thing.
    const IDENTITY: Self::Acc;
    /// Of no elements at all.
    const EMPTY: Self::Acc = Self::IDENTITY;
    fn load(x: Self::In) -> Self::Acc;
    fn merge(a: Self::Acc, b: Self::Acc) -> Self::Acc;

    /// Merges `n` neighbours, at most `LEAF`.
    ///
    /// # Safety
    /// `n` elements are readable.
    #[inline(always)]
    unsafe fn leaf(p: *const Self::In, n: usize) -> Self::Acc {
        // SAFETY: the caller's contract.
        unsafe { lanes::<Self, 32>(p, n) }
    }
}

/// Merges element `i` into lane `i % L`, then the lanes by halves, then what does not fill the lanes.
///
/// # Safety
/// `n` elements are readable.
#[inline(always)]
unsafe fn lanes<F: Fold + ?Sized, const L: usize>(p: *const F::In, n: usize) -> F::Acc {
    // SAFETY: every index below is below `n`.
    unsafe {
        if n < 8 {
            return in_order::<F>(p, n);
        }
        if n < L {
            return eight::<F>(p, n);
        }
        let mut lanes = [F::IDENTITY; L];
        let mut at = p;
        for _ in 0..n / L {
            for (j, lane) in lanes.iter_mut().enumerate() {
                *lane = F::merge(*lane, F::load(*at.add(j)));
            }
            at = at.add(L);
        }
        let total = halve::<F>(&mut lanes);
        match n % L {
            0 => total,
            rest @ 1..8 => F::merge(total, in_order::<F>(at, rest)),
            rest => F::merge(total, eight::<F>(at, rest)),
        }
    }
}

/// # Safety
/// `n` elements are readable.
#[inline(always)]
unsafe fn in_order<F: Fold + ?Sized>(p: *const F::In, n: usize) -> F::Acc {
    (0..n).fold(F::IDENTITY, |acc, i| {
        // SAFETY: the caller's contract.
        F::merge(acc, F::load(unsafe { *p.add(i) }))
    })
}

/// # Safety
/// `n` elements, at least 8, are readable.
#[inline(always)]
unsafe fn eight<F: Fold + ?Sized>(p: *const F::In, n: usize) -> F::Acc {
    // SAFETY: every index below is below `n`.
    unsafe {
        let mut lanes: [F::Acc; 8] = std::array::from_fn(|j| F::load(*p.add(j)));
        for i in 1..n / 8 {
            for (j, lane) in lanes.iter_mut().enumerate() {
                *lane = F::merge(*lane, F::load(*p.add(8 * i + j)));
            }
        }
        let done = n / 8 * 8;
        for (j, lane) in lanes[..n - done].iter_mut().enumerate() {
            *lane = F::merge(*lane, F::load(*p.add(done + j)));
        }
        halve::<F>(&mut lanes)
    }
}

#[inline(always)]
fn halve<F: Fold + ?Sized>(lanes: &mut [F::Acc]) -> F::Acc {
    let mut width = lanes.len();
    while width > 1 {
        width /= 2;
        let (low, high) = lanes.split_at_mut(width);
        for (a, &b) in low.iter_mut().zip(&high[..width]) {
            *a = F::merge(*a, b);
        }
    }
    lanes[0]
}

/// Merges values in a balanced tree, one at a time: the carry chain of a binary counter.
pub(crate) struct Tree<A> {
    parts: [Option<A>; usize::BITS as usize],
    count: usize,
}

impl<A: Copy> Tree<A> {
    #[inline(always)]
    pub(crate) fn new() -> Tree<A> {
        Tree { parts: [None; usize::BITS as usize], count: 0 }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, mut value: A, merge: impl Fn(A, A) -> A) {
        let mut level = 0;
        while self.count >> level & 1 == 1 {
            if let Some(earlier) = self.parts[level] {
                value = merge(earlier, value);
            }
            level += 1;
        }
        self.parts[level] = Some(value);
        self.count += 1;
    }

    #[inline(always)]
    pub(crate) fn finish(&self, merge: impl Fn(A, A) -> A) -> Option<A> {
        let mut total = None;
        for level in 0..usize::BITS as usize {
            if self.count >> level & 1 == 1 {
                total = match (self.parts[level], total) {
                    (Some(a), Some(b)) => Some(merge(a, b)),
                    (a, b) => a.or(b),
                };
            }
            if self.count >> level <= 1 {
                break;
            }
        }
        total
    }
}

/// # Safety
/// `n` elements are readable.
#[inline(always)]
unsafe fn run_body<F: Fold>(p: *const F::In, n: usize) -> F::Acc {
    // SAFETY: the leaves lie inside the `n` elements.
    unsafe {
        if n <= LEAF {
            return F::leaf(p, n);
        }
        let mut tree = Tree::new();
        for start in (0..n).step_by(LEAF) {
            tree.push(F::leaf(p.add(start), LEAF.min(n - start)), F::merge);
        }
        tree.finish(F::merge).unwrap_or(F::IDENTITY)
    }
}

leveled! {
    /// Merges `n` neighbours pairwise.
    pub(crate) unsafe fn run<F: Fold>(p: *const F::In, n: usize) -> F::Acc = run_body
}

/// # Safety
/// `rows` rows of `n` neighbours, `stride` apart, are readable; `out` has room for `rows` results,
/// `step` apart.
#[inline(always)]
unsafe fn rows_body<F: Fold>(
    p: *const F::In,
    n: usize,
    stride: isize,
    out: *mut F::Acc,
    step: isize,
    rows: usize,
) {
    for row in 0..rows as isize {
        // SAFETY: the caller's contract.
        unsafe { *out.offset(row * step) = run_body::<F>(p.offset(row * stride), n) };
    }
}

leveled! {
    /// Merges each of `rows` runs of `n` neighbours.
    pub(super) unsafe fn rows<F: Fold>(
        p: *const F::In, n: usize, stride: isize, out: *mut F::Acc, step: isize, rows: usize,
    ) = rows_body
}

/// # Safety
/// `acc` holds `n` accumulators; `count` rows of `n` neighbours, `stride` apart, are readable.
#[inline(always)]
unsafe fn add_rows_body<F: Fold>(
    acc: *mut F::Acc,
    p: *const F::In,
    n: usize,
    stride: isize,
    count: usize,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut row = 0;
        while row + 4 <= count as isize {
            let at = [0, 1, 2, 3].map(|k| p.offset((row + k) * stride));
            for j in 0..n {
                let mut a = *acc.add(j);
                a = F::merge(a, F::load(*at[0].add(j)));
                a = F::merge(a, F::load(*at[1].add(j)));
                a = F::merge(a, F::load(*at[2].add(j)));
                *acc.add(j) = F::merge(a, F::load(*at[3].add(j)));
            }
            row += 4;
        }
        while row < count as isize {
            let at = p.offset(row * stride);
            for j in 0..n {
                *acc.add(j) = F::merge(*acc.add(j), F::load(*at.add(j)));
            }
            row += 1;
        }
    }
}

leveled! {
    /// Merges rows into a row of accumulators, one after the other.
    pub(super) unsafe fn add_rows<F: Fold>(
        acc: *mut F::Acc, p: *const F::In, n: usize, stride: isize, count: usize,
    ) = add_rows_body
}

/// # Safety
/// `a` and `b` are `n` accumulators each and do not overlap.
#[inline(always)]
unsafe fn merge_rows_body<F: Fold>(a: *mut F::Acc, b: *const F::Acc, n: usize) {
    for j in 0..n {
        // SAFETY: the caller's contract.
        unsafe { *a.add(j) = F::merge(*a.add(j), *b.add(j)) };
    }
}

leveled! {
    /// `a = merge(a, b)`, lane by lane.
    pub(super) unsafe fn merge_rows<F: Fold>(
        a: *mut F::Acc, b: *const F::Acc, n: usize,
    ) = merge_rows_body
}

pub(crate) struct Sum<T>(PhantomData<T>);
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

macro_rules! float_folds {
    ($($t:ty, $lanes:literal;)*) => {$(
        // -0.0 is the identity of floating-point addition: -0.0 + 0.0 is 0.0.
        fold!(Sum<$t> -> $t, -0.0, 0.0, $lanes, |x| x, |a, b| a + b);
        fold!(Prod<$t> -> $t, 1.0, 1.0, $lanes, |x| x, |a, b| a * b);
        // A NaN replaces anything, and nothing replaces a NaN.
        fold!(Max<$t> -> $t, <$t>::NEG_INFINITY, <$t>::NEG_INFINITY, $lanes, |x| x,
              |a, b| if b > a || b != b { b } else { a });
        fold!(Min<$t> -> $t, <$t>::INFINITY, <$t>::INFINITY, $lanes, |x| x,
              |a, b| if b < a || b != b { b } else { a });
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
fold!(Any<u8> -> u8, 0, 0, 64, |x| (x != 0) as u8, |a, b| a | b);
fold!(All<u8> -> u8, 1, 1, 64, |x| (x != 0) as u8, |a, b| a & b);

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
