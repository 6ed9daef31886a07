//! Row loops of cheap binary formulas: one operand is a scalar per row, or both operands are every second element
//! of a row.
//!
//! The scalar stays in a register; a strided plan would repeat it in a tile. Invariant: the formula is
//! that of the contiguous loop, so results are bit-identical.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m512;

use smallvec::SmallVec;

use super::dispatch::{Operand, OutOperand, parallel_blocks};
use super::loops::{BASE_FMA, Formula, LaneOf};
use crate::array::sort_axes;
use crate::kernels::number::real::{Lit, Real};
use crate::kernels::number::scalar::Lane;

/// The rows of one call: their count, length, steps (operands and output, in elements) and kind.
#[derive(Clone, Copy, Debug)]
pub struct RowSpan {
    count: usize,
    len: usize,
    steps: [isize; 3],
    kind: RowKind,
}

/// How the operands of a row are laid out.
#[derive(Clone, Copy, Debug)]
enum RowKind {
    ScalarFirst,
    ScalarSecond,
    EverySecond,
}

/// A loop over rows: operands, output, rows.
///
/// # Safety
/// The operands and the output hold the rows, aligned; the output overlaps no operand; the CPU has the loop's
/// level.
pub type RowLoopFn = unsafe fn(ins: [*const u8; 2], out: *mut u8, rows: RowSpan);

/// # Safety
/// As `RowLoopFn`, for elements of `T`, of which `W` are a vector of the widest level.
#[inline(always)]
unsafe fn map<L, K, T, const W: usize>(ins: [*const u8; 2], out: *mut u8, rows: RowSpan)
where
    L: LaneOf<T> + Real<Mask = bool>,
    K: Formula<2, 0>,
    T: Copy,
    f64: Lit<L>,
{
    let formula = |a: T, b: T| K::eval([L::load(a), L::load(b)], []).store();
    let RowSpan { count, len, steps, kind } = rows;
    for row in 0..count as isize {
        let a = ins[0].cast::<T>().wrapping_offset(row * steps[0]);
        let b = ins[1].cast::<T>().wrapping_offset(row * steps[1]);
        let out = out.cast::<T>().wrapping_offset(row * steps[2]);
        // SAFETY: the row is inside the operands and the output.
        unsafe {
            match kind {
                // Of two NaN the result is the first, sign included, as when both are in memory; the compiler
                // may swap operands when one is in a register.
                RowKind::ScalarFirst => {
                    let a = *a;
                    if L::load(a).is_nan() {
                        (0..len).for_each(|i| *out.add(i) = a);
                    } else {
                        map_blocks::<T, W>(len, out, b, |b| formula(a, b));
                    }
                }
                RowKind::ScalarSecond => {
                    let b = *b;
                    if L::load(b).is_nan() {
                        let first = |a: T| if L::load(a).is_nan() { a } else { b };
                        (0..len).for_each(|i| *out.add(i) = first(*a.add(i)));
                    } else {
                        map_blocks::<T, W>(len, out, a, |a| formula(a, b));
                    }
                }
                RowKind::EverySecond => {
                    for i in 0..len {
                        *out.add(i) = formula(*a.add(2 * i), *b.add(2 * i));
                    }
                }
            }
        }
    }
}

/// `out = formula(x)` in blocks; the last block overlaps the one before instead of leaving a scalar tail.
///
/// # Safety
/// `x` and `out` hold `len` elements and do not overlap.
#[inline(always)]
unsafe fn map_blocks<T: Copy, const W: usize>(
    len: usize,
    out: *mut T,
    x: *const T,
    formula: impl Fn(T) -> T,
) {
    // SAFETY: the caller's contract.
    unsafe {
        if len < W {
            for i in 0..len {
                *out.add(i) = formula(*x.add(i));
            }
            return;
        }
        let (mut start, mut n) = (0, len & !(W - 1));
        loop {
            let (x, out) = (x.add(start), out.add(start));
            for i in 0..n {
                *out.add(i) = formula(*x.add(i));
            }
            if start + n == len {
                return;
            }
            (start, n) = (len - W, W);
        }
    }
}

