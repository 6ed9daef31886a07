//! Lowers steps over few elements to direct calls of loops over contiguous rows, short copies and fills, and
//! reductions of one block, without the kernels' dispatch.
//!
//! Invariant: a lowered step reads and writes what its step does, and computes the same bits.

use smallvec::SmallVec;

use super::scalar_arithmetic::ScalarArithmetic;
use super::step::{Action, BufferId, BufferView, Map, MapOperand, Step};
use super::strided_small;
use super::strided_small::GatheredLoop;
use crate::kernels::elementwise::{Loop, LoopCall, MAX_OPERANDS, SMALL_CALL_ELEMENTS};
use crate::kernels::reduce::{WHOLE_LEAF, WholeReduction, whole_reduction};
use crate::kernels::view::Axes;

/// With several rows, shorter ones go through the kernel's dispatch, which gathers them.
const MIN_ROW: usize = 4;
/// Bound on the elements of all rows together.
const MAX_ELEMENTS: usize = 2048;
/// From this cost per element on (nanoseconds), the dispatch pays, because it pads the tail of a row to full vectors.
const PADDING_NS: f32 = 0.6;
/// Lanes of the widest vector.
const MAX_LANES: usize = 8;

/// The first element of an operand: buffer and byte offset.
#[derive(Clone, Copy, Default)]
pub(in crate::compile) struct OperandRef {
    buffer: BufferId,
    offset: isize,
}

impl OperandRef {
    pub(in crate::compile) fn of(slice: &BufferView) -> OperandRef {
        OperandRef { buffer: slice.buffer, offset: slice.offset }
    }

    #[inline(always)]
    pub(in crate::compile) fn address(self, addresses: &[*mut u8]) -> *mut u8 {
        addresses[self.buffer as usize].wrapping_offset(self.offset)
    }
}

/// A loop over one row, without parameters: the most common case, kept small for the cache.
#[derive(Clone, Copy)]
pub(in crate::compile) struct RowLoop {
    table: Loop,
    pub(super) n: u32,
    count: u32,
    pub(super) ins: [CompactRef; 3],
    pub(super) out: CompactRef,
}

/// An `OperandRef` with a 32-bit offset.
#[derive(Clone, Copy, Default)]
pub(super) struct CompactRef {
    buffer: BufferId,
    offset: u32,
}

impl CompactRef {
    fn of(operand: OperandRef) -> Option<CompactRef> {
        Some(CompactRef { buffer: operand.buffer, offset: operand.offset.try_into().ok()? })
    }

    #[inline(always)]
    pub(super) fn address(self, addresses: &[*mut u8]) -> *mut u8 {
        addresses[self.buffer as usize].wrapping_add(self.offset as usize)
    }
}

/// A loop over equally spaced rows.
pub(in crate::compile) struct RowsLoop {
    table: Loop,
    count: usize,
    ins: [OperandRef; MAX_OPERANDS],
    out: OperandRef,
    params: SmallVec<[f64; 2]>,
    /// Elements of a row.
    n: usize,
    rows: usize,
    /// Bytes from one row to the next, for each operand and for the output.
    steps: ([isize; MAX_OPERANDS], isize),
}

/// A copy of rows.
pub(in crate::compile) struct CopyRows {
    from: OperandRef,
    to: OperandRef,
    /// Bytes of a row.
    nbytes: usize,
    rows: usize,
    /// Bytes from one row to the next, in the source and in the destination.
    steps: [isize; 2],
}

/// A fill of contiguous elements.
pub(in crate::compile) struct FillRow {
    to: OperandRef,
    bits: u64,
    size: usize,
    n: usize,
}

/// A reduction of one block to a scalar.
pub(in crate::compile) struct BlockReduction {
    from: OperandRef,
    to: OperandRef,
    n: usize,
    loops: WholeReduction,
}

/// What the executor runs.
pub(in crate::compile) enum LoweredStep {
    /// An element-wise loop over one row.
    RowLoop(RowLoop),
    /// Scalar arithmetic on a few elements.
    ScalarArithmetic(ScalarArithmetic),
    /// An element-wise loop over several rows.
    RowsLoop(Box<RowsLoop>),
    /// A copy of rows.
    CopyRows(Box<CopyRows>),
    /// A fill of contiguous elements.
    FillRow(Box<FillRow>),
    /// A reduction of one block.
    BlockReduction(Box<BlockReduction>),
    /// A loop or a copy over few strided elements.
    GatheredLoop(Box<GatheredLoop>),
    /// The step of this index, by `run_step`.
    Unlowered(usize),
}

/// Lowers all steps.
pub(in crate::compile) fn lower_steps(steps: &[Step]) -> Vec<LoweredStep> {
    let lowered = |(number, step)| lower_step(step).unwrap_or(LoweredStep::Unlowered(number));
    steps.iter().enumerate().map(lowered).collect()
}

