//! Shape, strides and offset of an array within its storage.
//!
//! Owns: `Layout` and the constructors of every view. Never touches data, never knows a dtype:
//! strides and offset count elements.
//! Invariant: a view constructor returns a layout that addresses only elements its source
//! addresses, so a layout that fits a storage has only views that fit it.

use smallvec::SmallVec;

use super::shape::{ShapeVec, checked_numel};
use crate::error::{Error, Result};

/// Dimensions kept without the heap.
const INLINE: usize = 4;

#[derive(Clone, Copy)]
struct Meta {
    ndim: u32,
    contiguous: bool,
}

#[derive(Clone)]
enum Repr {
    /// Dims from 0 on, strides from `INLINE` on.
    Inline(Meta, [usize; 2 * INLINE]),
    /// Dims from 0 on, strides from `ndim` on.
    Heap(Meta, Box<[usize]>),
}

/// Dims, signed strides and offset, in elements.
#[derive(Clone)]
pub struct Layout {
    repr: Repr,
    offset: isize,
}

type Strides = SmallVec<[isize; 8]>;
type Dims = SmallVec<[usize; 8]>;

impl Layout {
    /// The layout of one element.
    #[inline]
    pub const fn scalar() -> Layout {
        let meta = Meta { ndim: 0, contiguous: true };
        Layout { repr: Repr::Inline(meta, [0; 2 * INLINE]), offset: 0 }
    }

    /// C order from offset 0; an error when the size is not addressable.
    #[inline]
    pub fn contiguous(dims: &[usize]) -> Result<Layout> {
        // Three dimensions below 2^16 are below the limit of checked_numel.
        let small = dims.len() < INLINE && dims.iter().all(|&d| d < 1 << 16);
        if !small {
            checked_numel("shape", dims)?;
        }
        Ok(Layout::contiguous_unchecked(dims))
    }

    /// C order from offset 0, for dims whose size was checked before.
    #[inline]
    fn contiguous_unchecked(dims: &[usize]) -> Layout {
        let n = dims.len();
        let meta = Meta { ndim: n as u32, contiguous: true };
        let fill = |words: &mut [usize], at: usize| {
            let mut stride = 1;
            for axis in (0..n).rev() {
                words[axis] = dims[axis];
                words[at + axis] = stride;
                stride *= dims[axis].max(1);
            }
        };
        if n <= INLINE {
            let mut words = [0; 2 * INLINE];
            fill(&mut words, INLINE);
            return Layout { repr: Repr::Inline(meta, words), offset: 0 };
        }
        let mut words = vec![0; 2 * n].into_boxed_slice();
        fill(&mut words, n);
        Layout { repr: Repr::Heap(meta, words), offset: 0 }
    }

    /// A layout from its parts, for memory that others laid out. The caller answers for the strides
    /// staying inside the storage; `View::of` checks it before a kernel runs.
    pub fn strided(dims: &[usize], strides: &[isize], offset: isize) -> Result<Layout> {
        checked_numel("shape", dims)?;
        if dims.len() != strides.len() {
            return Err(Box::new(Error::Internal {
                op: "layout".into(),
                what: format!("{} dims with {} strides", dims.len(), strides.len()),
            }));
        }
        Ok(Layout::raw(dims, strides, offset))
    }

    fn raw(dims: &[usize], strides: &[isize], offset: isize) -> Layout {
        let n = dims.len();
        let meta = Meta { ndim: n as u32, contiguous: is_c_order(dims, strides) };
        let fill = |words: &mut [usize], at: usize| {
            words[..n].copy_from_slice(dims);
            for (word, &stride) in words[at..at + n].iter_mut().zip(strides) {
                *word = stride as usize;
            }
        };
        if n <= INLINE {
            let mut words = [0; 2 * INLINE];
            fill(&mut words, INLINE);
            return Layout { repr: Repr::Inline(meta, words), offset };
        }
        let mut words = vec![0; 2 * n].into_boxed_slice();
        fill(&mut words, n);
        Layout { repr: Repr::Heap(meta, words), offset }
    }

    /// The size of each axis.
    #[inline(always)]
    pub fn dims(&self) -> &[usize] {
        match &self.repr {
            Repr::Inline(meta, words) => &words[..meta.ndim as usize],
            Repr::Heap(meta, words) => &words[..meta.ndim as usize],
        }
    }

    /// The distance between neighbours along each axis, in elements.
    #[inline(always)]
    pub fn strides(&self) -> &[isize] {
        let words = match &self.repr {
            Repr::Inline(meta, words) => &words[INLINE..INLINE + meta.ndim as usize],
            Repr::Heap(meta, words) => &words[meta.ndim as usize..],
        };
        // SAFETY: isize and usize have the same size and alignment, and every bit pattern is valid.
        unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
    }

    /// The position of element (0, 0, …) in the storage, in elements.
    #[inline(always)]
    pub fn offset(&self) -> isize {
        self.offset
    }

    /// The number of axes.
    #[inline(always)]
    pub fn ndim(&self) -> usize {
        match &self.repr {
            Repr::Inline(meta, _) | Repr::Heap(meta, _) => meta.ndim as usize,
        }
    }

