//! Loops and copies over a few strided elements (reversed, transposed, broadcast): gather, compute, scatter.
//!
//! Invariant: all elements are gathered before any is written.

use std::mem::MaybeUninit;

use smallvec::SmallVec;

use super::lowered::{LoweredStep, OperandRef};
use super::step::{BufferView, Map, MapOperand};
use crate::kernels::elementwise::{Loop, LoopCall, MAX_OPERANDS};
use crate::kernels::fused::chain::MAX_ITEMSIZE;

/// Bound on the elements: gathered operands are stored on the stack.
const MAX_ELEMENTS: usize = 64;

/// The elements of one operand.
struct StridedElements {
    start: OperandRef,
    /// Bytes of one.
    size: usize,
    /// Byte offsets of the elements from the first; `None` if contiguous.
    offsets: Option<Box<[isize]>>,
}

/// A loop over gathered operands, or a strided copy.
pub(in crate::compile) struct GatheredLoop {
    /// The loop; `None` for a copy.
    table: Option<Loop>,
    ins: SmallVec<[StridedElements; 3]>,
    out: StridedElements,
    params: SmallVec<[f64; 2]>,
    n: usize,
}

impl StridedElements {
    fn of(slice: &BufferView) -> StridedElements {
        let size = slice.dtype.size();
        let offsets = (!slice.is_contiguous()).then(|| {
            let mut offsets = vec![0isize];
            for (&dim, &stride) in slice.dims.iter().zip(&slice.strides) {
                let step = stride * size as isize;
                let along = |start: &isize| (0..dim as isize).map(|i| start + i * step).collect();
                offsets = offsets.iter().flat_map(|start| -> Vec<isize> { along(start) }).collect();
            }
            offsets.into_boxed_slice()
        });
        StridedElements { start: OperandRef::of(slice), size, offsets }
    }
}

fn is_small(slice: &BufferView) -> bool {
    (1..=MAX_ELEMENTS).contains(&slice.numel()) && slice.dtype.size() <= MAX_ITEMSIZE
}

/// Lowers a short loop with a contiguous output.
pub(in crate::compile) fn lower_map(map: &Map) -> Option<LoweredStep> {
    if !is_small(&map.out) || !map.out.is_contiguous() {
        return None;
    }
    let elements = |argument: &MapOperand| match argument {
        MapOperand::BufferView(slice) if slice.dtype.size() > MAX_ITEMSIZE => None,
        MapOperand::BufferView(slice) => Some(StridedElements::of(slice)),
        MapOperand::Number(..) => None,
    };
    let ins: Option<SmallVec<[StridedElements; 3]>> = map.ins.iter().map(elements).collect();
    let (table, params) = (Some(map.table), map.params.clone());
    let (out, n) = (StridedElements::of(&map.out), map.out.numel());
    Some(LoweredStep::GatheredLoop(Box::new(GatheredLoop { table, ins: ins?, out, params, n })))
}

/// Lowers a short copy.
pub(in crate::compile) fn lower_copy(from: &BufferView, to: &BufferView) -> Option<LoweredStep> {
    if !is_small(to) || from.numel() != to.numel() {
        return None;
    }
    let ins = SmallVec::from_iter([StridedElements::of(from)]);
    let (out, n) = (StridedElements::of(to), to.numel());
    let params = SmallVec::new();
    Some(LoweredStep::GatheredLoop(Box::new(GatheredLoop { table: None, ins, out, params, n })))
}

impl GatheredLoop {
    /// # Safety
    /// `addresses` has the base pointer of every buffer.
    pub(in crate::compile) unsafe fn run(&self, addresses: &[*mut u8]) {
        let mut scratch = [[MaybeUninit::<u64>::uninit(); MAX_ELEMENTS]; MAX_OPERANDS];
        let mut ptrs = [std::ptr::null::<u8>(); MAX_OPERANDS];
        for ((elements, buffer), ptr) in self.ins.iter().zip(&mut scratch).zip(&mut ptrs) {
            let from = elements.start.address(addresses).cast_const();
            *ptr = match &elements.offsets {
                None => from,
                Some(offsets) => {
                    let buffer: *mut u8 = buffer.as_mut_ptr().cast();
                    // SAFETY: the elements lie inside their buffer, and the scratch has room for `MAX_ELEMENTS` of
                    // them.
                    unsafe { gather(from, offsets, elements.size, buffer) };
                    buffer
                }
            };
        }
        let out = self.out.start.address(addresses);
        match (self.table, &self.out.offsets) {
            // SAFETY: every operand holds `n` contiguous elements, the output has room for them, and an operand that
            // was not gathered is the output or disjoint from it.
            (Some(f), _) => unsafe {
                LoopCall { f, ins: &ptrs, out, n: self.n, params: &self.params }.run();
            },
            // SAFETY: the elements lie inside their buffer; source and destination do not overlap.
            (None, Some(offsets)) => unsafe { scatter(ptrs[0], out, offsets, self.out.size) },
            // SAFETY: as above.
            (None, None) => unsafe {
                out.copy_from_nonoverlapping(ptrs[0], self.n * self.out.size);
            },
        }
    }
}

/// # Safety
/// An aligned element of this size lies at each offset, and `to` has room for all.
unsafe fn gather(from: *const u8, offsets: &[isize], size: usize, to: *mut u8) {
    // SAFETY: the caller's contract.
    unsafe {
        match size {
            8 => for_each_offset(offsets, |i, at| *to.cast::<u64>().add(i) = read(from, at)),
            4 => for_each_offset(offsets, |i, at| *to.cast::<u32>().add(i) = read(from, at)),
            _ => for_each_offset(offsets, |i, at| *to.add(i) = read(from, at)),
        }
    }
}

/// # Safety
/// `from` holds an element of this size for each offset, and `to` has an aligned one at each.
unsafe fn scatter(from: *const u8, to: *mut u8, offsets: &[isize], size: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        match size {
            8 => for_each_offset(offsets, |i, at| write(to, at, *from.cast::<u64>().add(i))),
            4 => for_each_offset(offsets, |i, at| write(to, at, *from.cast::<u32>().add(i))),
            _ => for_each_offset(offsets, |i, at| write(to, at, *from.add(i))),
        }
    }
}

#[inline(always)]
fn for_each_offset(offsets: &[isize], mut f: impl FnMut(usize, isize)) {
    offsets.iter().enumerate().for_each(|(i, &at)| f(i, at));
}

#[inline(always)]
unsafe fn read<T: Copy>(from: *const u8, at: isize) -> T {
    // SAFETY: the caller's contract: an aligned element lies there.
    unsafe { *from.offset(at).cast::<T>() }
}

#[inline(always)]
unsafe fn write<T>(to: *mut u8, at: isize, value: T) {
    // SAFETY: the caller's contract: an aligned element lies there.
    unsafe { *to.offset(at).cast::<T>() = value };
}
