//! Conversion between dtypes.
//!
//! Owns: `cast`. Never copies within a dtype without need (see `copy`), never promotes by itself.
//! Invariant: conversions are NumPy's: integers wrap, floats lose their fraction (`truncate.rs`), a complex number gives its
//! real part, and anything that is not zero becomes `true`.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::{SmallVec, smallvec};

use super::copy::copy;
use super::float_to_int::Truncate;
use super::float_to_int_simd;
use crate::array::Storage;
use crate::dtype::{Complex64, Complex128, DType, Half, Truth, no_loop, with_dtype};
use crate::error::Result;
use crate::kernels::elementwise::Loop;
use crate::kernels::launch::{Work, c_strides, known_to_programs, launch};
use crate::kernels::multiversion::{Levels, leveled};
use crate::kernels::view::{Axes, View, ViewMut};
use crate::threads::parallel_for;

/// Elements per block of a split cast, and the size from which on it is split.
const BLOCK: usize = 1 << 18;

/// Nanoseconds per element of a conversion.
const COST: f32 = 0.25;

/// A conversion of one element.
pub(super) trait Convert<A>: Copy + Send + Sync {
    /// The levels that the loop is compiled for.
    const LEVELS: Levels;
    fn convert(a: A) -> Self;
    /// Converts as many neighbours as instructions of their own are there for, and says how many of the `n`.
    ///
    /// # Safety
    /// `n` elements are valid on both sides.
    #[inline(always)]
    unsafe fn first(_a: *const A, _b: *mut Self, _n: usize) -> usize {
        0
    }
}

