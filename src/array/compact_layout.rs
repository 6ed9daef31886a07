//! A `Layout` in two words, for saved values.
//!
//! C order from offset 0 with at most three axes is stored inline, which covers nearly all; any other layout is boxed.
//! Invariant: `layout()` equals the original, stride by stride; `first` is 0 exactly if `rest` is the address of a box.

use super::layout::Layout;

/// The most axes of the inline form.
const MAX_INLINE_AXES: usize = 3;
/// Marks an inline form in the first word; the number of axes is in the byte above.
const INLINE_FLAG: u64 = 1;

/// A compact layout; its two words are passed in registers.
pub struct CompactLayout {
    first: u64,
    rest: u64,
}

impl CompactLayout {
    /// Stores a layout.
    #[inline(always)]
    pub fn of(layout: &Layout) -> CompactLayout {
        let (dims, strides) = (layout.dims(), layout.strides());
        let step = |dim: usize| dim.max(1) as isize;
        // One case per rank: LLVM turns a loop over so few axes into a call of memcpy.
        let ([a, b, c], ordered) = match (dims, strides) {
            ([], []) => ([1, 1, 1], true),
            (&[a], &[s]) => ([a, 1, 1], s == 1),
            (&[a, b], &[s, t]) => ([a, b, 1], t == 1 && s == step(b)),
            (&[a, b, c], &[s, t, u]) => {
                ([a, b, c], u == 1 && t == step(c) && s == t.wrapping_mul(step(b)))
            }
            _ => ([1, 1, 1], false),
        };
        let fits = ordered && layout.offset() == 0 && (a | b | c) <= u32::MAX as usize;
        if !fits {
            return CompactLayout::boxed(layout);
        }
        let (ndim, [a, b, c]) = (dims.len() as u64, [a, b, c].map(|dim| dim as u64));
        CompactLayout { first: INLINE_FLAG | ndim << 8 | a << 32, rest: b | c << 32 }
    }

    #[inline(never)]
    fn boxed(layout: &Layout) -> CompactLayout {
        let address = Box::into_raw(Box::new(layout.clone())).expose_provenance();
        CompactLayout { first: 0, rest: address as u64 }
    }

    /// The boxed layout, if it is boxed.
    #[inline(always)]
    fn as_boxed(&self) -> Option<&Layout> {
        // SAFETY: `first` is 0, so `rest` is the address of a box that this value owns.
        (self.first == 0).then(|| unsafe { &*self.box_ptr() })
    }

    #[inline(always)]
    fn box_ptr(&self) -> *mut Layout {
        std::ptr::with_exposed_provenance_mut(self.rest as usize)
    }

    #[inline(always)]
    fn dims(&self) -> [usize; MAX_INLINE_AXES] {
        let low = |word: u64| word as u32 as usize;
        [low(self.first >> 32), low(self.rest), low(self.rest >> 32)]
    }

    /// The layout.
    #[inline]
    pub fn layout(&self) -> Layout {
        match self.as_boxed() {
            Some(layout) => layout.clone(),
            None => {
                Layout::contiguous_unchecked(&self.dims()[..usize::from((self.first >> 8) as u8)])
            }
        }
    }

    /// The offset and the number of elements, if they are contiguous in C order.
    #[inline(always)]
    pub fn contiguous_range(&self) -> Option<(isize, usize)> {
        match self.as_boxed() {
            Some(layout) => layout.is_contiguous().then(|| (layout.offset(), layout.numel())),
            None => {
                let [a, b, c] = self.dims();
                Some((0, a.wrapping_mul(b).wrapping_mul(c)))
            }
        }
    }
}

impl Clone for CompactLayout {
    #[inline]
    fn clone(&self) -> CompactLayout {
        match self.as_boxed() {
            Some(layout) => CompactLayout::boxed(layout),
            None => CompactLayout { first: self.first, rest: self.rest },
        }
    }
}

impl Drop for CompactLayout {
    #[inline(always)]
    fn drop(&mut self) {
        if self.first == 0 {
            // SAFETY: `first` is 0, so `rest` is the address of a box that this value owns; it is not used again.
            drop(unsafe { Box::from_raw(self.box_ptr()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_come_back_as_they_were() {
        let shapes: [&[usize]; 8] =
            [&[], &[1], &[5], &[2, 3], &[4, 1, 2], &[0, 3], &[2, 3, 4, 5], &[1 << 33, 0]];
        for dims in shapes {
            let canonical = Layout::contiguous(dims).unwrap();
            let odd: Vec<isize> = canonical.strides().iter().map(|&s| 2 * s + 1).collect();
            for layout in [canonical.with_offset(3), Layout::raw(dims, &odd, 0), canonical] {
                let compact = CompactLayout::of(&layout).clone();
                assert_eq!(format!("{:?}", compact.layout()), format!("{layout:?}"));
                let contiguous_range =
                    layout.is_contiguous().then(|| (layout.offset(), layout.numel()));
                assert_eq!(compact.contiguous_range(), contiguous_range, "{layout:?}");
            }
        }
    }
}
