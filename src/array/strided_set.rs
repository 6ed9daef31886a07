//! Sets of positions in a memory: the elements of a view, regardless of the order of its axes.
//!
//! A set is an offset plus multiples of strides. Strides are positive and descending, each larger than the reach of the
//! inner axes, and adjacent axes that continue each other are merged: equal sets have equal representations, and the rank
//! of a position is found by division.

use smallvec::SmallVec;

use super::Layout;

/// One axis of a set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Axis {
    stride: usize,
    dim: usize,
}

/// A set of positions, counted in elements of one dtype, or in the real components of complex numbers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StridedSet {
    offset: usize,
    axes: SmallVec<[Axis; 2]>,
}

impl StridedSet {
    /// The positions of a layout whose elements are `units` units long. If elements overlap or interleave: all positions from
    /// the first to the last.
    pub fn of(layout: &Layout, units: usize) -> StridedSet {
        let Some((low, high)) = layout.extent() else {
            return StridedSet::run(0, 0);
        };
        let (low, high) = (low.max(0) as usize * units, (high.max(0) as usize + 1) * units);
        let mut axes: SmallVec<[Axis; 2]> = SmallVec::new();
        for (&dim, &stride) in layout.dims().iter().zip(layout.strides()) {
            if dim > 1 && stride != 0 {
                axes.push(Axis { stride: stride.unsigned_abs() * units, dim });
            }
        }
        axes.sort_unstable_by_key(|axis| std::cmp::Reverse(axis.stride));
        axes.push(Axis { stride: 1, dim: units });
        let mut merged: SmallVec<[Axis; 2]> = SmallVec::new();
        for axis in axes.into_iter().rev() {
            match merged.last_mut() {
                Some(inner) if inner.stride * inner.dim == axis.stride => inner.dim *= axis.dim,
                _ => merged.push(axis),
            }
        }
        merged.retain(|axis| axis.dim > 1);
        merged.reverse();
        let set = StridedSet { offset: low, axes: merged };
        if set.is_nested() { set } else { StridedSet::run(low, high - low) }
    }

    /// The positions `start .. start + len`.
    pub(super) fn run(start: usize, len: usize) -> StridedSet {
        let mut axes = SmallVec::new();
        if len != 1 {
            axes.push(Axis { stride: 1, dim: len });
        }
        StridedSet { offset: start, axes }
    }

    /// Whether each stride is larger than the reach of the inner axes.
    fn is_nested(&self) -> bool {
        let mut reach = 0;
        self.axes.iter().rev().all(|axis| {
            let larger_than_reach = axis.stride > reach;
            reach += axis.stride * (axis.dim - 1);
            larger_than_reach
        })
    }

    /// The number of positions.
    pub fn len(&self) -> usize {
        self.axes.iter().map(|axis| axis.dim).product()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first position, and one past the last.
    pub(super) fn extent(&self) -> (usize, usize) {
        if self.is_empty() {
            return (self.offset, self.offset);
        }
        let reach: usize = self.axes.iter().map(|axis| axis.stride * (axis.dim - 1)).sum();
        (self.offset, self.offset + reach + 1)
    }

    /// The same positions in units `k` times finer.
    pub(super) fn refined(&self, k: usize) -> StridedSet {
        let layout = self.layout();
        StridedSet::of(&layout, k)
    }

    /// The positions as a layout, in ascending order.
    pub fn layout(&self) -> Layout {
        let dims: SmallVec<[usize; 4]> = self.axes.iter().map(|axis| axis.dim).collect();
        let strides: SmallVec<[isize; 4]> =
            self.axes.iter().map(|axis| axis.stride as isize).collect();
        let layout = Layout::strided(&dims, &strides, self.offset as isize);
        layout.expect("positions of a memory that exists")
    }

    /// Calls `f` with (start, length) of each contiguous run, in ascending order.
    pub(super) fn for_each_run(&self, mut f: impl FnMut(usize, usize)) {
        let (outer, len) = match self.axes.split_last() {
            Some((last, outer)) if last.stride == 1 => (outer, last.dim),
            _ => (&self.axes[..], 1),
        };
        if len == 0 || outer.iter().any(|axis| axis.dim == 0) {
            return;
        }
        let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, outer.len());
        let mut start = self.offset;
        loop {
            f(start, len);
            let mut k = outer.len();
            loop {
                if k == 0 {
                    return;
                }
                k -= 1;
                index[k] += 1;
                start += outer[k].stride;
                if index[k] < outer[k].dim {
                    break;
                }
                start -= outer[k].stride * outer[k].dim;
                index[k] = 0;
            }
        }
    }

    /// The rank of a position in the set; `None` if it is not in the set.
    fn rank(&self, position: usize) -> Option<usize> {
        let mut rest = position.checked_sub(self.offset)?;
        let mut rank = 0;
        for axis in &self.axes {
            let i = rest / axis.stride;
            if i >= axis.dim {
                return None;
            }
            rest -= i * axis.stride;
            rank = rank * axis.dim + i;
        }
        (rest == 0).then_some(rank)
    }

