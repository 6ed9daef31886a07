//! Stores that pass the caches by, and loads that are begun early.
//!
//! Owns: the size from which results are written so, the copy of a tile that does it, and the call for memory. Never computes. An ordinary
//! store reads the line that it will overwrite, and a result larger than the caches is out of them before anything reads
//! it: sums of 4M numbers take two thirds of the time so, results of 8 MB and less a tenth more.
//! Invariant: what was streamed is visible to whatever follows `finish`.

#[cfg(target_arch = "x86_64")]
use crate::kernels::isa::{Level, level};

/// Results from this many bytes on are streamed.
const FROM: usize = 16 << 20;
/// Bytes that one instruction writes, at an address that is a multiple of them.
const LINE: usize = 64;

/// Memory of the stack that `stream` can read.
#[repr(align(64))]
pub(in crate::kernels) struct Streamed<const BYTES: usize>(std::mem::MaybeUninit<[u8; BYTES]>);

impl<const BYTES: usize> Streamed<BYTES> {
    #[inline(always)]
    pub(in crate::kernels) const fn new() -> Streamed<BYTES> {
        Streamed(std::mem::MaybeUninit::uninit())
    }

    #[inline(always)]
    pub(in crate::kernels) fn ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// Asks for memory that a loop will soon need. Where a loop computes for long, its next loads are too far behind what is being
/// computed for the processor to begin them by itself: a power of 4M numbers takes half the time so, a sum that is streamed seven eighths.
#[inline(always)]
pub(crate) fn call_for(from: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..bytes).step_by(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: asking for memory reads none, wherever it is.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, bytes);
}

/// Whether a result of so many bytes at an address is to be streamed, which this machine can.
#[inline]
pub(crate) fn pays(out: *const u8, bytes: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    return bytes >= FROM && out.addr().is_multiple_of(LINE) && level() >= Level::Avx2;
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Copies `bytes` of a tile to an address that `pays` has approved, or one that is whole lines further on.
///
/// # Safety
/// The tile holds so many bytes, the target has room for them, and nothing else reads or writes it until `finish`.
#[inline]
pub(crate) unsafe fn stream(tile: *const u8, out: *mut u8, bytes: usize) {
    debug_assert!(tile.addr().is_multiple_of(LINE) && out.addr().is_multiple_of(LINE));
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller's contract; `pays` has seen that the CPU has the level.
    unsafe {
        if level() == Level::Avx512 {
            lines512(tile, out, bytes)
        } else {
            lines256(tile, out, bytes)
        }
        let whole = bytes / LINE * LINE;
        std::ptr::copy_nonoverlapping(tile.add(whole), out.add(whole), bytes - whole);
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's contract.
    unsafe {
        std::ptr::copy_nonoverlapping(tile, out, bytes);
    }
}

/// # Safety
/// As `stream`, on a CPU with AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn lines512(tile: *const u8, out: *mut u8, bytes: usize) {
    use std::arch::x86_64::{_mm512_load_si512, _mm512_stream_si512};
    for at in (0..bytes / LINE).map(|i| i * LINE) {
        // SAFETY: the line is inside both, which begin at a multiple of its size.
        unsafe { _mm512_stream_si512(out.add(at).cast(), _mm512_load_si512(tile.add(at).cast())) };
    }
}

/// # Safety
/// As `stream`, on a CPU with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn lines256(tile: *const u8, out: *mut u8, bytes: usize) {
    use std::arch::x86_64::{_mm256_load_si256, _mm256_stream_si256};
    for at in (0..bytes / LINE * 2).map(|i| i * (LINE / 2)) {
        // SAFETY: half a line is inside both, which begin at a multiple of a whole one.
        unsafe { _mm256_stream_si256(out.add(at).cast(), _mm256_load_si256(tile.add(at).cast())) };
    }
}

/// Orders what was streamed before what follows: other threads see it as they see ordinary stores.
#[inline]
pub(crate) fn finish() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has this instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}
