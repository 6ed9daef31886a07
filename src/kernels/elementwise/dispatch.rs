//! `StridedCall`: a contiguous loop over operands of any strides. It chooses between a direct call, a loop over rows, a
//! transposed call and a strided plan, and splits work over threads.
//!
//! Invariant: an element's value does not depend on how the work was split. The output may be an operand
//! exactly (in place) but never overlaps one partially.

use super::contiguous::{ContiguousCall, PaddedLoop, is_c_contiguous};
use super::loop_call::{Loop, LoopCall};
use super::row_broadcast::{RowLoopFn, run_rows};
use super::scalar_operand::{SMALL_CALL_ELEMENTS, SmallBuffer};
use super::strided::StridedPlan;
use super::tile_copy::gather;
use super::transposed::TransposedCall;
use crate::threads;

/// An operand, already broadcast to the shape of the call.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// The address of element 0.
    pub ptr: *const u8,
    /// One stride per dimension, in elements; 0 where broadcast.
    pub strides: &'a [isize],
    /// Bytes of one element.
    pub itemsize: usize,
}

/// The output; no stride is 0 unless its dimension is 1.
#[derive(Clone, Copy, Debug)]
pub struct OutOperand<'a> {
    /// The address of element 0.
    pub ptr: *mut u8,
    /// One stride per dimension, in elements.
    pub strides: &'a [isize],
    /// Bytes of one element.
    pub itemsize: usize,
    /// Whether the loop also reads an operand from the output (in-place loops).
    pub read: bool,
}

/// The most operands a loop can have.
pub const MAX_OPERANDS: usize = 5;
/// Work of less than this many nanoseconds stays on the calling thread.
const SPLIT_NANOSECONDS: f32 = 80_000.0;
/// The same while a worker thread is awake.
const SPLIT_NANOSECONDS_AWAKE: f32 = 16_000.0;
/// Nanoseconds of one block of a split.
const BLOCK_NANOSECONDS: f32 = 20_000.0;
/// Blocks are multiples of this many elements: whole tiles, pages and reduction leaves.
const BLOCK_UNIT: usize = 4096;
/// An in-place loop over at most this many elements runs directly: without vectorisation, but also without
/// tiles.
const IN_PLACE_DIRECT_ELEMENTS: usize = 64;
/// Operands that a small call can gather into contiguous buffers.
const GATHERED_OPERANDS: usize = 2;

/// A loop with its parameters and its cost.
#[derive(Clone, Copy)]
pub struct LoopWork<'a> {
    /// The loop.
    pub f: Loop,
    /// The loop over rows in which one operand is a scalar per row, if the operation has one.
    pub row_loop: Option<RowLoopFn>,
    /// The parameters of its formula.
    pub params: &'a [f64],
    /// Nanoseconds per element.
    pub cost: f32,
}

/// An element-wise call over a shape, with operands of any strides.
pub struct StridedCall<'a> {
    /// The loop.
    pub work: LoopWork<'a>,
    /// The operands.
    pub ins: &'a [Operand<'a>],
    /// The output.
    pub out: OutOperand<'a>,
    /// The shape.
    pub dims: &'a [usize],
}