/// Whether a step can be lowered.
pub(in crate::compile) fn can_lower(step: &Step) -> bool {
    lower_step(step).is_some()
}

/// Whether an element-wise step with this output can be lowered, if its operands allow it.
pub(in crate::compile) fn may_lower(out: &BufferView) -> bool {
    let row = out.dims.last().copied().unwrap_or(1);
    out.numel() <= SMALL_CALL_ELEMENTS || row <= SMALL_CALL_ELEMENTS && out.numel() <= MAX_ELEMENTS
}

fn lower_step(step: &Step) -> Option<LoweredStep> {
    match &step.action {
        Action::Map(map) => lower_map(map).or_else(|| strided_small::lower_map(map)),
        Action::Fill(bits) => {
            let out = &step.writes[0];
            let (to, size, n) = (OperandRef::of(out), out.dtype.size(), out.numel());
            let is_small = n <= SMALL_CALL_ELEMENTS && out.is_contiguous();
            is_small.then(|| LoweredStep::FillRow(Box::new(FillRow { to, bits: *bits, size, n })))
        }
        Action::Copy => {
            let (from, to) = (&step.reads[0], &step.writes[0]);
            lower_copy(from, to).or_else(|| strided_small::lower_copy(from, to))
        }
        Action::Reduce(op, axes) => {
            let (input, out) = (&step.reads[0], &step.writes[0]);
            let n = input.numel();
            let is_whole = axes.len() == input.dims.len()
                && (1..=WHOLE_LEAF).contains(&n)
                && input.is_contiguous();
            let loops = whole_reduction(*op, input.dtype).filter(|_| is_whole)?;
            Some(LoweredStep::BlockReduction(Box::new(BlockReduction {
                from: OperandRef::of(input),
                to: OperandRef::of(out),
                n,
                loops,
            })))
        }
        _ => None,
    }
}

/// Lowers an element-wise loop if all operands have contiguous rows.
fn lower_map(map: &Map) -> Option<LoweredStep> {
    let rank = map.out.dims.len();
    let mut ins = [OperandRef::default(); MAX_OPERANDS];
    let mut strides: [&[isize]; MAX_OPERANDS + 1] = [&map.out.strides; MAX_OPERANDS + 1];
    let mut sizes = [map.out.dtype.size(); MAX_OPERANDS + 1];
    for (k, argument) in map.ins.iter().enumerate() {
        let MapOperand::BufferView(slice) = argument else { return None };
        debug_assert_eq!(slice.dims, map.out.dims, "operands of one shape");
        (ins[k], strides[k], sizes[k]) =
            (OperandRef::of(slice), &slice.strides, slice.dtype.size());
    }
    debug_assert!(strides.iter().all(|s| s.len() == rank));
    let mut axes = Axes::new(&map.out.dims, strides).collapse(false);
    let (n, inner) = axes.pop();
    let (rows, outer) = axes.pop();
    let single = rows == 1 && axes.dims.is_empty();
    let long =
        (MIN_ROW..=SMALL_CALL_ELEMENTS).contains(&n) && rows.saturating_mul(n) <= MAX_ELEMENTS;
    let cheap = map.cost < PADDING_NS || n.is_multiple_of(MAX_LANES);
    let fits = axes.dims.is_empty() && inner.iter().all(|&s| s == 1 || n == 1);
    if !fits || n * rows == 0 || !(single && n <= SMALL_CALL_ELEMENTS || long && cheap) {
        return None;
    }
    let step = |k: usize| outer[k] * sizes[k] as isize;
    let steps = (std::array::from_fn(step), step(MAX_OPERANDS));
    let (table, count, params) = (map.table, map.ins.len(), map.params.clone());
    let out = OperandRef::of(&map.out);
    let rows = RowsLoop { table, count, ins, out, params, n, rows, steps };
    let Some(row) = RowLoop::of(&rows) else { return Some(LoweredStep::RowsLoop(Box::new(rows))) };
    Some(
        ScalarArithmetic::of(map, &row)
            .map_or(LoweredStep::RowLoop(row), LoweredStep::ScalarArithmetic),
    )
}

fn lower_copy(from: &BufferView, to: &BufferView) -> Option<LoweredStep> {
    let size = to.dtype.size();
    let mut axes = Axes::new(&to.dims, [&from.strides, &to.strides]).collapse(false);
    let (n, inner) = axes.pop();
    let (rows, outer) = axes.pop();
    let is_small = n <= SMALL_CALL_ELEMENTS
        && rows.saturating_mul(n) <= MAX_ELEMENTS
        && (rows == 1 || n >= MIN_ROW);
    if !axes.dims.is_empty() || !is_small || inner != [1, 1] && n != 1 {
        return None;
    }
    let steps = outer.map(|step| step * size as isize);
    let (from, to) = (OperandRef::of(from), OperandRef::of(to));
    Some(LoweredStep::CopyRows(Box::new(CopyRows { from, to, nbytes: n * size, rows, steps })))
}

