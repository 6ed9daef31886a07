//! Fusion of rows: element-wise steps and reductions of their rows, whose results are broadcast back, as in softmax
//! and layer normalisation.
//!
//! Invariant: each row is reduced by the loop of the eager kernel, over contiguous elements.

use std::collections::HashMap;

use smallvec::smallvec;

use super::fuse::{Kind, elements, joined};
use crate::compile::ir::{Action, Argument, Buffer, Id, Slice, Source, Step};
use crate::dtype::DType;
use crate::kernels::fused::broadcast::broadcast_form;
use crate::kernels::fused::chain::{LONGEST_ROW, Shape};
use crate::kernels::launch::known_to_programs;
use crate::kernels::reduce::of_rows;

/// Fuses neighbouring steps over the same rows.
pub(in crate::compile) fn join(steps: Vec<Step>, buffers: &mut Vec<Buffer>) -> Vec<Step> {
    let reduces = |step: &Step| rows_of(step).is_some();
    if steps.iter().any(reduces) { joined(steps, buffers, Kind::Rows) } else { steps }
}

/// The shape of the rows that a step reduces, if they are contiguous.
pub(super) fn rows_of(step: &Step) -> Option<Shape> {
    let Action::Reduce(op, axes) = &step.action else { return None };
    let (input, out) = (&step.reads[0], &step.writes[0]);
    let rank = input.dims.len();
    let kept = rank.checked_sub(axes.len())?;
    let last = (kept..rank).all(|axis| axes.contains(&axis));
    let row: usize = input.dims[kept..].iter().product();
    let rows: usize = input.dims[..kept].iter().product();
    let known = out.dtype == op.out_dtype(input.dtype)
        && input.is_contiguous()
        && out.is_contiguous()
        && of_rows(*op, input.dtype, row).is_some();
    (last && known && rows > 1 && (2..=LONGEST_ROW).contains(&row)).then_some(Shape { rows, row })
}

/// Whether a slice has one element per row, broadcast along the row.
pub(super) fn is_column(slice: &Slice, shape: Shape) -> bool {
    known_to_programs(slice.dtype)
        && slice.numel() == shape.n()
        && broadcast_form(&slice.dims, &slice.strides) == Some((shape.rows, shape.row))
}

/// Whether a chain of rows pays: at least two of its steps run over all elements.
pub(super) fn pays(steps: &[Step], shape: Shape) -> bool {
    let long = |step: &&Step| elements(step) == shape.n();
    steps.iter().filter(long).count() > 1
}

/// Inserts a copy before the first reader of each column, which broadcasts it along the rows.
pub(super) fn columns_spread(
    steps: Vec<Step>,
    shape: Shape,
    buffers: &mut Vec<Buffer>,
    uses: &mut Vec<usize>,
) -> Vec<Step> {
    let count = |uses: &mut Vec<usize>, steps: &[Step], by: fn(usize) -> usize| {
        let touched = steps.iter().flat_map(Step::buffers);
        touched.for_each(|buffer| uses[buffer as usize] = by(uses[buffer as usize]));
    };
    count(uses, &steps, |n| n - 1);
    let mut spread: Vec<Step> = Vec::with_capacity(steps.len());
    // The broadcast copies of columns.
    let mut known: HashMap<(Id, isize, DType), Slice> = HashMap::new();
    for step in steps {
        let mut step = step;
        if let Action::Map(map) = &step.action
            && map.out.numel() == shape.n()
        {
            let mut map = map.clone();
            for argument in &mut map.ins {
                let Argument::Slice(slice) = argument else { continue };
                if !is_column(slice, shape) {
                    continue;
                }
                let long =
                    known.entry((slice.buffer, slice.offset, slice.dtype)).or_insert_with(|| {
                        let (long, copy) = repeated(slice, shape, buffers);
                        spread.push(copy);
                        uses.push(0);
                        long
                    });
                let dims = &map.out.dims;
                *slice = Slice::contiguous(long.buffer, slice.dtype, dims);
            }
            step = Step::of_map(step.name, *map);
        }
        known.retain(|(buffer, ..), _| step.writes.iter().all(|out| out.buffer != *buffer));
        spread.push(step);
    }
    count(uses, &spread, |n| n + 1);
    spread
}

/// A temporary for a column broadcast along the rows, and the step that fills it.
fn repeated(column: &Slice, shape: Shape, buffers: &mut Vec<Buffer>) -> (Slice, Step) {
    let (id, dtype) = (buffers.len() as Id, column.dtype);
    let nbytes = shape.n() * dtype.size();
    buffers.push(Buffer { source: Source::Temporary, nbytes });
    let long = Slice::contiguous(id, dtype, &column.dims);
    let (reads, writes) = (smallvec![column.clone()], smallvec![long.clone()]);
    (long, Step { name: "copy", reads, writes, action: Action::Copy })
}
