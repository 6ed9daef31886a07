//! Calling a loop without a plan: contiguous operands and single values, a contiguous output.
//!
//! Owns: the padding of tails, the splatting of values into small tiles, and the tiles of outputs that are streamed.
//! Never sees other strides; `Plan` does. Invariant: padding repeats an element of the operand, so
//! a loop meets no value that the operand does not hold.

use std::mem::MaybeUninit;

use crate::kernels::elementwise::dispatch::{MAX_OPERANDS, Operand, OutOperand};
use crate::kernels::elementwise::loop_table::Loop;
use crate::kernels::nontemporal;
use crate::kernels::nontemporal::Streamed;
use crate::kernels::view::with_word;

/// Tails are padded to one vector of the widest level, in bytes.
const VECTOR: usize = 64;
/// Cost per element for which padding a tail pays: dearer than a plain instruction, and cheaper
/// than a scalar library call, which the padding would repeat.
const PAYS_PADDING: std::ops::Range<f32> = 0.3..6.0;
/// A tail shorter than this is computed as it is: one by one costs less than the padding.
const SHORTEST_PADDED: usize = 6;
/// Room for an element of any dtype.
type Widest = [u64; 2];
/// Elements of a tile that repeats a value.
const SPLAT: usize = 256;
/// Elements that are computed before they are streamed: the stores of more would wait for each other.
const STREAMED: usize = 128;
/// Elements for which memory is called at once.
const CALLED: usize = 256;
/// Results from this many bytes on do not stay in the nearer caches, nor do their operands.
const FAR: usize = 1 << 20;

/// A loop, its parameters, whether its tails are padded, and whether memory is what limits it.
#[derive(Clone, Copy)]
pub(in crate::kernels::elementwise) struct Work {
    f: Loop,
    params: *const f64,
    pad: bool,
    plain: bool,
}

/// Copies `count` elements and repeats the first up to `total`.
///
/// # Safety
/// `from` holds `count >= 1` elements, `to` has room for `total`.
#[inline(always)]
unsafe fn padded<T: Copy>(from: *const u8, to: *mut u8, count: usize, total: usize) {
    let (from, to) = (from.cast::<T>(), to.cast::<T>());
    for i in 0..total {
        // SAFETY: the caller vouches for both ranges.
        unsafe { *to.add(i) = *from.add(if i < count { i } else { 0 }) };
    }
}

/// `padded` for an element size.
///
/// # Safety
/// As `padded`.
#[inline]
unsafe fn pad(size: usize, from: *const u8, to: *mut u8, count: usize, total: usize) {
    // SAFETY: the same contract; the element size decides the type, not its meaning.
    unsafe {
        with_word!(size, W => padded::<W>(from, to, count, total));
    }
}

impl Work {
    pub(in crate::kernels::elementwise) fn new(f: Loop, params: &[f64], cost: f32) -> Work {
        let (pad, plain) = (PAYS_PADDING.contains(&cost), cost <= PAYS_PADDING.start);
        Work { f, params: params.as_ptr(), pad, plain }
    }

