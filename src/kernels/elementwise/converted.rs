//! Loops over operands that are converted on the way: dtypes without loops of their own, numbers beside complex elements.
//!
//! Owns: the choice of the dtype that computes, and tiles of converted operands. Never allocates memory for elements.
//! Invariant: a result is that of the wide loop on the converted operands, rounded once to the dtype of the output.

use std::mem::MaybeUninit;

use smallvec::SmallVec;

use super::apply::{In, run_opaque, views_of};
use super::direct::contiguous;
use super::drive::{MAX_OPERANDS, in_blocks};
use super::gather::{gather, scatter};
use super::table::{Loop, LoopTable};
use crate::dtype::{DType, Element, no_loop, with_dtype};
use crate::kernels::cast::convert_run;
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
    unsafe { convert_run((dtype, narrow.as_ptr().cast()), (wide, word.as_mut_ptr().cast()), 1) };
    word
}

/// Applies the loop of the dtype that computes with `dtype`; operands and output are as for `apply`.
#[cold]
#[inline(never)]
pub(super) fn apply_converted(
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
    let cost = 2.0 + table.cost(wide);
    let work = Converted { f, dtype: wide, sources, params: params.into(), cost };
    let result = table.result(wide);
    let reads: SmallVec<[View<'_>; 4]> = views_of(ins).collect();
    run_opaque(&reads, out, move |reads, out| work.run(reads, &out, result));
}

/// The axes of an operand; one of size 1 where there are none.
fn axes<'a>(dims: &'a [usize], strides: &'a [isize]) -> (&'a [usize], &'a [isize]) {
    if dims.is_empty() { (&[1], &[0]) } else { (dims, strides) }
}

impl Converted {
    /// Runs the loop; its results, of the dtype `result`, are converted to that of `out`.
    fn run(&self, reads: &[View<'_>], out: &ViewMut<'_>, result: DType) {
        for view in reads {
            assert!(view.dims == out.dims, "operands of one shape");
        }
        in_blocks(out.numel(), self.cost, &|start, end| {
            let mut from = start;
            while from < end {
                let count = TILE.min(end - from);
                self.tile(reads, out, result, (from, count));
                from += count;
            }
        });
    }

    /// The elements of a range in the loop's dtype: as they lie, or in the tile.
    ///
    /// # Safety
    /// The range is inside the view; `raw` and the tile have room for it.
    unsafe fn elements(
        &self,
        view: &View<'_>,
        range: (usize, usize),
        raw: *mut u8,
        tile: *mut u8,
    ) -> *const u8 {
        let (size, same) = (view.dtype.size(), view.dtype == self.dtype);
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
            convert_run((view.dtype, from), (self.dtype, tile), range.1);
        }
        tile
    }

    /// The elements of one tile of the output.
    fn tile(&self, reads: &[View<'_>], out: &ViewMut<'_>, result: DType, range: (usize, usize)) {
        let mut raw = [MaybeUninit::<[u64; 2]>::uninit(); TILE];
        let mut tiles = [[MaybeUninit::<[u64; 2]>::uninit(); TILE]; MAX_OPERANDS + 1];
        let (raw, n) = (raw.as_mut_ptr().cast::<u8>(), range.1);
        let mut ptrs = [std::ptr::null(); MAX_OPERANDS];
        let mut views = reads.iter();
        for (k, source) in self.sources.iter().enumerate() {
            let tile = tiles[k].as_mut_ptr().cast::<u8>();
            ptrs[k] = tile.cast_const();
            // SAFETY: the views are valid for the range; a tile holds TILE elements of any dtype.
            unsafe {
                match source {
                    Source::View => {
                        let Some(view) = views.next() else { unreachable!("a view for each") };
                        ptrs[k] = self.elements(view, range, raw, tile);
                    }
                    Source::Number(word) => {
                        let word = word.as_ptr().cast();
                        gather(word, self.dtype.size(), &[n], &[0], (0, n), tile);
                    }
                }
            }
        }
        let target = tiles[MAX_OPERANDS].as_mut_ptr().cast::<u8>();
        // SAFETY: the operands hold `n` elements of the loop's dtype, and the target has room for them; the output is
        // valid for the range, which no other tile has.
        unsafe {
            (self.f)(ptrs.as_ptr(), target, n, self.params.as_ptr());
            let mut from = target.cast_const();
            if result != out.dtype {
                let size = out.dtype.size();
                let whole = contiguous(out.dims, out.strides);
                let to = if whole { out.ptr.add(range.0 * size) } else { raw };
                convert_run((result, target), (out.dtype, to), n);
                if whole {
                    return;
                }
                from = raw;
            }
            let (dims, strides) = axes(out.dims, out.strides);
            scatter(from, out.dtype.size(), dims, strides, range, out.ptr);
        }
    }
}