macro_rules! levels {
    ($name:ident, $fma:expr $(, $feature:literal)?) => {
        /// # Safety
        /// As `RowLoopFn`, on a CPU of this level.
        $( #[target_feature(enable = $feature)] )?
        unsafe fn $name<K, T, const W: usize>(ins: [*const u8; 2], out: *mut u8, rows: RowSpan)
        where
            K: Formula<2, 0>,
            T: Copy,
            Lane<T, { $fma }>: Real<Mask = bool> + LaneOf<T>,
            f64: Lit<Lane<T, { $fma }>>,
        {
            // SAFETY: the same contract.
            unsafe { map::<Lane<T, { $fma }>, K, T, W>(ins, out, rows) }
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
use {only as base, only as avx2, only as avx512};

/// The AVX-512 instruction of an operation with row loops.
pub trait RowOp {
    /// Computes the operation on vectors of float32.
    ///
    /// # Safety
    /// The CPU has AVX-512.
    #[cfg(target_arch = "x86_64")]
    unsafe fn apply(a: __m512, b: __m512) -> __m512;
}

macro_rules! row_ops {
    ($($name:ident = $instruction:ident;)*) => {$(
        /// The operation of this name.
        pub struct $name;
        impl RowOp for $name {
            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            unsafe fn apply(a: __m512, b: __m512) -> __m512 {
                // SAFETY: the caller's contract.
                unsafe { std::arch::x86_64::$instruction(a, b) }
            }
        }
    )*};
}

row_ops! {
    Add = _mm512_add_ps;
    Subtract = _mm512_sub_ps;
    Multiply = _mm512_mul_ps;
    Divide = _mm512_div_ps;
}

/// The AVX-512 loop of float32. Most rows are a few vectors, which the compiler would unroll as if they were long.
///
/// # Safety
/// As `RowLoopFn`, on a CPU of this level.
#[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
unsafe fn avx512_f32<K: Formula<2, 0>, O: RowOp>(ins: [*const u8; 2], out: *mut u8, rows: RowSpan) {
    // SAFETY: the same contract.
    unsafe {
        match rows.kind {
            RowKind::ScalarFirst => masked_rows::<O, 0>(ins, out, rows),
            RowKind::ScalarSecond => masked_rows::<O, 1>(ins, out, rows),
            RowKind::EverySecond => map::<Lane<f32, true>, K, f32, 16>(ins, out, rows),
        }
    }
}

/// Rows of float32 whose operand `SCALAR` is one number, in vectors with a masked end.
///
/// # Safety
/// As `avx512_f32`.
#[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
unsafe fn masked_rows<O: RowOp, const SCALAR: usize>(
    ins: [*const u8; 2],
    out: *mut u8,
    RowSpan { count, len, steps, .. }: RowSpan,
) {
    use std::arch::x86_64::*;
    let (mut value, mut x) = (ins[SCALAR].cast::<f32>(), ins[1 - SCALAR].cast::<f32>());
    let mut out = out.cast::<f32>();
    for _ in 0..count {
        // SAFETY: the row is inside the operands and the output, and masked lanes are not touched.
        unsafe {
            let all = _mm512_set1_ps(*value);
            for start in (0..len).step_by(16) {
                let mask = 0xffff_u16 >> (16 - (len - start).min(16));
                let some = _mm512_maskz_loadu_ps(mask, x.add(start));
                // Of two NaN the result is the first, as in `map`.
                let result = match (SCALAR, (*value).is_nan()) {
                    (0, true) => all,
                    (0, false) => O::apply(all, some),
                    (_, true) => {
                        let numbers = _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(some, some);
                        _mm512_mask_blend_ps(numbers, some, all)
                    }
                    (_, false) => O::apply(some, all),
                };
                _mm512_mask_storeu_ps(out.add(start), mask, result);
            }
        }
        value = value.wrapping_offset(steps[SCALAR]);
        x = x.wrapping_offset(steps[1 - SCALAR]);
        out = out.wrapping_offset(steps[2]);
    }
}

/// The row loops of a formula: float64 and float32, by level.
pub const fn row_loops<K: Formula<2, 0>, O: RowOp>() -> [[RowLoopFn; 3]; 2] {
    #[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
    let widest: RowLoopFn = avx512_f32::<K, O>;
    #[cfg(any(not(target_arch = "x86_64"), debug_assertions))]
    let widest: RowLoopFn = avx512::<K, f32, 16>;
    [
        [base::<K, f64, 8>, avx2::<K, f64, 8>, avx512::<K, f64, 8>],
        [base::<K, f32, 16>, avx2::<K, f32, 16>, widest],
    ]
}

/// The operands of an iteration over rows.
struct RowWalk {
    f: RowLoopFn,
    ins: [*const u8; 2],
    out: *mut u8,
    size: isize,
    dims: SmallVec<[usize; 4]>,
    strides: SmallVec<[[isize; 3]; 4]>,
    kind: RowKind,
}
// SAFETY: the pointers are read and written by disjoint ranges, under the contract of `run_rows`.
unsafe impl Sync for RowWalk {}

/// Runs a row loop if the layout of the operands allows it; returns whether it ran.
///
/// # Safety
/// As `run`, for a loop that has row loops.
pub(super) unsafe fn run_rows(
    f: RowLoopFn,
    [a, b]: [Operand<'_>; 2],
    out: OutOperand<'_>,
    dims: &[usize],
    cost: f32,
) -> bool {
    let Some(walk) = RowWalk::new(f, [a, b], out, dims) else { return false };
    // SAFETY: the caller's contract; blocks are disjoint ranges below the number of elements.
    parallel_blocks(dims.iter().product(), cost, &|start, end| unsafe { walk.span(start, end) });
    true
}

impl RowWalk {
    fn new(
        f: RowLoopFn,
        [a, b]: [Operand<'_>; 2],
        out: OutOperand<'_>,
        dims: &[usize],
    ) -> Option<RowWalk> {
        let uneven = |x: &Operand<'_>| x.strides.last().is_none_or(|&s| s != 1);
        let target = out.ptr.cast_const();
        if !(uneven(&a) || uneven(&b)) || a.ptr == target || b.ptr == target {
            return None;
        }
        let mut order: SmallVec<[usize; 4]> = (0..dims.len()).filter(|&i| dims[i] != 1).collect();
        sort_axes(&mut order, |i, j| out.strides[i].unsigned_abs() > out.strides[j].unsigned_abs());
        let mut walk = RowWalk {
            f,
            ins: [a.ptr, b.ptr],
            out: out.ptr,
            size: out.itemsize as isize,
            dims: SmallVec::new(),
            strides: SmallVec::new(),
            kind: RowKind::EverySecond,
        };
        for axis in order {
            let (dim, by) = (dims[axis], [a.strides[axis], b.strides[axis], out.strides[axis]]);
            match (walk.dims.last_mut(), walk.strides.last_mut()) {
                (Some(size), Some(last)) if *last == by.map(|step| step * dim as isize) => {
                    *size *= dim;
                    *last = by;
                }
                _ => {
                    walk.dims.push(dim);
                    walk.strides.push(by);
                }
            }
        }
        walk.kind = match walk.strides.last()? {
            [0, 1, 1] => RowKind::ScalarFirst,
            [1, 0, 1] => RowKind::ScalarSecond,
            [2, 2, 1] => RowKind::EverySecond,
            _ => return None,
        };
        let long = *walk.dims.last()? * out.itemsize >= 64;
        (long && walk.dims.len() > usize::from(!matches!(walk.kind, RowKind::EverySecond)))
            .then_some(walk)
    }

    /// # Safety
    /// The range is inside the shape.
    unsafe fn span(&self, start: usize, end: usize) {
        let last = self.dims.len() - 1;
        let (len, inner) = (self.dims[last], self.strides[last]);
        let (high, steps) = match last.checked_sub(1) {
            Some(axis) => (self.dims[axis], self.strides[axis]),
            None => (1, [0; 3]),
        };
        let mut pos = start;
        while pos < end {
            let (row, column) = (pos / len, pos % len);
            let mut offsets = inner.map(|step| step * column as isize);
            let mut rest = row;
            for (&dim, by) in self.dims[..last].iter().zip(&self.strides).rev() {
                let at = (rest % dim) as isize;
                rest /= dim;
                offsets.iter_mut().zip(by).for_each(|(offset, step)| *offset += at * step);
            }
            let left = end - pos;
            let whole = column == 0 && left >= len;
            let count = if whole { (left / len).min(high - row % high) } else { 1 };
            let len = if whole { len } else { left.min(len - column) };
            let [a, b, out] = offsets.map(|offset| offset * self.size);
            let rows = RowSpan { count, len, steps, kind: self.kind };
            let ins = [self.ins[0].wrapping_offset(a), self.ins[1].wrapping_offset(b)];
            // SAFETY: the rows are inside the shape, over which everything is valid.
            unsafe { (self.f)(ins, self.out.wrapping_offset(out), rows) };
            pos += count * len;
        }
    }
}