    /// Calls the loop, with the elements beyond the last whole vector padded to one.
    ///
    /// # Safety
    /// As `Loop`; `sizes` are the operands' element sizes and the output's.
    #[inline]
    pub(in crate::kernels::elementwise) unsafe fn call(
        &self,
        ins: &[*const u8; MAX_OPERANDS],
        out: *mut u8,
        n: usize,
        sizes: (&[usize], usize),
    ) {
        let tail = if self.pad { n % (VECTOR / sizes.1) } else { 0 };
        let whole = if tail < SHORTEST_PADDED { n } else { n - tail };
        // SAFETY: `whole` and the tail are inside the n elements that the caller vouches for.
        unsafe {
            if whole > 0 {
                (self.f)(ins.as_ptr(), out, whole, self.params);
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
        let mut pads = [[MaybeUninit::<Widest>::uninit(); VECTOR]; MAX_OPERANDS];
        let mut target = [MaybeUninit::<Widest>::uninit(); VECTOR];
        let mut ptrs = [std::ptr::null(); MAX_OPERANDS];
        let group = VECTOR / out_size;
        // SAFETY: a pad holds the elements of a vector, of any size; operands and output hold the range.
        unsafe {
            for (k, &size) in sizes.iter().enumerate() {
                let to = pads[k].as_mut_ptr().cast();
                pad(size, ins[k].add(start * size), to, count, group);
                ptrs[k] = to.cast_const();
            }
            let target = target.as_mut_ptr().cast::<u8>();
            (self.f)(ptrs.as_ptr(), target, group, self.params);
            pad(out_size, target, out.add(start * out_size), count, count);
        }
    }
}

/// Whether the strides are those of a C-contiguous array.
#[inline]
pub(in crate::kernels::elementwise) fn contiguous(dims: &[usize], strides: &[isize]) -> bool {
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

/// An operand of a direct call: its address, element size, and whether it is one value.
#[derive(Clone, Copy)]
struct In {
    ptr: *const u8,
    size: usize,
    value: bool,
}

/// Contiguous operands and values, and a contiguous output.
pub(in crate::kernels::elementwise) struct Direct {
    work: Work,
    ins: [In; MAX_OPERANDS],
    count: usize,
    out: (*mut u8, usize),
    values: bool,
    streamed: bool,
    ahead: bool,
}

// SAFETY: the pointers are read and written by disjoint ranges, under the contract of `run`.
unsafe impl Sync for Direct {}

impl Direct {
    /// None if an operand or the output is neither contiguous nor a value.
    #[inline]
    pub(in crate::kernels::elementwise) fn new(
        work: Work,
        ins: &[Operand<'_>],
        out: OutOperand<'_>,
        dims: &[usize],
    ) -> Option<Direct> {
        if !contiguous(dims, out.strides) {
            return None;
        }
        let mut table = [In { ptr: std::ptr::null(), size: 0, value: false }; MAX_OPERANDS];
        let mut values = false;
        for (x, slot) in ins.iter().zip(&mut table) {
            let value = !contiguous(dims, x.strides);
            if value && x.strides.iter().any(|&s| s != 0) {
                return None;
            }
            values |= value;
            *slot = In { ptr: x.ptr, size: x.itemsize, value };
        }
        let bytes = dims.iter().product::<usize>() * out.itemsize;
        // Where a loop computes for longer, it does so while stores wait for memory.
        let arrays = table[..ins.len()].iter().filter(|x| !x.value).count();
        let streamed = arrays > 0 && !out.read && nontemporal::pays(out.ptr, bytes);
        let ahead = (!work.plain && bytes >= FAR) || streamed;
        let out = (out.ptr, out.itemsize);
        Some(Direct { work, ins: table, count: ins.len(), out, values, streamed, ahead })
    }

    /// # Safety
    /// The range is inside the shape.
    #[inline]
    pub(in crate::kernels::elementwise) unsafe fn span(&self, start: usize, end: usize) {
        // SAFETY: the range is inside the shape, over which everything is valid.
        unsafe {
            if self.values || self.streamed {
                self.span_in_tiles(start, end)
            } else if self.ahead {
                let mut at = start;
                while at < end {
                    let n = CALLED.min(end - at);
                    self.call_for(at + n);
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

    /// Calls for the memory of the elements from `start` on, which need not be there.
    #[inline(always)]
    fn call_for(&self, start: usize) {
        for x in self.ins[..self.count].iter().filter(|x| !x.value) {
            nontemporal::call_for(x.ptr.wrapping_add(start * x.size), CALLED * x.size);
        }
        if !self.streamed {
            let (out, size) = self.out;
            nontemporal::call_for(out.wrapping_add(start * size), CALLED * size);
        }
    }

    /// # Safety
    /// The range is inside the shape.
    #[inline(never)]
    unsafe fn span_in_tiles(&self, start: usize, end: usize) {
        let (out, size) = self.out;
        let mut streamed = Streamed::<{ STREAMED * size_of::<Widest>() }>::new();
        let mut tiles = [[MaybeUninit::<Widest>::uninit(); SPLAT]; MAX_OPERANDS];
        let mut splats = [std::ptr::null(); MAX_OPERANDS];
        for (k, x) in self.ins[..self.count].iter().enumerate() {
            if x.value {
                let tile = tiles[k].as_mut_ptr().cast();
                // SAFETY: the value is one element; the tile has room.
                unsafe { pad(x.size, x.ptr, tile, 1, SPLAT.min(end - start)) };
                splats[k] = tile.cast_const();
            }
        }
        let step = if self.streamed { STREAMED } else { SPLAT };
        let mut at = start;
        while at < end {
            let n = step.min(end - at);
            if self.ahead {
                self.call_for(at + n);
            }
            // SAFETY: at + n <= end, the tiles repeat their value n times, and the streamed one has room for n elements.
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
            nontemporal::finish();
        }
    }

    /// # Safety
    /// The `n` elements from `start` are inside the shape; values have a tile of `n` elements, and `out` has room for them.
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
            if !x.value {
                // SAFETY: start is inside the operand.
                ptrs[k] = unsafe { x.ptr.add(start * x.size) };
            }
        }
        let sizes = (&sizes[..self.count], self.out.1);
        // SAFETY: the elements are inside the shape, over which everything is valid.
        unsafe { self.work.call(&ptrs, out, n, sizes) }
    }
}