impl RowLoop {
    /// The compact form of a loop over one row without parameters.
    fn of(rows: &RowsLoop) -> Option<RowLoop> {
        let mut ins = [CompactRef::default(); 3];
        if rows.rows != 1 || rows.count > ins.len() || !rows.params.is_empty() {
            return None;
        }
        for (compact, &operand) in ins.iter_mut().zip(&rows.ins[..rows.count]) {
            *compact = CompactRef::of(operand)?;
        }
        let (n, count, out) = (rows.n as u32, rows.count as u32, CompactRef::of(rows.out)?);
        Some(RowLoop { table: rows.table, n, count, ins, out })
    }

    /// # Safety
    /// `addresses` has the base pointer of every buffer.
    #[inline(always)]
    pub(in crate::compile) unsafe fn run(&self, addresses: &[*mut u8]) {
        let mut ins = [std::ptr::null::<u8>(); 3];
        for (ptr, at) in ins.iter_mut().zip(&self.ins[..self.count as usize]) {
            *ptr = at.address(addresses);
        }
        let (out, n) = (self.out.address(addresses), self.n as usize);
        // SAFETY: every operand holds the row, and an operand that overlaps the output is the output.
        unsafe { LoopCall { f: self.table, ins: &ins, out, n, params: &[] }.run() };
    }
}

impl RowsLoop {
    /// # Safety
    /// `addresses` has the base pointer of every buffer.
    #[inline(always)]
    pub(in crate::compile) unsafe fn run(&self, addresses: &[*mut u8]) {
        let mut ins = [std::ptr::null::<u8>(); MAX_OPERANDS];
        for (ptr, at) in ins.iter_mut().zip(&self.ins[..self.count]) {
            *ptr = at.address(addresses);
        }
        let mut out = self.out.address(addresses);
        let call = |ins: &[*const u8], out: *mut u8| {
            let call = LoopCall { f: self.table, ins, out, n: self.n, params: &self.params };
            // SAFETY: every operand holds the row, and an operand that overlaps the output is the output.
            unsafe { call.run() };
        };
        call(&ins, out);
        for _ in 1..self.rows {
            for (ptr, step) in ins.iter_mut().zip(&self.steps.0[..self.count]) {
                *ptr = ptr.wrapping_offset(*step);
            }
            out = out.wrapping_offset(self.steps.1);
            call(&ins, out);
        }
    }
}

impl CopyRows {
    /// # Safety
    /// As `RowsLoop::run`.
    #[inline(always)]
    pub(in crate::compile) unsafe fn run(&self, addresses: &[*mut u8]) {
        let (mut from, mut to) = (self.from.address(addresses), self.to.address(addresses));
        for _ in 0..self.rows {
            // SAFETY: the rows lie inside their buffers; source and destination do not overlap.
            unsafe { copy_bytes(from, to, self.nbytes) };
            (from, to) = (from.wrapping_offset(self.steps[0]), to.wrapping_offset(self.steps[1]));
        }
    }
}

/// Copies bytes; common short lengths are inlined instead of a call of `memcpy`.
///
/// # Safety
/// Both pointers are valid for `nbytes`, and the ranges do not overlap.
#[inline(always)]
pub(in crate::compile) unsafe fn copy_bytes(from: *const u8, to: *mut u8, nbytes: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        match nbytes {
            8 => to.copy_from_nonoverlapping(from, 8),
            16 => to.copy_from_nonoverlapping(from, 16),
            32 => to.copy_from_nonoverlapping(from, 32),
            _ => to.copy_from_nonoverlapping(from, nbytes),
        }
    }
}

impl FillRow {
    /// # Safety
    /// As `RowsLoop::run`.
    #[inline(always)]
    pub(in crate::compile) unsafe fn run(&self, addresses: &[*mut u8]) {
        let to = self.to.address(addresses);
        let [a, b, c, d, ..] = self.bits.to_ne_bytes();
        // SAFETY: the elements lie inside their buffer and are aligned, and no other reference to them exists.
        unsafe {
            match self.size {
                8 => std::slice::from_raw_parts_mut(to.cast::<u64>(), self.n).fill(self.bits),
                4 => std::slice::from_raw_parts_mut(to.cast::<u32>(), self.n)
                    .fill(u32::from_ne_bytes([a, b, c, d])),
                _ => to.write_bytes(a, self.n),
            }
        }
    }
}

impl BlockReduction {
    /// # Safety
    /// As `RowsLoop::run`.
    #[inline(always)]
    pub(in crate::compile) unsafe fn run(&self, addresses: &[*mut u8]) {
        // SAFETY: the elements and the result lie inside their buffers.
        unsafe {
            (self.loops.leaf)(self.from.address(addresses), self.n, self.to.address(addresses));
        }
    }
}