    /// The elements of `layout` within a contiguous copy of this set; `None` if some are not in the set.
    pub fn layout_in_copy(&self, layout: &Layout, units: usize) -> Option<Layout> {
        let first = usize::try_from(layout.offset()).ok()? * units;
        let start = self.rank(first)?;
        if !start.is_multiple_of(units) {
            return None;
        }
        let mut strides: SmallVec<[isize; 4]> = SmallVec::new();
        for (&dim, &stride) in layout.dims().iter().zip(layout.strides()) {
            if dim <= 1 || stride == 0 {
                strides.push(0);
                continue;
            }
            let step = self.stride_in_copy(stride.unsigned_abs() * units)?;
            if !step.is_multiple_of(units) {
                return None;
            }
            strides.push((step / units) as isize * stride.signum());
        }
        let placed = Layout::strided(layout.dims(), &strides, (start / units) as isize).ok()?;
        self.corners_match(layout, &placed, units).then_some(placed)
    }

    /// The stride in the contiguous copy for a stride in the memory, if it goes along one axis of the set.
    fn stride_in_copy(&self, stride: usize) -> Option<usize> {
        let mut behind = 1;
        let mut found = None;
        for axis in self.axes.iter().rev() {
            if stride.is_multiple_of(axis.stride) {
                found = Some(stride / axis.stride * behind);
            }
            behind *= axis.dim;
        }
        found
    }

    /// Whether the corners of a layout have the ranks that the placed layout says; then all its elements do, since along an
    /// axis both have constant steps.
    fn corners_match(&self, layout: &Layout, placed: &Layout, units: usize) -> bool {
        let axes = layout.ndim();
        let corner = |of: &Layout, bits: usize| -> isize {
            let along = |(k, (&d, &s)): (usize, (&usize, &isize))| {
                if bits >> k & 1 == 1 { s * (d as isize - 1) } else { 0 }
            };
            of.offset() + of.dims().iter().zip(of.strides()).enumerate().map(along).sum::<isize>()
        };
        axes < 16
            && (0..1usize << axes).all(|bits| {
                let at = corner(layout, bits) * units as isize;
                let rank = usize::try_from(at).ok().and_then(|at| self.rank(at));
                let last = usize::try_from(at).ok().and_then(|at| self.rank(at + units - 1));
                rank.is_some_and(|rank| {
                    rank as isize == corner(placed, bits) * units as isize
                        && last == Some(rank + units - 1)
                })
            })
    }

    /// The intersection with another set: pairs of sets of equal ranks, in this set and in the other.
    pub fn intersection(&self, other: &StridedSet) -> Vec<(StridedSet, StridedSet)> {
        let mut pairs: Vec<RankRun> = Vec::new();
        let swapped = self.len() > other.len();
        let (smaller, larger) = if swapped { (other, self) } else { (self, other) };
        let mut rank = 0;
        smaller.for_each_run(|start, len| {
            for position in start..start + len {
                if let Some(found) = larger.rank(position) {
                    RankRun::add(&mut pairs, rank, found);
                }
                rank += 1;
            }
        });
        let sets = |run: RankRun| {
            let (smaller, larger) = (run.set(0), run.set(1));
            if swapped { (larger, smaller) } else { (smaller, larger) }
        };
        pairs.into_iter().map(sets).collect()
    }

    /// Sets with the positions of these ascending runs: equal runs at equal distances become one set.
    pub(super) fn from_runs(runs: &[(usize, usize)]) -> Vec<StridedSet> {
        let mut sets: Vec<StridedSet> =
            runs.iter().map(|&(start, len)| StridedSet::run(start, len)).collect();
        loop {
            let before = sets.len();
            sets = merge_neighbours(sets);
            if sets.len() == before {
                return sets;
            }
        }
    }
}

/// Merges neighbouring sets of equal shape at equal distances into one set with one more axis.
fn merge_neighbours(sets: Vec<StridedSet>) -> Vec<StridedSet> {
    let mut out: Vec<StridedSet> = Vec::new();
    let mut i = 0;
    while i < sets.len() {
        let (first, mut count) = (&sets[i], 1);
        let gap = sets.get(i + 1).map_or(0, |next| next.offset - first.offset);
        while sets.get(i + count).is_some_and(|next| {
            next.axes == first.axes && next.offset == first.offset + gap * count
        }) {
            count += 1;
        }
        if count > 1 {
            let mut axes: SmallVec<[Axis; 2]> = SmallVec::new();
            axes.push(Axis { stride: gap, dim: count });
            axes.extend_from_slice(&first.axes);
            out.push(StridedSet { offset: first.offset, axes });
        } else {
            out.push(first.clone());
        }
        i += count;
    }
    out
}

/// Pairs of ranks in two sets, with constant steps.
struct RankRun {
    first: [usize; 2],
    step: [isize; 2],
    count: usize,
}

impl RankRun {
    /// Appends a pair of ranks, to the last run if it continues it.
    fn add(all: &mut Vec<RankRun>, a: usize, b: usize) {
        if let Some(last) = all.last_mut() {
            let step = [0, 1].map(|k| {
                let end = last.first[k] as isize + last.step[k] * (last.count as isize - 1);
                [a, b][k] as isize - end
            });
            if last.count == 1 && step[1] > 0 {
                (last.step, last.count) = (step, 2);
                return;
            }
            if last.step == step {
                last.count += 1;
                return;
            }
        }
        all.push(RankRun { first: [a, b], step: [1, 1], count: 1 });
    }

    fn set(&self, k: usize) -> StridedSet {
        let stride = self.step[k].unsigned_abs();
        if stride == 1 || self.count == 1 {
            return StridedSet::run(self.first[k], self.count);
        }
        let mut axes = SmallVec::new();
        axes.push(Axis { stride, dim: self.count });
        StridedSet { offset: self.first[k], axes }
    }
}
