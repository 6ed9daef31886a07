//! `Fold`: load, identity and merge of a reduction, and the loops over contiguous elements.
//!
//! Invariant: the order in which a loop merges depends on the number of elements only, so the result is the
//! same at every instruction-set level and thread count.

use std::mem::MaybeUninit;

use super::transposed_rows;
use crate::kernels::multiversion::{Levels, multiversion};
use crate::kernels::nontemporal;

/// Elements of a leaf of the pairwise tree: they are merged into lanes before the lanes are merged.
pub(crate) const LEAF_ELEMENTS: usize = 1024;

/// A reduction of elements of type `In` in an accumulator of type `Acc`.
pub(crate) trait Fold: Sized + 'static {
    type In: Copy + 'static;
    type Acc: Copy + Send + Sync + 'static;
    /// The fold that merges accumulators; its `load` is the identity function.
    type Merging: Fold<In = Self::Acc, Acc = Self::Acc>;
    /// The instruction-set levels of its loops.
    const LEVELS: Levels = Levels::All;
    /// Whether `load` is the identity function and `IDENTITY` changes no element: short rows may then be
    /// transposed.
    const TRANSPOSABLE: bool = false;
    /// The identity element of `merge`.
    const IDENTITY: Self::Acc;
    /// The result for no elements.
    const EMPTY: Self::Acc = Self::IDENTITY;
    fn load(x: Self::In) -> Self::Acc;
    fn merge(a: Self::Acc, b: Self::Acc) -> Self::Acc;

    /// Merges `n` contiguous elements, at most `LEAF_ELEMENTS`.
    ///
    /// # Safety
    /// `n` elements are readable.
    #[inline(always)]
    unsafe fn leaf(p: *const Self::In, n: usize) -> Self::Acc {
        // SAFETY: the caller's contract.
        unsafe { fold_lanes::<Self>(p, n) }
    }
}

/// The number of lanes that elements are merged into, and that of short runs.
pub(super) const WIDE_LANES: usize = 64;
pub(super) const NARROW_LANES: usize = 8;

/// Merges fewer than `NARROW_LANES` elements in order; of more, whole blocks into as many lanes, then the
/// lanes by halves. The remainder's power-of-two blocks join the lanes when these are as many.
///
/// # Safety
/// `n` elements are readable.
#[inline(always)]
pub(super) unsafe fn fold_lanes<F: Fold>(p: *const F::In, n: usize) -> F::Acc {
    let mut at = p;
    // As NumPy, so that sums of a few numbers agree to the last bit.
    if n < NARROW_LANES {
        return (0..n).fold(F::IDENTITY, |acc, i| {
            // SAFETY: the caller's contract.
            F::merge(acc, F::load(unsafe { *p.add(i) }))
        });
    }
    // SAFETY: the caller's contract.
    unsafe {
        let mut narrow = [F::IDENTITY; NARROW_LANES];
        if n >= WIDE_LANES {
            let mut lanes = [F::IDENTITY; WIDE_LANES];
            for _ in 0..n / WIDE_LANES {
                prefetch(at, WIDE_LANES);
                merge_block::<F, WIDE_LANES>(&mut lanes, &mut at);
            }
            let lanes = halve_lanes::<F, WIDE_LANES, 32>(lanes, n, &mut at);
            let lanes = halve_lanes::<F, 32, 16>(lanes, n, &mut at);
            narrow = halve_lanes::<F, 16, NARROW_LANES>(lanes, n, &mut at);
        } else {
            for _ in 0..n / NARROW_LANES {
                merge_block::<F, NARROW_LANES>(&mut narrow, &mut at);
            }
        }
        let narrow = halve_lanes::<F, NARROW_LANES, 4>(narrow, n, &mut at);
        let narrow = halve_lanes::<F, 4, 2>(narrow, n, &mut at);
        halve_lanes::<F, 2, 1>(narrow, n, &mut at)[0]
    }
}

/// Merges the `L` elements at `at` into the lanes and advances `at`.
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

