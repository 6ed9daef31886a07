//! argmax and argmin along one axis: the first occurrence, and a NaN wins.
//!
//! Owns: the search by leaves (fold a leaf, remember the best leaf, look inside it at the end), that of rows, whose
//! extremes are folded together, and that of neighbouring lines. Invariant: the result does not depend on how the work is split.

use std::mem::MaybeUninit;

use super::super::cast::with_copy;
use super::super::launch::launch;
use super::super::view::{Axes, View, ViewMut, with_float};
use super::complex_arg;
use super::fold::{self, Fold, LEAF, NARROW, WIDE};
use super::inner::Partials;
use super::reductions::{Max, Min};
use super::transposed_rows::Tile;
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::multiversion::leveled;
use crate::threads::parallel_for;

/// Elements of one piece of a split search.
const PIECE: usize = 1 << 16;
/// Neighbouring searches that run side by side.
const TILE: usize = 256;
/// Elements that are compared at once when the best one is looked up.
const CHUNK: usize = 64;
/// Rows, of at most so many elements, whose extremes are folded together.
const GROUP: (usize, usize) = (16, 4096);

/// What is picked.
trait Item: Copy + PartialOrd + Send + Sync + 'static {}
impl<T: Copy + PartialOrd + Send + Sync + 'static> Item for T {}

/// A fold that picks one of its elements.
trait Pick: Fold<In = Self::Item, Acc = Self::Item> {
    type Item: Item;
    /// Whether `a` displaces `b`.
    fn beats(a: Self::Item, b: Self::Item) -> bool;
}

macro_rules! picks {
    ($($t:ty),*) => {$(
        impl Pick for Max<$t> {
            type Item = $t;
            #[inline(always)]
            #[allow(clippy::eq_op)]
            fn beats(a: $t, b: $t) -> bool {
                a > b || (a != a && b == b)
            }
        }
        impl Pick for Min<$t> {
            type Item = $t;
            #[inline(always)]
            #[allow(clippy::eq_op)]
            fn beats(a: $t, b: $t) -> bool {
                a < b || (a != a && b == b)
            }
        }
    )*};
}
picks!(f64, f32, i64, u64);

/// Writes the index of the largest (or smallest) element along `axis` as int64. `out` has the dims of
/// `input` without the axis, or with 1 in its place; the axis is not empty.
///
/// # Errors
/// `Memory` when there is none for a copy in a dtype that has loops.
pub fn arg_reduce(largest: bool, input: View, axis: usize, out: ViewMut) -> Result<()> {
    launch!("arg_reduce", [input] => [out];; arg_lines(largest, input, axis, out))
}

fn arg_lines(largest: bool, input: View, axis: usize, out: ViewMut) -> Result<()> {
    assert!(out.dtype == DType::I64, "arg_reduce writes indices");
    match input.dtype {
        DType::F64 | DType::F32 => {
            with_float!([input], T => by_extreme::<T>(largest, input, axis, out))
        }
        DType::I64 => by_extreme::<i64>(largest, input, axis, out),
        DType::U64 => by_extreme::<u64>(largest, input, axis, out),
        DType::C128 => complex_arg::arg_lines(largest, input, axis, &out),
        rare => {
            let lines = |copied: View| arg_lines(largest, copied, axis, out);
            return with_copy(rare.computes(), input, lines);
        }
    }
    Ok(())
}

fn by_extreme<T>(largest: bool, input: View, axis: usize, out: ViewMut)
where
    Max<T>: Pick,
    Min<T>: Pick,
{
    if largest { go::<Max<T>>(input, axis, out) } else { go::<Min<T>>(input, axis, out) }
}

