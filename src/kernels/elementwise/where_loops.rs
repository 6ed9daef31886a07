//! The loops of `where`, by the bytes of an element.
//!
//! Owns: the choice between two operands by a mask. Never interprets an element.
//! Invariant: both operands are read whatever the mask says, so that the compiler makes vectors of the loop.

use super::loop_table::Loop;
use super::loops::operands;

/// # Safety
/// As `Loop`, for a mask and two operands of `T`.
unsafe fn choose<T: Copy>(ins: *const *const u8, out: *mut u8, n: usize, _: *const f64) {
    // SAFETY: the caller keeps the contract of `Loop`.
    unsafe {
        let [mask, a, b] = operands::<u8, 3>(ins);
        let (a, b, out) = (a.cast::<T>(), b.cast::<T>(), out.cast::<T>());
        for i in 0..n {
            let (x, y) = (*a.add(i), *b.add(i));
            *out.add(i) = if *mask.add(i) != 0 { x } else { y };
        }
    }
}

/// The loop of `where`: operands (bool, a, b), for elements of this many bytes.
pub const fn where_loop(itemsize: usize) -> Loop {
    match itemsize {
        16 => choose::<[u64; 2]>,
        8 => choose::<u64>,
        4 => choose::<u32>,
        2 => choose::<u16>,
        _ => choose::<u8>,
    }
}
