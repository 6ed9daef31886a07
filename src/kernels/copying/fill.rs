//! Filling with one value.
//!
//! Invariant: elements outside the view stay untouched.

use crate::dtype::{DType, Element, with_dtype};
use crate::kernels::launch::{LaunchKind, known_to_programs, launch};
use crate::kernels::view::{Axes, ViewMut, with_word};
use crate::threads::parallel_for;

/// Fills of at least this many bytes are split over threads.
const SPLIT_BYTES: usize = 4 << 20;

/// Writes `value`, converted to the dtype of `out`, to every element.
pub fn fill(value: f64, out: ViewMut) {
    fill_with(with_dtype!(out.dtype, T => element_bytes(T::from_f64(value))[0]), out);
}

/// As `fill`, for integers that float64 cannot represent.
pub fn fill_int(value: i64, out: ViewMut) {
    fill_with(with_dtype!(out.dtype, T => element_bytes(T::from_i64(value))[0]), out);
}

/// As `fill`, for complex elements.
pub fn fill_complex(re: f64, im: f64, out: ViewMut) {
    let word = match out.dtype {
        DType::C64 => {
            [u64::from((re as f32).to_bits()) | u64::from((im as f32).to_bits()) << 32, 0]
        }
        _ => [re.to_bits(), im.to_bits()],
    };
    launch!("fill", [] => [out];; fill_elements(word, out));
}

/// As `fill`, for the bytes of an element; those beyond the first eight are zero.
pub fn fill_with(bits: u64, out: ViewMut) {
    if known_to_programs(out.dtype) {
        launch!("fill", [] => [out] as LaunchKind::Fill(bits); fill_elements([bits, 0], out));
    } else {
        launch!("fill", [] => [out];; fill_elements([bits, 0], out));
    }
}

fn fill_elements(word: [u64; 2], out: ViewMut) {
    let (numel, size) = (out.numel(), out.dtype.size());
    let nbytes = numel * size;
    if word == [0, 0] && nbytes < SPLIT_BYTES && out.is_contiguous() {
        // SAFETY: the elements of the view are contiguous.
        return unsafe { out.ptr.write_bytes(0, nbytes) };
    }
    if numel == 0 {
        return;
    }
    let fill_line: FillLoop = with_word!(size, W => fill_line::<W>);
    let target = &OutPointer(out.ptr);
    if !out.is_contiguous() {
        let mut axes = Axes::new(out.dims, [out.strides]).collapse(true);
        let (inner, [step]) = (axes.dims.pop().unwrap_or(1), axes.strides.pop().unwrap_or([1]));
        return axes.for_each(|[at]| {
            // SAFETY: the view is valid for every position of its axes.
            unsafe { fill_line(word, target.0.offset(at * size as isize), step, inner) };
        });
    }
    let blocks = if nbytes < SPLIT_BYTES { 1 } else { nbytes / (SPLIT_BYTES / 2) };
    let block = |i: usize| {
        let (start, end) = (i * numel / blocks, (i + 1) * numel / blocks);
        // SAFETY: the view is contiguous and `numel` long; the blocks are disjoint.
        unsafe { fill_line(word, target.0.add(start * size), 1, end - start) };
    };
    if blocks == 1 { block(0) } else { parallel_for(blocks, &block) }
}

/// The bytes of an element, zero-extended; of a complex128 the real part comes first.
pub(in crate::kernels) fn element_bytes<T: Element>(value: T) -> [u64; 2] {
    let mut word = [0u64; 2];
    // SAFETY: an element has at most sixteen bytes.
    unsafe { word.as_mut_ptr().cast::<T>().write(value) };
    word
}

/// Writes zero to every element.
pub fn zero(out: ViewMut) {
    fill_with(0, out);
}

struct OutPointer(*mut u8);
// SAFETY: the pointer comes from a ViewMut, which is Send + Sync; blocks are disjoint.
unsafe impl Sync for OutPointer {}

/// Writes the element at the start of a word to `n` positions, `step` elements apart.
type FillLoop = unsafe fn(word: [u64; 2], at: *mut u8, step: isize, n: usize);

/// # Safety
/// The positions are writable, for elements of the size of `W`.
unsafe fn fill_line<W: Copy>(word: [u64; 2], at: *mut u8, step: isize, n: usize) {
    // SAFETY: an element of any size fits the two words, from the first byte on.
    let (value, at) = (unsafe { *word.as_ptr().cast::<W>() }, at.cast::<W>());
    if step == 1 {
        // SAFETY: the caller's contract. The memory may be uninitialised, but every bit pattern of `W` is valid and it
        // is only written.
        return unsafe { std::slice::from_raw_parts_mut(at, n) }.fill(value);
    }
    for i in 0..n as isize {
        // SAFETY: the caller's contract.
        unsafe { *at.offset(i * step) = value };
    }
}
