//! argmax and argmin along one axis: the first occurrence, and a NaN wins.
//!
//! Three searches: by leaves (fold a leaf, remember the best leaf, search it at the end), of rows whose
//! extremes are folded together, and of adjacent columns. Invariant: the result does not depend on how the
//! work is split.

use std::mem::MaybeUninit;

use super::super::cast::with_copy;
use super::super::launch::launch;
use super::super::view::{Axes, View, ViewMut, with_float};
use super::fold::{self, Fold, LEAF_ELEMENTS, NARROW_LANES, WIDE_LANES};
use super::inner::Partials;
use super::reductions::{Max, Min};
use super::transposed_rows::TransposedTile;
use crate::dtype::{Complex128, DType};
use crate::error::Result;
use crate::kernels::multiversion::multiversion;
use crate::threads::parallel_for;

/// Elements of one piece of a split search.
const PIECE_ELEMENTS: usize = 1 << 16;
/// Adjacent columns that are searched together.
const COLUMN_TILE: usize = 256;
/// Elements compared at once when the best value is located.
const COMPARE_CHUNK: usize = 64;
/// The most rows, and the most elements in all, whose extremes are folded together.
const ROW_GROUP: (usize, usize) = (16, 4096);

/// An element type.
trait Element: Copy + PartialOrd + Send + Sync + 'static {}
impl<T: Copy + PartialOrd + Send + Sync + 'static> Element for T {}

/// A fold that selects one of its elements.
trait ArgFold: Fold<In = Self::Element, Acc = Self::Element> {
    type Element: Element;
    /// Whether `a` replaces `b`.
    fn replaces(a: Self::Element, b: Self::Element) -> bool;
}

macro_rules! arg_folds {
    ($($t:ty),*) => {$(
        impl ArgFold for Max<$t> {
            type Element = $t;
            #[inline(always)]
            #[allow(clippy::eq_op)]
            fn replaces(a: $t, b: $t) -> bool {
                a > b || (a != a && b == b)
            }
        }
        impl ArgFold for Min<$t> {
            type Element = $t;
            #[inline(always)]
            #[allow(clippy::eq_op)]
            fn replaces(a: $t, b: $t) -> bool {
                a < b || (a != a && b == b)
            }
        }
    )*};
}
arg_folds!(f64, f32, i64, u64);

/// Writes the index of the largest (or smallest) element along `axis` as int64. `out` has the dims of `input`
/// without the axis, or with 1 in its place; the axis is not empty.
///
/// # Errors
/// `Memory` if there is none for a copy in a dtype that has loops.
pub fn arg_reduce(largest: bool, input: View, axis: usize, out: ViewMut) -> Result<()> {
    launch!("arg_reduce", [input] => [out];; arg_lines(largest, input, axis, out))
}

fn arg_lines(largest: bool, input: View, axis: usize, out: ViewMut) -> Result<()> {
    assert!(out.dtype == DType::I64, "arg_reduce writes indices");
    match input.dtype {
        DType::F64 | DType::F32 => {
            with_float!([input], T => arg_max_or_min::<T>(largest, input, axis, out))
        }
        DType::I64 => arg_max_or_min::<i64>(largest, input, axis, out),
        DType::U64 => arg_max_or_min::<u64>(largest, input, axis, out),
        DType::C128 => complex_arg_lines(largest, input, axis, &out),
        other => {
            let lines = |copied: View| arg_lines(largest, copied, axis, out);
            return with_copy(other.computes(), input, lines);
        }
    }
    Ok(())
}

fn arg_max_or_min<T>(largest: bool, input: View, axis: usize, out: ViewMut)
where
    Max<T>: ArgFold,
    Min<T>: ArgFold,
{
    if largest {
        arg_fold::<Max<T>>(input, axis, out)
    } else {
        arg_fold::<Min<T>>(input, axis, out)
    }
}

