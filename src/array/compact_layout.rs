//! Layouts as saved values keep them: in two words.
//!
//! Owns: the short form of a layout in C order from offset 0 with few axes, which nearly all have; any other is kept whole.
//! Never a view. Invariant: what comes back equals what was given, stride by stride; `first` is 0 exactly where `rest` is
//! the address of a box.

use super::layout::Layout;

/// Axes of the short form.
const AXES: usize = 3;
/// In the first word of a short form; the number of axes stands above it.
const SHORT: u64 = 1;

/// A layout that is kept. Two words travel in registers.
pub struct BriefLayout {
    first: u64,
    rest: u64,
}

impl BriefLayout {
    /// Keeps a layout.
    #[inline(always)]
    pub fn of(layout: &Layout) -> BriefLayout {
        let (dims, strides) = (layout.dims(), layout.strides());
        let step = |dim: usize| dim.max(1) as isize;
        // Case by case: a loop over so few axes becomes a call that copies them.
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
            return BriefLayout::whole(layout);
        }
        let (ndim, [a, b, c]) = (dims.len() as u64, [a, b, c].map(|dim| dim as u64));
        BriefLayout { first: SHORT | ndim << 8 | a << 32, rest: b | c << 32 }
    }

    #[inline(never)]
    fn whole(layout: &Layout) -> BriefLayout {
        let address = Box::into_raw(Box::new(layout.clone())).expose_provenance();
        BriefLayout { first: 0, rest: address as u64 }
    }

    /// The layout, where it is kept whole.
    #[inline(always)]
    fn boxed(&self) -> Option<&Layout> {
        // SAFETY: without a short form the word is the address of a box, which is dropped with this value.
        (self.first == 0).then(|| unsafe { &*self.place() })
    }

    #[inline(always)]
    fn place(&self) -> *mut Layout {
        std::ptr::with_exposed_provenance_mut(self.rest as usize)
    }

    #[inline(always)]
    fn dims(&self) -> [usize; AXES] {
        let low = |word: u64| word as u32 as usize;
        [low(self.first >> 32), low(self.rest), low(self.rest >> 32)]
    }

    /// The layout again.
    #[inline]
    pub fn layout(&self) -> Layout {
        match self.boxed() {
            Some(layout) => layout.clone(),
            None => {
                Layout::contiguous_unchecked(&self.dims()[..usize::from((self.first >> 8) as u8)])
            }
        }
    }

    /// The first position and the number of elements, if they lie in C order without gaps.
    #[inline(always)]
    pub fn run(&self) -> Option<(isize, usize)> {
        match self.boxed() {
            Some(layout) => layout.is_contiguous().then(|| (layout.offset(), layout.numel())),
            None => {
                let [a, b, c] = self.dims();
                Some((0, a.wrapping_mul(b).wrapping_mul(c)))
            }
        }
    }
}

impl Clone for BriefLayout {
    #[inline]
    fn clone(&self) -> BriefLayout {
        match self.boxed() {
            Some(layout) => BriefLayout::whole(layout),
            None => BriefLayout { first: self.first, rest: self.rest },
        }
    }
}

impl Drop for BriefLayout {
    #[inline(always)]
    fn drop(&mut self) {
        if self.first == 0 {
            // SAFETY: without a short form the word is the address of a box, which nobody uses any more.
            drop(unsafe { Box::from_raw(self.place()) });
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
                let brief = BriefLayout::of(&layout).clone();
                assert_eq!(format!("{:?}", brief.layout()), format!("{layout:?}"));
                let run = layout.is_contiguous().then(|| (layout.offset(), layout.numel()));
                assert_eq!(brief.run(), run, "{layout:?}");
            }
        }
    }
}