/// Merges the lanes by halves, and a block of `H` elements if a run of `n` has one in its remainder.
///
/// # Safety
/// The remainder of `n` modulo `2 * H` is readable at `at`.
#[inline(always)]
pub(super) unsafe fn halve_lanes<F: Fold, const L: usize, const H: usize>(
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

/// Merges `n` contiguous elements; `full` reduces whole blocks of `L`, at least one. `full` is one baseline
/// function for all levels.
///
/// # Safety
/// `n` elements are readable.
#[inline(always)]
pub(super) unsafe fn fold_blocks<F: Fold, const L: usize>(
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
    let rest = unsafe { fold_lanes::<F>(p.add(n / L * L), n % L) };
    total.map_or(rest, |total| F::merge(total, rest))
}

/// Prefetch distance in bytes: the hardware prefetcher stops at every page.
const PREFETCH_BYTES: usize = 2048;

/// Prefetches the cache lines of `n` elements that are `PREFETCH_BYTES` after `at`.
#[inline(always)]
pub(super) fn prefetch<T>(at: *const T, n: usize) {
    let ahead = at.cast::<u8>().wrapping_add(PREFETCH_BYTES);
    nontemporal::prefetch(ahead, n * size_of::<T>());
}

#[inline(always)]
pub(super) fn merge_halves<F: Fold>(lanes: &mut [F::Acc]) -> F::Acc {
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
pub(crate) struct PairwiseTree<A> {
    /// The partial result of each bit that is set in `count`.
    parts: [MaybeUninit<A>; usize::BITS as usize],
    count: usize,
}

impl<A: Copy> PairwiseTree<A> {
    #[inline(always)]
    pub(crate) fn new() -> PairwiseTree<A> {
        PairwiseTree { parts: [MaybeUninit::uninit(); usize::BITS as usize], count: 0 }
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

/// Merges `n` contiguous elements pairwise.
///
/// # Safety
/// The leaves are inside the `n` elements, which are readable.
pub(crate) unsafe fn fold_run<F: Fold>(p: *const F::In, n: usize) -> F::Acc {
    let leaf = |start: usize| {
        let mut merged = F::IDENTITY;
        // SAFETY: the caller's contract.
        unsafe {
            fold_leaves::<F>(p.add(start), LEAF_ELEMENTS.min(n - start), 0, &mut merged, 0, 1)
        };
        merged
    };
    if n <= LEAF_ELEMENTS {
        return leaf(0);
    }
    let mut tree = PairwiseTree::new();
    for start in (0..n).step_by(LEAF_ELEMENTS) {
        tree.push(leaf(start), F::merge);
    }
    tree.finish(F::merge).unwrap_or(F::IDENTITY)
}

multiversion! {
    /// Merges each of `rows` runs of `n` contiguous elements, at most `LEAF_ELEMENTS`, as `fold_rows` does.
    pub(super) unsafe fn fold_leaves<F: Fold>(
        p: *const F::In, n: usize, stride: isize, out: *mut F::Acc, step: isize, rows: usize,
    ) = fold_leaves_body, F::LEVELS
}

/// # Safety
/// As `fold_rows`.
#[inline(always)]
unsafe fn fold_leaves_body<F: Fold>(
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

/// Merges each of `rows` runs of `n` contiguous elements.
///
/// # Safety
/// `rows` rows of `n` contiguous elements, `stride` apart, are readable; `out` has space for `rows` results,
/// `step` apart.
pub(crate) unsafe fn fold_rows<F: Fold>(
    p: *const F::In,
    n: usize,
    stride: isize,
    out: *mut F::Acc,
    step: isize,
    rows: usize,
) {
    // SAFETY: the caller's contract.
    unsafe {
        if F::TRANSPOSABLE && (1..WIDE_LANES).contains(&n) && rows >= NARROW_LANES {
            return transposed_rows::fold_transposed::<F>(p, n, stride, out, step, rows);
        }
        if n <= LEAF_ELEMENTS {
            return fold_leaves::<F>(p, n, stride, out, step, rows);
        }
        for row in 0..rows as isize {
            *out.offset(row * step) = fold_run::<F>(p.offset(row * stride), n);
        }
    }
}

/// # Safety
/// `acc` holds `n` accumulators; `count` rows of `n` contiguous elements, `stride` apart, are readable.
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

multiversion! {
    /// Merges rows into a row of accumulators, one after the other.
    pub(super) unsafe fn add_rows<F: Fold>(
        acc: *mut F::Acc, p: *const F::In, n: usize, stride: isize, count: usize,
    ) = add_rows_body, F::LEVELS
}

/// `a = merge(a, b)`, element by element.
///
/// # Safety
/// `a` and `b` are `n` accumulators each and do not overlap.
pub(super) unsafe fn merge_rows<F: Fold>(a: *mut F::Acc, b: *const F::Acc, n: usize) {
    // SAFETY: the caller's contract, for one row.
    unsafe { add_rows::<F::Merging>(a, b, n, 0, 1) }
}
