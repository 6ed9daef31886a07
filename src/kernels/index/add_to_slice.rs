//! Adds the gradient of a slice to the gradient of the whole array, for few floats.
//!
//! In traces other kernels are launched. Invariant: the bits are those of adding a zero-padded gradient:
//! zero is added to the elements outside the slice.

use std::ops::Add;

use crate::array::observer;
use crate::dtype::DType;
use crate::kernels::view::{View, ViewMut};

/// The rows of a slice: their number and distance, and the length and step of each.
#[derive(Clone, Copy)]
struct SliceRows {
    count: usize,
    by: usize,
    len: usize,
    step: usize,
}

impl SliceRows {
    /// From dims and strides, at most two, outermost first.
    #[inline]
    fn of(dims: &[usize], strides: &[isize]) -> Option<SliceRows> {
        let step = |stride: isize| usize::try_from(stride).ok();
        match (dims, strides) {
            ([], _) => Some(SliceRows { count: 1, by: 0, len: 1, step: 1 }),
            (&[len], &[s]) => Some(SliceRows { count: 1, by: 0, len, step: step(s)? }),
            (&[count, len], &[by, s]) => {
                Some(SliceRows { count, by: step(by)?, len, step: step(s)? })
            }
            _ => None,
        }
    }

    /// The number of positions from the first to the last.
    fn span(self) -> usize {
        self.count.saturating_sub(1) * self.by + self.len.saturating_sub(1) * self.step + 1
    }

    /// Whether the positions are strictly ascending.
    fn ascends(self) -> bool {
        (self.len < 2 || self.step > 0)
            && (self.count < 2 || self.by > self.len.saturating_sub(1) * self.step)
    }
}

/// `sum[slice] += part`, and `sum += 0` elsewhere; the slice starts `first` elements after the start of `sum`
/// and has these strides. Returns false, without effect, unless it is a plain loop over floats. For small
/// sums: every element is written.
pub fn add_to_slice(sum: ViewMut, first: isize, strides: &[isize], part: View) -> bool {
    if observer::is_active() {
        return false;
    }
    let (dtype, n) = (sum.dtype, sum.numel());
    if part.dtype != dtype || part.dims.len() != strides.len() || !sum.is_contiguous() {
        return false;
    }
    let places = (SliceRows::of(part.dims, strides), SliceRows::of(part.dims, part.strides));
    let (Some(mut to), Some(from)) = places else { return false };
    let mut first = first as usize;
    if to.count * to.len == 0 {
        (first, to.count) = (0, 0);
    } else if !to.ascends() || first >= n || to.span() > n - first {
        return false;
    }
    // SAFETY: the sum has `n` contiguous elements, and the positions of the slice are among them and ascend;
    // the part has as many elements as there are positions, and is other memory than the sum, which is not
    // shared.
    unsafe {
        match dtype {
            DType::F64 => add_rows::<f64>(sum.ptr.cast(), n, (first, to), part.ptr.cast(), from),
            DType::F32 => add_rows::<f32>(sum.ptr.cast(), n, (first, to), part.ptr.cast(), from),
            _ => return false,
        }
    }
    true
}

/// # Safety
/// `sum` has `n` elements, the positions of `to` after `first` are among them and ascend, and `part` has as
/// many elements.
unsafe fn add_rows<T: Copy + Default + Add<Output = T>>(
    sum: *mut T,
    n: usize,
    (first, to): (usize, SliceRows),
    part: *const T,
    from: SliceRows,
) {
    let mut done = 0;
    // SAFETY: the caller's contract; `done` is at most the next position.
    unsafe {
        for row in 0..to.count {
            let (start, values) = (first + row * to.by, part.add(row * from.by));
            if to.step == 1 && from.step == 1 {
                add_zeros(sum, done, start);
                for k in 0..to.len {
                    *sum.add(start + k) = *sum.add(start + k) + *values.add(k);
                }
                done = start + to.len;
                continue;
            }
            for k in 0..to.len {
                let place = start + k * to.step;
                add_zeros(sum, done, place);
                *sum.add(place) = *sum.add(place) + *values.add(k * from.step);
                done = place + 1;
            }
        }
        add_zeros(sum, done, n);
    }
}

/// Adds zero, which turns negative zeros into positive ones.
///
/// # Safety
/// The elements from `start` to `end` exist.
#[inline(always)]
unsafe fn add_zeros<T: Copy + Default + Add<Output = T>>(sum: *mut T, start: usize, end: usize) {
    for i in start..end {
        // SAFETY: the caller's contract.
        unsafe { *sum.add(i) = *sum.add(i) + T::default() };
    }
}
