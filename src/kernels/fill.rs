//! Filling with one value.
//!
//! Owns: `fill` and `zero`. Never allocates. Invariant: elements outside the view stay untouched.

use super::launch::{Work, launch};
use super::view::{Axes, ViewMut};
use crate::dtype::{Element, with_dtype};
use crate::threads::parallel_for;

/// Fills from this many bytes on are split over the threads.
const SPLIT_BYTES: usize = 4 << 20;

/// Writes `value`, converted to the dtype of `out`, to every element.
pub fn fill(value: f64, out: ViewMut) {
    fill_with(with_dtype!(out.dtype, T => bits(T::from_f64(value))), out);
}

/// As `fill`, for integers that a float64 would round.
pub fn fill_int(value: i64, out: ViewMut) {
    fill_with(with_dtype!(out.dtype, T => bits(T::from_i64(value))), out);
}

/// As `fill`, for the bytes of an element.
pub fn fill_with(bits: u64, out: ViewMut) {
    let [a, b, c, d, ..] = bits.to_ne_bytes();
    launch!("fill", [] => [out] as Work::Fill(bits); match out.dtype.size() {
        8 => fill_words(bits, out),
        4 => fill_words(u32::from_ne_bytes([a, b, c, d]), out),
        _ => fill_words(a, out),
    });
}

/// The bytes of an element, from the first of the word on.
fn bits<T: Element>(value: T) -> u64 {
    let mut word = 0u64;
    // SAFETY: an element has at most eight bytes.
    unsafe { (&raw mut word).cast::<T>().write(value) };
    word
}

/// Writes zero to every element.
pub fn zero(out: ViewMut) {
    fill_with(0, out);
}

struct Target<W>(*mut W);
// SAFETY: the pointer comes from a ViewMut, which is Send + Sync; blocks are disjoint.
unsafe impl<W> Sync for Target<W> {}

fn fill_words<W: Copy + Send + Sync>(value: W, out: ViewMut) {
    let numel = out.numel();
    if numel == 0 {
        return;
    }
    let target = Target(out.ptr.cast::<W>());
    let target = &target;
    if !out.is_contiguous() {
        let mut axes = Axes::new(out.dims, [out.strides]).collapse(true);
        let (inner, [step]) = (axes.dims.pop().unwrap_or(1), axes.strides.pop().unwrap_or([1]));
        return axes.for_each(|[at]| {
            for i in 0..inner as isize {
                // SAFETY: the view is valid for every position of its axes.
                unsafe { *target.0.offset(at + i * step) = value };
            }
        });
    }
    let bytes = numel * size_of::<W>();
    let blocks = if bytes < SPLIT_BYTES { 1 } else { bytes / (SPLIT_BYTES / 2) };
    parallel_for(blocks, &|i| {
        let (start, end) = (i * numel / blocks, (i + 1) * numel / blocks);
        // SAFETY: the view is contiguous and `numel` long; the blocks are disjoint. The memory may be
        // uninitialised, but every bit pattern of `W` is valid and it is only written.
        let part = unsafe { std::slice::from_raw_parts_mut(target.0.add(start), end - start) };
        part.fill(value);
    });
}
