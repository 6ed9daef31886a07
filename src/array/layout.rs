//! Shape, strides and offset of an array within its storage.
//!
//! Owns: `Layout`, its representation and its queries. Never touches data, never knows a dtype:
//! strides and offset count elements. Views of a layout are made in `restride`.
//! Invariant: the cached contiguity is that of dims and strides.

use smallvec::SmallVec;

use super::shape::checked_numel;
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

pub(super) type Strides = SmallVec<[isize; 8]>;
pub(super) type Dims = SmallVec<[usize; 8]>;

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
    pub(super) fn contiguous_unchecked(dims: &[usize]) -> Layout {
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

    pub(super) fn raw(dims: &[usize], strides: &[isize], offset: isize) -> Layout {
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

    /// Whether no two elements share a position. A layout may be called overlapping although it is not when
    /// its axes interleave.
    pub fn is_injective(&self) -> bool {
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

    /// Two axes exchanged in place, when they are inline.
    #[inline]
    pub(super) fn swapped_inline(&self, a: usize, b: usize) -> Option<Layout> {
        let Repr::Inline(meta, mut words) = self.repr else {
            return None;
        };
        let n = meta.ndim as usize;
        words[..n].swap(a, b);
        words[INLINE..INLINE + n].swap(a, b);
        let mut out = Layout { repr: Repr::Inline(meta, words), offset: self.offset };
        let contiguous = is_c_order(out.dims(), out.strides());
        out.repr = Repr::Inline(Meta { contiguous, ..meta }, words);
        Some(out)
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