impl StridedCall<'_> {
    /// Runs the call.
    ///
    /// # Safety
    /// Every operand and the output address valid, aligned elements of the loop's types over the whole shape; the
    /// output is an operand exactly (same pointer, strides and size) or overlaps none; `params` holds the loop's
    /// parameters; there are at most `MAX_OPERANDS` operands.
    #[inline]
    pub unsafe fn run(&self) {
        debug_assert!(self.ins.len() <= MAX_OPERANDS);
        let n: usize = self.dims.iter().product();
        // SAFETY: the caller's contract.
        unsafe {
            match n {
                0 => {}
                1 => {
                    let mut ptrs = [std::ptr::null(); MAX_OPERANDS];
                    self.ins.iter().zip(&mut ptrs).for_each(|(x, ptr)| *ptr = x.ptr);
                    self.loop_call(&ptrs, 1).run();
                }
                2..=SMALL_CALL_ELEMENTS if self.run_small(n) => {}
                _ => self.run_large(n),
            }
        }
    }

    /// The call of the loop on the first `n` elements of contiguous operands.
    #[inline(always)]
    fn loop_call<'c>(&'c self, ins: &'c [*const u8; MAX_OPERANDS], n: usize) -> LoopCall<'c> {
        LoopCall { f: self.work.f, ins, out: self.out.ptr, n, params: self.work.params }
    }

    /// Runs the loop with one call if the output is contiguous and few operands are not: those are gathered
    /// first. Returns whether it ran.
    ///
    /// # Safety
    /// As `run`, with `n` the number of elements, at most `SMALL_CALL_ELEMENTS`.
    #[inline(never)]
    unsafe fn run_small(&self, n: usize) -> bool {
        let mut buffers = [const { SmallBuffer::new() }; GATHERED_OPERANDS];
        let mut free = buffers.iter_mut();
        let mut ptrs = [std::ptr::null(); MAX_OPERANDS];
        if !is_c_contiguous(self.dims, self.out.strides) {
            return false;
        }
        for (x, ptr) in self.ins.iter().zip(&mut ptrs) {
            *ptr = x.ptr;
            if !is_c_contiguous(self.dims, x.strides) {
                let Some(buffer) = free.next().filter(|_| x.itemsize <= 8) else { return false };
                let buffer = buffer.as_mut_ptr();
                // SAFETY: the caller's contract; the buffer holds `SMALL_CALL_ELEMENTS` words.
                unsafe { gather(x.ptr, x.itemsize, self.dims, x.strides, (0, n), buffer) };
                *ptr = buffer;
            }
        }
        // SAFETY: the caller's contract; every operand is `n` contiguous elements.
        unsafe { self.loop_call(&ptrs, n).run() };
        true
    }

    /// # Safety
    /// As `run`, with `n` the number of elements.
    #[inline(never)]
    unsafe fn run_large(&self, n: usize) {
        let &StridedCall { work: LoopWork { f, params, cost, .. }, ins, out, dims } = self;
        let work = PaddedLoop::new(f, params, cost);
        let in_place =
            n > IN_PLACE_DIRECT_ELEMENTS && ins.iter().any(|x| x.ptr == out.ptr.cast_const());
        let plan;
        let contiguous_call;
        let transposed;
        let body: &(dyn Fn(usize, usize) + Sync) = match ContiguousCall::new(work, ins, out, dims) {
            Some(found) if !in_place => {
                contiguous_call = found;
                if n as f32 * cost < split_above() {
                    // SAFETY: the caller's contract.
                    return unsafe { contiguous_call.span(0, n) };
                }
                // SAFETY: blocks are disjoint ranges below n.
                &|start, end| unsafe { contiguous_call.span(start, end) }
            }
            // SAFETY: the caller's contract.
            _ if unsafe { self.run_by_rows() } => return,
            _ if !in_place && let Some(found) = TransposedCall::new(work, ins, out, dims) => {
                transposed = found;
                // SAFETY: blocks are disjoint ranges below n that begin at rows.
                let body = |start, end| unsafe { transposed.span(start, end) };
                return parallel_units(n, transposed.unit(), cost, &body);
            }
            _ => {
                plan = StridedPlan::new(work, ins, out, dims, in_place);
                // SAFETY: blocks are disjoint ranges below n.
                &|start, end| unsafe { plan.span(start, end) }
            }
        };
        parallel_blocks(n, cost, body);
    }

    /// Runs the row loop, if there is one and the layout of the operands allows it; returns whether it ran.
    ///
    /// # Safety
    /// As `run`.
    unsafe fn run_by_rows(&self) -> bool {
        match (self.work.row_loop, self.ins) {
            // SAFETY: the caller's contract.
            (Some(f), &[a, b]) => unsafe {
                run_rows(f, [a, b], self.out, self.dims, self.work.cost)
            },
            _ => false,
        }
    }
}

/// The nanoseconds from which on an operation is split. Results do not depend on the split.
#[inline]
pub fn split_above() -> f32 {
    if threads::has_awake_helper() { SPLIT_NANOSECONDS_AWAKE } else { SPLIT_NANOSECONDS }
}

/// Runs `body` on ranges that partition `0..n`: on one, or on fixed blocks of the thread pool when the work
/// is large. `cost` is in nanoseconds per element.
#[inline]
pub fn parallel_blocks(n: usize, cost: f32, body: &(dyn Fn(usize, usize) + Sync)) {
    parallel_units(n, BLOCK_UNIT, cost, body);
}

/// As `parallel_blocks`, for blocks that are multiples of `unit`.
#[inline]
pub fn parallel_units(n: usize, unit: usize, cost: f32, body: &(dyn Fn(usize, usize) + Sync)) {
    if n as f32 * cost < split_above() { body(0, n) } else { split(n, unit, cost, body) }
}

#[cold]
fn split(n: usize, unit: usize, cost: f32, body: &(dyn Fn(usize, usize) + Sync)) {
    let nanoseconds = BLOCK_NANOSECONDS.min(n as f32 * cost / 4.0);
    let block = ((nanoseconds / cost) as usize).max(1).next_multiple_of(unit);
    threads::parallel_for(n.div_ceil(block), &|i| body(i * block, n.min((i + 1) * block)));
}
