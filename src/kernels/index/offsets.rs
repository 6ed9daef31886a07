//! Element offsets from integer indices and masks, with range checks.
//!
//! Invariant: `Offsets` are inside the axes they were made for.

use super::super::view::{Axes, View};
use crate::array::observer;
use crate::dtype::{DType, Truth};
use crate::error::{Error, Result};

/// Offsets in elements, relative to the first element of the array they were made for.
#[derive(Clone, Debug)]
pub struct Offsets {
    pub(super) list: Vec<isize>,
    /// The traced object that holds them when a compiled program replays.
    pub(super) object: Option<usize>,
}

impl Offsets {
    pub(super) fn new(list: Vec<isize>) -> Offsets {
        Offsets { list, object: None }
    }

    /// The number of offsets.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The offsets.
    pub fn iter(&self) -> impl Iterator<Item = isize> + '_ {
        self.list.iter().copied()
    }

    /// The offsets as a list.
    pub fn into_list(self) -> Vec<isize> {
        self.list
    }

    /// The same positions under other strides: for each indexed axis, in order, its stride here (of C order,
    /// positive and descending) and its stride there.
    pub fn restrided(&self, axes: &[(isize, isize)]) -> Offsets {
        match self.object {
            Some(object) if observer::is_active() => {
                super::traced_offsets::restrided(self, object, axes)
            }
            _ => self.with_strides(axes),
        }
    }

    pub(super) fn with_strides(&self, axes: &[(isize, isize)]) -> Offsets {
        let moved = |&offset: &isize| {
            let mut rest = offset;
            axes.iter().fold(0, |at, &(here, there)| {
                let coordinate = rest / here;
                rest %= here;
                at + coordinate * there
            })
        };
        Offsets::new(self.list.iter().map(moved).collect())
    }

    /// Whether every run of the program being traced computes the offsets anew.
    pub fn are_traced(&self) -> bool {
        self.object.is_some() && observer::is_active()
    }

    /// For each offset, whether no later one equals it; `None` if all differ.
    pub(super) fn last_of_each(&self) -> Option<Vec<bool>> {
        if self.list.windows(2).all(|pair| pair[0] < pair[1]) {
            return None;
        }
        let (low, high) =
            self.list.iter().fold((isize::MAX, isize::MIN), |(a, b), &i| (a.min(i), b.max(i)));
        let span = (high - low) as usize;
        let mut last = vec![true; self.list.len()];
        if span / 64 > 1024 + 2 * self.list.len() {
            let mut order: Vec<(isize, usize)> = self.list.iter().copied().zip(0..).collect();
            order.sort_unstable();
            for pair in order.windows(2) {
                last[pair[0].1] = pair[0].0 != pair[1].0;
            }
        } else {
            // From the back: a bit for each position seen.
            let mut seen = vec![0u64; span / 64 + 1];
            for (last, &at) in last.iter_mut().zip(&self.list).rev() {
                let (word, bit) = ((at - low) as usize / 64, 1 << ((at - low) % 64));
                *last = seen[word] & bit == 0;
                seen[word] |= bit;
            }
        }
        (!last.iter().all(|&l| l)).then_some(last)
    }
}

/// One indexed axis: its number (for messages), size and stride.
#[derive(Clone, Copy, Debug)]
pub struct Indexed {
    /// The number of the axis.
    pub axis: usize,
    /// Its size.
    pub size: usize,
    /// Its stride in elements.
    pub stride: isize,
}

/// The offset of every combination `indices[0][p], indices[1][p], …` in C order of `p`. The views are int64
/// and have equal dims (broadcast before); negative indices count from the end.
pub fn offsets(op: &'static str, indices: &[View], axes: &[Indexed]) -> Result<Offsets> {
    if observer::is_active() {
        let axes_copy = axes.to_vec();
        let find = move |indices: &[View]| combine_offsets(op, indices, &axes_copy);
        return super::traced_offsets::traced(indices, Box::new(find));
    }
    combine_offsets(op, indices, axes)
}

fn combine_offsets(op: &'static str, indices: &[View], axes: &[Indexed]) -> Result<Offsets> {
    if indices.first().is_some_and(|index| index.numel() == 0) {
        return Ok(Offsets::new(Vec::new()));
    }
    assert_eq!(indices.len(), axes.len(), "one index per axis");
    let numel = indices.first().map_or(1, View::numel);
    let mut out = list_with_capacity(numel)?;
    if indices.is_empty() {
        out.push(0);
    }
    for (number, (index, &axis)) in indices.iter().zip(axes).enumerate() {
        assert_eq!(index.dims, indices[0].dims, "indices of equal dims");
        assert!(index.dtype == DType::I64, "indices are int64");
        let mut walk = Axes::new(index.dims, [index.strides]).collapse(false);
        let (inner, [step]) = walk.pop();
        let mut outside = false;
        let mut done = 0;
        walk.for_each(|[from]| {
            // SAFETY: the view is valid for every position of its axes.
            let line = (0..inner as isize).map(|j| unsafe { *index.at::<i64>(from + j * step) });
            let positions =
                line.map(|i| checked_position(i, axis.size, &mut outside) * axis.stride);
            if number == 0 {
                out.extend(positions);
            } else {
                out[done..].iter_mut().zip(positions).for_each(|(out, at)| *out += at);
            }
            done += inner;
        });
        if outside {
            return Err(range_error(op, index, axis));
        }
    }
    Ok(Offsets::new(out))
}

