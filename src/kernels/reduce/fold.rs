//! What a reduction does to elements: load, identity, merge; and the loops over a run of them.
//!
//! Owns: the trait `Fold` and the block loops with their fixed association.
//! Never walks strides, never splits work.
//! Invariant: the order in which a loop merges depends on the number of elements only, so the result
//! is the same at every instruction-set level and thread count.

use std::mem::MaybeUninit;

use super::transposed_rows;
use crate::kernels::multiversion::{Levels, leveled};

/// Elements that are merged into lanes before the lanes are merged: the leaf of the pairwise tree.
pub(crate) const LEAF: usize = 1024;

/// A reduction of elements of type `In` in an accumulator of type `Acc`.
pub(crate) trait Fold: Sized + 'static {
    type In: Copy + 'static;
    type Acc: Copy + Send + Sync + 'static;
    /// The fold that merges accumulators, which it loads as they are.
    type Merging: Fold<In = Self::Acc, Acc = Self::Acc>;
    /// The levels that its loops are compiled for.
    const LEVELS: Levels = Levels::All;
    /// Whether it loads elements as they are, and the identity changes none of them: short rows may then be turned.
    const TURNS: bool = false;
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
        unsafe { lanes::<Self>(p, n) }
    }
}

/// Elements that are merged side by side, and those of runs that are shorter.
pub(super) const WIDE: usize = 64;
pub(super) const NARROW: usize = 8;

/// Merges fewer than `NARROW` elements in order; of more, whole blocks into as many lanes, then the lanes by halves; of what
/// is left over, each power of two joins the lanes when they are as many.
///
/// # Safety
/// `n` elements are readable.
#[inline(always)]
pub(super) unsafe fn lanes<F: Fold>(p: *const F::In, n: usize) -> F::Acc {
    let mut at = p;
    // As NumPy has them, so that sums of a few numbers are the same to the last bit.
    if n < NARROW {
        return (0..n).fold(F::IDENTITY, |acc, i| {
            // SAFETY: the caller's contract.
            F::merge(acc, F::load(unsafe { *p.add(i) }))
        });
    }
    // SAFETY: the caller's contract.
    unsafe {
        let mut few = [F::IDENTITY; NARROW];
        if n >= WIDE {
            let mut lanes = [F::IDENTITY; WIDE];
            for _ in 0..n / WIDE {
                prefetch(at, WIDE);
                merge_block::<F, WIDE>(&mut lanes, &mut at);
            }
            let lanes = halved::<F, WIDE, 32>(lanes, n, &mut at);
            let lanes = halved::<F, 32, 16>(lanes, n, &mut at);
            few = halved::<F, 16, NARROW>(lanes, n, &mut at);
        } else {
            for _ in 0..n / NARROW {
                merge_block::<F, NARROW>(&mut few, &mut at);
            }
        }
        let few = halved::<F, NARROW, 4>(few, n, &mut at);
        let few = halved::<F, 4, 2>(few, n, &mut at);
        halved::<F, 2, 1>(few, n, &mut at)[0]
    }
}

/// Merges the `L` elements at `at` into lanes and goes past them.
///
/// # Safety
/// They are readable.
#[inline(always)]
pub(super) unsafe fn merge_block<F: Fold, const L: usize>(
    lanes: &mut [F::Acc; L],
    at: &mut *const F::In,
) {
    for (j, lane) in lanes.iter_mut().enumerate() {
        // SAFETY: the caller's contract.
        *lane = F::merge(*lane, F::load(unsafe { *at.add(j) }));
    }
    *at = at.wrapping_add(L);
}

/// The lanes by halves; and a block as long as a half, if a run of `n` has one left over.
///
/// # Safety
/// What is left over of `n` by twice `H` is readable at `at`.
#[inline(always)]
pub(super) unsafe fn halved<F: Fold, const L: usize, const H: usize>(
    lanes: [F::Acc; L],
    n: usize,
    at: &mut *const F::In,
) -> [F::Acc; H] {
    let mut half = [F::IDENTITY; H];
    for j in 0..H {
        half[j] = F::merge(lanes[j], lanes[j + H]);
    }
    if n & H != 0 {
        // SAFETY: the caller's contract.
        unsafe { merge_block::<F, H>(&mut half, at) };
    }
    half
}

/// Merges `n` neighbours with a loop over the blocks of `L` elements, at least one, that merges their lanes too.
/// `full` is one function of the baseline for every level.
///
/// # Safety
/// `n` elements are readable.
#[inline(always)]
pub(super) unsafe fn lanes_by<F: Fold, const L: usize>(
    p: *const F::In,
    n: usize,
    full: impl FnOnce(*const F::In, usize) -> F::Acc,
) -> F::Acc {
    let mut total = None;
    if n >= L {
        let all = full(p, n / L);
        if n.is_multiple_of(L) {
            return all;
        }
        total = Some(all);
    }
    // SAFETY: the caller's contract.
    let rest = unsafe { lanes::<F>(p.add(n / L * L), n % L) };
    total.map_or(rest, |total| F::merge(total, rest))
}

