//! The contiguous loops, generic over the formula that they apply.
//!
//! Invariant: the loop body is one inlined formula, compiled once per dtype and level.

use super::loop_call::{Loop, LoopFn};
use super::loop_table::LoopTable;
use crate::kernels::math::FullRangeTest;
use crate::kernels::number::real::{Lit, Real};
use crate::kernels::number::scalar::Lane;

/// Which arguments of a formula need `FULL_RANGE` lanes: a slower evaluation that is accurate for every argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FullRange {
    /// None.
    Never,
    /// Large ones: the formula has sin, cos or tan.
    LargeAngles,
    /// Those with a large quotient: the formula is the remainder of its two operands.
    LargeQuotients,
    /// Those near the ends of the domain: the formula is the inverse error function.
    DomainEnds,
}

/// A formula of `N` operands and `P` parameters that yields a value of the operands' type.
pub trait Formula<const N: usize, const P: usize> {
    /// Which arguments need `FULL_RANGE` lanes.
    const FULL_RANGE: FullRange;
    /// The formula; implementations are `#[inline(always)]`.
    fn eval<R: Real>(x: [R; N], p: [R; P]) -> R
    where
        f64: Lit<R>;
}

/// A formula of `N` operands that yields a mask.
pub trait Predicate<const N: usize> {
    /// The formula; implementations are `#[inline(always)]`.
    fn eval<R: Real>(x: [R; N]) -> R::Mask
    where
        f64: Lit<R>;
}

/// Whether the baseline of this target has fused multiply-add.
pub(super) const BASE_FMA: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));

/// Elements examined at once for arguments that need `FULL_RANGE` lanes.
const FULL_RANGE_CHUNK: usize = 2048;
/// The same where about one argument in a thousand needs them.
const DOMAIN_END_CHUNK: usize = 64;

/// The operand pointers of a loop, typed.
///
/// # Safety
/// `ins` holds `N` pointers.
#[inline(always)]
pub(super) unsafe fn operands<T, const N: usize>(ins: *const *const u8) -> [*const T; N] {
    // SAFETY: the caller guarantees N pointers; thin pointers have one layout.
    unsafe { *ins.cast::<[*const T; N]>() }
}

/// A formula's scalar that is loaded from and stored to elements of type `T`.
pub(super) trait LaneOf<T>: Real {
    /// The scalar of an element.
    fn load(element: T) -> Self;
    /// The element of a scalar.
    fn store(self) -> T;
}

impl<T: Copy, const FMA: bool, const FULL_RANGE: bool> LaneOf<T> for Lane<T, FMA, FULL_RANGE>
where
    Lane<T, FMA, FULL_RANGE>: Real,
{
    #[inline(always)]
    fn load(element: T) -> Self {
        Lane(element)
    }
    #[inline(always)]
    fn store(self) -> T {
        self.0
    }
}

/// The scalars at index `i` of each operand.
///
/// # Safety
/// Index `i` is inside every operand.
#[inline(always)]
pub(super) unsafe fn lanes<L: LaneOf<T>, T: Copy, const N: usize>(
    x: &[*const T; N],
    i: usize,
) -> [L; N] {
    let mut lanes = [L::lit(0.0); N];
    let mut k = 0;
    while k < N {
        // SAFETY: the caller guarantees index i.
        lanes[k] = L::load(unsafe { *x[k].add(i) });
        k += 1;
    }
    lanes
}

/// Evaluates the formula on the elements `start..end`.
///
/// # Safety
/// As `Loop`, for the elements named.
#[inline(always)]
pub(super) unsafe fn span<L, K, T, const N: usize, const P: usize>(
    x: [*const T; N],
    out: *mut T,
    (start, end): (usize, usize),
    params: &[f64; P],
) where
    L: LaneOf<T>,
    K: Formula<N, P>,
    T: Copy,
    f64: Lit<L>,
{
    let mut p = [L::lit(0.0); P];
    let mut k = 0;
    while k < P {
        p[k] = L::lit(params[k]);
        k += 1;
    }
    for i in start..end {
        // SAFETY: i is below the count that the caller guarantees.
        unsafe { *out.add(i) = K::eval(lanes::<L, T, N>(&x, i), p).store() };
    }
}