/// The position of a possibly negative index; one out of range sets `outside` and counts as 0.
#[inline(always)]
pub(super) fn checked_position(index: i64, size: usize, outside: &mut bool) -> isize {
    let at = if index < 0 { index.wrapping_add(size as i64) } else { index };
    if (at as u64) < size as u64 {
        return at as isize;
    }
    *outside = true;
    0
}

/// The error for the first index, in C order, that is out of range.
#[cold]
pub(super) fn range_error(op: &'static str, index: &View, axis: Indexed) -> Box<Error> {
    let mut first = None;
    Axes::new(index.dims, [index.strides]).for_each(|[at]| {
        // SAFETY: the view is valid for every position of its axes.
        let index = unsafe { *index.at::<i64>(at) };
        let mut outside = false;
        checked_position(index, axis.size, &mut outside);
        first = first.or(outside.then_some(index));
    });
    let index = first.unwrap_or_default();
    Box::new(Error::IndexRange { op: op.into(), index, axis: axis.axis, size: axis.size })
}

/// The offsets of `take_along_axis`: those of `index` itself, with the value of `index` as the coordinate
/// along `axis`. `dims` and `strides` are the array's; `index` (int64) has dims that do not exceed them on
/// the other axes.
pub fn offsets_along(
    op: &'static str,
    index: View,
    axis: usize,
    dims: &[usize],
    strides: &[isize],
) -> Result<Offsets> {
    if observer::is_active() {
        let (dims, strides) = (dims.to_vec(), strides.to_vec());
        let find = move |index: &[View]| along_axis_offsets(op, index[0], axis, &dims, &strides);
        return super::traced_offsets::traced(&[index], Box::new(find));
    }
    along_axis_offsets(op, index, axis, dims, strides)
}

fn along_axis_offsets(
    op: &'static str,
    index: View,
    axis: usize,
    dims: &[usize],
    strides: &[isize],
) -> Result<Offsets> {
    assert_eq!(index.dims.len(), dims.len(), "an index of the array's dimensions");
    let fits = (0..dims.len()).all(|a| a == axis || index.dims[a] <= dims[a]);
    assert!(fits, "an index within the array");
    assert!(index.dtype == DType::I64, "indices are int64");
    if index.numel() == 0 {
        return Ok(Offsets::new(Vec::new()));
    }
    let indexed = Indexed { axis, size: dims[axis], stride: strides[axis] };
    let others: Vec<isize> =
        strides.iter().enumerate().map(|(a, &s)| if a == axis { 0 } else { s }).collect();
    let mut out = list_with_capacity(index.numel())?;
    let mut outside = false;
    let mut walk = Axes::new(index.dims, [index.strides, &others]).collapse(false);
    let (inner, [step, by]) = walk.pop();
    walk.for_each(|[from, at]| {
        out.extend((0..inner as isize).map(|j| {
            // SAFETY: the view is valid for every position of its axes.
            let i = unsafe { *index.at::<i64>(from + j * step) };
            at + j * by + checked_position(i, indexed.size, &mut outside) * indexed.stride
        }));
    });
    if outside {
        return Err(range_error(op, &index, indexed));
    }
    Ok(Offsets::new(out))
}

/// The offsets of the true elements of a mask, in C order, in an array of the mask's dims with these
/// strides.
pub fn offsets_where(mask: View, strides: &[isize]) -> Result<Offsets> {
    assert!(mask.dtype == DType::Bool, "a mask is boolean");
    if observer::is_active() {
        super::traced_offsets::check_mask(&mask)?;
    }
    if mask.numel() == 0 {
        // An empty array may have huge axes, which the iteration would count through.
        return Ok(Offsets::new(Vec::new()));
    }
    let mut axes = Axes::new(mask.dims, [mask.strides, strides]).collapse(false);
    let (inner, [mask_step, step]) = axes.pop();
    // SAFETY: the view is valid for every position of its axes.
    let holds = |from: isize| usize::from(unsafe { *mask.at::<Truth>(from) }.holds());
    let mut count = 0;
    axes.for_each(|[from, _]| {
        count += if mask_step == 1 {
            // SAFETY: as above.
            let line = unsafe { std::slice::from_raw_parts(mask.at::<u8>(from), inner) };
            line.chunks(128).map(|part| count_true(part) as usize).sum::<usize>()
        } else {
            (0..inner as isize).map(|j| holds(from + j * mask_step)).sum()
        };
    });
    // Every position is written to the next slot, and stays if its mask is true: no branch to mispredict.
    let mut out = list_with_capacity(count + 1)?;
    out.resize(count + 1, 0);
    let mut next = 0;
    axes.for_each(|[from, at]| {
        let mut each = |mask_step: isize, step: isize| {
            for j in 0..inner as isize {
                // SAFETY: at most as many positions were kept as there are true elements, and one slot is
                // left for the next.
                unsafe { *out.get_unchecked_mut(next) = at + j * step };
                next += holds(from + j * mask_step);
            }
        };
        if (mask_step, step) == (1, 1) { each(1, 1) } else { each(mask_step, step) }
    });
    out.truncate(count);
    Ok(Offsets::new(out))
}

/// The number of true values among at most 255.
fn count_true(values: &[u8]) -> u8 {
    values.iter().map(|&value| u8::from(value != 0)).sum()
}

/// An empty list with capacity for `n` offsets.
fn list_with_capacity(n: usize) -> Result<Vec<isize>> {
    let mut list = Vec::new();
    match list.try_reserve_exact(n) {
        Ok(()) => Ok(list),
        Err(_) => Err(Box::new(Error::Memory { bytes: n.saturating_mul(size_of::<isize>()) })),
    }
}
