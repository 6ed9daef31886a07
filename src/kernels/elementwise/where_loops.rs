//! The loops of `where`, by element size.
//!
//! Both operands are always read, so that the compiler vectorises the loop.

use super::loop_call::Loop;
use super::loops::operands;

/// # Safety
/// As `Loop`, for a mask and two operands of `T`.
unsafe fn where_elements<T: Copy>(ins: *const *const u8, out: *mut u8, n: usize, _: *const f64) {
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
    Loop::new(match itemsize {
        16 => where_elements::<[u64; 2]>,
        8 => where_elements::<u64>,
        4 => where_elements::<u32>,
        2 => where_elements::<u16>,
        _ => where_elements::<u8>,
    })
}
