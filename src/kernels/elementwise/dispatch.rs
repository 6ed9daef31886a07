//! The driver: one type-erased function that runs a contiguous loop over operands of any strides.
//!
//! Owns: the choice between a direct call and a plan; splitting over threads; padding of tails.
//! Never knows a dtype: an operand is a pointer, strides and an element size.
//! Invariant: an element's value does not depend on how the work was cut. The output may be an
//! operand exactly (in place) but never overlaps one partially.

use std::mem::MaybeUninit;

use super::contiguous::{Direct, Work};
use super::flat::FEW;
use super::loop_table::Loop;
use super::strided::Plan;
use super::tile_copy::gather;
use super::transposed::Turned;
use crate::threads;

/// An operand, already broadcast to the shape of the call: element 0, strides, element size.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// Element 0.
    pub ptr: *const u8,
    /// One stride per dimension, in elements; 0 where broadcast.
    pub strides: &'a [isize],
    /// Bytes of one element: 1, 4 or 8.
    pub itemsize: usize,
}

/// The output: element 0, strides (none 0 unless its dimension is 1), element size.
#[derive(Clone, Copy, Debug)]
pub struct OutOperand<'a> {
    /// Element 0.
    pub ptr: *mut u8,
    /// One stride per dimension, in elements.
    pub strides: &'a [isize],
    /// Bytes of one element: 1, 4 or 8.
    pub itemsize: usize,
    /// Whether the loop reads an operand there that is not among its inputs.
    pub read: bool,
}

/// The most operands a loop can have.
pub const MAX_OPERANDS: usize = 5;
/// Work below this many nanoseconds stays on the calling thread.
const SPLIT_ABOVE: f32 = 80_000.0;
/// The same while a helper is awake.
const SPLIT_AWAKE: f32 = 16_000.0;
/// Nanoseconds of one block of a split.
const BLOCK: f32 = 20_000.0;
/// Blocks are multiples of this many elements: whole tiles, whole pages, whole leaves of reductions.
const BLOCK_UNIT: usize = 4096;
/// In place, a loop this short runs directly: it would not be vectorised, and need not be.
const SHORT: usize = 64;
/// Operands that a small call lays out in a row.
const ROOMS: usize = 2;