fn go<F: Pick>(input: View, axis: usize, out: ViewMut) {
    let (n, step) = (input.dims[axis], input.strides[axis]);
    let kept = other_axes(&input, axis, &out);
    if kept.dims.contains(&0) {
        return;
    }
    assert!(n > 0, "arg_reduce of an empty axis");
    let mut kept = kept.collapse(true);
    let results = kept.count();
    if results == 1 && n >= 2 * PIECE {
        // SAFETY: the views are valid at their first position and along the axis.
        return unsafe { *out.at::<i64>(0) = split::<F>(input.at(0), step, n) as i64 };
    }
    let inner = abreast(&mut kept, n, step);
    let least = if step == 1 && n >= WIDE { 1 } else { NARROW };
    let positions = kept.count();
    let wanted = results * n / PIECE;
    let blocks = wanted.clamp(1, positions);
    // Few positions of many searches are cut between these.
    let cuts = inner.map_or(1, |(count, _)| (wanted / blocks).clamp(1, count / least));
    parallel_for(blocks * cuts, &|b| {
        let (block, cut) = (b / cuts, b % cuts);
        let (start, end) = (block * positions / blocks, (block + 1) * positions / blocks);
        kept.for_range(start, end, &mut |[from, to]| {
            let Some((count, (by, apart))) = inner else {
                // SAFETY: the views are valid for every position of their axes.
                return unsafe { *out.at(to) = search::<F>(input.at(from), step, n).1 as i64 };
            };
            let (first, last) = (cut * count / cuts, (cut + 1) * count / cuts);
            let from = input.at(from + first as isize * by);
            let to = out.at(to + first as isize * apart);
            // SAFETY: as above.
            unsafe {
                match step {
                    1 if n < WIDE => rows::<F>((from, n, by), last - first, to, apart),
                    1 => long_rows::<F>((from, n, by), last - first, to, apart),
                    _ => side_by_side::<F>((from, step, n), last - first, to, apart),
                }
            }
        });
    });
}

/// The kept axis, taken out, along which lines are searched together: how many there are, and how far apart the lines and the
/// results begin.
fn abreast(kept: &mut Axes<2>, n: usize, step: isize) -> Option<(usize, (isize, isize))> {
    let (&count, &[from, to]) = (kept.dims.last()?, kept.strides.last()?);
    // Rows of fewer elements are turned.
    let few = if step == 1 && n >= WIDE { 1 } else { NARROW };
    let together = (step == 1 || from == 1) && count >= few;
    together.then(|| (kept.pop().0, (from, to)))
}

