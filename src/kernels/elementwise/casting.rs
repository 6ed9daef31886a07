//! Loops over operands that are converted on the way: dtypes without loops of their own, numbers beside complex elements.
//!
//! Owns: the choice of the dtype that computes, and tiles of converted operands. Never allocates memory for elements.
//! Invariant: a result is that of the wide loop on the converted operands, rounded once to the dtype of the output.

use std::mem::MaybeUninit;

use smallvec::SmallVec;

use super::contiguous::contiguous;
use super::dispatch::{MAX_OPERANDS, in_blocks};
use super::launch_loop::{In, run_opaque, views_of};
use super::loop_table::{Loop, LoopTable};
use super::tile_copy::{gather, scatter};
use crate::dtype::{DType, Element, no_loop, with_dtype};
use crate::kernels::copying::cast_run::Run;
use crate::kernels::fill::word_of;
use crate::kernels::view::{View, ViewMut};

/// Elements that are converted at once.
const TILE: usize = 512;

/// Where the elements of an operand come from.
#[derive(Clone, Copy)]
enum Source {
    /// The next view.
    View,
    /// One element, as its bytes.
    Number([u64; 2]),
}

/// A loop, the dtype that it computes in, what it reads beside views, and its parameters.
struct Converted {
    f: Loop,
    dtype: DType,
    sources: SmallVec<[Source; 4]>,
    params: SmallVec<[f64; 4]>,
    cost: f32,
}

/// The bytes of a number in a dtype.
fn bytes(input: In<'_>, dtype: DType, wide: DType) -> [u64; 2] {
    let narrow = match input {
        In::Int(i) => with_dtype!(dtype, T => word_of(T::from_i64(i))),
        In::Float(f) => with_dtype!(dtype, T => word_of(T::from_f64(f))),
        In::View(_) => [0; 2],
    };
    let mut word = [0u64; 2];
    // SAFETY: both hold one element of any dtype.
    unsafe { Run::new(dtype, wide).convert(narrow.as_ptr().cast(), word.as_mut_ptr().cast(), 1) };
    word
}

/// Applies the loop of `dtype`, or of the dtype that computes with it; operands and output are as for `apply`, save that
/// operands may be of any dtype.
///
/// # Panics
/// When there is no such loop: a bug of the caller.
#[cold]
#[inline(never)]
pub(crate) fn apply_converted(
    table: &LoopTable,
    dtype: DType,
    ins: &[In<'_>],
    out: ViewMut<'_>,
    params: &[f64],
) {
    let wide = table.computes(dtype).unwrap_or(dtype);
    let f = table.get(wide).unwrap_or_else(|| no_loop("other elements", dtype));
    let source = |input: &In<'_>| match *input {
        In::View(_) => Source::View,
        number => Source::Number(bytes(number, dtype, wide)),
    };
    let sources = ins.iter().map(source).collect();
    let cost = table.cost(wide) + if wide == dtype { 0.5 } else { 2.0 };
    let work = Converted { f, dtype: wide, sources, params: params.into(), cost };
    let result = table.result(wide);
    let reads: SmallVec<[View<'_>; 4]> = views_of(ins).collect();
    run_opaque(&reads, out, move |reads, out| work.run(reads, &out, result));
}

/// The axes of an operand; one of size 1 where there are none.
fn axes<'a>(dims: &'a [usize], strides: &'a [isize]) -> (&'a [usize], &'a [isize]) {
    if dims.is_empty() { (&[1], &[0]) } else { (dims, strides) }
}

/// Room for the elements of a tile of any dtype.
type Room = [MaybeUninit<[u64; 2]>; TILE];

/// A call: its operands, its results, their dtype in the loop, and the conversions of both.
struct Call<'a> {
    work: &'a Converted,
    reads: &'a [View<'a>],
    out: &'a ViewMut<'a>,
    result: DType,
    ins: SmallVec<[Run; 4]>,
    back: Run,
}

impl Converted {
    /// Runs the loop; its results, of the dtype `result`, are converted to that of `out`.
    fn run(&self, reads: &[View<'_>], out: &ViewMut<'_>, result: DType) {
        for view in reads {
            assert!(view.dims == out.dims, "operands of one shape");
        }
        let ins = reads.iter().map(|view| Run::new(view.dtype, self.dtype)).collect();
        let call = Call { work: self, reads, out, result, ins, back: Run::new(result, out.dtype) };
        in_blocks(out.numel(), self.cost, &|start, end| call.span(start, end));
    }
}

impl Call<'_> {
    fn span(&self, start: usize, end: usize) {
        if start == end {
            return;
        }
        let mut rooms = [[MaybeUninit::uninit(); TILE]; MAX_OPERANDS + 2];
        let most = TILE.min(end - start);
        for (source, room) in self.work.sources.iter().zip(&mut rooms) {
            if let Source::Number(word) = source {
                let (word, size) = (word.as_ptr().cast(), self.work.dtype.size());
                // SAFETY: the number is one element of the loop's dtype; the room holds a tile.
                unsafe { gather(word, size, &[most], &[0], (0, most), room.as_mut_ptr().cast()) };
            }
        }
        let mut from = start;
        while from < end {
            let count = TILE.min(end - from);
            self.tile((from, count), &mut rooms);
            from += count;
        }
    }

    /// The elements of a range in the loop's dtype: as they lie, or in the tile.
    ///
    /// # Safety
    /// The range is inside the view; `raw` and the tile have room for it.
    unsafe fn elements(
        &self,
        (view, run): (&View<'_>, &Run),
        range: (usize, usize),
        raw: *mut u8,
        tile: *mut u8,
    ) -> *const u8 {
        let (size, same) = (view.dtype.size(), view.dtype == self.work.dtype);
        let mut from = view.ptr;
        // SAFETY: the caller's contract.
        unsafe {
            if contiguous(view.dims, view.strides) {
                from = from.add(range.0 * size);
            } else {
                let to = if same { tile } else { raw };
                let (dims, strides) = axes(view.dims, view.strides);
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
    fn tile(&self, range: (usize, usize), rooms: &mut [Room; MAX_OPERANDS + 2]) {
        let (out, size) = (self.out, self.out.dtype.size());
        let [tiles @ .., raw, target] = rooms;
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
        let whole = contiguous(out.dims, out.strides);
        let place = out.ptr.wrapping_add(if whole { range.0 * size } else { 0 });
        // A loop that writes over what it reads is slow.
        let apart = self.reads.iter().all(|view| view.ptr != out.ptr.cast_const());
        let straight = whole && apart && self.result == out.dtype;
        let target = if straight { place } else { target.as_mut_ptr().cast::<u8>() };
        // SAFETY: the operands hold the range in the loop's dtype, and the target has room for it; the output is
        // valid for the range, which no other tile has.
        unsafe {
            (self.work.f)(ptrs.as_ptr(), target, range.1, self.work.params.as_ptr());
            if straight {
                return;
            }
            self.back.convert(target, if whole { place } else { raw }, range.1);
            if !whole {
                let (dims, strides) = axes(out.dims, out.strides);
                scatter(raw, size, dims, strides, range, out.ptr);
            }
        }
    }
}
