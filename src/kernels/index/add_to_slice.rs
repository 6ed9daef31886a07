//! Adding to a whole what is zero but for a part of it.
//!
//! Owns: the loop over few floats. Never lays the zeros out and never records: captures see other kernels.
//! Invariant: the bits are those of the sum with the zeros laid out: zero is added to what lies outside of the part.

use std::ops::Add;

use crate::array::capture;
use crate::dtype::DType;
use crate::kernels::view::{View, ViewMut};

/// Rows of a part: how many, how far apart, and how many elements how far apart in each.
#[derive(Clone, Copy)]
struct Rows {
    count: usize,
    by: usize,
    len: usize,
    step: usize,
}

impl Rows {
    /// Of dims and strides in ascending order of positions, at most two.
    #[inline]
    fn of(dims: &[usize], strides: &[isize]) -> Option<Rows> {
        let step = |stride: isize| usize::try_from(stride).ok();
        match (dims, strides) {
            ([], _) => Some(Rows { count: 1, by: 0, len: 1, step: 1 }),
            (&[len], &[s]) => Some(Rows { count: 1, by: 0, len, step: step(s)? }),
            (&[count, len], &[by, s]) => Some(Rows { count, by: step(by)?, len, step: step(s)? }),
            _ => None,
        }
    }

    /// How many positions there are from the first to the last.
    fn span(self) -> usize {
        self.count.saturating_sub(1) * self.by + self.len.saturating_sub(1) * self.step + 1
    }

    /// Whether each position comes behind the one before.
    fn ascends(self) -> bool {
        (self.len < 2 || self.step > 0)
            && (self.count < 2 || self.by > self.len.saturating_sub(1) * self.step)
    }
}

/// `sum += part among zeros`, where the part's first element lies so many elements behind that of the sum, and the others with
/// these strides; false, and nothing was done, where this is more than a plain loop over floats. For small sums: all of it is
/// gone through.
pub fn add_part(sum: ViewMut, first: isize, strides: &[isize], part: View) -> bool {
    if capture::active() {
        return false;
    }
    let (dtype, n) = (sum.dtype, sum.numel());
    if part.dtype != dtype || part.dims.len() != strides.len() || !sum.is_contiguous() {
        return false;
    }
    let places = (Rows::of(part.dims, strides), Rows::of(part.dims, part.strides));
    let (Some(mut to), Some(from)) = places else { return false };
    let mut first = first as usize;
    if to.count * to.len == 0 {
        (first, to.count) = (0, 0);
    } else if !to.ascends() || first >= n || to.span() > n - first {
        return false;
    }
    // SAFETY: the sum has `n` elements in a row, among which the places ascend from the first one to the last; the part has as
    // many elements as there are places, and is other memory than the sum, whose writer nobody else is.
    unsafe {
        match dtype {
            DType::F64 => added::<f64>(sum.ptr.cast(), n, (first, to), part.ptr.cast(), from),
            DType::F32 => added::<f32>(sum.ptr.cast(), n, (first, to), part.ptr.cast(), from),
            _ => return false,
        }
    }
    true
}

/// # Safety
/// `sum` has `n` elements, the places of `to` behind the first are among them and ascend, and `part` has as many elements.
unsafe fn added<T: Copy + Default + Add<Output = T>>(
    sum: *mut T,
    n: usize,
    (first, to): (usize, Rows),
    part: *const T,
    from: Rows,
) {
    let mut done = 0;
    // SAFETY: the caller's contract; `done` is at most the next place.
    unsafe {
        for row in 0..to.count {
            let (start, values) = (first + row * to.by, part.add(row * from.by));
            if to.step == 1 && from.step == 1 {
                zero_added(sum, done, start);
                for k in 0..to.len {
                    *sum.add(start + k) = *sum.add(start + k) + *values.add(k);
                }
                done = start + to.len;
                continue;
            }
            for k in 0..to.len {
                let place = start + k * to.step;
                zero_added(sum, done, place);
                *sum.add(place) = *sum.add(place) + *values.add(k * from.step);
                done = place + 1;
            }
        }
        zero_added(sum, done, n);
    }
}

/// Adds zero, which makes positive zeros of negative ones.
///
/// # Safety
/// The elements from `start` to `end` are there.
#[inline(always)]
unsafe fn zero_added<T: Copy + Default + Add<Output = T>>(sum: *mut T, start: usize, end: usize) {
    for i in start..end {
        // SAFETY: the caller's contract.
        unsafe { *sum.add(i) = *sum.add(i) + T::default() };
    }
}