/// The axes that are kept: strides of the input and the output.
pub(super) fn other_axes(input: &View, axis: usize, out: &ViewMut) -> Axes<2> {
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
unsafe fn split<F: Pick>(p: *const F::In, step: isize, n: usize) -> usize {
    let pieces = n.div_ceil(PIECE);
    let mut found: Vec<(F::Item, usize)> = vec![(F::IDENTITY, 0); pieces];
    let slots = Partials(found.as_mut_ptr());
    let source = Partials(p.cast_mut());
    parallel_for(pieces, &|i| {
        let start = i * PIECE;
        let len = PIECE.min(n - start);
        // SAFETY: the caller's contract; every piece has its own slot.
        unsafe {
            let (value, at) = search::<F>(source.slot(0).offset(start as isize * step), step, len);
            *slots.slot(i) = (value, start + at);
        }
    });
    let mut best = found[0];
    for &piece in &found[1..] {
        if F::beats(piece.0, best.0) {
            best = piece;
        }
    }
    best.1
}

/// The picked element of a run and its index.
///
/// # Safety
/// `n` elements, at least one, `step` apart, are readable.
unsafe fn search<F: Pick>(p: *const F::In, step: isize, n: usize) -> (F::Item, usize) {
    // SAFETY: the caller's contract; gathered leaves are written before they are read.
    unsafe {
        if step == 1 {
            return leaves::<F>(p, n);
        }
        let mut buffer = [MaybeUninit::<F::In>::uninit(); LEAF];
        let mut best: Option<(F::Item, usize)> = None;
        for start in (0..n).step_by(LEAF) {
            let len = LEAF.min(n - start);
            for (i, slot) in buffer[..len].iter_mut().enumerate() {
                slot.write(*p.offset((start + i) as isize * step));
            }
            let (value, at) = leaves::<F>(buffer.as_ptr().cast(), len);
            if best.is_none_or(|(b, _)| F::beats(value, b)) {
                best = Some((value, start + at));
            }
        }
        best.unwrap_or((F::IDENTITY, 0))
    }
}

/// The picked element of `n` neighbours and its index.
///
/// # Safety
/// `n` elements, at least one, are readable.
unsafe fn leaves<F: Pick>(p: *const F::In, n: usize) -> (F::Item, usize) {
    // SAFETY: the leaves lie inside the `n` elements.
    unsafe {
        if n < 16 {
            let (mut best, mut at) = (*p, 0);
            for i in 1..n {
                let wins = F::beats(*p.add(i), best);
                best = if wins { *p.add(i) } else { best };
                at = if wins { i } else { at };
            }
            return (best, at);
        }
        let (mut best, mut leaf) = (F::IDENTITY, 0);
        for start in (0..n).step_by(LEAF) {
            let mut value = F::IDENTITY;
            fold::leaves::<F>(p.add(start), LEAF.min(n - start), 0, &mut value, 0, 1);
            if start == 0 || F::beats(value, best) {
                (best, leaf) = (value, start);
            }
        }
        (best, leaf + place::<F::Item>(p.add(leaf), LEAF.min(n - leaf), best))
    }
}

leveled! {
    /// The index of the first element that is equal, or NaN as well. There is one: a fold started from its identity, which is also
    /// what a run of nothing but that value gives.
    unsafe fn place<T: Item>(p: *const T, n: usize, best: T) -> usize = place_body
}

/// # Safety
/// `n` elements are readable.
#[inline(always)]
unsafe fn place_body<T: Item>(p: *const T, n: usize, best: T) -> usize {
    #[allow(clippy::eq_op)]
    let nan = best != best;
    let mut at = 0;
    // SAFETY: every index is below `n`.
    unsafe {
        while !nan && n >= CHUNK && at < n {
            // The last ones may have been looked at before.
            at = at.min(n - CHUNK);
            let mut hits = [[0u8; 8]; CHUNK / 8];
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

/// Searches `count` rows of at least `WIDE` neighbours.
///
/// # Safety
/// As `rows`.
unsafe fn long_rows<F: Pick>(
    (p, n, stride): (*const F::In, usize, isize),
    count: usize,
    out: *mut i64,
    apart: isize,
) {
    let group = (GROUP.1 / n).clamp(1, GROUP.0);
    let mut best = [F::IDENTITY; GROUP.0];
    for start in (0..count).step_by(group) {
        let len = group.min(count - start);
        let row = |i: usize| p.wrapping_offset((start + i) as isize * stride);
        // SAFETY: the caller's contract.
        unsafe {
            if n <= LEAF {
                fold::leaves::<F>(row(0), n, stride, best.as_mut_ptr(), 1, len);
            }
            for (i, &best) in best[..len].iter().enumerate() {
                let found = match n {
                    ..=LEAF => place::<F::Item>(row(i), n, best),
                    _ => leaves::<F>(row(i), n).1,
                };
                *out.offset((start + i) as isize * apart) = found as i64;
            }
        }
    }
}

/// Searches `count` rows of fewer than `WIDE` neighbours.
///
/// # Safety
/// `count` rows of `n` neighbours, `stride` apart, are readable; `out` has room for `count` indices, `apart` apart.
unsafe fn rows<F: Pick>(
    (p, n, stride): (*const F::In, usize, isize),
    count: usize,
    out: *mut i64,
    apart: isize,
) {
    let mut tile = Tile::new();
    let room = Tile::<F::In>::room(n).min(TILE);
    for start in (0..count).step_by(room) {
        let (len, start) = (room.min(count - start), start as isize);
        // SAFETY: the caller's contract.
        unsafe {
            let turned = tile.fill(p.offset(start * stride), n, stride, len);
            side_by_side::<F>((turned, len as isize, n), len, out.offset(start * apart), apart);
        }
    }
}

/// Searches `width` neighbouring columns at once.
///
/// # Safety
/// `n` rows of `width` neighbours, `step` apart, are readable; `out` has room for `width` indices.
unsafe fn side_by_side<F: Pick>(
    (p, step, n): (*const F::In, isize, usize),
    width: usize,
    out: *mut i64,
    by: isize,
) {
    let mut best = [F::IDENTITY; TILE];
    let mut index = [0i64; TILE];
    for left in (0..width).step_by(TILE) {
        let len = TILE.min(width - left);
        // SAFETY: the caller's contract.
        unsafe {
            columns::<F>(p.add(left), step, n, best.as_mut_ptr(), index.as_mut_ptr(), len);
            for (j, &found) in index[..len].iter().enumerate() {
                *out.offset((left + j) as isize * by) = found;
            }
        }
    }
}

leveled! {
    /// Keeps the best value and its row for `len` columns.
    unsafe fn columns<F: Pick>(
        p: *const F::In, step: isize, n: usize, best: *mut F::Item, index: *mut i64, len: usize,
    ) = columns_body, Levels::UpToAvx2
}

/// # Safety
/// `n` rows of `len` neighbours, `step` apart, are readable; `best` and `index` have `len` slots.
#[inline(always)]
unsafe fn columns_body<F: Pick>(
    p: *const F::In,
    step: isize,
    n: usize,
    best: *mut F::Item,
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
                let wins = F::beats(value, old);
                *best.add(j) = if wins { value } else { old };
                *index.add(j) = if wins { row as i64 } else { *index.add(j) };
            }
        }
    }
}
