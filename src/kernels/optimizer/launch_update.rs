//! Launches an optimiser update: reads counts and options, and splits a list of parameters over threads.
//!
//! Invariant: an element depends on its own operands only, so bits do not depend on the split; operands that
//! share memory are updated one after another, in the order of the list.

use std::sync::Arc;

use super::rules::{MAX_COUNTS, MAX_NUMBERS, UpdateRule, with_rule};
use super::update_loops::{OPERANDS, ParameterRow, UpdateStep, update_row, update_row_f16};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::launch::{self, KernelFn};
use crate::kernels::view::Axes;
use crate::kernels::{View, ViewMut};
use crate::threads::parallel_for;

/// Floats per block of a split.
const BLOCK_FLOATS: usize = 1 << 15;

/// The options of a rule, and which of them are read from memory when the rule runs.
#[derive(Clone, Debug)]
pub struct UpdateOptions {
    /// Whether it maximises instead of minimising.
    pub maximize: bool,
    /// The weight decay added to the gradient.
    pub decay: f64,
    /// The options of the rule; those read from memory hold any value here.
    pub values: [f64; MAX_NUMBERS],
    /// The indices of the options read from memory, in the order of the operands.
    pub places: Vec<usize>,
}

/// Updates parameters and their states. `written` holds the counts, then each parameter and its states;
/// `read` gradients, then options. Counts and options are one float64 each; the operands of a parameter have
/// one shape and one dtype, floats or complex numbers, which are pairs of floats.
///
/// # Errors
/// None of its own; programs take fallible kernels.
pub fn update(
    rule: UpdateRule,
    options: &UpdateOptions,
    read: &[View<'_>],
    written: &mut [ViewMut<'_>],
) -> Result<()> {
    // What is updated in place is read, too.
    let mut reads = read.to_vec();
    // SAFETY: the views describe the same memory; the kernel reads each element before it writes it.
    reads.extend(
        written.iter().map(|w| unsafe { View::from_raw(w.dtype, w.ptr, w.dims, w.strides) }),
    );
    let options = options.clone();
    let run: KernelFn = Arc::new(move |reads, writes, _| {
        run(rule, &options, reads, writes);
        Ok(())
    });
    launch::run_kernel("update", &reads, written, run, &mut Vec::new())
}

fn run(rule: UpdateRule, options: &UpdateOptions, reads: &[View<'_>], writes: &mut [ViewMut<'_>]) {
    let (counts, writes) = writes.split_at(rule.counts());
    let each = 1 + rule.states();
    let (grads, read) = reads.split_at(writes.len() / each);
    let step = advance_counts(rule, options, &read[..options.places.len()], counts);
    let parameters: Vec<Parameter> = grads
        .iter()
        .zip(writes.chunks(each))
        .map(|(g, written)| Parameter::new(g, written))
        .collect();
    let total: usize = parameters.iter().map(Parameter::floats).sum();
    if total <= 2 * BLOCK_FLOATS || !is_disjoint(grads, writes) {
        parameters.iter().for_each(|parameter| parameter.update(rule, &step, 0, parameter.units()));
        return;
    }
    let mut blocks = Vec::new();
    for parameter in &parameters {
        let units_per_block = parameter.units_of(BLOCK_FLOATS);
        let starts = (0..parameter.units()).step_by(units_per_block);
        blocks.extend(
            starts.map(|start| (parameter, start, parameter.units().min(start + units_per_block))),
        );
    }
    parallel_for(blocks.len(), &|block| {
        let (parameter, start, end) = blocks[block];
        parameter.update(rule, &step, start, end);
    });
}

/// The numbers of this step; advances the counts.
fn advance_counts(
    rule: UpdateRule,
    options: &UpdateOptions,
    read: &[View<'_>],
    counts: &[ViewMut<'_>],
) -> UpdateStep {
    let (mut values, mut state) = (options.values, [0.0; MAX_COUNTS]);
    for (&place, number) in options.places.iter().zip(read) {
        // SAFETY: an option is one element of float64; memory may have any alignment.
        values[place] = unsafe { number.at::<f64>(0).read_unaligned() };
    }
    for (value, count) in state.iter_mut().zip(counts) {
        // SAFETY: the same for a count.
        *value = unsafe { count.at::<f64>(0).read_unaligned() };
    }
    let numbers = rule.numbers(&values, &mut state);
    for (value, count) in state.iter().zip(counts) {
        // SAFETY: as above, and counts may be written.
        unsafe { count.at::<f64>(0).write_unaligned(*value) };
    }
    let sign = if options.maximize { -1.0 } else { 1.0 };
    UpdateStep { sign, decay: options.decay, numbers }
}

/// One parameter with its gradient and its states: rows of equal length.
struct Parameter {
    dtype: DType,
    row: ParameterRow,
    rows: Axes<OPERANDS>,
}

// SAFETY: it describes memory that the views of a launch guarantee; threads write disjoint parts of it.
unsafe impl Send for Parameter {}
// SAFETY: as above.
unsafe impl Sync for Parameter {}

impl Parameter {
    fn new(g: &View<'_>, written: &[ViewMut<'_>]) -> Parameter {
        let matches_gradient = |x: &ViewMut<'_>| x.dtype == g.dtype && x.dims == g.dims;
        assert!(
            written.iter().all(matches_gradient),
            "an update takes operands of one shape and dtype"
        );
        let operand = |k: usize| match k {
            1 => (g.ptr.cast_mut(), g.strides),
            // Operands that the rule does not have are never accessed.
            _ => written
                .get(k.saturating_sub(1))
                .map_or((written[0].ptr, written[0].strides), |x| (x.ptr, x.strides)),
        };
        let operands: [_; OPERANDS] = std::array::from_fn(operand);
        let at = operands.map(|(at, _)| at);
        let pair = if g.dtype.is_complex() { 2 } else { 1 };
        let dense = g.is_contiguous() && written.iter().all(ViewMut::is_contiguous);
        let (rows, len, strides) = if dense {
            (Axes::none(), g.numel() * pair, [1; OPERANDS])
        } else {
            let mut axes = Axes::new(g.dims, operands.map(|(_, strides)| strides));
            if pair == 2 {
                axes.strides.iter_mut().for_each(|strides| *strides = strides.map(|s| 2 * s));
                axes.push(2, [1; OPERANDS]);
            }
            let mut rows = axes.collapse(true);
            let (len, strides) = rows.pop();
            (rows, len, strides)
        };
        Parameter { dtype: g.dtype.real(), row: ParameterRow { at, strides, len }, rows }
    }

    fn floats(&self) -> usize {
        self.rows.count() * self.row.len
    }

    /// Whether there are several rows, which are then the units of a split.
    fn has_rows(&self) -> bool {
        !self.rows.dims.is_empty()
    }

    /// The number of units: rows, or the elements of the only one.
    fn units(&self) -> usize {
        if self.has_rows() { self.rows.count() } else { self.row.len }
    }

    /// The number of units that have about so many floats.
    fn units_of(&self, floats: usize) -> usize {
        if self.has_rows() { floats.div_ceil(self.row.len.max(1)) } else { floats }
    }

    /// Updates the units from `start` to `end`.
    fn update(&self, rule: UpdateRule, step: &UpdateStep, start: usize, end: usize) {
        let size = self.dtype.size() as isize;
        let row_at = |offsets: [isize; OPERANDS], len: usize| {
            let at = std::array::from_fn(|k| self.row.at[k].wrapping_offset(offsets[k] * size));
            ParameterRow { at, len, ..self.row }
        };
        if !self.has_rows() {
            let offsets = self.row.strides.map(|stride| stride * start as isize);
            return self.update_row(rule, step, &row_at(offsets, end - start));
        }
        self.rows.for_range(start, end, &mut |offsets| {
            self.update_row(rule, step, &row_at(offsets, self.row.len));
        });
    }

    fn update_row(&self, rule: UpdateRule, step: &UpdateStep, row: &ParameterRow) {
        // SAFETY: the views of the launch have the elements of the row, of this dtype.
        with_rule!(rule, T => unsafe {
            match self.dtype {
                DType::F64 => update_row::<T, f64>(step, row),
                DType::F32 => update_row::<T, f32>(step, row),
                DType::F16 => update_row_f16(update_row::<T, f32>, rule.states(), step, row),
                other => panic!("an update has no loop for {other}"),
            }
        });
    }
}

/// Whether no two operands share memory that is written.
fn is_disjoint(reads: &[View<'_>], writes: &[ViewMut<'_>]) -> bool {
    let mut places: Vec<_> = reads.iter().map(|read| (extent(read), false)).collect();
    places.extend(writes.iter().map(|write| (extent(&write.as_view()), true)));
    places.sort_unstable();
    let (mut read_end, mut write_end) = (0, 0);
    places.iter().all(|&((start, end), writes)| {
        let free = start >= write_end && (!writes || start >= read_end);
        read_end = read_end.max(end);
        write_end = if writes { write_end.max(end) } else { write_end };
        free
    })
}

/// The addresses of the first byte of a view and of the end of its last element.
fn extent(view: &View<'_>) -> (usize, usize) {
    let (mut low, mut high) = (0, 0);
    for (&dim, &stride) in view.dims.iter().zip(view.strides) {
        let reach = stride * dim.saturating_sub(1) as isize;
        (low, high) = (low + reach.min(0), high + reach.max(0));
    }
    let at = |offset: isize| view.byte_at(offset).addr();
    (at(low), at(high + if view.dims.contains(&0) { 0 } else { 1 }))
}
