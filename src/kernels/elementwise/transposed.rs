//! Calls with transposed operands: columns become rows a block at a time.
//!
//! Owns: the walk over blocks of eight rows, in which transposed operands are turned in registers. Never sees an output that
//! is not in C order, nor one that is an operand. Invariant: a loop is called for pieces of rows, as by a plan.

use std::mem::MaybeUninit;

use smallvec::SmallVec;

use super::contiguous::{Work, contiguous};
use super::dispatch::{MAX_OPERANDS, Operand, OutOperand};
use crate::kernels::transpose::turn;
use crate::kernels::view::with_word;

/// Rows of a block: a cache line of eight bytes each.
const ROWS: usize = 8;
/// Columns of a block that is not as wide as the shape.
const COLUMNS: usize = 256;
/// Words of a block at most.
const MOST: usize = ROWS * COLUMNS;
/// Shorter rows are gathered.
const SHORTEST: usize = 32;
/// Room for an element of a turned operand.
type Word = u64;

/// How an operand lies beside the rows of the output.
#[derive(Clone, Copy, PartialEq)]
enum Lies {
    /// As rows.
    Rows,
    /// As columns.
    Columns,
    /// One value.
    Value,
}

#[derive(Clone, Copy)]
struct Arg {
    ptr: *const u8,
    size: usize,
    lies: Lies,
    /// From row to row, and from column to column.
    steps: [isize; 2],
    /// From plane to plane.
    plane: isize,
}

/// Operands of which some are transposed; the axes are those of all of them: planes, rows, columns.
pub(super) struct Turned {
    work: Work,
    ins: [Arg; MAX_OPERANDS],
    count: usize,
    out: (*mut u8, usize),
    rows: usize,
    columns: usize,
    /// Bytes of the widest element that takes room.
    widest: usize,
}

// SAFETY: the pointers are read and written by disjoint ranges, under the contract of `run`.
unsafe impl Sync for Turned {}

impl Turned {
    /// None unless an operand is transposed and the others are rows or values.
    pub(super) fn new(
        work: Work,
        ins: &[Operand<'_>],
        out: OutOperand<'_>,
        dims: &[usize],
    ) -> Option<Turned> {
        if !contiguous(dims, out.strides) || dims.len() < 2 {
            return None;
        }
        let [(_, planes), (high, rows), (wide, columns)] = merged(dims, ins)?;
        if high < ROWS || wide < SHORTEST {
            return None;
        }
        let none =
            Arg { ptr: std::ptr::null(), size: 0, lies: Lies::Value, steps: [0; 2], plane: 0 };
        let mut table = [none; MAX_OPERANDS];
        for (x, arg) in ins.iter().zip(&mut table) {
            let step = |axis: Option<usize>| axis.map_or(0, |axis| x.strides[axis]);
            let steps = [step(rows), step(columns)];
            let lies = match steps {
                _ if x.strides.iter().all(|&s| s == 0) && x.itemsize <= 8 => Lies::Value,
                [_, 1] => Lies::Rows,
                [1, _] if matches!(x.itemsize, 4 | 8) => Lies::Columns,
                _ => return None,
            };
            *arg = Arg { ptr: x.ptr, size: x.itemsize, lies, steps, plane: step(planes) };
        }
        let in_room = |x: &&Arg| x.lies != Lies::Rows;
        let widest = table[..ins.len()].iter().filter(in_room).map(|x| x.size).max().unwrap_or(1);
        let turned = table[..ins.len()].iter().any(|x| x.lies == Lies::Columns);
        turned.then_some(Turned {
            work,
            ins: table,
            count: ins.len(),
            out: (out.ptr, out.itemsize),
            rows: high,
            columns: wide,
            widest,
        })
    }

    /// Ranges begin at multiples of so many elements.
    pub(super) fn unit(&self) -> usize {
        ROWS * self.columns
    }

    /// # Safety
    /// The range is inside the shape and begins at a row.
    pub(super) unsafe fn span(&self, start: usize, end: usize) {
        let mut rooms = [[MaybeUninit::<Word>::uninit(); MOST]; MAX_OPERANDS];
        let most = MOST * size_of::<Word>() / self.widest;
        for (x, room) in self.ins[..self.count].iter().zip(&mut rooms) {
            if x.lies == Lies::Value {
                let n = most.min(end - start);
                // SAFETY: the value is one element of at most a word, and the room holds that many.
                unsafe {
                    with_word!(x.size, W => repeat::<W>(x.ptr.cast(), room.as_mut_ptr().cast(), n))
                };
            }
        }
        // Whole rows, if some of them fit, make one call for the block.
        let (most, width) = match self.columns {
            wide if wide * ROWS <= most => (ROWS, wide),
            wide if wide * ROWS / 2 <= most && self.widest == size_of::<Word>() => (ROWS / 2, wide),
            _ => (ROWS, COLUMNS),
        };
        let (mut row, last) = (start / self.columns, end.div_ceil(self.columns));
        while row < last {
            let (plane, inside) = (row / self.rows, row % self.rows);
            let high = most.min(last - row).min(self.rows - inside);
            for column in (0..self.columns).step_by(width) {
                let wide = width.min(self.columns - column);
                // SAFETY: the block is inside the shape.
                unsafe { self.block([plane, inside, column], (high, wide), &mut rooms) };
            }
            row += high;
        }
    }

    /// # Safety
    /// The block is inside the shape; rooms of values are filled.
    unsafe fn block(
        &self,
        [plane, row, column]: [usize; 3],
        (high, wide): (usize, usize),
        rooms: &mut [[MaybeUninit<Word>; MOST]; MAX_OPERANDS],
    ) {
        let mut ptrs = [std::ptr::null(); MAX_OPERANDS];
        let (mut steps, mut sizes) = ([0; MAX_OPERANDS], [0; MAX_OPERANDS]);
        for (k, x) in self.ins[..self.count].iter().enumerate() {
            let room = rooms[k].as_mut_ptr().cast::<u8>();
            let at =
                plane as isize * x.plane + row as isize * x.steps[0] + column as isize * x.steps[1];
            sizes[k] = x.size;
            // SAFETY: the block is inside the operand; a room holds one.
            unsafe {
                let first = x.ptr.offset(at * x.size as isize);
                (ptrs[k], steps[k]) = match x.lies {
                    Lies::Rows => (first, x.steps[0] * x.size as isize),
                    Lies::Value => (room.cast_const(), 0),
                    Lies::Columns => {
                        let (by, block) = (x.steps[1], (high, wide));
                        match x.size {
                            4 => turn::<u32>(first.cast(), by, room.cast(), wide as isize, block),
                            _ => turn::<u64>(first.cast(), by, room.cast(), wide as isize, block),
                        }
                        (room.cast_const(), (wide * x.size) as isize)
                    }
                };
            }
        }
        let runs_on = |x: &Arg| x.lies != Lies::Rows || x.steps[0] == wide as isize;
        let (calls, n) = match wide == self.columns && self.ins[..self.count].iter().all(runs_on) {
            true => (1, high * wide),
            false => (high, wide),
        };
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

/// # Safety
/// `from` is an element, and there is room for `n`.
unsafe fn repeat<W: Copy>(from: *const W, to: *mut W, n: usize) {
    // SAFETY: the caller's contract.
    unsafe { (0..n).for_each(|i| *to.add(i) = *from) };
}

/// The axes as planes, rows and columns: of each the size, and the axis whose strides are its steps. None where they are more.
fn merged(dims: &[usize], ins: &[Operand<'_>]) -> Option<[(usize, Option<usize>); 3]> {
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
