//! Conversion between dtypes.
//!
//! Invariant: conversions are NumPy's: integers wrap, floats lose their fraction (`float_to_int.rs`), a
//! complex number gives its real part, and nonzero values become `true`.

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
use crate::kernels::launch::{LaunchKind, c_strides, known_to_programs, launch};
use crate::kernels::multiversion::{Levels, multiversion};
use crate::kernels::view::{Axes, View, ViewMut};
use crate::threads::{parallel_for, parallel_ranges};

/// Elements per block of a split cast; casts of at least two blocks are split.
const BLOCK_ELEMENTS: usize = 1 << 18;

/// Nanoseconds per element of a conversion.
const CAST_COST: f32 = 0.25;

/// A conversion of one element.
pub(super) trait Convert<A>: Copy + Send + Sync {
    /// The instruction-set levels of its loop.
    const LEVELS: Levels;
    fn convert(a: A) -> Self;
    /// Converts the first elements with explicit SIMD, where there is any; returns how many of the `n`.
    ///
    /// # Safety
    /// `n` elements are valid in source and destination.
    #[inline(always)]
    unsafe fn convert_vectors(_a: *const A, _b: *mut Self, _n: usize) -> usize {
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
                unsafe fn convert_vectors(a: *const $a, b: *mut $b, n: usize) -> usize {
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
// Conversions of a dtype to itself are never run.
conversions!(f64 => Baseline f64, All f32, Baseline i64: truncate_to_i64 f64_to_i64, Baseline i32: truncate_to_i32 f64_to_i32, UpToAvx2 u8: truncate_to_i32, Baseline u64: truncate_to_u64; All);
conversions!(f32 => All f64, Baseline f32, Baseline i64: truncate_to_i64 f32_to_i64, Baseline i32: truncate_to_i32 f32_to_i32, UpToAvx2 u8: truncate_to_i32, Baseline u64: truncate_to_u64; All);
conversions!(i64 => All f64, All f32, Baseline i64, UpToAvx2 i32, UpToAvx2 u8, Baseline u64; All);
conversions!(i32 => UpToAvx2 f64, UpToAvx2 f32, UpToAvx2 i64, Baseline i32, UpToAvx2 u8, Baseline u64; UpToAvx2);
conversions!(u8 => UpToAvx2 f64, UpToAvx2 f32, UpToAvx2 i64, UpToAvx2 i32, Baseline u8, Baseline u64; UpToAvx2);
conversions!(u64 => Baseline f64, Baseline f32, Baseline i64, Baseline i32, Baseline u8, Baseline u64; Baseline);

/// Conversions with one portable loop.
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
    ($c:ty, $float:ty: $($t:ty),*) => {
        portable! {
            $(
                |z: $c| -> $t { <$t as Convert<$float>>::convert(z.re) }
                |x: $t| -> $c { <$c>::new(x as $float, 0.0) }
            )*
            |z: $c| -> Truth { Truth((z.re != 0.0 || z.im != 0.0) as u8) }
            |x: Truth| -> $c { <$c>::new(x.holds() as u8 as $float, 0.0) }
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

/// Converts the elements of `src` to the dtype of `dst`; the dims are equal and the memory does not overlap.
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

/// As `cast` outside traces; returns whether a float may have been out of the integer's range.
pub(crate) fn cast_checked(src: View, dst: ViewMut) -> bool {
    assert_eq!(src.dims, dst.dims, "cast needs equal dims");
    let out_of_range = AtomicBool::new(false);
    run_checked(&route(src.dtype, dst.dtype), src, dst, Some(&out_of_range));
    out_of_range.into_inner()
}

/// A conversion as an element-wise loop.
fn as_map(from: DType, to: DType) -> LaunchKind {
    let table = with_dtype!(ring from, A => with_dtype!(ring to, B => map_loop::<A, B>()));
    let (numbers, params) = (smallvec![None], SmallVec::new());
    LaunchKind::Map { table, text: "x | cast(x)", numbers, params, cost: CAST_COST }
}

fn map_loop<A: Copy, B: Convert<A>>() -> Loop {
    // SAFETY: the contract of `Loop`, for elements of these types.
    Loop::new(|ins, out, n, _| unsafe { cast_contiguous::<A, B>((*ins).cast(), out.cast(), n) })
}

/// The dtype through which a dtype without loops is converted, without loss.
fn intermediate_dtype(dtype: DType) -> DType {
    match dtype {
        DType::F16 => DType::F64,
        other if other.has_loops() => other,
        other => other.computes(),
    }
}

/// The consecutive conversions from one dtype to another, and the dtype after each.
type Route = SmallVec<[(CastLoop, DType); 4]>;

fn route(from: DType, to: DType) -> Route {
    if let Some(cast) = direct_loop(from, to) {
        return smallvec![(cast, to)];
    }
    // A float is converted to 8- and 16-bit integers through int32.
    let register = if from.is_inexact() && to.is_integer() && to.size() < 4 {
        DType::I32
    } else {
        intermediate_dtype(to)
    };
    let stops = [from, intermediate_dtype(from), register, intermediate_dtype(to), to];
    let steps = stops.windows(2).filter(|pair| pair[0] != pair[1]);
    steps
        .map(|pair| {
            (
                direct_loop(pair[0], pair[1]).unwrap_or_else(|| no_loop("this dtype", pair[0])),
                pair[1],
            )
        })
        .collect()
}

/// The conversion loop between two dtypes, if there is one.
fn direct_loop(from: DType, to: DType) -> Option<CastLoop> {
    Some(match (from, to) {
        (a, b) if a.has_loops() && b.has_loops() => {
            with_dtype!(ring a, A => with_dtype!(ring b, B => cast_loop::<A, B>()))
        }
        (DType::F16, DType::F64) => cast_loop::<Half, f64>(),
        (DType::F64, DType::F16) => cast_loop::<f64, Half>(),
        (DType::F16, DType::F32) => cast_loop::<Half, f32>(),
        (DType::F32, DType::F16) => cast_loop::<f32, Half>(),
        (DType::I16, DType::I64) => cast_loop::<i16, i64>(),
        (DType::I64, DType::I16) => cast_loop::<i64, i16>(),
        (DType::I8, DType::I64) => cast_loop::<i8, i64>(),
        (DType::I64, DType::I8) => cast_loop::<i64, i8>(),
        (DType::U32, DType::I64) => cast_loop::<u32, i64>(),
        (DType::I64, DType::U32) => cast_loop::<i64, u32>(),
        (DType::U16, DType::I64) => cast_loop::<u16, i64>(),
        (DType::I64, DType::U16) => cast_loop::<i64, u16>(),
        _ => return None,
    })
}

/// Elements converted at once if there are several steps.
const TILE_ELEMENTS: usize = 256;

/// Converts elements in the steps of a route.
///
/// # Safety
/// As `CastLoop`, for the dtypes at the ends of the route.
unsafe fn convert(
    route: &Route,
    (a, from): (*const u8, isize),
    a_size: usize,
    (b, to): (*mut u8, isize),
    n: usize,
) {
    // SAFETY: the caller's contract; a tile holds TILE elements of any dtype.
    unsafe {
        if let [(step_loop, _)] = route[..] {
            return step_loop(a, from, b, to, n);
        }
        let b_size = route.last().map_or(0, |(_, dtype)| dtype.size());
        let mut tiles = [[MaybeUninit::<[u64; 2]>::uninit(); TILE_ELEMENTS]; 2];
        for start in (0..n).step_by(TILE_ELEMENTS) {
            let len = TILE_ELEMENTS.min(n - start);
            let mut source = a.offset(start as isize * from * a_size as isize);
            let mut step = from;
            for (k, (step_loop, _)) in route.iter().enumerate() {
                if k + 1 == route.len() {
                    step_loop(
                        source,
                        step,
                        b.offset(start as isize * to * b_size as isize),
                        to,
                        len,
                    );
                } else {
                    let tile = tiles[k % 2].as_mut_ptr().cast::<u8>();
                    step_loop(source, step, tile, 1, len);
                    (source, step) = (tile, 1);
                }
            }
        }
    }
}

/// A conversion of contiguous elements whose loops are looked up once for many runs.
pub(in crate::kernels) struct RunConverter {
    route: Route,
    size: usize,
}

impl RunConverter {
    /// The conversion between two dtypes.
    pub(in crate::kernels) fn new(from: DType, to: DType) -> RunConverter {
        let route = if from == to { Route::new() } else { route(from, to) };
        RunConverter { route, size: from.size() }
    }

    /// Converts `n` elements.
    ///
    /// # Safety
    /// `n` elements of the dtypes are readable and writable, and do not overlap.
    pub(in crate::kernels) unsafe fn convert(&self, from: *const u8, to: *mut u8, n: usize) {
        // SAFETY: the caller's contract.
        unsafe {
            if self.route.is_empty() {
                std::ptr::copy_nonoverlapping(from, to, n * self.size);
            } else {
                convert(&self.route, (from, 1), self.size, (to, 1), n);
            }
        }
    }
}

/// Runs `body` on a contiguous copy of `input` in the dtype `to`, and converts its result, of the dtype
/// `result`, to `out`: dtypes without loops use those of a wider dtype.
///
/// Those of `body`; here and below `Memory` if there is none for the copy.
/// Those of `body`; here and below `Memory` when there is none for the copy.
pub(in crate::kernels) fn convert_through(
    to: DType,
    input: View,
    result: DType,
    out: ViewMut,
    body: impl FnOnce(View, ViewMut) -> Result<()>,
) -> Result<()> {
    with_copy(to, input, |copied| with_rounded_output(result, out, |out| body(copied, out)))
}

/// Calls `body` with a temporary output of the dtype `result` that is rounded into `out`, or with `out`
/// itself if it has this dtype.
pub(in crate::kernels) fn with_rounded_output(
    result: DType,
    out: ViewMut,
    body: impl FnOnce(ViewMut) -> Result<()>,
) -> Result<()> {
    if result == out.dtype {
        return body(out);
    }
    with_temporary(result, out.dims, |mut temporary| {
        body(temporary.reborrow())?;
        cast(temporary.as_view(), out);
        Ok(())
    })
}

/// Calls `body` with elements in a dtype that has loops: `input` itself, or a contiguous copy in the dtype
/// that computes for it.
pub(in crate::kernels) fn with_computing_input<R>(
    input: View,
    body: impl FnOnce(View) -> Result<R>,
) -> Result<R> {
    if input.dtype.has_loops() {
        body(input)
    } else {
        with_copy(input.dtype.computes(), input, body)
    }
}

/// Calls `body` with an output in a dtype that has loops, and converts it to `out`. With `keeps` it starts
/// with the values of `out`.
pub(in crate::kernels) fn with_computing_output<R>(
    out: &ViewMut,
    keeps: bool,
    body: impl FnOnce(ViewMut) -> Result<R>,
) -> Result<R> {
    // SAFETY: the same view, whose owner does not use it meanwhile.
    let mut to = unsafe { ViewMut::from_raw(out.dtype, out.ptr, out.dims, out.strides) };
    if out.dtype.has_loops() {
        return body(to);
    }
    with_temporary(out.dtype.computes(), out.dims, |mut temporary| {
        if keeps {
            cast(to.as_view(), temporary.reborrow());
        }
        let result = body(temporary.reborrow())?;
        cast(temporary.as_view(), to.reborrow());
        Ok(result)
    })
}

/// Calls `body` with a contiguous copy of the elements in another dtype.
pub(in crate::kernels) fn with_copy<R>(
    to: DType,
    input: View,
    body: impl FnOnce(View) -> Result<R>,
) -> Result<R> {
    with_temporary(to, input.dims, |mut target| {
        cast(input, target.reborrow());
        body(target.as_view())
    })
}

/// Calls `body` with an uninitialised contiguous temporary.
fn with_temporary<R>(
    dtype: DType,
    dims: &[usize],
    body: impl FnOnce(ViewMut) -> Result<R>,
) -> Result<R> {
    // The element count of a broadcast view may exceed any memory.
    let bytes = dims.iter().try_fold(dtype.size(), |bytes, &dim| bytes.checked_mul(dim));
    let storage = Storage::alloc(bytes.unwrap_or(usize::MAX))?;
    let strides = c_strides(dims);
    // SAFETY: the storage has space for every element and is not shared.
    body(unsafe { ViewMut::from_raw(dtype, storage.ptr(), dims, &strides) })
}

/// Converts `n` elements: source, its step, destination, its step.
type CastLoop = unsafe fn(*const u8, isize, *mut u8, isize, usize);

fn cast_loop<A: Copy, B: Convert<A>>() -> CastLoop {
    |a, from, b, to, n| {
        let (a, b) = (a.cast::<A>(), b.cast::<B>());
        // SAFETY: the contract of `CastLoop`, for elements of these types.
        unsafe {
            if from == 1 && to == 1 {
                return cast_contiguous::<A, B>(a, b, n);
            }
            for i in 0..n as isize {
                *b.offset(i * to) = B::convert(*a.offset(i * from));
            }
        }
    }
}

fn run(route: &Route, src: View, dst: ViewMut) {
    run_checked(route, src, dst, None);
}

fn run_checked(route: &Route, src: View, dst: ViewMut, out_of_range: Option<&AtomicBool>) {
    let numel = dst.numel();
    if numel == 0 {
        return;
    }
    let mut axes = Axes::new(dst.dims, [dst.strides, src.strides]).collapse(true);
    let inner = axes.dims.pop().unwrap_or(1);
    let [to, from] = axes.strides.pop().unwrap_or([1, 1]);
    let rows: usize = axes.dims.iter().product();
    let cast_rows = |start: usize, end: usize, skip: usize, n: usize| {
        if out_of_range.is_some() {
            float_to_int_simd::clear_invalid();
        }
        axes.for_range(start, end, &mut |at| {
            let a = src.byte_at(at[1] + skip as isize * from);
            let b = dst.byte_at(at[0] + skip as isize * to);
            // SAFETY: the views are valid for every position of their axes and do not overlap.
            unsafe { convert(route, (a, from), src.dtype.size(), (b, to), n) };
        });
        if let Some(out_of_range) = out_of_range
            && float_to_int_simd::was_invalid()
        {
            out_of_range.store(true, Ordering::Relaxed);
        }
    };
    if numel < 2 * BLOCK_ELEMENTS {
        cast_rows(0, rows, 0, inner);
    } else if rows == 1 {
        let blocks = inner.div_ceil(BLOCK_ELEMENTS);
        parallel_for(blocks, &|i| {
            cast_rows(0, 1, i * BLOCK_ELEMENTS, BLOCK_ELEMENTS.min(inner - i * BLOCK_ELEMENTS))
        });
    } else {
        let blocks = (numel / BLOCK_ELEMENTS).min(rows);
        parallel_ranges(rows, blocks, &|first, end| cast_rows(first, end, 0, inner));
    }
}

multiversion! {
    /// Converts `n` contiguous elements.
    unsafe fn cast_contiguous<A: Copy, B: Convert<A>>(a: *const A, b: *mut B, n: usize) = cast_contiguous_body,
        <B as Convert<A>>::LEVELS
}

/// # Safety
/// `n` elements are valid in source and destination.
#[inline(always)]
unsafe fn cast_contiguous_body<A: Copy, B: Convert<A>>(a: *const A, b: *mut B, n: usize) {
    // SAFETY: the caller's contract.
    for i in unsafe { B::convert_vectors(a, b, n) }..n {
        // SAFETY: as above.
        unsafe { *b.add(i) = B::convert(*a.add(i)) };
    }
}
