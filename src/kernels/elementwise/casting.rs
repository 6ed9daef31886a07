//! Element-wise loops whose operands or results are converted tile by tile: dtypes without loops of their own
//! (float16, int8, …), and numbers beside complex elements.
//!
//! Invariant: a result is that of the loop in the wider dtype on the converted operands, rounded once to the
//! dtype of the output.

use std::mem::MaybeUninit;

use smallvec::SmallVec;

use super::contiguous::is_c_contiguous;
use super::dispatch::{MAX_OPERANDS, parallel_blocks};
use super::launch_loop::{LoopOperand, run_opaque, views_of};
use super::loop_call::{Loop, LoopCall};
use super::loop_table::LoopTable;
use super::scalar_operand::repeat_element;
use super::tile_copy::{gather, scatter};
use crate::dtype::{DType, Element, no_loop, with_dtype};
use crate::kernels::cast::RunConverter;
use crate::kernels::fill::element_bytes;
use crate::kernels::view::{View, ViewMut};

/// Elements converted per tile.
const TILE: usize = 512;

/// Where an operand comes from.
#[derive(Clone, Copy)]
enum Source {
    /// The next of the views that are read.
    View,
    /// A scalar, as the bytes of one element.
    Number([u64; 2]),
}

/// A loop, its computing dtype, the sources of its operands, its parameters and its cost per element.
struct ConvertedLoop {
    f: Loop,
    dtype: DType,
    sources: SmallVec<[Source; 4]>,
    params: SmallVec<[f64; 4]>,
    cost: f32,
}

/// The bytes of a scalar operand: rounded to `dtype`, then converted to `wide`.
fn number_bytes(input: LoopOperand<'_>, dtype: DType, wide: DType) -> [u64; 2] {
    let narrow = match input {
        LoopOperand::Int(i) => with_dtype!(dtype, T => element_bytes(T::from_i64(i))),
        LoopOperand::Float(f) => with_dtype!(dtype, T => element_bytes(T::from_f64(f))),
        LoopOperand::View(_) => [0; 2],
    };
    let mut word = [0u64; 2];
    // SAFETY: both hold one element of any dtype.
    unsafe {
        RunConverter::new(dtype, wide).convert(narrow.as_ptr().cast(), word.as_mut_ptr().cast(), 1)
    };
    word
}

/// As `apply`, for operands of any dtype: they are converted to `dtype`, or to the dtype that computes for it if
/// `dtype` has no loop.
///
/// # Panics
/// When there is no such loop: a bug of the caller.
#[cold]
#[inline(never)]
pub(crate) fn apply_converted(
    table: &LoopTable,
    dtype: DType,
    ins: &[LoopOperand<'_>],
    out: ViewMut<'_>,
    params: &[f64],
) {
    let wide = table.computing_dtype(dtype).unwrap_or(dtype);
    let f = table.get(wide).unwrap_or_else(|| no_loop("other elements", dtype));
    let source = |input: &LoopOperand<'_>| match *input {
        LoopOperand::View(_) => Source::View,
        number => Source::Number(number_bytes(number, dtype, wide)),
    };
    let sources = ins.iter().map(source).collect();
    let cost = table.cost(wide) + if wide == dtype { 0.5 } else { 2.0 };
    let work = ConvertedLoop { f, dtype: wide, sources, params: params.into(), cost };
    let result = table.result(wide);
    let reads: SmallVec<[View<'_>; 4]> = views_of(ins).collect();
    run_opaque(&reads, out, move |reads, out| work.run(reads, &out, result));
}

/// The dims and strides of an operand; one axis of size 1 for a 0-dimensional one.
fn dims_and_strides<'a>(dims: &'a [usize], strides: &'a [isize]) -> (&'a [usize], &'a [isize]) {
    if dims.is_empty() { (&[1], &[0]) } else { (dims, strides) }
}

/// A buffer for a tile of elements of any dtype.
type TileBuffer = [MaybeUninit<[u64; 2]>; TILE];

/// One call: operands, output, result dtype of the loop, and the conversions of operands and result.
struct ConvertedCall<'a> {
    work: &'a ConvertedLoop,
    reads: &'a [View<'a>],
    out: &'a ViewMut<'a>,
    result: DType,
    ins: SmallVec<[RunConverter; 4]>,
    back: RunConverter,
}

