//! Shape, strides and offset of an array within its storage.
//!
//! Owns: `Layout`, its representation and its queries. Never touches data, never knows a dtype:
//! strides and offset count elements. Views of a layout are made in `restride`.
//! Invariant: the cached contiguity is that of dims and strides, and the words are on the heap exactly above `INLINE` axes.

use std::mem::ManuallyDrop;

use smallvec::SmallVec;

use super::shape::checked_numel;
use crate::error::{Error, Result};

/// Dimensions kept without the heap.
const INLINE: usize = 4;

/// Dims and strides. Which field it is follows from the number of axes.
union Words {
    /// Dims from 0 on, the unused ones 1; strides from `INLINE` on.
    inline: [usize; 2 * INLINE],
    /// Dims from 0 on, strides from `ndim` on.
    heap: ManuallyDrop<Box<[usize]>>,
}

/// The words of no axes.
const NO_AXES: [usize; 2 * INLINE] = [1, 1, 1, 1, 0, 0, 0, 0];

/// Dims, signed strides and offset, in elements.
pub struct Layout {
    words: Words,
    offset: isize,
    ndim: u32,
    contiguous: bool,
}

pub(super) type Strides = SmallVec<[isize; 8]>;
pub(super) type Dims = SmallVec<[usize; 8]>;