    /// The number of elements.
    #[inline(always)]
    pub fn numel(&self) -> usize {
        self.dims().iter().product()
    }

    /// Whether the elements lie in C order without gaps (whatever the offset).
    #[inline(always)]
    pub fn is_contiguous(&self) -> bool {
        match &self.repr {
            Repr::Inline(meta, _) | Repr::Heap(meta, _) => meta.contiguous,
        }
    }

    /// The smallest and largest position addressed, inclusive; `None` when there is no element.
    pub fn extent(&self) -> Option<(isize, isize)> {
        let (mut low, mut high) = (self.offset, self.offset);
        for (&d, &s) in self.dims().iter().zip(self.strides()) {
            let reach = isize::try_from(d).ok()?.checked_sub(1)?.checked_mul(s)?;
            match reach {
                _ if d == 0 => return None,
                r if r < 0 => low = low.checked_add(r)?,
                r => high = high.checked_add(r)?,
            }
        }
        Some((low, high))
    }

    /// The same axes from another offset; the caller answers for its staying inside the storage.
    #[inline]
    pub fn with_offset(&self, offset: isize) -> Layout {
        Layout { repr: self.repr.clone(), offset }
    }
}

fn is_c_order(dims: &[usize], strides: &[isize]) -> bool {
    let mut expected = 1isize;
    let mut ordered = true;
    for (&d, &s) in dims.iter().zip(strides).rev() {
        if d == 0 {
            return true;
        }
        ordered &= d == 1 || s == expected;
        expected = expected.wrapping_mul(d as isize);
    }
    ordered
}

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
        Ok(Layout::raw(dims, &strides, self.offset))
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
        Layout::raw(&dims, &strides, self.offset)
    }

    /// Exchanges two axes.
    #[inline]
    pub fn swap(&self, a: usize, b: usize) -> Layout {
        if let Repr::Inline(meta, words) = &self.repr {
            let mut words = *words;
            words[..meta.ndim as usize].swap(a, b);
            words[INLINE..INLINE + meta.ndim as usize].swap(a, b);
            let mut out = Layout { repr: Repr::Inline(*meta, words), offset: self.offset };
            let contiguous = is_c_order(out.dims(), out.strides());
            if let Repr::Inline(meta, _) = &mut out.repr {
                meta.contiguous = contiguous;
            }
            return out;
        }
        let (mut dims, mut strides) = self.parts();
        dims.swap(a, b);
        strides.swap(a, b);
        Layout::raw(&dims, &strides, self.offset)
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
        Layout::raw(&dims, &strides, self.offset)
    }

    /// Element `i` of an axis, which disappears.
    pub fn select(&self, axis: usize, i: usize) -> Layout {
        let (mut dims, mut strides) = self.parts();
        assert!(i < dims[axis], "index {i} on an axis of size {}", dims[axis]);
        let offset = self.offset + i as isize * strides[axis];
        dims.remove(axis);
        strides.remove(axis);
        Layout::raw(&dims, &strides, offset)
    }

    /// Elements `start`, `start + step`, … of an axis, `len` of them.
    pub fn slice(&self, axis: usize, start: usize, step: isize, len: usize) -> Layout {
        let (mut dims, mut strides) = self.parts();
        let mut offset = self.offset;
        if len > 0 {
            let last = (len as isize - 1).checked_mul(step).and_then(|r| r.checked_add_unsigned(start));
            let inside = last.is_some_and(|l| l >= 0 && (l as usize) < dims[axis]);
            assert!(inside && start < dims[axis], "slice outside an axis of size {}", dims[axis]);
            offset += start as isize * strides[axis];
        }
        dims[axis] = len;
        strides[axis] = if len > 1 { strides[axis] * step } else { strides[axis] };
        Layout::raw(&dims, &strides, offset)
    }

    /// The diagonal of two axes, which disappear, as a new last axis; `k > 0` lies above it.
    pub fn diagonal(&self, k: isize, axis1: usize, axis2: usize) -> Layout {
        assert_ne!(axis1, axis2, "diagonal needs two axes");
        let (mut dims, mut strides) = self.parts();
        let (row, column) = (k.min(0).unsigned_abs(), k.max(0).unsigned_abs());
        let rows = dims[axis1].saturating_sub(row);
        let len = rows.min(dims[axis2].saturating_sub(column));
        let step = strides[axis1].wrapping_add(strides[axis2]);
        let mut offset = self.offset;
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
        Layout::raw(&dims, &strides, self.offset)
    }

    /// The same elements in C order under other dims; `None` when that needs a copy (or the number
    /// of elements differs).
    pub fn reshape(&self, dims: &[usize]) -> Option<Layout> {
        let numel = checked_numel("reshape", dims).ok()?;
        if numel != self.numel() {
            return None;
        }
        if self.is_contiguous() {
            let mut out = Layout::contiguous_unchecked(dims);
            out.offset = self.offset;
            return Some(out);
        }
        let strides = regroup(self.dims(), self.strides(), dims)?;
        Some(Layout::raw(dims, &strides, self.offset))
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

impl std::fmt::Debug for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Layout({:?}, {:?}, {})", self.dims(), self.strides(), self.offset)
    }
}

const _: () = assert!(size_of::<Layout>() <= 80);
