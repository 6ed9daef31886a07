//! The driver: one type-erased function that runs a contiguous loop over operands of any strides.
//!
//! Owns: the choice between a direct call and a plan; splitting over threads; padding of tails.
//! Never knows a dtype: an operand is a pointer, strides and an element size.
//! Invariant: an element's value does not depend on how the work was cut. The output may be an
//! operand exactly (in place) but never overlaps one partially.

use super::plan::Plan;
use super::table::Loop;
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
}

/// The most operands a loop can have.
pub const MAX_OPERANDS: usize = 5;
/// Work below this many nanoseconds stays on the calling thread.
const SPLIT_ABOVE: f32 = 80_000.0;
/// Nanoseconds of one block of a split.
const BLOCK: f32 = 20_000.0;
/// Blocks are multiples of this many elements: whole tiles, whole pages.
const BLOCK_UNIT: usize = 4096;
/// Tails are padded to whole groups of this many elements.
const GROUP: usize = 16;
/// Cost per element for which padding a tail pays: dearer than a plain instruction, and cheaper
/// than a scalar library call, which the padding would repeat.
const PAYS_PADDING: std::ops::Range<f32> = 0.2..6.0;

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
    unsafe { run_many(f, ins, out, (dims, n), params, cost) }
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
    let work = Work {
        f,
        params: params.as_ptr(),
        pad: PAYS_PADDING.contains(&cost),
    };
    let in_place = ins.iter().any(|x| x.ptr == out.ptr.cast_const());
    let flat = contiguous(dims, out.strides) && ins.iter().all(|x| contiguous(dims, x.strides));
    let plan;
    let body: &(dyn Fn(usize, usize) + Sync) = if flat && !in_place {
        let mut ptrs = [(std::ptr::null(), 0); MAX_OPERANDS];
        ins.iter()
            .zip(&mut ptrs)
            .for_each(|(x, p)| *p = (x.ptr, x.itemsize));
        let direct = Direct {
            work,
            ins: ptrs,
            count: ins.len(),
            out: (out.ptr, out.itemsize),
        };
        if n as f32 * cost < SPLIT_ABOVE {
            // SAFETY: the caller's contract.
            return unsafe { direct.span(0, n) };
        }
        // SAFETY: blocks are disjoint ranges below n.
        return split(n, cost, &move |start, end| unsafe {
            direct.span(start, end)
        });
    } else {
        plan = Plan::new(work, ins, out, dims, in_place);
        // SAFETY: blocks are disjoint ranges below n.
        &|start, end| unsafe { plan.span(start, end) }
    };
    if n as f32 * cost < SPLIT_ABOVE {
        body(0, n)
    } else {
        split(n, cost, body)
    }
}

/// Runs `body` on the fixed blocks of `0..n`, on the pool when it has idle threads.
#[cold]
fn split(n: usize, cost: f32, body: &(dyn Fn(usize, usize) + Sync)) {
    let block = ((BLOCK / cost) as usize).next_multiple_of(BLOCK_UNIT);
    threads::parallel_for(n.div_ceil(block), &|i| {
        body(i * block, n.min((i + 1) * block))
    });
}

/// Whether the strides are those of a C-contiguous array.
#[inline]
pub(super) fn contiguous(dims: &[usize], strides: &[isize]) -> bool {
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

/// A loop, its parameters, and whether its tails are padded.
#[derive(Clone, Copy)]
pub(super) struct Work {
    f: Loop,
    params: *const f64,
    pad: bool,
}

impl Work {
    /// Calls the loop, with the elements beyond the last whole group padded to one.
    ///
    /// # Safety
    /// As `Loop`; `sizes` are the operands' element sizes, the output's last.
    #[inline]
    pub(super) unsafe fn call(
        &self,
        ins: &[*const u8; MAX_OPERANDS],
        out: *mut u8,
        n: usize,
        sizes: (&[usize], usize),
    ) {
        let tail = if self.pad { n % GROUP } else { 0 };
        let whole = if tail < 3 { n } else { n - tail };
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
    /// As `call`, for the elements of `range` = (start, count), fewer than a group.
    unsafe fn tail(
        &self,
        ins: &[*const u8; MAX_OPERANDS],
        out: *mut u8,
        (start, count): (usize, usize),
        (sizes, out_size): (&[usize], usize),
    ) {
        let mut pads = [[0u64; GROUP]; MAX_OPERANDS + 1];
        let (pad_out, pads) = pads
            .split_last_mut()
            .expect("there is a pad for the output");
        let mut ptrs = [std::ptr::null(); MAX_OPERANDS];
        for (k, &size) in sizes.iter().enumerate() {
            let pad = pads[k].as_mut_ptr().cast::<u8>();
            // SAFETY: a pad holds a group of the largest elements; the operand holds the range.
            unsafe {
                let from = ins[k].add(start * size);
                std::ptr::copy_nonoverlapping(from, pad, count * size);
                // The rest repeats the first element: a value the loop is sure to accept.
                for i in count..GROUP {
                    std::ptr::copy_nonoverlapping(from, pad.add(i * size), size);
                }
            }
            ptrs[k] = pad;
        }
        let pad_out = pad_out.as_mut_ptr().cast::<u8>();
        // SAFETY: the pads hold a group each; the output holds the range.
        unsafe {
            (self.f)(ptrs.as_ptr(), pad_out, GROUP, self.params);
            std::ptr::copy_nonoverlapping(pad_out, out.add(start * out_size), count * out_size);
        }
    }
}

/// Contiguous operands and a separate contiguous output.
struct Direct {
    work: Work,
    ins: [(*const u8, usize); MAX_OPERANDS],
    count: usize,
    out: (*mut u8, usize),
}

// SAFETY: the pointers are read and written by disjoint ranges, under the contract of `run`.
unsafe impl Sync for Direct {}

impl Direct {
    /// # Safety
    /// The range is inside the shape.
    #[inline]
    unsafe fn span(&self, start: usize, end: usize) {
        let mut ptrs = [std::ptr::null(); MAX_OPERANDS];
        let mut sizes = [0; MAX_OPERANDS];
        for k in 0..self.count {
            let (ptr, size) = self.ins[k];
            sizes[k] = size;
            // SAFETY: start is inside the operand.
            ptrs[k] = unsafe { ptr.add(start * size) };
        }
        let (out, size) = self.out;
        let sizes = (&sizes[..self.count], size);
        // SAFETY: the range is inside the shape, over which everything is valid.
        unsafe {
            self.work
                .call(&ptrs, out.add(start * size), end - start, sizes)
        }
    }
}