impl Layout {
    /// The layout of one element.
    #[inline]
    pub const fn scalar() -> Layout {
        Layout { words: Words { inline: NO_AXES }, offset: 0, ndim: 0, contiguous: true }
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
    pub(super) fn contiguous_unchecked(dims: &[usize]) -> Layout {
        let n = dims.len();
        let fill = |words: &mut [usize], at: usize| {
            let mut stride = 1;
            for axis in (0..n).rev() {
                words[axis] = dims[axis];
                words[at + axis] = stride;
                stride *= dims[axis].max(1);
            }
        };
        Layout::filled(n, 0, true, fill)
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

    pub(super) fn raw(dims: &[usize], strides: &[isize], offset: isize) -> Layout {
        let n = dims.len();
        let fill = |words: &mut [usize], at: usize| {
            words[..n].copy_from_slice(dims);
            for (word, &stride) in words[at..at + n].iter_mut().zip(strides) {
                *word = stride as usize;
            }
        };
        Layout::filled(n, offset, is_c_order(dims, strides), fill)
    }

    /// A layout whose words `fill` writes: dims from 0 on, strides from the number that it is given on.
    #[inline(always)]
    fn filled(
        n: usize,
        offset: isize,
        contiguous: bool,
        fill: impl FnOnce(&mut [usize], usize),
    ) -> Layout {
        let ndim = n as u32;
        if n <= INLINE {
            let mut inline = NO_AXES;
            fill(&mut inline, INLINE);
            return Layout { words: Words { inline }, offset, ndim, contiguous };
        }
        let mut words = vec![0; 2 * n].into_boxed_slice();
        fill(&mut words, n);
        let words = Words { heap: ManuallyDrop::new(words) };
        Layout { words, offset, ndim, contiguous }
    }

    /// Whether dims and strides are kept without the heap.
    #[inline(always)]
    fn is_inline(&self) -> bool {
        self.ndim as usize <= INLINE
    }

    /// The first word, and where the strides begin.
    #[inline(always)]
    fn words(&self) -> (*const usize, usize) {
        // SAFETY: the number of axes says which field was written.
        unsafe {
            if self.is_inline() {
                (self.words.inline.as_ptr(), INLINE)
            } else {
                (self.words.heap.as_ptr(), self.ndim as usize)
            }
        }
    }

    /// The size of each axis.
    #[inline(always)]
    pub fn dims(&self) -> &[usize] {
        // SAFETY: the words hold as many dims as there are axes, and live as long as the layout.
        unsafe { std::slice::from_raw_parts(self.words().0, self.ndim as usize) }
    }

    /// The distance between neighbours along each axis, in elements.
    #[inline(always)]
    pub fn strides(&self) -> &[isize] {
        let (words, strides) = self.words();
        // SAFETY: behind the dims there are as many strides; isize and usize have the same size and alignment, and
        // every bit pattern is valid.
        unsafe { std::slice::from_raw_parts(words.add(strides).cast(), self.ndim as usize) }
    }

    /// The position of element (0, 0, …) in the storage, in elements.
    #[inline(always)]
    pub fn offset(&self) -> isize {
        self.offset
    }

    /// The number of axes.
    #[inline(always)]
    pub fn ndim(&self) -> usize {
        self.ndim as usize
    }

    /// The number of elements.
    #[inline(always)]
    pub fn numel(&self) -> usize {
        if !self.is_inline() {
            return self.product();
        }
        // SAFETY: there are few axes, so the words are inline. Unused dims are 1.
        let words = unsafe { &self.words.inline };
        (words[0] * words[1]) * (words[2] * words[3])
    }

    /// The product of many dims.
    #[cold]
    #[inline(never)]
    fn product(&self) -> usize {
        self.dims().iter().product()
    }

    /// Whether what another layout shows broadcasts to these dims.
    pub fn takes_in(&self, other: &Layout) -> bool {
        let mut pairs = self.dims().iter().rev().zip(other.dims().iter().rev());
        other.ndim() <= self.ndim() && pairs.all(|(&own, &dim)| dim == own || dim == 1)
    }

    /// Whether another layout has the same dims.
    #[inline(always)]
    pub fn same_dims(&self, other: &Layout) -> bool {
        if !self.is_inline() || !other.is_inline() {
            return self.dims() == other.dims();
        }
        // SAFETY: there are few axes, so the words are inline. Unused dims are 1.
        let (own, others) = unsafe { (&self.words.inline, &other.words.inline) };
        self.ndim == other.ndim && own[..INLINE] == others[..INLINE]
    }

    /// Whether the elements lie in C order without gaps (whatever the offset).
    #[inline(always)]
    pub fn is_contiguous(&self) -> bool {
        self.contiguous
    }

    /// Whether the axes are few and in C order.
    #[cfg(feature = "python")]
    #[inline(always)]
    pub(crate) fn is_short(&self) -> bool {
        self.contiguous && self.is_inline()
    }

    /// The same axes from offset 0, where `is_short`; no axes otherwise.
    #[cfg(feature = "python")]
    #[inline(always)]
    pub(crate) fn packed(&self) -> Layout {
        // One place is read, whichever it is, so that the words go straight to where the layout will stay.
        // SAFETY: with few axes the words are inline.
        let (inline, ndim) = unsafe {
            if self.is_inline() { (&self.words.inline, self.ndim) } else { (&NO_AXES, 0) }
        };
        Layout { words: Words { inline: *inline }, offset: 0, ndim, contiguous: true }
    }

    #[cold]
    #[inline(never)]
    fn clone_heap(&self) -> Layout {
        Layout::raw(self.dims(), self.strides(), self.offset)
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

    /// Whether no two elements share a position. A layout may be called overlapping although it is not when
    /// its axes interleave.
    pub fn is_injective(&self) -> bool {
        if self.contiguous {
            return true;
        }
        let mut axes: SmallVec<[(usize, usize); 8]> = self
            .strides()
            .iter()
            .zip(self.dims())
            .filter(|(_, d)| **d != 1)
            .map(|(s, d)| (s.unsigned_abs(), *d))
            .collect();
        if axes.iter().any(|axis| axis.1 == 0) {
            return true;
        }
        axes.sort_unstable();
        let mut reach = 0;
        axes.iter().all(|&(stride, size)| {
            let apart = stride > reach;
            reach += stride * (size - 1);
            apart
        })
    }

    /// Whether the elements fill a range of positions without gaps.
    pub fn is_dense(&self) -> bool {
        let span = self.extent().map_or(0, |(low, high)| high - low + 1);
        self.is_injective() && span as usize == self.numel()
    }

    /// The same axes but one, from another offset.
    #[inline]
    pub(super) fn with_axis(&self, axis: usize, dim: usize, stride: isize, at: isize) -> Layout {
        let mut out = self.with_offset(at);
        let n = out.ndim();
        // SAFETY: the number of axes says which field was written.
        let (words, strides) = unsafe {
            if out.is_inline() {
                (&mut out.words.inline[..], INLINE)
            } else {
                (&mut (*out.words.heap)[..], n)
            }
        };
        (words[..n][axis], words[strides + axis]) = (dim, stride as usize);
        out.contiguous = is_c_order(out.dims(), out.strides());
        out
    }

    /// The same without an axis, from another offset, when the axes are inline.
    #[inline]
    pub(super) fn without_inline(&self, axis: usize, offset: isize) -> Option<Layout> {
        let ndim = self.ndim.checked_sub(1).filter(|_| self.is_inline())?;
        // SAFETY: there are few axes, so the words are inline.
        let own = unsafe { &self.words.inline };
        let mut inline = NO_AXES;
        for k in 0..ndim as usize {
            let from = k + usize::from(k >= axis);
            (inline[k], inline[INLINE + k]) = (own[from], own[INLINE + from]);
        }
        let mut out = Layout { words: Words { inline }, offset, ndim, contiguous: false };
        out.contiguous = is_c_order(out.dims(), out.strides());
        Some(out)
    }

    /// Two axes exchanged in place, when they are inline.
    #[inline]
    pub(super) fn swapped_inline(&self, a: usize, b: usize) -> Option<Layout> {
        if !self.is_inline() {
            return None;
        }
        let n = self.ndim();
        // SAFETY: there are few axes, so the words are inline.
        let mut inline = unsafe { self.words.inline };
        inline[..n].swap(a, b);
        inline[INLINE..INLINE + n].swap(a, b);
        let mut out = Layout {
            words: Words { inline },
            offset: self.offset,
            ndim: self.ndim,
            contiguous: false,
        };
        out.contiguous = is_c_order(out.dims(), out.strides());
        Some(out)
    }

    /// The same axes from another offset; the caller answers for its staying inside the storage.
    #[inline]
    pub fn with_offset(&self, offset: isize) -> Layout {
        let mut same = self.clone();
        same.offset = offset;
        same
    }
}

impl Clone for Layout {
    #[inline(always)]
    fn clone(&self) -> Layout {
        if !self.is_inline() {
            return self.clone_heap();
        }
        // SAFETY: there are few axes, so the words are inline.
        let words = Words { inline: unsafe { self.words.inline } };
        Layout { words, offset: self.offset, ndim: self.ndim, contiguous: self.contiguous }
    }
}

impl Drop for Layout {
    #[inline(always)]
    fn drop(&mut self) {
        if !self.is_inline() {
            // SAFETY: with this many axes the words are on the heap; nobody uses them again.
            unsafe { ManuallyDrop::drop(&mut self.words.heap) };
        }
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

impl std::fmt::Debug for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Layout({:?}, {:?}, {})", self.dims(), self.strides(), self.offset)
    }
}

const _: () = assert!(size_of::<Layout>() <= 80);

/// Sorts axes, of which there are so few that insertion is the shortest way; `before` is strict, and equals stay as they are.
pub fn sort_axes(axes: &mut [usize], before: impl Fn(usize, usize) -> bool) {
    for end in 1..axes.len() {
        let mut at = end;
        while at > 0 && before(axes[at], axes[at - 1]) {
            axes.swap(at, at - 1);
            at -= 1;
        }
    }
}
