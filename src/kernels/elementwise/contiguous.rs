//! Calls of a loop with contiguous operands and scalars and a contiguous output. Pads tails, repeats scalars in
//! small tiles, and writes large outputs with non-temporal stores.
//!
//! Invariant: padding repeats an element of the operand, so that a loop computes with no other values.

use std::mem::MaybeUninit;

use super::dispatch::{MAX_OPERANDS, Operand, OutOperand};
use super::loop_call::{Loop, LoopCall};
use super::scalar_operand::{SMALL_CALL_ELEMENTS, repeat_element};
use crate::kernels::nontemporal;
use crate::kernels::nontemporal::StreamBuffer;
use crate::kernels::view::with_word;

/// Tails are padded to one vector of the widest level, in bytes.
const VECTOR_BYTES: usize = 64;
/// Costs per element, in nanoseconds, for which padding a tail is faster: above those of a few instructions, below those of
/// scalar library calls, which would also be made for the padding.
const PADDING_COST: std::ops::Range<f32> = 0.3..6.0;
/// A shorter tail is not padded: scalar code costs less.
const MIN_PADDED_TAIL: usize = 6;
/// A buffer for an element of any dtype.
type Widest = [u64; 2];
/// Elements computed before they are streamed: more pending stores would wait for each other.
const STREAM_ELEMENTS: usize = 128;
/// Elements prefetched at once.
const PREFETCH_ELEMENTS: usize = 256;
/// Results of at least this many bytes, and their operands, do not stay in L1 and L2.
const PREFETCH_BYTES: usize = 1 << 20;

/// A loop, its parameters, whether its tails are padded, and whether it is memory-bound.
#[derive(Clone, Copy)]
pub(super) struct PaddedLoop<'a> {
    f: Loop,
    params: &'a [f64],
    pad: bool,
    memory_bound: bool,
}

/// Copies `count` elements and pads with the first up to `total`.
///
/// # Safety
/// `from` holds `count >= 1` elements, `to` has space for `total`.
#[inline(always)]
unsafe fn padded<T: Copy>(from: *const u8, to: *mut u8, count: usize, total: usize) {
    let (from, to) = (from.cast::<T>(), to.cast::<T>());
    for i in 0..total {
        // SAFETY: the caller guarantees both ranges.
        unsafe { *to.add(i) = *from.add(if i < count { i } else { 0 }) };
    }
}

/// `padded`, by element size.
///
/// # Safety
/// As `padded`.
#[inline]
unsafe fn pad(size: usize, from: *const u8, to: *mut u8, count: usize, total: usize) {
    // SAFETY: the same contract; the element size selects the type.
    unsafe {
        with_word!(size, W => padded::<W>(from, to, count, total));
    }
}

