//! Conversion between dtypes.
//!
//! Owns: `cast`. Never copies within a dtype without need (see `copy`), never promotes by itself.
//! Invariant: conversions are Rust's `as` (integers wrap, floats saturate), and anything that is not
//! zero becomes `true`.

use super::copy::copy;
use super::launch::launch;
use super::leveled::leveled;
use super::view::{Axes, View, ViewMut, with_elements};
use crate::dtype::Truth;
use crate::threads::parallel_for;

/// Elements per block of a split cast, and the size from which on it is split.
const BLOCK: usize = 1 << 18;

/// A conversion of one element.
trait Convert<A>: Copy + Send + Sync {
    fn convert(a: A) -> Self;
}

macro_rules! conversions {
    ($a:ty => $($b:ty),*) => {
        $(impl Convert<$a> for $b {
            #[inline(always)]
            fn convert(a: $a) -> $b { a as $b }
        })*
        impl Convert<$a> for Truth {
            #[inline(always)]
            fn convert(a: $a) -> Truth { Truth((a != (0 as $a)) as u8) }
        }
        impl Convert<Truth> for $a {
            #[inline(always)]
            fn convert(a: Truth) -> $a { a.holds() as u8 as $a }
        }
    };
}
conversions!(f64 => f64, f32, i64, i32, u8);
conversions!(f32 => f64, f32, i64, i32, u8);
conversions!(i64 => f64, f32, i64, i32, u8);
conversions!(i32 => f64, f32, i64, i32, u8);
conversions!(u8 => f64, f32, i64, i32, u8);
impl Convert<Truth> for Truth {
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
        with_elements!([src], A => with_elements!([dst], B => run::<A, B>(src, dst)))
    );
}

fn run<A: Copy, B: Convert<A>>(src: View, dst: ViewMut) {
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
            let a = src.at::<A>(at[1] + skip as isize * from);
            let b = dst.at::<B>(at[0] + skip as isize * to);
            // SAFETY: the views are valid for every position of their axes and do not overlap.
            unsafe { line::<A, B>(a, from, b, to, n) };
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
    /// Converts `n` elements.
    unsafe fn line<A: Copy, B: Convert<A>>(
        a: *const A, from: isize, b: *mut B, to: isize, n: usize,
    ) = line_body
}

/// # Safety
/// `n` elements are valid on both sides.
#[inline(always)]
unsafe fn line_body<A: Copy, B: Convert<A>>(
    a: *const A,
    from: isize,
    b: *mut B,
    to: isize,
    n: usize,
) {
    // SAFETY: the caller's contract.
    unsafe {
        if from == 1 && to == 1 {
            for i in 0..n {
                *b.add(i) = B::convert(*a.add(i));
            }
        } else {
            for i in 0..n as isize {
                *b.offset(i * to) = B::convert(*a.offset(i * from));
            }
        }
    }
}
