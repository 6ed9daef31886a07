//! Fusion of rows: element-wise steps and reductions of their rows, whose results are broadcast back, as in softmax
//! and layer normalisation.
//!
//! Invariant: each row is reduced by the loop of the eager kernel, over contiguous elements.

use std::collections::HashMap;

use smallvec::smallvec;

use super::fuse::{FusionKind, elements, fuse_steps};
use crate::compile::ir::{Action, Buffer, BufferId, BufferView, MapOperand, Source, Step};
use crate::dtype::DType;
use crate::kernels::fused::broadcast::broadcast_pattern;
use crate::kernels::fused::chain::{ChainShape, MAX_ROW_ELEMENTS};
use crate::kernels::launch::known_to_programs;
use crate::kernels::reduce;

/// Fuses neighbouring steps over the same rows.
pub(in crate::compile) fn fuse(steps: Vec<Step>, buffers: &mut Vec<Buffer>) -> Vec<Step> {
    let reduces = |step: &Step| row_reduction(step).is_some();
    if steps.iter().any(reduces) { fuse_steps(steps, buffers, FusionKind::Rows) } else { steps }
}

/// The rows that a step reduces, if it reduces neighbours in rows that lie one after the other.
pub(super) fn row_reduction(step: &Step) -> Option<ChainShape> {
    let Action::Reduce(op, axes) = &step.action else { return None };
    let (input, out) = (&step.reads[0], &step.writes[0]);
    let rank = input.dims.len();
    let outer = rank.checked_sub(axes.len())?;
    let last = (outer..rank).all(|axis| axes.contains(&axis));
    let row: usize = input.dims[outer..].iter().product();
    let rows: usize = input.dims[..outer].iter().product();
    let is_supported = out.dtype == op.out_dtype(input.dtype)
        && input.is_contiguous()
        && out.is_contiguous()
        && reduce::row_reduction(*op, input.dtype, row).is_some();
    (last && is_supported && rows > 1 && (2..=MAX_ROW_ELEMENTS).contains(&row))
        .then_some(ChainShape { rows, row })
}

/// Whether a slice has one element for each row, which stands for all of the row.
pub(super) fn is_column(slice: &BufferView, shape: ChainShape) -> bool {
    known_to_programs(slice.dtype)
        && slice.numel() == shape.numel()
        && broadcast_pattern(&slice.dims, &slice.strides) == Some((shape.rows, shape.row))
}

/// Whether joined steps gain by it: some are between reductions.
pub(super) fn is_profitable(steps: &[Step], shape: ChainShape) -> bool {
    let is_long = |step: &&Step| elements(step) == shape.numel();
    steps.iter().filter(is_long).count() > 1
}

/// Inserts a copy before the first reader of each column, which broadcasts it along the rows.
pub(super) fn expand_columns(
    steps: Vec<Step>,
    shape: ChainShape,
    buffers: &mut Vec<Buffer>,
    uses: &mut Vec<usize>,
) -> Vec<Step> {
    let count = |uses: &mut Vec<usize>, steps: &[Step], update: fn(usize) -> usize| {
        let touched = steps.iter().flat_map(Step::buffers);
        touched.for_each(|buffer| uses[buffer as usize] = update(uses[buffer as usize]));
    };
    count(uses, &steps, |n| n - 1);
    let mut expanded: Vec<Step> = Vec::with_capacity(steps.len());
    // The broadcast copies of columns.
    let mut copies: HashMap<(BufferId, isize, DType), BufferView> = HashMap::new();
    for step in steps {
        let mut step = step;
        if let Action::Map(map) = &step.action
            && map.out.numel() == shape.numel()
        {
            let mut map = map.clone();
            for argument in &mut map.ins {
                let MapOperand::BufferView(slice) = argument else { continue };
                if !is_column(slice, shape) {
                    continue;
                }
                let column_copy =
                    copies.entry((slice.buffer, slice.offset, slice.dtype)).or_insert_with(|| {
                        let (column_copy, copy) = expanded_column(slice, shape, buffers);
                        expanded.push(copy);
                        uses.push(0);
                        column_copy
                    });
                let dims = &map.out.dims;
                *slice = BufferView::contiguous(column_copy.buffer, slice.dtype, dims);
            }
            step = Step::from_map(step.name, *map);
        }
        copies.retain(|(buffer, ..), _| step.writes.iter().all(|out| out.buffer != *buffer));
        expanded.push(step);
    }
    count(uses, &expanded, |n| n + 1);
    expanded
}

/// Memory for the elements of a column along the rows, and the step that puts them there.
fn expanded_column(
    column: &BufferView,
    shape: ChainShape,
    buffers: &mut Vec<Buffer>,
) -> (BufferView, Step) {
    let (id, dtype) = (buffers.len() as BufferId, column.dtype);
    let nbytes = shape.numel() * dtype.size();
    buffers.push(Buffer { source: Source::Temporary, nbytes });
    let column_copy = BufferView::contiguous(id, dtype, &column.dims);
    let (reads, writes) = (smallvec![column.clone()], smallvec![column_copy.clone()]);
    (column_copy, Step { name: "copy", reads, writes, action: Action::Copy })
}
