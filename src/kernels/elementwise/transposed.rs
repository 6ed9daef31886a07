//! Calls with transposed operands: blocks of eight rows are transposed in registers.
//!
//! The output is in C order and not an operand. Invariant: the loop is called on pieces of rows, as a strided
//! plan does.

use std::mem::MaybeUninit;

use smallvec::SmallVec;

use super::contiguous::{PaddedLoop, is_c_contiguous};
use super::dispatch::{MAX_OPERANDS, Operand, OutOperand};
use super::scalar_operand::repeat_element;
use crate::kernels::transpose::transpose_block;

/// Rows of a block: a cache line of 8-byte elements.
const ROWS: usize = 8;
/// Columns of a block, unless whole rows fit.
const COLUMNS: usize = 256;
/// The most words of a block.
const BLOCK_WORDS: usize = ROWS * COLUMNS;
/// Operands with fewer columns are gathered instead.
const MIN_COLUMNS: usize = 32;
/// Space for an element of a transposed operand.
type Word = u64;

/// How an operand is laid out relative to the rows of the output.
#[derive(Clone, Copy, PartialEq)]
enum ArgLayout {
    /// Contiguous along rows.
    Rows,
    /// Contiguous along columns: transposed.
    Columns,
    /// A scalar.
    Scalar,
}

#[derive(Clone, Copy)]
struct TransposedArg {
    ptr: *const u8,
    size: usize,
    layout: ArgLayout,
    /// Strides of rows and columns.
    steps: [isize; 2],
    /// Stride of planes.
    plane: isize,
}

/// A call with transposed operands; the shape is planes × rows × columns.
pub(super) struct TransposedCall<'a> {
    work: PaddedLoop<'a>,
    ins: [TransposedArg; MAX_OPERANDS],
    count: usize,
    out: (*mut u8, usize),
    rows: usize,
    columns: usize,
    /// Bytes of the widest element that is buffered.
    widest: usize,
}

// SAFETY: the pointers are read and written by disjoint ranges, under the contract of `run`.
unsafe impl Sync for TransposedCall<'_> {}

impl<'a> TransposedCall<'a> {
    /// None unless an operand is transposed and the others are rows or scalars.
    pub(super) fn new(
        work: PaddedLoop<'a>,
        ins: &[Operand<'_>],
        out: OutOperand<'_>,
        dims: &[usize],
    ) -> Option<TransposedCall<'a>> {
        if !is_c_contiguous(dims, out.strides) || dims.len() < 2 {
            return None;
        }
        let [(_, planes), (height, rows), (width, columns)] = merge_axes(dims, ins)?;
        if height < ROWS || width < MIN_COLUMNS {
            return None;
        }
        let none = TransposedArg {
            ptr: std::ptr::null(),
            size: 0,
            layout: ArgLayout::Scalar,
            steps: [0; 2],
            plane: 0,
        };
        let mut table = [none; MAX_OPERANDS];
        for (x, arg) in ins.iter().zip(&mut table) {
            let step = |axis: Option<usize>| axis.map_or(0, |axis| x.strides[axis]);
            let steps = [step(rows), step(columns)];
            let layout = match steps {
                _ if x.strides.iter().all(|&s| s == 0) && x.itemsize <= 8 => ArgLayout::Scalar,
                [_, 1] => ArgLayout::Rows,
                [1, _] if matches!(x.itemsize, 4 | 8) => ArgLayout::Columns,
                _ => return None,
            };
            *arg =
                TransposedArg { ptr: x.ptr, size: x.itemsize, layout, steps, plane: step(planes) };
        }
        let is_buffered = |x: &&TransposedArg| x.layout != ArgLayout::Rows;
        let widest =
            table[..ins.len()].iter().filter(is_buffered).map(|x| x.size).max().unwrap_or(1);
        let any_transposed = table[..ins.len()].iter().any(|x| x.layout == ArgLayout::Columns);
        any_transposed.then_some(TransposedCall {
            work,
            ins: table,
            count: ins.len(),
            out: (out.ptr, out.itemsize),
            rows: height,
            columns: width,
            widest,
        })
    }

    /// Ranges begin at multiples of this many elements.
    pub(super) fn unit(&self) -> usize {
        ROWS * self.columns
    }