/// Whether an operand has an argument in `start..end` that needs a `FULL_RANGE` lane.
///
/// # Safety
/// The operands hold `end` elements.
#[inline(always)]
unsafe fn any_needs_full_range<T: FullRangeTest, const N: usize>(
    which: FullRange,
    x: &[*const T; N],
    (start, end): (usize, usize),
) -> bool {
    let mut found = false;
    let mut k = 0;
    if which == FullRange::LargeQuotients {
        for i in start..end {
            // SAFETY: the caller guarantees the elements.
            found |= unsafe { (*x[0].add(i)).is_large_quotient(*x[N - 1].add(i)) };
        }
        return found;
    }
    while k < N {
        for i in start..end {
            // SAFETY: the caller guarantees the elements.
            let element = unsafe { *x[k].add(i) };
            found |= if which == FullRange::DomainEnds {
                element.is_near_domain_end()
            } else {
                element.is_large_angle()
            };
        }
        k += 1;
    }
    found
}

/// The loop over all elements.
///
/// # Safety
/// As `Loop`.
#[inline(always)]
unsafe fn map<K, T, const N: usize, const P: usize, const FMA: bool>(
    ins: *const *const u8,
    out: *mut u8,
    n: usize,
    params: *const f64,
) where
    K: Formula<N, P>,
    T: FullRangeTest,
    Lane<T, FMA, false>: Real,
    Lane<T, FMA, true>: Real,
    f64: Lit<Lane<T, FMA, false>> + Lit<Lane<T, FMA, true>>,
{
    // SAFETY: the caller keeps the contract of `Loop`, which these calls require.
    unsafe {
        let x: [*const T; N] = operands(ins);
        let out = out.cast::<T>();
        let params = if P == 0 { [0.0; P] } else { *params.cast::<[f64; P]>() };
        if K::FULL_RANGE == FullRange::Never {
            return span::<Lane<T, FMA, false>, K, T, N, P>(x, out, (0, n), &params);
        }
        let chunk = if K::FULL_RANGE == FullRange::DomainEnds {
            DOMAIN_END_CHUNK
        } else {
            FULL_RANGE_CHUNK
        };
        let mut start = 0;
        while start < n {
            let range = (start, n.min(start + chunk));
            if any_needs_full_range(K::FULL_RANGE, &x, range) {
                span::<Lane<T, FMA, true>, K, T, N, P>(x, out, range, &params);
            } else {
                span::<Lane<T, FMA, false>, K, T, N, P>(x, out, range, &params);
            }
            start = range.1;
        }
    }
}

/// The loop over all elements with a bool output.
///
/// # Safety
/// As `Loop`.
#[inline(always)]
unsafe fn map_mask<K, T, const N: usize, const FMA: bool>(
    ins: *const *const u8,
    out: *mut u8,
    n: usize,
) where
    K: Predicate<N>,
    T: Copy,
    Lane<T, FMA>: Real<Mask = bool>,
    f64: Lit<Lane<T, FMA>>,
{
    // SAFETY: the caller keeps the contract of `Loop`.
    unsafe {
        let x: [*const T; N] = operands(ins);
        for i in 0..n {
            *out.add(i) = K::eval::<Lane<T, FMA>>(lanes(&x, i)) as u8;
        }
    }
}

/// The integer loop of a formula, called from a function that `loop_table!` generates.
///
/// # Safety
/// As `Loop`, for `N` operands of `T` and an output of `O`.
#[inline(always)]
pub unsafe fn int_map<T: Copy, O, const N: usize>(
    ins: *const *const u8,
    out: *mut u8,
    n: usize,
    formula: impl Fn([T; N]) -> O,
) {
    // SAFETY: the caller keeps the contract of `Loop`.
    unsafe {
        let x: [*const T; N] = operands(ins);
        let out = out.cast::<O>();
        for i in 0..n {
            let v = x.map(|x| *x.add(i));
            out.add(i).write(formula(v));
        }
    }
}

/// The in-place loop: the first operand is the output. One pointer for both tells the compiler so; with two
/// equal pointers it would assume partial overlap and not vectorise.
///
/// # Safety
/// As `Loop`, for the second operand of the formula.
#[inline(always)]
unsafe fn map_in_place<L, K, T>(ins: *const *const u8, out: *mut u8, n: usize)
where
    L: LaneOf<T>,
    K: Formula<2, 0>,
    T: Copy,
    f64: Lit<L>,
{
    // SAFETY: the caller keeps the contract of `Loop`.
    unsafe {
        let [b] = operands::<T, 1>(ins);
        let out = out.cast::<T>();
        for i in 0..n {
            *out.add(i) = K::eval([L::load(*out.add(i)), L::load(*b.add(i))], []).store();
        }
    }
}