impl ConvertedLoop {
    /// Runs the loop; its results, of the dtype `result`, are converted to that of `out`.
    fn run(&self, reads: &[View<'_>], out: &ViewMut<'_>, result: DType) {
        for view in reads {
            assert!(view.dims == out.dims, "operands of one shape");
        }
        let ins = reads.iter().map(|view| RunConverter::new(view.dtype, self.dtype)).collect();
        let call = ConvertedCall {
            work: self,
            reads,
            out,
            result,
            ins,
            back: RunConverter::new(result, out.dtype),
        };
        parallel_blocks(out.numel(), self.cost, &|start, end| call.span(start, end));
    }
}

impl ConvertedCall<'_> {
    fn span(&self, start: usize, end: usize) {
        if start == end {
            return;
        }
        let mut buffers = [[MaybeUninit::uninit(); TILE]; MAX_OPERANDS + 2];
        let longest = TILE.min(end - start);
        for (source, buffer) in self.work.sources.iter().zip(&mut buffers) {
            if let Source::Number(word) = source {
                let element = (word.as_ptr().cast(), self.work.dtype.size());
                // SAFETY: the number is one element of the loop's dtype; the buffer holds a tile.
                unsafe { repeat_element(element, buffer.as_mut_ptr().cast(), longest) };
            }
        }
        let mut from = start;
        while from < end {
            let count = TILE.min(end - from);
            self.tile((from, count), &mut buffers);
            from += count;
        }
    }

    /// The elements of a range in the loop's dtype: the operand's own memory if possible, else `tile`.
    ///
    /// # Safety
    /// The range is inside the view; `raw` and `tile` hold as many elements.
    unsafe fn elements(
        &self,
        (view, run): (&View<'_>, &RunConverter),
        range: (usize, usize),
        raw: *mut u8,
        tile: *mut u8,
    ) -> *const u8 {
        let (size, same) = (view.dtype.size(), view.dtype == self.work.dtype);
        let mut from = view.ptr;
        // SAFETY: the caller's contract.
        unsafe {
            if is_c_contiguous(view.dims, view.strides) {
                from = from.add(range.0 * size);
            } else {
                let to = if same { tile } else { raw };
                let (dims, strides) = dims_and_strides(view.dims, view.strides);
                gather(from, size, dims, strides, range, to);
                from = to;
            }
            if same {
                return from;
            }
            run.convert(from, tile, range.1);
        }
        tile
    }

    /// The elements of one tile of the output.
    fn tile(&self, range: (usize, usize), buffers: &mut [TileBuffer; MAX_OPERANDS + 2]) {
        let (out, size) = (self.out, self.out.dtype.size());
        let [tiles @ .., raw, target] = buffers;
        let raw = raw.as_mut_ptr().cast::<u8>();
        let mut ptrs = [std::ptr::null(); MAX_OPERANDS];
        let mut views = self.reads.iter().zip(&self.ins);
        for (k, source) in self.work.sources.iter().enumerate() {
            let tile = tiles[k].as_mut_ptr().cast::<u8>();
            ptrs[k] = tile.cast_const();
            if let Source::View = source {
                let view = views.next().unwrap_or_else(|| unreachable!("a view for each"));
                // SAFETY: the views are valid for the range; a tile holds TILE elements of any dtype.
                ptrs[k] = unsafe { self.elements(view, range, raw, tile) };
            }
        }
        let whole = is_c_contiguous(out.dims, out.strides);
        let address = out.ptr.wrapping_add(if whole { range.0 * size } else { 0 });
        // In-place loops are not vectorised, so a result that overwrites an operand goes through a tile.
        let distinct = self.reads.iter().all(|view| view.ptr != out.ptr.cast_const());
        let direct = whole && distinct && self.result == out.dtype;
        let target = if direct { address } else { target.as_mut_ptr().cast::<u8>() };
        // SAFETY: the operands hold the range in the loop's dtype, and the target has space for it; the output is
        // valid for the range, which no other tile has.
        unsafe {
            let ConvertedLoop { f, params, .. } = self.work;
            LoopCall { f: *f, ins: &ptrs, out: target, n: range.1, params }.run();
            if direct {
                return;
            }
            self.back.convert(target, if whole { address } else { raw }, range.1);
            if !whole {
                let (dims, strides) = dims_and_strides(out.dims, out.strides);
                scatter(raw, size, dims, strides, range, out.ptr);
            }
        }
    }
}
