//! Conversion between dtypes.
//!
//! Owns: `cast`. Never copies within a dtype without need (see `copy`), never promotes by itself.
//! Invariant: conversions are Rust's `as` (integers wrap, floats saturate), and anything that is not
//! zero becomes `true`.

use super::copy::copy;
use super::launch::{c_strides, launch};
use super::leveled::{Levels, leveled};
use super::view::{Axes, View, ViewMut, with_elements};
use crate::dtype::{DType, Truth};
use crate::threads::parallel_for;

/// Elements per block of a split cast, and the size from which on it is split.
const BLOCK: usize = 1 << 18;

/// A conversion of one element.
trait Convert<A>: Copy + Send + Sync {
    /// The levels that the loop is compiled for.
    const LEVELS: Levels;
    fn convert(a: A) -> Self;
}

macro_rules! conversions {
    ($a:ty => $($levels:ident $b:ty),*; $truth:ident) => {
        $(impl Convert<$a> for $b {
            const LEVELS: Levels = Levels::$levels;
            #[inline(always)]
            fn convert(a: $a) -> $b { a as $b }
        })*
        impl Convert<$a> for Truth {
            const LEVELS: Levels = Levels::$truth;
            #[inline(always)]
            fn convert(a: $a) -> Truth { Truth((a != (0 as $a)) as u8) }
        }
        impl Convert<Truth> for $a {
            const LEVELS: Levels = Levels::$truth;
            #[inline(always)]
            fn convert(a: Truth) -> $a { a.holds() as u8 as $a }
        }
    };
}
// Those of a dtype to itself are never run.
conversions!(f64 => Baseline f64, All f32, All i64, UpToAvx2 i32, UpToAvx2 u8; All);
conversions!(f32 => All f64, Baseline f32, All i64, UpToAvx2 i32, UpToAvx2 u8; All);
conversions!(i64 => All f64, All f32, Baseline i64, UpToAvx2 i32, UpToAvx2 u8; All);
conversions!(i32 => UpToAvx2 f64, UpToAvx2 f32, UpToAvx2 i64, Baseline i32, UpToAvx2 u8; UpToAvx2);
conversions!(u8 => UpToAvx2 f64, UpToAvx2 f32, UpToAvx2 i64, UpToAvx2 i32, Baseline u8; UpToAvx2);
impl Convert<Truth> for Truth {
    const LEVELS: Levels = Levels::Baseline;
    #[inline(always)]
    fn convert(a: Truth) -> Truth {
        Truth(a.holds() as u8)
    }
}

/// Writes the elements of `src` into `dst`, as the dtype of `dst`; the dims are equal and the memory does not overlap.
pub fn cast(src: View, dst: ViewMut) {
    assert_eq!(src.dims, dst.dims, "cast needs equal dims");
    if src.dtype == dst.dtype {
        return copy(src, dst);
    }
    launch!(
        "cast", [src] => [dst];;
        run(with_elements!([src], A => with_elements!([dst], B => line_of::<A, B>())), src, dst)
    );
}

/// Runs `body` on a contiguous copy of `input` in the dtype `to`, and writes its result, of the dtype `result`, to `out`:
/// so rare dtypes share the loops of common ones.
pub(super) fn through(
    to: DType,
    input: View,
    result: DType,
    out: ViewMut,
    body: impl FnOnce(View, ViewMut),
) {
    with_copy(to, input, |copied| {
        if result == out.dtype {
            return body(copied, out);
        }
        let mut wide = vec![0u64; out.numel()];
        let (strides, ptr) = (c_strides(out.dims), wide.as_mut_ptr().cast());
        // SAFETY: eight bytes for every element, which nobody else sees.
        let mut found = unsafe { ViewMut::from_raw(result, ptr, out.dims, &strides) };
        body(copied, found.reborrow());
        cast(found.as_view(), out);
    });
}

/// Lends a contiguous copy of the elements in another dtype.
pub(super) fn with_copy(to: DType, input: View, body: impl FnOnce(View)) {
    let mut copy = vec![0u64; input.numel()];
    let (strides, ptr) = (c_strides(input.dims), copy.as_mut_ptr().cast());
    // SAFETY: the copy has eight bytes for every element, and nobody else sees it.
    let mut target = unsafe { ViewMut::from_raw(to, ptr, input.dims, &strides) };
    cast(input, target.reborrow());
    body(target.as_view());
}

/// Converts `n` elements: where they lie, how far apart; where they go, how far apart.
type Line = unsafe fn(*const u8, isize, *mut u8, isize, usize);

fn line_of<A: Copy, B: Convert<A>>() -> Line {
    |a, from, b, to, n| {
        let (a, b) = (a.cast::<A>(), b.cast::<B>());
        // SAFETY: the contract of `Line`, for elements of these types.
        unsafe {
            if from == 1 && to == 1 {
                return line::<A, B>(a, b, n);
            }
            for i in 0..n as isize {
                *b.offset(i * to) = B::convert(*a.offset(i * from));
            }
        }
    }
}

fn run(line: Line, src: View, dst: ViewMut) {
    let numel = dst.numel();
    if numel == 0 {
        return;
    }
    let mut axes = Axes::new(dst.dims, [dst.strides, src.strides]).collapse(true);
    let inner = axes.dims.pop().unwrap_or(1);
    let [to, from] = axes.strides.pop().unwrap_or([1, 1]);
    let rows: usize = axes.dims.iter().product();
    let part = |start: usize, end: usize, skip: usize, n: usize| {
        axes.for_range(start, end, &mut |at| {
            let a = src.byte_at(at[1] + skip as isize * from);
            let b = dst.byte_at(at[0] + skip as isize * to);
            // SAFETY: the views are valid for every position of their axes and do not overlap.
            unsafe { line(a, from, b, to, n) };
        });
    };
    if numel < 2 * BLOCK {
        part(0, rows, 0, inner);
    } else if rows == 1 {
        let blocks = inner.div_ceil(BLOCK);
        parallel_for(blocks, &|i| part(0, 1, i * BLOCK, BLOCK.min(inner - i * BLOCK)));
    } else {
        let blocks = (numel / BLOCK).min(rows);
        parallel_for(blocks, &|i| part(i * rows / blocks, (i + 1) * rows / blocks, 0, inner));
    }
}

leveled! {
    /// Converts `n` neighbours.
    unsafe fn line<A: Copy, B: Convert<A>>(a: *const A, b: *mut B, n: usize) = line_body,
        <B as Convert<A>>::LEVELS
}

/// # Safety
/// `n` elements are valid on both sides.
#[inline(always)]
unsafe fn line_body<A: Copy, B: Convert<A>>(a: *const A, b: *mut B, n: usize) {
    for i in 0..n {
        // SAFETY: the caller's contract.
        unsafe { *b.add(i) = B::convert(*a.add(i)) };
    }
}
