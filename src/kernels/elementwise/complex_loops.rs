//! Contiguous complex loops, generic over the formula.
//!
//! Invariant: the value of an element does not depend on its neighbours, although a chunk takes `CAREFUL`
//! lanes as soon as one of its elements needs them.

use super::loop_call::{Loop, LoopFn};
use super::loops::{BASE_FMA, Formula, LaneOf, Predicate, lanes, operands, span};
use crate::dtype::{Complex64, Complex128};
use crate::kernels::math::{FullRangeTest, complex::is_extreme};
use crate::kernels::number::complex_scalar::{ComplexElement, ComplexLane};

/// Which arguments of a complex formula need `CAREFUL` lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CarefulWhen {
    /// None: the formula has only sums and products.
    Never,
    /// Arguments whose squares overflow or underflow: the formula has quotients, roots or logarithms.
    Range,
    /// Also large angles: the formula has exponentials or trigonometric functions.
    Angles,
}

/// How a formula is evaluated on complex numbers.
pub trait ComplexFormula {
    /// Which arguments need `CAREFUL` lanes.
    const CAREFUL_WHEN: CarefulWhen;
}
/// Formulas of sums and products.
pub struct NeverCareful;
/// Formulas with quotients, roots or logarithms.
pub struct CarefulRange;
/// Formulas with exponentials or trigonometric functions.
pub struct CarefulAngles;
impl ComplexFormula for NeverCareful {
    const CAREFUL_WHEN: CarefulWhen = CarefulWhen::Never;
}
impl ComplexFormula for CarefulRange {
    const CAREFUL_WHEN: CarefulWhen = CarefulWhen::Range;
}
impl ComplexFormula for CarefulAngles {
    const CAREFUL_WHEN: CarefulWhen = CarefulWhen::Angles;
}

/// Elements examined at once for arguments that need `CAREFUL` lanes.
const CHUNK: usize = 512;

impl<T: ComplexElement, const FMA: bool, const CAREFUL: bool, const COMPLEX64: bool> LaneOf<T>
    for ComplexLane<FMA, CAREFUL, COMPLEX64>
{
    #[inline(always)]
    fn load(element: T) -> Self {
        ComplexLane(element.widen())
    }
    #[inline(always)]
    fn store(self) -> T {
        T::narrow(self.0)
    }
}

/// Whether an operand has a value in `start..end` that needs a `CAREFUL` lane.
///
/// # Safety
/// The operands hold `end` elements.
#[inline(always)]
unsafe fn any_needs_careful<T: ComplexElement, const N: usize>(
    angles: bool,
    x: &[*const T; N],
    (start, end): (usize, usize),
) -> bool {
    let mut found = false;
    let mut k = 0;
    while k < N {
        for i in start..end {
            // SAFETY: the caller guarantees the elements.
            let z = unsafe { *x[k].add(i) }.widen();
            found |= is_extreme(z.re) | is_extreme(z.im);
            if angles {
                found |= z.re.is_large_angle() | z.im.is_large_angle();
            }
        }
        k += 1;
    }
    found
}

/// The loop over all elements. `COMPLEX64`: the elements are complex64. Without FMA all lanes are `CAREFUL`:
/// such machines are rare, and one copy of the formula halves the code.
///
/// # Safety
/// As `Loop`.
#[inline(always)]
unsafe fn map<K, S, T, const N: usize, const P: usize, const FMA: bool, const COMPLEX64: bool>(
    ins: *const *const u8,
    out: *mut u8,
    n: usize,
    params: *const f64,
) where
    K: Formula<N, P>,
    S: ComplexFormula,
    T: ComplexElement,
{
    // SAFETY: the caller keeps the contract of `Loop`, which these calls require.
    unsafe {
        let x: [*const T; N] = operands(ins);
        let out = out.cast::<T>();
        let params = if P == 0 { [0.0; P] } else { *params.cast::<[f64; P]>() };
        if S::CAREFUL_WHEN == CarefulWhen::Never {
            return span::<ComplexLane<FMA, false, COMPLEX64>, K, T, N, P>(x, out, (0, n), &params);
        }
        if !FMA {
            return span::<ComplexLane<false, true, COMPLEX64>, K, T, N, P>(
                x,
                out,
                (0, n),
                &params,
            );
        }
        let mut start = 0;
        while start < n {
            let range = (start, n.min(start + CHUNK));
            if any_needs_careful(S::CAREFUL_WHEN == CarefulWhen::Angles, &x, range) {
                span::<ComplexLane<FMA, true, COMPLEX64>, K, T, N, P>(x, out, range, &params);
            } else {
                span::<ComplexLane<FMA, false, COMPLEX64>, K, T, N, P>(x, out, range, &params);
            }
            start = range.1;
        }
    }
}

