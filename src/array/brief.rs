//! Layouts as saved values keep them: in sixteen bytes.
//!
//! Owns: the short form of a layout in C order from offset 0 with few axes, which nearly all have; any other is kept whole.
//! Never a view. Invariant: what comes back equals what was given, stride by stride.

use super::layout::Layout;

/// Axes of the short form.
const AXES: usize = 3;

/// A layout that is kept.
#[derive(Clone)]
pub struct BriefLayout(Form);

#[derive(Clone)]
enum Form {
    /// C order from offset 0; dims beyond the axes are 1.
    Short {
        ndim: u8,
        dims: [u32; AXES],
    },
    Whole(Box<Layout>),
}

const _: () = assert!(size_of::<BriefLayout>() == 16);

impl BriefLayout {
    /// Keeps a layout.
    #[inline(always)]
    pub fn of(layout: &Layout) -> BriefLayout {
        let (dims, strides) = (layout.dims(), layout.strides());
        let (ndim, mut short, mut expected) = (dims.len(), [1; AXES], 1);
        let mut fits = ndim <= AXES && layout.offset() == 0;
        if fits {
            for axis in (0..ndim).rev() {
                let dim = dims[axis];
                fits &= strides[axis] == expected && dim <= u32::MAX as usize;
                short[axis] = dim as u32;
                expected = expected.wrapping_mul(dim.max(1) as isize);
            }
        }
        if fits {
            BriefLayout(Form::Short { ndim: ndim as u8, dims: short })
        } else {
            BriefLayout::whole(layout)
        }
    }

    #[inline(never)]
    fn whole(layout: &Layout) -> BriefLayout {
        BriefLayout(Form::Whole(Box::new(layout.clone())))
    }

    /// The layout again.
    #[inline]
    pub fn layout(&self) -> Layout {
        match &self.0 {
            Form::Short { ndim, dims } => {
                Layout::contiguous_unchecked(&dims.map(|dim| dim as usize)[..usize::from(*ndim)])
            }
            Form::Whole(layout) => (**layout).clone(),
        }
    }

    /// The first position and the number of elements, if they lie in C order without gaps.
    #[inline(always)]
    pub fn run(&self) -> Option<(isize, usize)> {
        match &self.0 {
            Form::Short { dims, .. } => {
                let [a, b, c] = dims.map(|dim| dim as usize);
                Some((0, a.wrapping_mul(b).wrapping_mul(c)))
            }
            Form::Whole(layout) => {
                layout.is_contiguous().then(|| (layout.offset(), layout.numel()))
            }
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
                let brief = BriefLayout::of(&layout);
                assert_eq!(format!("{:?}", brief.layout()), format!("{layout:?}"));
                let run = layout.is_contiguous().then(|| (layout.offset(), layout.numel()));
                assert_eq!(brief.run(), run, "{layout:?}");
            }
        }
    }
}