fn arg_fold<F: ArgFold>(input: View, axis: usize, out: ViewMut) {
    let (n, step) = (input.dims[axis], input.strides[axis]);
    let kept = other_axes(&input, axis, &out);
    if kept.dims.contains(&0) {
        return;
    }
    assert!(n > 0, "arg_reduce of an empty axis");
    let mut kept = kept.collapse(true);
    let results = kept.count();
    if results == 1 && n >= 2 * PIECE_ELEMENTS {
        // SAFETY: the views are valid at their first position and along the axis.
        return unsafe { *out.at::<i64>(0) = search_split::<F>(input.at(0), step, n) as i64 };
    }
    let inner = take_parallel_axis(&mut kept, n, step);
    let min_lines = if step == 1 && n >= WIDE_LANES { 1 } else { NARROW_LANES };
    let positions = kept.count();
    let max_blocks = results * n / PIECE_ELEMENTS;
    let blocks = max_blocks.clamp(1, positions);
    // Few positions of many searches: each position is split, too.
    let cuts = inner.map_or(1, |(count, _)| (max_blocks / blocks).clamp(1, count / min_lines));
    parallel_for(blocks * cuts, &|b| {
        let (block, cut) = (b / cuts, b % cuts);
        let (start, end) = (block * positions / blocks, (block + 1) * positions / blocks);
        kept.for_range(start, end, &mut |[from, to]| {
            let Some((count, (by, apart))) = inner else {
                // SAFETY: the views are valid for every position of their axes.
                return unsafe { *out.at(to) = search_run::<F>(input.at(from), step, n).1 as i64 };
            };
            let (first, last) = (cut * count / cuts, (cut + 1) * count / cuts);
            let from = input.at(from + first as isize * by);
            let to = out.at(to + first as isize * apart);
            // SAFETY: as above.
            unsafe {
                match step {
                    1 if n < WIDE_LANES => {
                        search_short_rows::<F>((from, n, by), last - first, to, apart)
                    }
                    1 => search_long_rows::<F>((from, n, by), last - first, to, apart),
                    _ => search_columns::<F>((from, step, n), last - first, to, apart),
                }
            }
        });
    });
}

/// Removes the kept axis along which lines are searched together: their number, and the strides of lines and
/// results.
fn take_parallel_axis(
    kept: &mut Axes<2>,
    n: usize,
    step: isize,
) -> Option<(usize, (isize, isize))> {
    let (&count, &[from, to]) = (kept.dims.last()?, kept.strides.last()?);
    // Shorter rows are transposed.
    let min_lines = if step == 1 && n >= WIDE_LANES { 1 } else { NARROW_LANES };
    let searchable = (step == 1 || from == 1) && count >= min_lines;
    searchable.then(|| (kept.pop().0, (from, to)))
}

/// The axes that are kept: strides of the input and the output.
fn other_axes(input: &View, axis: usize, out: &ViewMut) -> Axes<2> {
    let keepdims = out.dims.len() == input.dims.len();
    let mut kept = Axes::none();
    for other in (0..input.dims.len()).filter(|&i| i != axis) {
        let at = if keepdims || other < axis { other } else { other - 1 };
        assert_eq!(out.dims[at], input.dims[other], "arg_reduce: the dims of the output");
        kept.push(input.dims[other], [input.strides[other], out.strides[at]]);
    }
    kept
}

/// # Safety
/// `n` elements, `step` apart, are readable.
unsafe fn search_split<F: ArgFold>(p: *const F::In, step: isize, n: usize) -> usize {
    let pieces = n.div_ceil(PIECE_ELEMENTS);
    let mut found: Vec<(F::Element, usize)> = vec![(F::IDENTITY, 0); pieces];
    let slots = Partials(found.as_mut_ptr());
    let source = Partials(p.cast_mut());
    parallel_for(pieces, &|i| {
        let start = i * PIECE_ELEMENTS;
        let len = PIECE_ELEMENTS.min(n - start);
        // SAFETY: the caller's contract; every piece has its own slot.
        unsafe {
            let (value, at) =
                search_run::<F>(source.slot(0).offset(start as isize * step), step, len);
            *slots.slot(i) = (value, start + at);
        }
    });
    let mut best = found[0];
    for &piece in &found[1..] {
        if F::replaces(piece.0, best.0) {
            best = piece;
        }
    }
    best.1
}

/// The selected element of a strided run and its index.
///
/// # Safety
/// `n` elements, at least one, `step` apart, are readable.
unsafe fn search_run<F: ArgFold>(p: *const F::In, step: isize, n: usize) -> (F::Element, usize) {
    // SAFETY: the caller's contract; gathered leaves are written before they are read.
    unsafe {
        if step == 1 {
            return search_leaves::<F>(p, n);
        }
        let mut buffer = [MaybeUninit::<F::In>::uninit(); LEAF_ELEMENTS];
        let mut best: Option<(F::Element, usize)> = None;
        for start in (0..n).step_by(LEAF_ELEMENTS) {
            let len = LEAF_ELEMENTS.min(n - start);
            for (i, slot) in buffer[..len].iter_mut().enumerate() {
                slot.write(*p.offset((start + i) as isize * step));
            }
            let (value, at) = search_leaves::<F>(buffer.as_ptr().cast(), len);
            if best.is_none_or(|(b, _)| F::replaces(value, b)) {
                best = Some((value, start + at));
            }
        }
        best.unwrap_or((F::IDENTITY, 0))
    }
}