macro_rules! levels {
    ($name:ident, $fma:expr $(, $feature:literal)?) => {
        /// # Safety
        /// As `Loop`, on a CPU of this level.
        $( #[target_feature(enable = $feature)] )?
        unsafe fn $name<K, S, T, const N: usize, const P: usize, const COMPLEX64: bool>(
            ins: *const *const u8,
            out: *mut u8,
            n: usize,
            params: *const f64,
        ) where
            K: Formula<N, P>,
            S: ComplexFormula,
            T: ComplexElement,
        {
            // SAFETY: the same contract.
            unsafe { map::<K, S, T, N, P, { $fma }, COMPLEX64>(ins, out, n, params) }
        }
    };
}
// A copy named `base` is optimised for size, see `multiversion.rs`.
#[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
levels!(base, BASE_FMA);
#[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
levels!(avx2, true, "avx2,fma");
#[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
levels!(avx512, true, "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma");

#[cfg(any(not(target_arch = "x86_64"), debug_assertions))]
levels!(only, BASE_FMA);
#[cfg(any(not(target_arch = "x86_64"), debug_assertions))]
use {only as avx2, only as avx512, only as base};

/// Loops of complex128, one per level. AVX-512 uses the AVX2 copies: its own would add 0.2 MB of code.
pub const fn complex128_loops<
    K: Formula<N, P>,
    S: ComplexFormula,
    const N: usize,
    const P: usize,
>() -> Option<[Loop; 3]> {
    let avx2: LoopFn = avx2::<K, S, Complex128, N, P, false>;
    Some(Loop::levels([base::<K, S, Complex128, N, P, false>, avx2, avx2]))
}

/// Loops of complex64, one per level: formulas of sums and products, and the quotient.
pub const fn complex64_loops<
    K: Formula<N, P>,
    S: ComplexFormula,
    const N: usize,
    const P: usize,
>() -> Option<[Loop; 3]> {
    let avx2: LoopFn = avx2::<K, S, Complex64, N, P, true>;
    Some(Loop::levels([base::<K, S, Complex64, N, P, true>, avx2, avx2]))
}

/// The AVX-512 loop of complex128 for frequent formulas of sums and products: it takes 0.6 of the time of
/// AVX2. Those of complex64 are bound by conversions.
pub const fn complex128_avx512_loop<K: Formula<N, P>, const N: usize, const P: usize>() -> Loop {
    Loop::new(avx512::<K, NeverCareful, Complex128, N, P, false>)
}

/// # Safety
/// As `Loop`, for an output of bool.
unsafe fn mask<K: Predicate<N>, T: ComplexElement, const N: usize>(
    ins: *const *const u8,
    out: *mut u8,
    n: usize,
    _: *const f64,
) {
    // SAFETY: the caller keeps the contract of `Loop`.
    unsafe {
        let x: [*const T; N] = operands(ins);
        for i in 0..n {
            *out.add(i) = K::eval::<ComplexLane<false, true>>(lanes(&x, i)) as u8;
        }
    }
}

/// The loops of complex128 and complex64 of a formula that yields a mask.
pub const fn mask_loops<K: Predicate<N>, const N: usize>() -> [Option<[Loop; 3]>; 2] {
    [Some([Loop::new(mask::<K, Complex128, N>); 3]), Some([Loop::new(mask::<K, Complex64, N>); 3])]
}