/// Runs `f` over the shape `dims`. `cost` is in nanoseconds per element.
///
/// # Safety
/// Every operand and the output address valid elements of the loop's types over the whole shape,
/// aligned; the output is an operand exactly (same pointer, strides and size) or overlaps none;
/// `params` are as many as the loop reads; there are at most `MAX_OPERANDS` operands.
#[inline]
pub unsafe fn run(
    f: Loop,
    ins: &[Operand<'_>],
    out: OutOperand<'_>,
    dims: &[usize],
    params: &[f64],
    cost: f32,
) {
    debug_assert!(ins.len() <= MAX_OPERANDS);
    let n: usize = dims.iter().product();
    if n <= 1 {
        if n == 1 {
            let mut ptrs = [std::ptr::null(); MAX_OPERANDS];
            ins.iter().zip(&mut ptrs).for_each(|(x, p)| *p = x.ptr);
            // SAFETY: the caller's contract, for the one element of each.
            unsafe { f(ptrs.as_ptr(), out.ptr, 1, params.as_ptr()) };
        }
        return;
    }
    // SAFETY: the same contract.
    unsafe {
        if n > FEW || !run_few(f, ins, out, (dims, n), params) {
            run_many(f, ins, out, (dims, n), params, cost);
        }
    }
}

/// One call for a few elements in a row of the output, without a plan: an operand that lies otherwise, or is one number, is
/// laid out in a row first. Says whether it was made.
///
/// # Safety
/// As `run`, with `n` the number of elements, at most `FEW`.
#[inline(never)]
unsafe fn run_few(
    f: Loop,
    ins: &[Operand<'_>],
    out: OutOperand<'_>,
    (dims, n): (&[usize], usize),
    params: &[f64],
) -> bool {
    let mut rooms = [[const { MaybeUninit::<u64>::uninit() }; FEW]; ROOMS];
    let mut free = rooms.iter_mut();
    let mut ptrs = [std::ptr::null(); MAX_OPERANDS];
    if !in_a_row(dims, out.strides) {
        return false;
    }
    for (x, ptr) in ins.iter().zip(&mut ptrs) {
        *ptr = x.ptr;
        if !in_a_row(dims, x.strides) {
            let Some(room) = free.next().filter(|_| x.itemsize <= 8) else { return false };
            let room = room.as_mut_ptr().cast::<u8>();
            // SAFETY: the caller's contract; the room holds `FEW` words.
            unsafe { gather(x.ptr, x.itemsize, dims, x.strides, (0, n), room) };
            *ptr = room;
        }
    }
    // SAFETY: the caller's contract; every operand is `n` elements in a row.
    unsafe { f(ptrs.as_ptr(), out.ptr, n, params.as_ptr()) };
    true
}

/// Whether the elements are neighbours in C order.
#[inline]
fn in_a_row(dims: &[usize], strides: &[isize]) -> bool {
    let mut step = 1;
    for (&dim, &stride) in dims.iter().zip(strides).rev() {
        if dim != 1 && stride != step {
            return false;
        }
        step *= dim as isize;
    }
    true
}

/// # Safety
/// As `run`, with `n` the number of elements.
#[inline(never)]
unsafe fn run_many(
    f: Loop,
    ins: &[Operand<'_>],
    out: OutOperand<'_>,
    (dims, n): (&[usize], usize),
    params: &[f64],
    cost: f32,
) {
    let work = Work::new(f, params, cost);
    let in_place = n > SHORT && ins.iter().any(|x| x.ptr == out.ptr.cast_const());
    let plan;
    let direct;
    let turned;
    let body: &(dyn Fn(usize, usize) + Sync) = match Direct::new(work, ins, out, dims) {
        Some(reached) if !in_place => {
            direct = reached;
            if n as f32 * cost < split_above() {
                // SAFETY: the caller's contract.
                return unsafe { direct.span(0, n) };
            }
            // SAFETY: blocks are disjoint ranges below n.
            &|start, end| unsafe { direct.span(start, end) }
        }
        _ if !in_place && let Some(reached) = Turned::new(work, ins, out, dims) => {
            turned = reached;
            // SAFETY: blocks are disjoint ranges below n that begin at rows.
            let body = |start, end| unsafe { turned.span(start, end) };
            return in_units(n, turned.unit(), cost, &body);
        }
        _ => {
            plan = Plan::new(work, ins, out, dims, in_place);
            // SAFETY: blocks are disjoint ranges below n.
            &|start, end| unsafe { plan.span(start, end) }
        }
    };
    in_blocks(n, cost, body);
}

/// The nanoseconds from which on an operation is split: what is computed does not depend on the cut.
#[inline]
pub fn split_above() -> f32 {
    if threads::has_awake_helper() { SPLIT_AWAKE } else { SPLIT_ABOVE }
}

/// Runs `body` on ranges that make up `0..n`: on one, or on fixed blocks when there is work for the pool. `cost` is in
/// nanoseconds per element.
#[inline]
pub fn in_blocks(n: usize, cost: f32, body: &(dyn Fn(usize, usize) + Sync)) {
    in_units(n, BLOCK_UNIT, cost, body);
}

/// The same for blocks that are multiples of `unit`.
#[inline]
pub fn in_units(n: usize, unit: usize, cost: f32, body: &(dyn Fn(usize, usize) + Sync)) {
    if n as f32 * cost < split_above() { body(0, n) } else { split(n, unit, cost, body) }
}

#[cold]
fn split(n: usize, unit: usize, cost: f32, body: &(dyn Fn(usize, usize) + Sync)) {
    let nanoseconds = BLOCK.min(n as f32 * cost / 4.0);
    let block = ((nanoseconds / cost) as usize).max(1).next_multiple_of(unit);
    threads::parallel_for(n.div_ceil(block), &|i| body(i * block, n.min((i + 1) * block)));
}