/// The selected element of `n` contiguous elements and its index.
///
/// # Safety
/// `n` elements, at least one, are readable.
unsafe fn search_leaves<F: ArgFold>(p: *const F::In, n: usize) -> (F::Element, usize) {
    // SAFETY: the leaves are inside the `n` elements.
    unsafe {
        if n < 16 {
            let (mut best, mut at) = (*p, 0);
            for i in 1..n {
                let replaced = F::replaces(*p.add(i), best);
                best = if replaced { *p.add(i) } else { best };
                at = if replaced { i } else { at };
            }
            return (best, at);
        }
        let (mut best, mut leaf) = (F::IDENTITY, 0);
        for start in (0..n).step_by(LEAF_ELEMENTS) {
            let mut value = F::IDENTITY;
            fold::fold_leaves::<F>(p.add(start), LEAF_ELEMENTS.min(n - start), 0, &mut value, 0, 1);
            if start == 0 || F::replaces(value, best) {
                (best, leaf) = (value, start);
            }
        }
        (best, leaf + find_first::<F::Element>(p.add(leaf), LEAF_ELEMENTS.min(n - leaf), best))
    }
}

multiversion! {
    /// The index of the first element equal to `best`, or NaN as `best` is. There is one: a fold starts with
    /// its identity, which is also the result of a run of nothing but that value.
    unsafe fn find_first<T: Element>(p: *const T, n: usize, best: T) -> usize = find_first_body
}

/// # Safety
/// `n` elements are readable.
#[inline(always)]
unsafe fn find_first_body<T: Element>(p: *const T, n: usize, best: T) -> usize {
    #[allow(clippy::eq_op)]
    let nan = best != best;
    let mut at = 0;
    // SAFETY: every index is below `n`.
    unsafe {
        while !nan && n >= COMPARE_CHUNK && at < n {
            // The last chunk may overlap the one before.
            at = at.min(n - COMPARE_CHUNK);
            let mut hits = [[0u8; 8]; COMPARE_CHUNK / 8];
            for (i, hit) in hits.as_flattened_mut().iter_mut().enumerate() {
                *hit = u8::from(*p.add(at + i) == best);
            }
            for hits in hits {
                let hits = u64::from_le_bytes(hits);
                if hits != 0 {
                    return at + hits.trailing_zeros() as usize / 8;
                }
                at += 8;
            }
        }
        #[allow(clippy::eq_op)]
        (0..n).find(|&i| *p.add(i) == best || (nan && *p.add(i) != *p.add(i))).unwrap_or(0)
    }
}

/// Searches `count` contiguous rows of at least `WIDE_LANES` elements.
///
/// # Safety
/// As `search_short_rows`.
unsafe fn search_long_rows<F: ArgFold>(
    (p, n, stride): (*const F::In, usize, isize),
    count: usize,
    out: *mut i64,
    apart: isize,
) {
    let group = (ROW_GROUP.1 / n).clamp(1, ROW_GROUP.0);
    let mut best = [F::IDENTITY; ROW_GROUP.0];
    for start in (0..count).step_by(group) {
        let len = group.min(count - start);
        let row = |i: usize| p.wrapping_offset((start + i) as isize * stride);
        // SAFETY: the caller's contract.
        unsafe {
            if n <= LEAF_ELEMENTS {
                fold::fold_leaves::<F>(row(0), n, stride, best.as_mut_ptr(), 1, len);
            }
            for (i, &best) in best[..len].iter().enumerate() {
                let found = match n {
                    ..=LEAF_ELEMENTS => find_first::<F::Element>(row(i), n, best),
                    _ => search_leaves::<F>(row(i), n).1,
                };
                *out.offset((start + i) as isize * apart) = found as i64;
            }
        }
    }
}

