//! Scalar operands: conversion to the dtype of a loop, and repetition in a buffer, since loops read contiguous elements.

use std::mem::MaybeUninit;

use super::launch_loop::LoopOperand;
use crate::dtype::DType;
use crate::kernels::view::with_word;

/// Most elements of a small call, and most repetitions of a scalar in a buffer. With more elements, padding tails and
/// splitting over threads are worth their cost.
pub(crate) const SMALL_CALL_ELEMENTS: usize = 256;

/// A scalar as an element of `dtype`, in a word, so that it is aligned for every dtype.
#[inline]
pub(crate) fn word(input: LoopOperand<'_>, dtype: DType) -> u64 {
    let (float, int) = match input {
        LoopOperand::Int(i) => (i as f64, i),
        LoopOperand::Float(f) => (f, f as i64),
        LoopOperand::View(_) => (0.0, 0),
    };
    let mut out = [0u8; 8];
    match dtype {
        DType::F64 => out = float.to_ne_bytes(),
        DType::F32 => out[..4].copy_from_slice(&(float as f32).to_ne_bytes()),
        DType::I64 | DType::U64 => out = int.to_ne_bytes(),
        DType::I32 => out[..4].copy_from_slice(&(int as i32).to_ne_bytes()),
        DType::U8 => out[0] = int as u8,
        DType::Bool => out[0] = (float != 0.0) as u8,
        // Scalars of the other dtypes are converted with the elements.
        _ => {}
    }
    u64::from_ne_bytes(out)
}

/// Writes one element of this size `n` times.
///
/// # Safety
/// The element is readable, `to` has space for `n` of them, and both are aligned for it.
#[inline]
pub(crate) unsafe fn repeat_element((from, size): (*const u8, usize), to: *mut u8, n: usize) {
    // SAFETY: the caller's contract; the element size selects the type.
    unsafe { with_word!(size, W => repeat::<W>(from.cast(), to.cast(), n)) }
}

/// # Safety
/// As `repeat_element`.
#[inline(always)]
unsafe fn repeat<W: Copy>(from: *const W, to: *mut W, n: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        let element = *from;
        (0..n).for_each(|i| *to.add(i) = element);
    }
}

/// Space for one operand, or the result, of a small call.
pub(super) struct SmallBuffer([MaybeUninit<u64>; SMALL_CALL_ELEMENTS]);

impl SmallBuffer {
    #[inline(always)]
    pub(super) const fn new() -> SmallBuffer {
        SmallBuffer([const { MaybeUninit::uninit() }; SMALL_CALL_ELEMENTS])
    }

    /// Repeats the scalar in the first `size` bytes of `word` `n` times.
    #[inline(always)]
    pub(super) fn repeat(&mut self, word: u64, size: usize, n: usize) -> *const u8 {
        assert!(size <= size_of::<u64>() && n <= SMALL_CALL_ELEMENTS, "room for the elements");
        // SAFETY: the word holds the element, and the buffer has space for all.
        unsafe { repeat_element(((&raw const word).cast(), size), self.as_mut_ptr(), n) };
        self.0.as_ptr().cast()
    }

    /// The address of `SMALL_CALL_ELEMENTS` elements of at most a word.
    #[inline(always)]
    pub(super) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}
