//! Shape, strides and offset of an array within its storage, in elements.
//!
//! Views of a layout are in `views.rs`.
//! Invariant: `contiguous` agrees with dims and strides, and the words are on the heap exactly above `INLINE_AXES` axes.

use std::mem::ManuallyDrop;

use smallvec::SmallVec;

use super::shape::checked_numel;
use crate::error::{Error, Result};

/// The most axes stored inline.
const INLINE_AXES: usize = 4;

/// Dims and strides; the number of axes says which field is valid.
union Words {
    /// Dims from index 0, padded with 1; strides from index `INLINE_AXES`.
    inline: [usize; 2 * INLINE_AXES],
    /// Dims from index 0, strides from index `ndim`.
    heap: ManuallyDrop<Box<[usize]>>,
}

/// The words of a scalar layout.
const SCALAR_WORDS: [usize; 2 * INLINE_AXES] = [1, 1, 1, 1, 0, 0, 0, 0];

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
        Layout { words: Words { inline: SCALAR_WORDS }, offset: 0, ndim: 0, contiguous: true }
    }

    /// C order from offset 0; an error when the size is not addressable.
    #[inline]
    pub fn contiguous(dims: &[usize]) -> Result<Layout> {
        // Three dimensions below 2^16 are below the limit of checked_numel.
        let small = dims.len() < INLINE_AXES && dims.iter().all(|&d| d < 1 << 16);
        if !small {
            checked_numel("shape", dims)?;
        }
        Ok(Layout::contiguous_unchecked(dims))
    }

    /// C order from offset 0, for dims that were checked before.
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
        Layout::with_words(n, 0, true, fill)
    }

    /// A layout of foreign memory. The caller makes sure that it stays inside the storage; `View::of` checks it before a
    /// kernel runs.
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
        Layout::with_words(n, offset, is_c_order(dims, strides), fill)
    }

    /// A layout whose words `fill` writes: dims from index 0, strides from the index that it is passed.
    #[inline(always)]
    fn with_words(
        n: usize,
        offset: isize,
        contiguous: bool,
        fill: impl FnOnce(&mut [usize], usize),
    ) -> Layout {
        let ndim = n as u32;
        if n <= INLINE_AXES {
            let mut inline = SCALAR_WORDS;
            fill(&mut inline, INLINE_AXES);
            return Layout { words: Words { inline }, offset, ndim, contiguous };
        }
        let mut words = vec![0; 2 * n].into_boxed_slice();
        fill(&mut words, n);
        let words = Words { heap: ManuallyDrop::new(words) };
        Layout { words, offset, ndim, contiguous }
    }

    /// Whether dims and strides are stored inline.
    #[inline(always)]
    fn is_inline(&self) -> bool {
        self.ndim as usize <= INLINE_AXES
    }

    /// A pointer to the words, and the index where the strides begin.
    #[inline(always)]
    fn words(&self) -> (*const usize, usize) {
        // SAFETY: the number of axes says which field is valid.
        unsafe {
            if self.is_inline() {
                (self.words.inline.as_ptr(), INLINE_AXES)
            } else {
                (self.words.heap.as_ptr(), self.ndim as usize)
            }
        }
    }

    /// The size of each axis.
    #[inline(always)]
    pub fn dims(&self) -> &[usize] {
        // SAFETY: the words hold `ndim` dims and live as long as the layout.
        unsafe { std::slice::from_raw_parts(self.words().0, self.ndim as usize) }
    }

    /// The stride of each axis, in elements.
    #[inline(always)]
    pub fn strides(&self) -> &[isize] {
        let (words, strides) = self.words();
        // SAFETY: `ndim` strides follow the dims; isize and usize have the same size and alignment, and every bit pattern
        // is valid.
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
            return self.heap_numel();
        }
        // SAFETY: the words are inline. Unused dims are 1.
        let words = unsafe { &self.words.inline };
        (words[0] * words[1]) * (words[2] * words[3])
    }

    /// The number of elements of a layout on the heap.
    #[cold]
    #[inline(never)]
    fn heap_numel(&self) -> usize {
        self.dims().iter().product()
    }

    /// Whether `other` broadcasts to these dims.
    pub fn can_broadcast_from(&self, other: &Layout) -> bool {
        let mut pairs = self.dims().iter().rev().zip(other.dims().iter().rev());
        other.ndim() <= self.ndim() && pairs.all(|(&own, &dim)| dim == own || dim == 1)
    }

    /// Whether another layout has the same dims.
    #[inline(always)]
    pub fn same_dims(&self, other: &Layout) -> bool {
        if !self.is_inline() || !other.is_inline() {
            return self.dims() == other.dims();
        }
        // SAFETY: the words are inline. Unused dims are 1.
        let (own, others) = unsafe { (&self.words.inline, &other.words.inline) };
        self.ndim == other.ndim && own[..INLINE_AXES] == others[..INLINE_AXES]
    }

    /// Whether the elements are contiguous in C order (at any offset).
    #[inline(always)]
    pub fn is_contiguous(&self) -> bool {
        self.contiguous
    }

    /// Whether the layout is contiguous and stored inline.
    #[cfg(feature = "python")]
    #[inline(always)]
    pub(crate) fn is_inline_contiguous(&self) -> bool {
        self.contiguous && self.is_inline()
    }

    /// The same dims from offset 0, if the layout is contiguous and inline; else a scalar layout.
    #[cfg(feature = "python")]
    #[inline(always)]
    pub(crate) fn compacted(&self) -> Layout {
        // One source is copied in either case, so the words go directly to their destination.
        // SAFETY: the words are inline.
        let (inline, ndim) = unsafe {
            if self.is_inline() { (&self.words.inline, self.ndim) } else { (&SCALAR_WORDS, 0) }
        };
        Layout { words: Words { inline: *inline }, offset: 0, ndim, contiguous: true }
    }

    #[cold]
    #[inline(never)]
    fn clone_heap(&self) -> Layout {
        Layout::raw(self.dims(), self.strides(), self.offset)
    }

    /// The smallest and the largest position, inclusive; `None` without elements.
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

    /// Whether no two elements share a position. Conservative: interleaving axes may be called overlapping.
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
            let disjoint = stride > reach;
            reach += stride * (size - 1);
            disjoint
        })
    }

    /// Whether the elements fill a range of positions without gaps, each once.
    pub fn is_dense(&self) -> bool {
        let span = self.extent().map_or(0, |(low, high)| high - low + 1);
        self.is_injective() && span as usize == self.numel()
    }

    /// The layout with one axis and the offset replaced.
    #[inline]
    pub(super) fn with_axis(&self, axis: usize, dim: usize, stride: isize, at: isize) -> Layout {
        let mut out = self.with_offset(at);
        let n = out.ndim();
        // SAFETY: the number of axes says which field is valid.
        let (words, strides) = unsafe {
            if out.is_inline() {
                (&mut out.words.inline[..], INLINE_AXES)
            } else {
                (&mut (*out.words.heap)[..], n)
            }
        };
        (words[..n][axis], words[strides + axis]) = (dim, stride as usize);
        out.contiguous = is_c_order(out.dims(), out.strides());
        out
    }

    /// The layout without an axis and with another offset; `None` unless it is stored inline.
    #[inline]
    pub(super) fn without_inline(&self, axis: usize, offset: isize) -> Option<Layout> {
        let ndim = self.ndim.checked_sub(1).filter(|_| self.is_inline())?;
        // SAFETY: the words are inline.
        let own = unsafe { &self.words.inline };
        let mut inline = SCALAR_WORDS;
        for k in 0..ndim as usize {
            let from = k + usize::from(k >= axis);
            (inline[k], inline[INLINE_AXES + k]) = (own[from], own[INLINE_AXES + from]);
        }
        let mut out = Layout { words: Words { inline }, offset, ndim, contiguous: false };
        out.contiguous = is_c_order(out.dims(), out.strides());
        Some(out)
    }

    /// The layout with two axes swapped; `None` unless it is stored inline.
    #[inline]
    pub(super) fn swapped_inline(&self, a: usize, b: usize) -> Option<Layout> {
        if !self.is_inline() {
            return None;
        }
        let n = self.ndim();
        // SAFETY: the words are inline.
        let mut inline = unsafe { self.words.inline };
        inline[..n].swap(a, b);
        inline[INLINE_AXES..INLINE_AXES + n].swap(a, b);
        let mut out = Layout {
            words: Words { inline },
            offset: self.offset,
            ndim: self.ndim,
            contiguous: false,
        };
        out.contiguous = is_c_order(out.dims(), out.strides());
        Some(out)
    }

    /// The layout with another offset; the caller makes sure that it stays inside the storage.
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
        // SAFETY: the words are inline.
        let words = Words { inline: unsafe { self.words.inline } };
        Layout { words, offset: self.offset, ndim: self.ndim, contiguous: self.contiguous }
    }
}

impl Drop for Layout {
    #[inline(always)]
    fn drop(&mut self) {
        if !self.is_inline() {
            // SAFETY: with this many axes the words are on the heap; they are not used again.
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

/// Stable insertion sort of axes (there are few); `before` is a strict order.
pub fn sort_axes(axes: &mut [usize], before: impl Fn(usize, usize) -> bool) {
    for end in 1..axes.len() {
        let mut at = end;
        while at > 0 && before(axes[at], axes[at - 1]) {
            axes.swap(at, at - 1);
            at -= 1;
        }
    }
}