/// Searches `count` contiguous rows of fewer than `WIDE_LANES` elements.
///
/// # Safety
/// `count` rows of `n` contiguous elements, `stride` apart, are readable; `out` has space for `count`
/// indices, `apart` apart.
unsafe fn search_short_rows<F: ArgFold>(
    (p, n, stride): (*const F::In, usize, isize),
    count: usize,
    out: *mut i64,
    apart: isize,
) {
    let mut tile = TransposedTile::new();
    let group = TransposedTile::<F::In>::capacity(n).min(COLUMN_TILE);
    for start in (0..count).step_by(group) {
        let (len, start) = (group.min(count - start), start as isize);
        // SAFETY: the caller's contract.
        unsafe {
            let transposed = tile.fill(p.offset(start * stride), n, stride, len);
            search_columns::<F>(
                (transposed, len as isize, n),
                len,
                out.offset(start * apart),
                apart,
            );
        }
    }
}

/// Searches `width` adjacent columns at once.
///
/// # Safety
/// `n` rows of `width` contiguous elements, `step` apart, are readable; `out` has space for `width` indices.
unsafe fn search_columns<F: ArgFold>(
    (p, step, n): (*const F::In, isize, usize),
    width: usize,
    out: *mut i64,
    by: isize,
) {
    let mut best = [F::IDENTITY; COLUMN_TILE];
    let mut index = [0i64; COLUMN_TILE];
    for left in (0..width).step_by(COLUMN_TILE) {
        let len = COLUMN_TILE.min(width - left);
        // SAFETY: the caller's contract.
        unsafe {
            update_columns::<F>(p.add(left), step, n, best.as_mut_ptr(), index.as_mut_ptr(), len);
            for (j, &found) in index[..len].iter().enumerate() {
                *out.offset((left + j) as isize * by) = found;
            }
        }
    }
}

multiversion! {
    /// Updates the best value and its row for `len` columns.
    unsafe fn update_columns<F: ArgFold>(
        p: *const F::In, step: isize, n: usize, best: *mut F::Element, index: *mut i64, len: usize,
    ) = update_columns_body, Levels::UpToAvx2
}

/// # Safety
/// `n` rows of `len` contiguous elements, `step` apart, are readable; `best` and `index` have `len` slots.
#[inline(always)]
unsafe fn update_columns_body<F: ArgFold>(
    p: *const F::In,
    step: isize,
    n: usize,
    best: *mut F::Element,
    index: *mut i64,
    len: usize,
) {
    // SAFETY: the caller's contract.
    unsafe {
        for j in 0..len {
            *best.add(j) = *p.add(j);
            *index.add(j) = 0;
        }
        for row in 1..n as isize {
            let at = p.offset(row * step);
            for j in 0..len {
                let (value, old) = (*at.add(j), *best.add(j));
                let replaced = F::replaces(value, old);
                *best.add(j) = if replaced { value } else { old };
                *index.add(j) = if replaced { row as i64 } else { *index.add(j) };
            }
        }
    }
}

/// Elements of one block of a search of complex numbers.
const COMPLEX_BLOCK_ELEMENTS: usize = 1 << 15;

/// Whether `a` replaces `b`: ordered as in NumPy by the real part, then the imaginary one; the first NaN wins.
fn complex_replaces(largest: bool, a: Complex128, b: Complex128) -> bool {
    if b.is_nan() || a.is_nan() {
        return !b.is_nan();
    }
    let (a, b) = if largest { (b, a) } else { (a, b) };
    a.re < b.re || (a.re == b.re && a.im < b.im)
}

/// As `arg_reduce`, for complex128.
fn complex_arg_lines(largest: bool, input: View, axis: usize, out: &ViewMut) {
    let (n, step) = (input.dims[axis], input.strides[axis]);
    let kept = other_axes(&input, axis, out);
    if kept.dims.contains(&0) {
        return;
    }
    assert!(n > 0, "arg_reduce of an empty axis");
    let positions = kept.count();
    let blocks = (positions * n / COMPLEX_BLOCK_ELEMENTS).clamp(1, positions);
    parallel_for(blocks, &|b| {
        let (start, end) = (b * positions / blocks, (b + 1) * positions / blocks);
        kept.for_range(start, end, &mut |[from, to]| {
            // SAFETY: the views are valid for every position of their axes and along the line.
            unsafe {
                let line = input.at::<Complex128>(from);
                let at = |i: usize| *line.offset(i as isize * step);
                let best = (1..n).fold(0, |best, i| {
                    if complex_replaces(largest, at(i), at(best)) { i } else { best }
                });
                *out.at::<i64>(to) = best as i64;
            }
        });
    });
}