macro_rules! conversions {
    ($a:ty => $($levels:ident $b:ty $(: $by:ident $($first:ident)?)?),*; $truth:ident) => {
        $(impl Convert<$a> for $b {
            const LEVELS: Levels = Levels::$levels;
            #[inline(always)]
            fn convert(a: $a) -> $b { a $(.$by())? as $b }
            $($(
                #[inline(always)]
                unsafe fn first(a: *const $a, b: *mut $b, n: usize) -> usize {
                    // SAFETY: the caller's contract.
                    unsafe { float_to_int_simd::$first(a, b, n) }
                }
            )?)?
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
conversions!(f64 => Baseline f64, All f32, Baseline i64: in_64 f64_to_i64, Baseline i32: in_32 f64_to_i32, UpToAvx2 u8: in_32, Baseline u64: in_u64; All);
conversions!(f32 => All f64, Baseline f32, Baseline i64: in_64 f32_to_i64, Baseline i32: in_32 f32_to_i32, UpToAvx2 u8: in_32, Baseline u64: in_u64; All);
conversions!(i64 => All f64, All f32, Baseline i64, UpToAvx2 i32, UpToAvx2 u8, Baseline u64; All);
conversions!(i32 => UpToAvx2 f64, UpToAvx2 f32, UpToAvx2 i64, Baseline i32, UpToAvx2 u8, Baseline u64; UpToAvx2);
conversions!(u8 => UpToAvx2 f64, UpToAvx2 f32, UpToAvx2 i64, UpToAvx2 i32, Baseline u8, Baseline u64; UpToAvx2);
conversions!(u64 => Baseline f64, Baseline f32, Baseline i64, Baseline i32, Baseline u8, Baseline u64; Baseline);

/// Conversions that have one portable loop.
macro_rules! portable {
    ($(|$x:ident: $a:ty| -> $b:ty { $value:expr })*) => {$(
        impl Convert<$a> for $b {
            const LEVELS: Levels = Levels::Baseline;
            #[inline(always)]
            fn convert($x: $a) -> $b { $value }
        }
    )*};
}
macro_rules! complex {
    ($c:ty, $part:ty: $($t:ty),*) => {
        portable! {
            $(
                |z: $c| -> $t { <$t as Convert<$part>>::convert(z.re) }
                |x: $t| -> $c { <$c>::new(x as $part, 0.0) }
            )*
            |z: $c| -> Truth { Truth((z.re != 0.0 || z.im != 0.0) as u8) }
            |x: Truth| -> $c { <$c>::new(x.holds() as u8 as $part, 0.0) }
            |z: $c| -> $c { z }
        }
    };
}
complex!(Complex128, f64: f64, f32, i64, i32, u8, u64);
complex!(Complex64, f32: f64, f32, i64, i32, u8, u64);
portable! {
    |z: Complex128| -> Complex64 { Complex64::new(z.re as f32, z.im as f32) }
    |z: Complex64| -> Complex128 { Complex128::new(z.re as f64, z.im as f64) }
    |x: i16| -> i64 { x as i64 }
    |x: i64| -> i16 { x as i16 }
    |x: i8| -> i64 { x as i64 }
    |x: i64| -> i8 { x as i8 }
    |x: u32| -> i64 { x as i64 }
    |x: i64| -> u32 { x as u32 }
    |x: u16| -> i64 { x as i64 }
    |x: i64| -> u16 { x as u16 }
}
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
    let route = route(src.dtype, dst.dtype);
    let known = |dtype: DType| dtype.has_loops() && known_to_programs(dtype);
    if !(known(src.dtype) && known(dst.dtype)) {
        return launch!("cast", [src] => [dst]; route = route.clone(); run(&route, src, dst));
    }
    launch!("cast", [src] => [dst] as as_map(src.dtype, dst.dtype); run(&route, src, dst));
}

/// As `cast` outside of captures; says whether a float may have been cut off for which there is no integer.
pub(crate) fn cast_watched(src: View, dst: ViewMut) -> bool {
    assert_eq!(src.dims, dst.dims, "cast needs equal dims");
    let lost = AtomicBool::new(false);
    run_watched(&route(src.dtype, dst.dtype), src, dst, Some(&lost));
    lost.into_inner()
}

/// A conversion as an element-wise loop.
fn as_map(from: DType, to: DType) -> Work {
    let table = with_dtype!(ring from, A => with_dtype!(ring to, B => loop_of::<A, B>()));
    let (numbers, params) = (smallvec![None], SmallVec::new());
    Work::Map { table, text: "x | cast(x)", numbers, params, cost: COST }
}

fn loop_of<A: Copy, B: Convert<A>>() -> Loop {
    // SAFETY: the contract of `Loop`, for elements of these types.
    |ins, out, n, _| unsafe { line::<A, B>((*ins).cast(), out.cast(), n) }
}

/// The dtype through which a rare one is converted, without loss.
fn hub(dtype: DType) -> DType {
    match dtype {
        DType::F16 => DType::F64,
        other if other.has_loops() => other,
        other => other.computes(),
    }
}

/// The conversions, one after another, that lead from one dtype to another, and the dtype after each.
pub(super) type Route = SmallVec<[(Line, DType); 4]>;

pub(super) fn route(from: DType, to: DType) -> Route {
    if let Some(line) = direct(from, to) {
        return smallvec![(line, to)];
    }
    // A float reaches integers of 8 and 16 bits through those of 32.
    let register =
        if from.is_inexact() && to.is_integer() && to.size() < 4 { DType::I32 } else { hub(to) };
    let stops = [from, hub(from), register, hub(to), to];
    let steps = stops.windows(2).filter(|pair| pair[0] != pair[1]);
    steps
        .map(|pair| {
            (direct(pair[0], pair[1]).unwrap_or_else(|| no_loop("this dtype", pair[0])), pair[1])
        })
        .collect()
}

/// The loop between two dtypes, if there is one.
fn direct(from: DType, to: DType) -> Option<Line> {
    Some(match (from, to) {
        (a, b) if a.has_loops() && b.has_loops() => {
            with_dtype!(ring a, A => with_dtype!(ring b, B => line_of::<A, B>()))
        }
        (DType::F16, DType::F64) => line_of::<Half, f64>(),
        (DType::F64, DType::F16) => line_of::<f64, Half>(),
        (DType::F16, DType::F32) => line_of::<Half, f32>(),
        (DType::F32, DType::F16) => line_of::<f32, Half>(),
        (DType::I16, DType::I64) => line_of::<i16, i64>(),
        (DType::I64, DType::I16) => line_of::<i64, i16>(),
        (DType::I8, DType::I64) => line_of::<i8, i64>(),
        (DType::I64, DType::I8) => line_of::<i64, i8>(),
        (DType::U32, DType::I64) => line_of::<u32, i64>(),
        (DType::I64, DType::U32) => line_of::<i64, u32>(),
        (DType::U16, DType::I64) => line_of::<u16, i64>(),
        (DType::I64, DType::U16) => line_of::<i64, u16>(),
        _ => return None,
    })
}

/// Elements that are converted at once where a conversion has several steps.
const TILE: usize = 256;

/// Converts elements by a route.
///
/// # Safety
/// As `Line`, for the dtypes at the ends of the route.
pub(super) unsafe fn convert(
    route: &Route,
    (a, from): (*const u8, isize),
    a_size: usize,
    (b, to): (*mut u8, isize),
    n: usize,
) {
    // SAFETY: the caller's contract; a tile holds TILE elements of any dtype.
    unsafe {
        if let [(line, _)] = route[..] {
            return line(a, from, b, to, n);
        }
        let b_size = route.last().map_or(0, |(_, dtype)| dtype.size());
        let mut tiles = [[MaybeUninit::<[u64; 2]>::uninit(); TILE]; 2];
        for start in (0..n).step_by(TILE) {
            let len = TILE.min(n - start);
            let mut source = a.offset(start as isize * from * a_size as isize);
            let mut step = from;
            for (k, (line, _)) in route.iter().enumerate() {
                if k + 1 == route.len() {
                    line(source, step, b.offset(start as isize * to * b_size as isize), to, len);
                } else {
                    let tile = tiles[k % 2].as_mut_ptr().cast::<u8>();
                    line(source, step, tile, 1, len);
                    (source, step) = (tile, 1);
                }
            }
        }
    }
}

/// Runs `body` on a contiguous copy of `input` in the dtype `to`, and writes its result, of the dtype `result`, to `out`:
/// so rare dtypes share the loops of common ones.
///
/// # Errors
/// Those of `body`; here and below `Memory` when there is none for the copy.
pub(in crate::kernels) fn through(
    to: DType,
    input: View,
    result: DType,
    out: ViewMut,
    body: impl FnOnce(View, ViewMut) -> Result<()>,
) -> Result<()> {
    with_copy(to, input, |copied| rounded(result, out, |out| body(copied, out)))
}

/// Lends room for results of a dtype that are rounded into `out`, or `out` itself where it has this dtype.
pub(in crate::kernels) fn rounded(
    result: DType,
    out: ViewMut,
    body: impl FnOnce(ViewMut) -> Result<()>,
) -> Result<()> {
    if result == out.dtype {
        return body(out);
    }
    with_room(result, out.dims, |mut found| {
        body(found.reborrow())?;
        cast(found.as_view(), out);
        Ok(())
    })
}

/// Lends elements in a dtype that has loops: as they lie, or a contiguous copy in the dtype that computes with them.
pub(in crate::kernels) fn lifted<R>(
    input: View,
    body: impl FnOnce(View) -> Result<R>,
) -> Result<R> {
    if input.dtype.has_loops() {
        body(input)
    } else {
        with_copy(input.dtype.computes(), input, body)
    }
}

/// Lends room for results in a dtype that has loops, and puts them into `out`. With `keeps` the room begins with what
/// `out` holds.
pub(in crate::kernels) fn lifted_out<R>(
    out: &ViewMut,
    keeps: bool,
    body: impl FnOnce(ViewMut) -> Result<R>,
) -> Result<R> {
    // SAFETY: the same view, which its owner does not use meanwhile.
    let mut to = unsafe { ViewMut::from_raw(out.dtype, out.ptr, out.dims, out.strides) };
    if out.dtype.has_loops() {
        return body(to);
    }
    with_room(out.dtype.computes(), out.dims, |mut found| {
        if keeps {
            cast(to.as_view(), found.reborrow());
        }
        let done = body(found.reborrow())?;
        cast(found.as_view(), to.reborrow());
        Ok(done)
    })
}

/// Lends a contiguous copy of the elements in another dtype.
pub(in crate::kernels) fn with_copy<R>(
    to: DType,
    input: View,
    body: impl FnOnce(View) -> Result<R>,
) -> Result<R> {
    with_room(to, input.dims, |mut target| {
        cast(input, target.reborrow());
        body(target.as_view())
    })
}

/// Lends elements in C order that are to be written, for as long as the body runs.
fn with_room<R>(
    dtype: DType,
    dims: &[usize],
    body: impl FnOnce(ViewMut) -> Result<R>,
) -> Result<R> {
    // An expanded view may have more elements than any memory.
    let bytes = dims.iter().try_fold(dtype.size(), |bytes, &dim| bytes.checked_mul(dim));
    let room = Storage::alloc(bytes.unwrap_or(usize::MAX))?;
    let strides = c_strides(dims);
    // SAFETY: room for every element, which nobody else sees.
    body(unsafe { ViewMut::from_raw(dtype, room.ptr(), dims, &strides) })
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

fn run(route: &Route, src: View, dst: ViewMut) {
    run_watched(route, src, dst, None);
}

fn run_watched(route: &Route, src: View, dst: ViewMut, lost: Option<&AtomicBool>) {
    let numel = dst.numel();
    if numel == 0 {
        return;
    }
    let mut axes = Axes::new(dst.dims, [dst.strides, src.strides]).collapse(true);
    let inner = axes.dims.pop().unwrap_or(1);
    let [to, from] = axes.strides.pop().unwrap_or([1, 1]);
    let rows: usize = axes.dims.iter().product();
    let part = |start: usize, end: usize, skip: usize, n: usize| {
        if lost.is_some() {
            float_to_int_simd::forget_invalid();
        }
        axes.for_range(start, end, &mut |at| {
            let a = src.byte_at(at[1] + skip as isize * from);
            let b = dst.byte_at(at[0] + skip as isize * to);
            // SAFETY: the views are valid for every position of their axes and do not overlap.
            unsafe { convert(route, (a, from), src.dtype.size(), (b, to), n) };
        });
        if let Some(lost) = lost
            && float_to_int_simd::was_invalid()
        {
            lost.store(true, Ordering::Relaxed);
        }
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
    // SAFETY: the caller's contract.
    for i in unsafe { B::first(a, b, n) }..n {
        // SAFETY: as above.
        unsafe { *b.add(i) = B::convert(*a.add(i)) };
    }
}