    /// # Safety
    /// The range is inside the shape and begins at a row.
    pub(super) unsafe fn span(&self, start: usize, end: usize) {
        let mut buffers = [[MaybeUninit::<Word>::uninit(); BLOCK_WORDS]; MAX_OPERANDS];
        let capacity = BLOCK_WORDS * size_of::<Word>() / self.widest;
        for (x, buffer) in self.ins[..self.count].iter().zip(&mut buffers) {
            if x.layout == ArgLayout::Scalar {
                let n = capacity.min(end - start);
                // SAFETY: the scalar is one element of at most a word, and the buffer holds that many.
                unsafe { repeat_element((x.ptr, x.size), buffer.as_mut_ptr().cast(), n) };
            }
        }
        // Whole rows, if they fit, make one call per block.
        let (max_rows, width) = match self.columns {
            all if all * ROWS <= capacity => (ROWS, all),
            all if all * ROWS / 2 <= capacity && self.widest == size_of::<Word>() => {
                (ROWS / 2, all)
            }
            _ => (ROWS, COLUMNS),
        };
        let (mut row, last) = (start / self.columns, end.div_ceil(self.columns));
        while row < last {
            let (plane, inside) = (row / self.rows, row % self.rows);
            let height = max_rows.min(last - row).min(self.rows - inside);
            for column in (0..self.columns).step_by(width) {
                let width = width.min(self.columns - column);
                // SAFETY: the block is inside the shape.
                unsafe { self.block([plane, inside, column], (height, width), &mut buffers) };
            }
            row += height;
        }
    }

    /// # Safety
    /// The block is inside the shape; buffers of scalars are filled.
    unsafe fn block(
        &self,
        [plane, row, column]: [usize; 3],
        (height, width): (usize, usize),
        buffers: &mut [[MaybeUninit<Word>; BLOCK_WORDS]; MAX_OPERANDS],
    ) {
        let mut ptrs = [std::ptr::null(); MAX_OPERANDS];
        let (mut steps, mut sizes) = ([0; MAX_OPERANDS], [0; MAX_OPERANDS]);
        for (k, x) in self.ins[..self.count].iter().enumerate() {
            let to = buffers[k].as_mut_ptr().cast::<u8>();
            let at =
                plane as isize * x.plane + row as isize * x.steps[0] + column as isize * x.steps[1];
            sizes[k] = x.size;
            // SAFETY: the block is inside the operand; a buffer holds one.
            unsafe {
                let first = x.ptr.offset(at * x.size as isize);
                (ptrs[k], steps[k]) = match x.layout {
                    ArgLayout::Rows => (first, x.steps[0] * x.size as isize),
                    ArgLayout::Scalar => (to.cast_const(), 0),
                    ArgLayout::Columns => {
                        let (by, pitch, block) = (x.steps[1], width as isize, (height, width));
                        match x.size {
                            4 => transpose_block::<u32>(first.cast(), by, to.cast(), pitch, block),
                            _ => transpose_block::<u64>(first.cast(), by, to.cast(), pitch, block),
                        }
                        (to.cast_const(), (width * x.size) as isize)
                    }
                };
            }
        }
        let is_consecutive =
            |x: &TransposedArg| x.layout != ArgLayout::Rows || x.steps[0] == width as isize;
        let whole = width == self.columns && self.ins[..self.count].iter().all(is_consecutive);
        let (calls, n) = if whole { (1, height * width) } else { (height, width) };
        let first = (plane * self.rows + row) * self.columns + column;
        for i in 0..calls {
            // SAFETY: the rows are inside the block.
            unsafe {
                let out = self.out.0.add((first + i * self.columns) * self.out.1);
                self.work.call(&ptrs, out, n, (&sizes[..self.count], self.out.1));
            }
            for (ptr, step) in ptrs.iter_mut().zip(steps) {
                *ptr = ptr.wrapping_offset(step);
            }
        }
    }
}

/// The axes merged to planes, rows and columns: for each the size, and the axis whose strides apply. None if
/// they do not merge.
fn merge_axes(dims: &[usize], ins: &[Operand<'_>]) -> Option<[(usize, Option<usize>); 3]> {
    let axes: SmallVec<[usize; 6]> = (0..dims.len()).filter(|&axis| dims[axis] != 1).collect();
    let mut found = [(1, None); 3];
    let mut end = axes.len();
    for (size, last) in found.iter_mut().rev() {
        let mut start = end;
        while start > 0
            && (start == end || {
                let (before, axis) = (axes[start - 1], axes[start]);
                ins.iter().all(|x| x.strides[before] == x.strides[axis] * dims[axis] as isize)
            })
        {
            start -= 1;
            *size *= dims[axes[start]];
        }
        *last = (end > start).then(|| axes[end - 1]);
        end = start;
    }
    (end == 0).then_some(found)
}
