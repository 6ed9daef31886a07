//! Views of a layout: the same storage under other dims, strides and offset.
//!
//! Owns: the constructor of every view. Never touches data.
//! Invariant: a constructor returns a layout that addresses only elements its source addresses, so a
//! layout that fits a storage has only views that fit it.

use smallvec::SmallVec;

use super::layout::{Dims, Layout, Strides};
use super::shape::{ShapeVec, checked_numel};
use crate::error::{Error, Result};

/// Views. Arguments are valid axes and ranges (`normalize_axis` and the callers' checks come
/// first); a violation is a bug of the caller and panics.
impl Layout {
    fn parts(&self) -> (Dims, Strides) {
        (Dims::from_slice(self.dims()), Strides::from_slice(self.strides()))
    }

    /// Repeats axes of size 1, and adds leading axes, with stride 0.
    pub fn broadcast_to(&self, dims: &[usize]) -> Result<Layout> {
        checked_numel("broadcast_to", dims)?;
        let (own, own_strides) = (self.dims(), self.strides());
        let mut strides: Strides = SmallVec::from_elem(0, dims.len());
        let fits = own.len() <= dims.len() && {
            let lead = dims.len() - own.len();
            own.iter().enumerate().all(|(i, &d)| {
                if d == dims[lead + i] {
                    strides[lead + i] = own_strides[i];
                }
                d == dims[lead + i] || d == 1
            })
        };
        if !fits {
            return Err(Box::new(Error::Broadcast {
                op: "broadcast_to".into(),
                a: own.into(),
                b: dims.into(),
            }));
        }
        Ok(Layout::raw(dims, &strides, self.offset()))
    }

    /// Axis `i` of the result is axis `axes[i]` of this layout.
    pub fn permute(&self, axes: &[usize]) -> Layout {
        assert_eq!(axes.len(), self.ndim(), "permute needs every axis");
        let mut seen: SmallVec<[bool; 8]> = SmallVec::from_elem(false, axes.len());
        for &axis in axes {
            assert!(!std::mem::replace(&mut seen[axis], true), "permute repeats an axis");
        }
        let dims: Dims = axes.iter().map(|&a| self.dims()[a]).collect();
        let strides: Strides = axes.iter().map(|&a| self.strides()[a]).collect();
        Layout::raw(&dims, &strides, self.offset())
    }

    /// Exchanges two axes.
    #[inline]
    pub fn swap(&self, a: usize, b: usize) -> Layout {
        if let Some(out) = self.swapped_inline(a, b) {
            return out;
        }
        let (mut dims, mut strides) = self.parts();
        dims.swap(a, b);
        strides.swap(a, b);
        Layout::raw(&dims, &strides, self.offset())
    }

    /// Removes an axis of size 1.
    pub fn squeeze(&self, axis: usize) -> Layout {
        assert_eq!(self.dims()[axis], 1, "squeeze needs an axis of size 1");
        self.select(axis, 0)
    }

    /// Inserts an axis of size 1 before `axis` (`ndim` appends).
    pub fn insert_axis(&self, axis: usize) -> Layout {
        let (mut dims, mut strides) = self.parts();
        let stride = match dims.get(axis) {
            Some(&d) => strides[axis].wrapping_mul(d as isize),
            None => 1,
        };
        dims.insert(axis, 1);
        strides.insert(axis, stride);
        Layout::raw(&dims, &strides, self.offset())
    }

    /// Element `i` of an axis, which disappears.
    pub fn select(&self, axis: usize, i: usize) -> Layout {
        let (dim, stride) = (self.dims()[axis], self.strides()[axis]);
        assert!(i < dim, "index {i} on an axis of size {dim}");
        let offset = self.offset() + i as isize * stride;
        if let Some(out) = self.without_inline(axis, offset) {
            return out;
        }
        let (mut dims, mut strides) = self.parts();
        dims.remove(axis);
        strides.remove(axis);
        Layout::raw(&dims, &strides, offset)
    }

    /// Elements `start`, `start + step`, … of an axis, `len` of them.
    pub fn slice(&self, axis: usize, start: usize, step: isize, len: usize) -> Layout {
        let (dim, stride) = (self.dims()[axis], self.strides()[axis]);
        let mut offset = self.offset();
        if len > 0 {
            let last =
                (len as isize - 1).checked_mul(step).and_then(|r| r.checked_add_unsigned(start));
            let inside = last.is_some_and(|l| l >= 0 && (l as usize) < dim);
            assert!(inside && start < dim, "slice outside an axis of size {dim}");
            offset += start as isize * stride;
        }
        self.with_axis(axis, len, if len > 1 { stride * step } else { stride }, offset)
    }

    /// What this view of `whole` shows and `other` does not, as views. `None` unless both are blocks of `whole`: slices
    /// with unit steps along its axes. `whole` lies in C order.
    pub(crate) fn difference(
        &self,
        other: &Layout,
        whole: &Layout,
    ) -> Option<SmallVec<[Layout; 4]>> {
        let (begin, cut) = (self.block_start(whole)?, other.block_start(whole)?);
        let mut found = SmallVec::new();
        let mut rest = self.clone();
        for (k, (&first, &cut)) in begin.iter().zip(&cut).enumerate() {
            let end = first + self.dims()[k];
            let cut_end = (cut + other.dims()[k]).min(end);
            let cut = cut.max(first);
            if cut >= cut_end {
                found.push(rest);
                return Some(found);
            }
            if cut > first {
                found.push(rest.slice(k, 0, 1, cut - first));
            }
            if cut_end < end {
                found.push(rest.slice(k, cut_end - first, 1, end - cut_end));
            }
            rest = rest.slice(k, cut - first, 1, cut_end - cut);
        }
        Some(found)
    }