impl<'a> PaddedLoop<'a> {
    pub(super) fn new(f: Loop, params: &'a [f64], cost: f32) -> PaddedLoop<'a> {
        let (pad, memory_bound) = (PADDING_COST.contains(&cost), cost <= PADDING_COST.start);
        PaddedLoop { f, params, pad, memory_bound }
    }

    /// Calls the loop; the tail beyond the last whole vector is padded to one.
    ///
    /// # Safety
    /// As `Loop`; `sizes` are the operands' element sizes and the output's.
    #[inline]
    pub(super) unsafe fn call(
        &self,
        ins: &[*const u8; MAX_OPERANDS],
        out: *mut u8,
        n: usize,
        sizes: (&[usize], usize),
    ) {
        let tail = if self.pad { n % (VECTOR_BYTES / sizes.1) } else { 0 };
        let whole = if tail < MIN_PADDED_TAIL { n } else { n - tail };
        // SAFETY: `whole` and the tail are inside the n elements that the caller guarantees.
        unsafe {
            if whole > 0 {
                LoopCall { f: self.f, ins, out, n: whole, params: self.params }.run();
            }
            if whole < n {
                self.tail(ins, out, (whole, n - whole), sizes);
            }
        }
    }

    /// # Safety
    /// As `call`, for the elements of `range` = (start, count), fewer than a vector.
    #[inline(never)]
    unsafe fn tail(
        &self,
        ins: &[*const u8; MAX_OPERANDS],
        out: *mut u8,
        (start, count): (usize, usize),
        (sizes, out_size): (&[usize], usize),
    ) {
        let mut pads = [[MaybeUninit::<Widest>::uninit(); VECTOR_BYTES]; MAX_OPERANDS];
        let mut target = [MaybeUninit::<Widest>::uninit(); VECTOR_BYTES];
        let mut ptrs = [std::ptr::null(); MAX_OPERANDS];
        let group = VECTOR_BYTES / out_size;
        // SAFETY: a pad holds the elements of a vector, of any size; operands and output hold the range.
        unsafe {
            for (k, &size) in sizes.iter().enumerate() {
                let to = pads[k].as_mut_ptr().cast();
                pad(size, ins[k].add(start * size), to, count, group);
                ptrs[k] = to.cast_const();
            }
            let target = target.as_mut_ptr().cast::<u8>();
            LoopCall { f: self.f, ins: &ptrs, out: target, n: group, params: self.params }.run();
            pad(out_size, target, out.add(start * out_size), count, count);
        }
    }
}

/// Whether the strides are those of a C-contiguous array.
#[inline]
pub(super) fn is_c_contiguous(dims: &[usize], strides: &[isize]) -> bool {
    let mut expected = 1;
    for (&d, &s) in dims.iter().zip(strides).rev() {
        if d != 1 {
            if s != expected {
                return false;
            }
            expected *= d as isize;
        }
    }
    true
}

/// An operand: its address, element size, and whether it is a scalar.
#[derive(Clone, Copy)]
struct ContiguousIn {
    ptr: *const u8,
    size: usize,
    scalar: bool,
}

/// A call with contiguous operands and scalars, and a contiguous output.
pub(super) struct ContiguousCall<'a> {
    work: PaddedLoop<'a>,
    ins: [ContiguousIn; MAX_OPERANDS],
    count: usize,
    out: (*mut u8, usize),
    has_scalars: bool,
    streamed: bool,
    prefetched: bool,
}

// SAFETY: the pointers are read and written by disjoint ranges, under the contract of `run`.
unsafe impl Sync for ContiguousCall<'_> {}

impl<'a> ContiguousCall<'a> {
    /// None if an operand or the output is neither contiguous nor a scalar.
    #[inline]
    pub(super) fn new(
        work: PaddedLoop<'a>,
        ins: &[Operand<'_>],
        out: OutOperand<'_>,
        dims: &[usize],
    ) -> Option<ContiguousCall<'a>> {
        if !is_c_contiguous(dims, out.strides) {
            return None;
        }
        let mut table =
            [ContiguousIn { ptr: std::ptr::null(), size: 0, scalar: false }; MAX_OPERANDS];
        let mut has_scalars = false;
        for (x, slot) in ins.iter().zip(&mut table) {
            let scalar = !is_c_contiguous(dims, x.strides);
            if scalar && x.strides.iter().any(|&s| s != 0) {
                return None;
            }
            has_scalars |= scalar;
            *slot = ContiguousIn { ptr: x.ptr, size: x.itemsize, scalar };
        }
        let bytes = dims.iter().product::<usize>() * out.itemsize;
        // A compute-bound loop works while its non-temporal stores wait for memory.
        let arrays = table[..ins.len()].iter().filter(|x| !x.scalar).count();
        let streamed = arrays > 0 && !out.read && nontemporal::should_stream(out.ptr, bytes);
        let prefetched = (!work.memory_bound && bytes >= PREFETCH_BYTES) || streamed;
        let out = (out.ptr, out.itemsize);
        Some(ContiguousCall {
            work,
            ins: table,
            count: ins.len(),
            out,
            has_scalars,
            streamed,
            prefetched,
        })
    }