macro_rules! levels {
    ($map:ident, $mask:ident, $over:ident, $fma:expr $(, $feature:literal)?) => {
        /// # Safety
        /// As `Loop`, on a CPU of this level.
        $( #[target_feature(enable = $feature)] )?
        unsafe fn $map<K, T, const N: usize, const P: usize>(
            ins: *const *const u8,
            out: *mut u8,
            n: usize,
            params: *const f64,
        ) where
            K: Formula<N, P>,
            T: FullRangeTest,
            Lane<T, { $fma }, false>: Real,
            Lane<T, { $fma }, true>: Real,
            f64: Lit<Lane<T, { $fma }, false>> + Lit<Lane<T, { $fma }, true>>,
        {
            // SAFETY: the same contract.
            unsafe { map::<K, T, N, P, { $fma }>(ins, out, n, params) }
        }

        /// # Safety
        /// As `Loop`, on a CPU of this level.
        $( #[target_feature(enable = $feature)] )?
        #[allow(dead_code)]
        unsafe fn $mask<K, T, const N: usize>(
            ins: *const *const u8,
            out: *mut u8,
            n: usize,
            _: *const f64,
        ) where
            K: Predicate<N>,
            T: Copy,
            Lane<T, { $fma }>: Real<Mask = bool>,
            f64: Lit<Lane<T, { $fma }>>,
        {
            // SAFETY: the same contract.
            unsafe { map_mask::<K, T, N, { $fma }>(ins, out, n) }
        }

        /// # Safety
        /// As `map_in_place`, on a CPU of this level.
        $( #[target_feature(enable = $feature)] )?
        #[allow(dead_code)]
        unsafe fn $over<K, T>(ins: *const *const u8, out: *mut u8, n: usize, _: *const f64)
        where
            K: Formula<2, 0>,
            T: Copy,
            Lane<T, { $fma }>: Real + LaneOf<T>,
            f64: Lit<Lane<T, { $fma }>>,
        {
            // SAFETY: the same contract.
            unsafe { map_in_place::<Lane<T, { $fma }>, K, T>(ins, out, n) }
        }
    };
}

// `only` serves every level; a copy named `base` is optimised for size, see `multiversion.rs`.
levels!(only, only_mask, only_over, BASE_FMA);
#[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
levels!(base, base_mask, base_over, BASE_FMA);
#[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
levels!(avx2, avx2_mask, avx2_over, true, "avx2,fma");
#[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
levels!(avx512, avx512_mask, avx512_over, true, "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma");

#[cfg(any(not(target_arch = "x86_64"), debug_assertions))]
use {
    only as base, only as avx2, only as avx512, only_mask as base_mask, only_mask as avx2_mask,
    only_mask as avx512_mask, only_over as base_over, only_over as avx2_over,
    only_over as avx512_over,
};

const fn table(f64: [LoopFn; 3], f32: [LoopFn; 3]) -> LoopTable {
    LoopTable {
        float: true,
        mask: false,
        f64: Loop::levels(f64),
        f32: Loop::levels(f32),
        i64: None,
        i32: None,
        u8: None,
        u64: None,
        bool: None,
        c128: None,
        c64: None,
        in_place: None,
        row_loops: None,
        cost: 0.3,
        text: "",
    }
}

/// The table of a formula that vectorises.
pub const fn float_table<K: Formula<N, P>, const N: usize, const P: usize>() -> LoopTable {
    table(
        [base::<K, f64, N, P>, avx2::<K, f64, N, P>, avx512::<K, f64, N, P>],
        [base::<K, f32, N, P>, avx2::<K, f32, N, P>, avx512::<K, f32, N, P>],
    )
}

/// The table of a formula that calls scalar functions: one loop serves every level.
pub const fn call_table<K: Formula<N, P>, const N: usize, const P: usize>() -> LoopTable {
    table([only::<K, f64, N, P>; 3], [only::<K, f32, N, P>; 3])
}

/// The table of a formula that yields a mask.
pub const fn mask_table<K: Predicate<N>, const N: usize>() -> LoopTable {
    let loops = table(
        [base_mask::<K, f64, N>, avx2_mask::<K, f64, N>, avx512_mask::<K, f64, N>],
        [base_mask::<K, f32, N>, avx2_mask::<K, f32, N>, avx512_mask::<K, f32, N>],
    );
    LoopTable { mask: true, ..loops }
}

/// The in-place loops of a formula of two operands: float64 and float32, by level.
pub const fn in_place_loops<K: Formula<2, 0>>() -> [[Loop; 3]; 2] {
    [
        Loop::levels([base_over::<K, f64>, avx2_over::<K, f64>, avx512_over::<K, f64>]),
        Loop::levels([base_over::<K, f32>, avx2_over::<K, f32>, avx512_over::<K, f32>]),
    ]
}

unsafe fn unreachable_loop(_: *const *const u8, _: *mut u8, _: usize, _: *const f64) {}

/// The table of an operation on integers and bool; its rows are filled in later.
pub const fn no_float_table() -> LoopTable {
    LoopTable { float: false, ..table([unreachable_loop; 3], [unreachable_loop; 3]) }
}
