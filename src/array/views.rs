//! Constructors of views: layouts of the same storage with other dims, strides and offset.
//!
//! Invariant: a view addresses only elements that its source addresses, so views of a layout that fits a storage fit it.

use smallvec::SmallVec;

use super::layout::{Dims, Layout, Strides};
use super::shape::{ShapeVec, checked_numel};
use crate::error::{Error, Result};

/// Views. Arguments are valid axes and ranges, checked by the caller (`normalize_axis` and others); a violation panics.
impl Layout {
    fn dims_and_strides(&self) -> (Dims, Strides) {
        (Dims::from_slice(self.dims()), Strides::from_slice(self.strides()))
    }

    /// Repeats axes of size 1 and adds leading axes, with stride 0.
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

    /// Swaps two axes.
    #[inline]
    pub fn swap(&self, a: usize, b: usize) -> Layout {
        if let Some(out) = self.swapped_inline(a, b) {
            return out;
        }
        let (mut dims, mut strides) = self.dims_and_strides();
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
        let (mut dims, mut strides) = self.dims_and_strides();
        let stride = match dims.get(axis) {
            Some(&d) => strides[axis].wrapping_mul(d as isize),
            None => 1,
        };
        dims.insert(axis, 1);
        strides.insert(axis, stride);
        Layout::raw(&dims, &strides, self.offset())
    }

    /// Element `i` of an axis, which is removed.
    pub fn select(&self, axis: usize, i: usize) -> Layout {
        let (dim, stride) = (self.dims()[axis], self.strides()[axis]);
        assert!(i < dim, "index {i} on an axis of size {dim}");
        let offset = self.offset() + i as isize * stride;
        if let Some(out) = self.without_inline(axis, offset) {
            return out;
        }
        let (mut dims, mut strides) = self.dims_and_strides();
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

    /// The elements of this view of `whole` that are not in `other`, as views. `None` unless both are blocks of `whole`
    /// (slices with unit steps along its axes). `whole` is contiguous.
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

    /// The index in `whole` (contiguous) of the first element of this block.
    fn block_start(&self, whole: &Layout) -> Option<ShapeVec> {
        if self.strides() != whole.strides() || self.numel() == 0 {
            return None;
        }
        let mut rest = self.offset() - whole.offset();
        let axes = whole.strides().iter().zip(whole.dims()).zip(self.dims());
        axes.map(|((&stride, &dim), &shown)| {
            let at = rest.checked_div(stride)?;
            rest -= at * stride;
            usize::try_from(at).ok().filter(|at| at + shown <= dim)
        })
        .collect()
    }

    /// The diagonal of two axes, which are removed, as a new last axis; `k > 0` lies above the main diagonal.
    pub fn diagonal(&self, k: isize, axis1: usize, axis2: usize) -> Layout {
        assert_ne!(axis1, axis2, "diagonal needs two axes");
        let (mut dims, mut strides) = self.dims_and_strides();
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

    /// Windows of `size` along an axis, `step` apart; a new last axis has the elements of a window.
    pub fn unfold(&self, axis: usize, size: usize, step: usize) -> Layout {
        let (mut dims, mut strides) = self.dims_and_strides();
        assert!(size <= dims[axis] && step > 0, "windows of {size}, {step} apart");
        dims.push(size);
        strides.push(strides[axis]);
        dims[axis] = (dims[axis] - size) / step + 1;
        strides[axis] = if dims[axis] > 1 { strides[axis] * step as isize } else { strides[axis] };
        Layout::raw(&dims, &strides, self.offset())
    }

    /// Each element split into `k` adjacent smaller ones, along a new last axis. Strides and offset count the smaller ones.
    pub fn refine(&self, k: usize) -> Layout {
        let (mut dims, mut strides) = self.dims_and_strides();
        strides.iter_mut().for_each(|stride| *stride = stride.wrapping_mul(k as isize));
        dims.push(k);
        strides.push(1);
        Layout::raw(&dims, &strides, self.offset().wrapping_mul(k as isize))
    }

    /// The inverse of `refine`: `k` adjacent elements along the last axis as one; `None` if they are not adjacent, or if
    /// offset or strides are not multiples of `k`.
    pub fn coarsen(&self, k: usize) -> Option<Layout> {
        let (mut dims, mut strides) = self.dims_and_strides();
        let adjacent = (dims.pop()?, strides.pop()?) == (k, 1);
        let k = k as isize;
        let misaligned = |(d, s): (&usize, &isize)| *d > 1 && s % k != 0;
        let empty = self.numel() == 0;
        if !empty
            && (!adjacent || self.offset() % k != 0 || dims.iter().zip(&strides).any(misaligned))
        {
            return None;
        }
        strides.iter_mut().for_each(|stride| *stride /= k);
        Some(Layout::raw(&dims, &strides, self.offset() / k))
    }

    /// The same elements in C order with other dims; `None` if that needs a copy or the number of elements differs.
    pub fn reshape(&self, dims: &[usize]) -> Option<Layout> {
        let numel = checked_numel("reshape", dims).ok()?;
        if numel != self.numel() {
            return None;
        }
        if self.is_contiguous() {
            return Some(Layout::contiguous_unchecked(dims).with_offset(self.offset()));
        }
        let strides = reshape_strides(self.dims(), self.strides(), dims)?;
        Some(Layout::raw(dims, &strides, self.offset()))
    }
}

/// Strides of `new` dims over the elements of a non-empty old layout: the old axes that multiply to a group of new axes
/// must be evenly spaced.
fn reshape_strides(old: &[usize], old_strides: &[isize], new: &[usize]) -> Option<Strides> {
    let axes: ShapeVec = (0..old.len()).filter(|&i| old[i] != 1).collect();
    let mut strides: Strides = SmallVec::from_elem(1, new.len());
    let (mut i, mut j) = (0, 0);
    while i < axes.len() && j < new.len() {
        let (first_old, first_new) = (i, j);
        let (mut old_size, mut new_size) = (old[axes[i]], new[j]);
        while old_size != new_size {
            if old_size < new_size {
                i += 1;
                old_size *= old[*axes.get(i)?];
            } else {
                j += 1;
                new_size *= *new.get(j)?;
            }
        }
        for pair in axes[first_old..=i].windows(2) {
            if old_strides[pair[0]] != old_strides[pair[1]].wrapping_mul(old[pair[1]] as isize) {
                return None;
            }
        }
        let mut stride = old_strides[axes[i]];
        for axis in (first_new..=j).rev() {
            strides[axis] = stride;
            stride = stride.wrapping_mul(new[axis] as isize);
        }
        i += 1;
        j += 1;
    }
    Some(strides)
}
