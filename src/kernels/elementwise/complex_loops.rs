//! The contiguous loops of a text over complex numbers.
//!
//! Owns: `Scan` (what a loop asks of its arguments before it takes fast lanes), and the functions that turn a text into
//! its complex loops. Never holds a formula. Invariant: a value does not depend on its neighbours, although they choose
//! the lane.

use super::loop_table::Loop;
use super::loops::{BASE_FMA, Kernel, LaneOf, Predicate, lanes, operands, span};
use crate::dtype::{Complex64, Complex128};
use crate::kernels::math::{Argument, complex::is_far};
use crate::kernels::number::complex_scalar::{ComplexElement, ComplexLane};

/// Which arguments of a complex text need `CAREFUL` lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scan {
    /// None do: the text has sums and products only.
    Never,
    /// Those beyond the range of squares: the text divides, or takes roots and logarithms.
    Range,
    /// Also those beyond the range of fast angles: the text takes exponentials or trigonometric functions.
    Angles,
}

/// How a text reads complex numbers.
pub trait ComplexScan {
    /// Which arguments need another lane.
    const SCAN: Scan;
}
/// Texts of sums and products.
pub struct Ring;
/// Texts with quotients, roots, logarithms.
pub struct Field;
/// Texts with exponentials or trigonometric functions.
pub struct Angled;
impl ComplexScan for Ring {
    const SCAN: Scan = Scan::Never;
}
impl ComplexScan for Field {
    const SCAN: Scan = Scan::Range;
}
impl ComplexScan for Angled {
    const SCAN: Scan = Scan::Angles;
}

/// How many elements are examined at once.
const CHUNK: usize = 512;

impl<T: ComplexElement, const FMA: bool, const CAREFUL: bool, const NARROW: bool> LaneOf<T>
    for ComplexLane<FMA, CAREFUL, NARROW>
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

/// Whether the operands hold values, in `start..end`, that need `CAREFUL` lanes.
///
/// # Safety
/// The operands hold `end` elements.
#[inline(always)]
unsafe fn any_far<T: ComplexElement, const N: usize>(
    angles: bool,
    x: &[*const T; N],
    (start, end): (usize, usize),
) -> bool {
    let mut far = false;
    let mut k = 0;
    while k < N {
        for i in start..end {
            // SAFETY: the caller vouches for the elements.
            let z = unsafe { *x[k].add(i) }.widen();
            far |= is_far(z.re) | is_far(z.im);
            if angles {
                far |= z.re.is_wide_angle() | z.im.is_wide_angle();
            }
        }
        k += 1;
    }
    far
}

/// A whole loop. `NARROW`: over complex64. Where nothing is fused all lanes are `CAREFUL`: such machines
/// are rare, and one text is half as large.
///
/// # Safety
/// As `Loop`.
#[inline(always)]
unsafe fn map<K, S, T, const N: usize, const P: usize, const FMA: bool, const NARROW: bool>(
    ins: *const *const u8,
    out: *mut u8,
    n: usize,
    params: *const f64,
) where
    K: Kernel<N, P>,
    S: ComplexScan,
    T: ComplexElement,
{
    // SAFETY: the caller keeps the contract of `Loop`, which is what these calls ask for.
    unsafe {
        let x: [*const T; N] = operands(ins);
        let out = out.cast::<T>();
        let params = if P == 0 { [0.0; P] } else { *params.cast::<[f64; P]>() };
        if S::SCAN == Scan::Never {
            return span::<ComplexLane<FMA, false, NARROW>, K, T, N, P>(x, out, (0, n), &params);
        }
        if !FMA {
            return span::<ComplexLane<false, true, NARROW>, K, T, N, P>(x, out, (0, n), &params);
        }
        let mut start = 0;
        while start < n {
            let range = (start, n.min(start + CHUNK));
            if any_far(S::SCAN == Scan::Angles, &x, range) {
                span::<ComplexLane<FMA, true, NARROW>, K, T, N, P>(x, out, range, &params);
            } else {
                span::<ComplexLane<FMA, false, NARROW>, K, T, N, P>(x, out, range, &params);
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
        unsafe fn $name<K, S, T, const N: usize, const P: usize, const NARROW: bool>(
            ins: *const *const u8,
            out: *mut u8,
            n: usize,
            params: *const f64,
        ) where
            K: Kernel<N, P>,
            S: ComplexScan,
            T: ComplexElement,
        {
            // SAFETY: the same contract.
            unsafe { map::<K, S, T, N, P, { $fma }, NARROW>(ins, out, n, params) }
        }
    };
}
// A copy that is named `base` is made small, as `leveled.rs` says.
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

/// The loops of complex128 by level. AVX-512 runs the copies for AVX2: its own were 0.2 MB of machine code.
pub const fn wide<K: Kernel<N, P>, S: ComplexScan, const N: usize, const P: usize>()
-> Option<[Loop; 3]> {
    let widest: Loop = avx2::<K, S, Complex128, N, P, false>;
    Some([base::<K, S, Complex128, N, P, false>, widest, widest])
}

/// The loops of complex64 by level: texts of sums and products have them, and the quotient.
pub const fn narrow<K: Kernel<N, P>, S: ComplexScan, const N: usize, const P: usize>()
-> Option<[Loop; 3]> {
    let widest: Loop = avx2::<K, S, Complex64, N, P, true>;
    Some([base::<K, S, Complex64, N, P, true>, widest, widest])
}

/// The loop of AVX-512 of a text of sums and products over complex128 in which programs spend their time: it takes three
/// fifths of the time of AVX2. Those of complex64 wait for conversions.
pub const fn widest<K: Kernel<N, P>, const N: usize, const P: usize>() -> Loop {
    avx512::<K, Ring, Complex128, N, P, false>
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

/// The loops of complex128 and complex64 of a text that yields a mask.
pub const fn masks<K: Predicate<N>, const N: usize>() -> [Option<[Loop; 3]>; 2] {
    [Some([mask::<K, Complex128, N>; 3]), Some([mask::<K, Complex64, N>; 3])]
}