    /// The index of the first element of a block of `whole`, which lies in C order.
    fn block_start(&self, whole: &Layout) -> Option<ShapeVec> {
        if self.strides() != whole.strides() || self.numel() == 0 {
            return None;
        }
        let mut left = self.offset() - whole.offset();
        let axes = whole.strides().iter().zip(whole.dims()).zip(self.dims());
        axes.map(|((&stride, &dim), &shown)| {
            let at = left.checked_div(stride)?;
            left -= at * stride;
            usize::try_from(at).ok().filter(|at| at + shown <= dim)
        })
        .collect()
    }

    /// The diagonal of two axes, which disappear, as a new last axis; `k > 0` lies above it.
    pub fn diagonal(&self, k: isize, axis1: usize, axis2: usize) -> Layout {
        assert_ne!(axis1, axis2, "diagonal needs two axes");
        let (mut dims, mut strides) = self.parts();
        let (row, column) = (k.min(0).unsigned_abs(), k.max(0).unsigned_abs());
        let rows = dims[axis1].saturating_sub(row);
        let len = rows.min(dims[axis2].saturating_sub(column));
        let step = strides[axis1].wrapping_add(strides[axis2]);
        let mut offset = self.offset();
        if len > 0 {
            offset += row as isize * strides[axis1] + column as isize * strides[axis2];
        }
        for axis in [axis1.max(axis2), axis1.min(axis2)] {
            dims.remove(axis);
            strides.remove(axis);
        }
        dims.push(len);
        strides.push(step);
        Layout::raw(&dims, &strides, offset)
    }

    /// Windows of `size` along an axis, `step` apart; the window's elements are a new last axis.
    pub fn unfold(&self, axis: usize, size: usize, step: usize) -> Layout {
        let (mut dims, mut strides) = self.parts();
        assert!(size <= dims[axis] && step > 0, "windows of {size}, {step} apart");
        dims.push(size);
        strides.push(strides[axis]);
        dims[axis] = (dims[axis] - size) / step + 1;
        strides[axis] = if dims[axis] > 1 { strides[axis] * step as isize } else { strides[axis] };
        Layout::raw(&dims, &strides, self.offset())
    }

    /// Each element as `k` smaller ones beside each other, which are a new last axis. Strides and offset count the smaller
    /// ones.
    pub fn refine(&self, k: usize) -> Layout {
        let (mut dims, mut strides) = self.parts();
        strides.iter_mut().for_each(|stride| *stride = stride.wrapping_mul(k as isize));
        dims.push(k);
        strides.push(1);
        Layout::raw(&dims, &strides, self.offset().wrapping_mul(k as isize))
    }

    /// The `k` elements along the last axis as one larger one, the inverse of `refine`; `None` where they do not lie beside
    /// each other, or the distances are no multiples of the larger one.
    pub fn coarsen(&self, k: usize) -> Option<Layout> {
        let (mut dims, mut strides) = self.parts();
        let beside = (dims.pop()?, strides.pop()?) == (k, 1);
        let k = k as isize;
        let moves = |(d, s): (&usize, &isize)| *d > 1 && s % k != 0;
        let empty = self.numel() == 0;
        if !empty && (!beside || self.offset() % k != 0 || dims.iter().zip(&strides).any(moves)) {
            return None;
        }
        strides.iter_mut().for_each(|stride| *stride /= k);
        Some(Layout::raw(&dims, &strides, self.offset() / k))
    }

    /// The same elements in C order under other dims; `None` when that needs a copy (or the number
    /// of elements differs).
    pub fn reshape(&self, dims: &[usize]) -> Option<Layout> {
        let numel = checked_numel("reshape", dims).ok()?;
        if numel != self.numel() {
            return None;
        }
        if self.is_contiguous() {
            return Some(Layout::contiguous_unchecked(dims).with_offset(self.offset()));
        }
        let strides = regroup(self.dims(), self.strides(), dims)?;
        Some(Layout::raw(dims, &strides, self.offset()))
    }
}

/// Strides for `new` dims over the elements of an old layout that is not empty: runs of old axes
/// that multiply to a run of new axes must be evenly spaced.
fn regroup(old: &[usize], old_strides: &[isize], new: &[usize]) -> Option<Strides> {
    let kept: ShapeVec = (0..old.len()).filter(|&i| old[i] != 1).collect();
    let mut strides: Strides = SmallVec::from_elem(1, new.len());
    let (mut i, mut j) = (0, 0);
    while i < kept.len() && j < new.len() {
        let (first_old, first_new) = (i, j);
        let (mut have, mut want) = (old[kept[i]], new[j]);
        while have != want {
            if have < want {
                i += 1;
                have *= old[*kept.get(i)?];
            } else {
                j += 1;
                want *= *new.get(j)?;
            }
        }
        for pair in kept[first_old..=i].windows(2) {
            if old_strides[pair[0]] != old_strides[pair[1]].wrapping_mul(old[pair[1]] as isize) {
                return None;
            }
        }
        let mut stride = old_strides[kept[i]];
        for axis in (first_new..=j).rev() {
            strides[axis] = stride;
            stride = stride.wrapping_mul(new[axis] as isize);
        }
        i += 1;
        j += 1;
    }
    Some(strides)
}