/// How many bytes ahead of the elements in work the next ones are called for: the processor's own
/// prediction stops at every page.
const AHEAD: usize = 2048;

/// Calls for the cache lines of `n` elements that lie `AHEAD` of `at`, if this target can.
#[inline(always)]
pub(super) fn prefetch<T>(at: *const T, n: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..n * size_of::<T>()).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let line = at.cast::<i8>().wrapping_add(AHEAD + line);
        // SAFETY: a prefetch reads nothing, whatever the address is.
        unsafe { _mm_prefetch(line, _MM_HINT_T0) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (at, n);
}

#[inline(always)]
pub(super) fn halve<F: Fold>(lanes: &mut [F::Acc]) -> F::Acc {
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
    /// The value of each bit that is set in `count`.
    parts: [MaybeUninit<A>; usize::BITS as usize],
    count: usize,
}

impl<A: Copy> Tree<A> {
    #[inline(always)]
    pub(crate) fn new() -> Tree<A> {
        Tree { parts: [MaybeUninit::uninit(); usize::BITS as usize], count: 0 }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, mut value: A, merge: impl Fn(A, A) -> A) {
        let mut level = 0;
        while self.count >> level & 1 == 1 {
            // SAFETY: the bit is set.
            value = merge(unsafe { self.parts[level].assume_init() }, value);
            level += 1;
        }
        self.parts[level] = MaybeUninit::new(value);
        self.count += 1;
    }

    #[inline(always)]
    pub(crate) fn finish(&self, merge: impl Fn(A, A) -> A) -> Option<A> {
        let mut rest = self.count;
        let mut total = None;
        while rest != 0 {
            // SAFETY: the bit is set.
            let part = unsafe { self.parts[rest.trailing_zeros() as usize].assume_init() };
            total = Some(total.map_or(part, |total| merge(part, total)));
            rest &= rest - 1;
        }
        total
    }
}

/// Merges `n` neighbours pairwise.
///
/// # Safety
/// The leaves lie inside the `n` elements, which are readable.
pub(crate) unsafe fn run<F: Fold>(p: *const F::In, n: usize) -> F::Acc {
    let leaf = |start: usize| {
        let mut merged = F::IDENTITY;
        // SAFETY: the caller's contract.
        unsafe { leaves::<F>(p.add(start), LEAF.min(n - start), 0, &mut merged, 0, 1) };
        merged
    };
    if n <= LEAF {
        return leaf(0);
    }
    let mut tree = Tree::new();
    for start in (0..n).step_by(LEAF) {
        tree.push(leaf(start), F::merge);
    }
    tree.finish(F::merge).unwrap_or(F::IDENTITY)
}

leveled! {
    /// Merges each of `rows` runs of `n` neighbours, at most `LEAF`, as `rows` does.
    pub(super) unsafe fn leaves<F: Fold>(
        p: *const F::In, n: usize, stride: isize, out: *mut F::Acc, step: isize, rows: usize,
    ) = leaves_body, F::LEVELS
}

/// # Safety
/// As `rows`.
#[inline(always)]
unsafe fn leaves_body<F: Fold>(
    p: *const F::In,
    n: usize,
    stride: isize,
    out: *mut F::Acc,
    step: isize,
    rows: usize,
) {
    for row in 0..rows as isize {
        // SAFETY: the caller's contract.
        unsafe { *out.offset(row * step) = F::leaf(p.offset(row * stride), n) };
    }
}

/// Merges each of `rows` runs of `n` neighbours.
///
/// # Safety
/// `rows` rows of `n` neighbours, `stride` apart, are readable; `out` has room for `rows` results,
/// `step` apart.
pub(crate) unsafe fn rows<F: Fold>(
    p: *const F::In,
    n: usize,
    stride: isize,
    out: *mut F::Acc,
    step: isize,
    rows: usize,
) {
    // SAFETY: the caller's contract.
    unsafe {
        if F::TURNS && (1..WIDE).contains(&n) && rows >= NARROW {
            return transposed_rows::rows::<F>(p, n, stride, out, step, rows);
        }
        if n <= LEAF {
            return leaves::<F>(p, n, stride, out, step, rows);
        }
        for row in 0..rows as isize {
            *out.offset(row * step) = run::<F>(p.offset(row * stride), n);
        }
    }
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
    ) = add_rows_body, F::LEVELS
}

/// `a = merge(a, b)`, lane by lane.
///
/// # Safety
/// `a` and `b` are `n` accumulators each and do not overlap.
pub(super) unsafe fn merge_rows<F: Fold>(a: *mut F::Acc, b: *const F::Acc, n: usize) {
    // SAFETY: the caller's contract, for one row.
    unsafe { add_rows::<F::Merging>(a, b, n, 0, 1) }
}