    /// # Safety
    /// The range is inside the shape.
    #[inline]
    pub(super) unsafe fn span(&self, start: usize, end: usize) {
        // SAFETY: the range is inside the shape, over which everything is valid.
        unsafe {
            if self.has_scalars || self.streamed {
                self.span_in_tiles(start, end)
            } else if self.prefetched {
                let mut at = start;
                while at < end {
                    let n = PREFETCH_ELEMENTS.min(end - at);
                    self.prefetch(at + n);
                    let out = self.out.0.add(at * self.out.1);
                    self.piece(at, n, out, &[std::ptr::null(); MAX_OPERANDS]);
                    at += n;
                }
            } else {
                let out = self.out.0.add(start * self.out.1);
                self.piece(start, end - start, out, &[std::ptr::null(); MAX_OPERANDS])
            }
        }
    }

    /// Prefetches the elements from `start` on, which may be past the end.
    #[inline(always)]
    fn prefetch(&self, start: usize) {
        for x in self.ins[..self.count].iter().filter(|x| !x.scalar) {
            nontemporal::prefetch(x.ptr.wrapping_add(start * x.size), PREFETCH_ELEMENTS * x.size);
        }
        if !self.streamed {
            let (out, size) = self.out;
            nontemporal::prefetch(out.wrapping_add(start * size), PREFETCH_ELEMENTS * size);
        }
    }

    /// # Safety
    /// The range is inside the shape.
    #[inline(never)]
    unsafe fn span_in_tiles(&self, start: usize, end: usize) {
        let (out, size) = self.out;
        let mut streamed = StreamBuffer::<{ STREAM_ELEMENTS * size_of::<Widest>() }>::new();
        let mut tiles = [[MaybeUninit::<Widest>::uninit(); SMALL_CALL_ELEMENTS]; MAX_OPERANDS];
        let mut splats = [std::ptr::null(); MAX_OPERANDS];
        for (k, x) in self.ins[..self.count].iter().enumerate() {
            if x.scalar {
                let tile = tiles[k].as_mut_ptr().cast();
                // SAFETY: the scalar is one element; the tile has space.
                unsafe {
                    repeat_element((x.ptr, x.size), tile, SMALL_CALL_ELEMENTS.min(end - start))
                };
                splats[k] = tile.cast_const();
            }
        }
        let step = if self.streamed { STREAM_ELEMENTS } else { SMALL_CALL_ELEMENTS };
        let mut at = start;
        while at < end {
            let n = step.min(end - at);
            if self.prefetched {
                self.prefetch(at + n);
            }
            // SAFETY: at + n <= end, the tiles repeat their scalar n times, and the streamed tile has space
            // for n elements.
            unsafe {
                let place = out.add(at * size);
                if self.streamed {
                    self.piece(at, n, streamed.ptr(), &splats);
                    nontemporal::stream(streamed.ptr(), place, n * size);
                } else {
                    self.piece(at, n, place, &splats);
                }
            }
            at += n;
        }
        if self.streamed {
            nontemporal::fence();
        }
    }

    /// # Safety
    /// The `n` elements from `start` are inside the shape; scalars have a tile of `n` elements, and `out` has
    /// space for them.
    #[inline(always)]
    unsafe fn piece(
        &self,
        start: usize,
        n: usize,
        out: *mut u8,
        splats: &[*const u8; MAX_OPERANDS],
    ) {
        let mut ptrs = *splats;
        let mut sizes = [0; MAX_OPERANDS];
        for (k, x) in self.ins[..self.count].iter().enumerate() {
            sizes[k] = x.size;
            if !x.scalar {
                // SAFETY: start is inside the operand.
                ptrs[k] = unsafe { x.ptr.add(start * x.size) };
            }
        }
        let sizes = (&sizes[..self.count], self.out.1);
        // SAFETY: the elements are inside the shape, over which everything is valid.
        unsafe { self.work.call(&ptrs, out, n, sizes) }
    }
}
