//! The launch of an update: counts, numbers, and the split of a list of parameters over threads.
//!
//! Owns: what a step reads once, and which elements a thread changes. Never computes an element: `span` does.
//! Invariant: an element depends on its own operands only, so bits do not depend on the split; operands that share memory
//! are gone through one after another, in the order of the list.

use std::sync::Arc;

use super::rules::{MOST_COUNTS, MOST_NUMBERS, Rule, with_rule};
use super::update_loops::{Change, OPERANDS, Row, halves, span};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::launch::{self, Run};
use crate::kernels::view::Axes;
use crate::kernels::{View, ViewMut};
use crate::threads::parallel_for;

/// Floats of a block of a split.
const BLOCK: usize = 1 << 15;

/// What a rule takes beside lists, and which of it is read from memory when the rule runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether it climbs instead of descending.
    pub maximize: bool,
    /// The share of a parameter that is added to its gradient.
    pub decay: f64,
    /// The options of the rule; the places of those that are read hold anything.
    pub values: [f64; MOST_NUMBERS],
    /// The places of the options that are read, in the order of the operands.
    pub places: Vec<usize>,
}

/// Changes parameters and their states. `written` holds the counts, then each parameter and its states; `read` gradients,
/// then options. Counts and options are one float64 each; the operands of a parameter have one shape and one dtype,
/// floats or complex numbers, which are pairs of floats.
///
/// # Errors
/// None of its own; programs take fallible kernels.
pub fn update(
    rule: Rule,
    options: &Options,
    read: &[View<'_>],
    written: &mut [ViewMut<'_>],
) -> Result<()> {
    // What is changed in place is read, too.
    let mut reads = read.to_vec();
    // SAFETY: the views describe the same memory; the kernel reads each element before it writes it.
    reads.extend(
        written.iter().map(|w| unsafe { View::from_raw(w.dtype, w.ptr, w.dims, w.strides) }),
    );
    let options = options.clone();
    let run: Run = Arc::new(move |reads, writes, _| {
        run(rule, &options, reads, writes);
        Ok(())
    });
    launch::run_kernel("update", &reads, written, run, &mut Vec::new())
}

fn run(rule: Rule, options: &Options, reads: &[View<'_>], writes: &mut [ViewMut<'_>]) {
    let (counts, writes) = writes.split_at(rule.counts());
    let each = 1 + rule.states();
    let (grads, read) = reads.split_at(writes.len() / each);
    let change = counted(rule, options, &read[..options.places.len()], counts);
    let members: Vec<Member> =
        grads.iter().zip(writes.chunks(each)).map(|(g, own)| Member::new(g, own)).collect();
    let total: usize = members.iter().map(Member::floats).sum();
    if total <= 2 * BLOCK || !apart(grads, writes) {
        members.iter().for_each(|member| member.change(rule, &change, 0, member.units()));
        return;
    }
    let mut blocks = Vec::new();
    for member in &members {
        let most = member.units_of(BLOCK);
        let starts = (0..member.units()).step_by(most);
        blocks.extend(starts.map(|start| (member, start, member.units().min(start + most))));
    }
    parallel_for(blocks.len(), &|block| {
        let (member, start, end) = blocks[block];
        member.change(rule, &change, start, end);
    });
}

/// The numbers of this step; the counts move.
fn counted(rule: Rule, options: &Options, read: &[View<'_>], counts: &[ViewMut<'_>]) -> Change {
    let (mut values, mut state) = (options.values, [0.0; MOST_COUNTS]);
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
    Change { sign, decay: options.decay, numbers }
}

/// One parameter with its gradient and its states: rows of equal length.
struct Member {
    dtype: DType,
    row: Row,
    rows: Axes<OPERANDS>,
}

// SAFETY: it describes memory that the views of a launch vouch for; threads change disjoint parts of it.
unsafe impl Send for Member {}
// SAFETY: as above.
unsafe impl Sync for Member {}

impl Member {
    fn new(g: &View<'_>, own: &[ViewMut<'_>]) -> Member {
        let alike = |x: &ViewMut<'_>| x.dtype == g.dtype && x.dims == g.dims;
        assert!(own.iter().all(alike), "an update takes operands of one shape and dtype");
        let operand = |k: usize| match k {
            1 => (g.ptr.cast_mut(), g.strides),
            // What the rule does not have is never touched.
            _ => own
                .get(k.saturating_sub(1))
                .map_or((own[0].ptr, own[0].strides), |x| (x.ptr, x.strides)),
        };
        let operands: [_; OPERANDS] = std::array::from_fn(operand);
        let at = operands.map(|(at, _)| at);
        let pair = if g.dtype.is_complex() { 2 } else { 1 };
        let dense = g.is_contiguous() && own.iter().all(ViewMut::is_contiguous);
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
        Member { dtype: g.dtype.real(), row: Row { at, strides, len }, rows }
    }

    fn floats(&self) -> usize {
        self.rows.count() * self.row.len
    }

    /// Whether there are several rows, which are then what is split.
    fn has_rows(&self) -> bool {
        !self.rows.dims.is_empty()
    }

    /// How many pieces there are: rows, or the elements of the only one.
    fn units(&self) -> usize {
        if self.has_rows() { self.rows.count() } else { self.row.len }
    }

    /// How many pieces have about so many floats.
    fn units_of(&self, floats: usize) -> usize {
        if self.has_rows() { floats.div_ceil(self.row.len.max(1)) } else { floats }
    }

    /// Changes the pieces from `start` to `end`.
    fn change(&self, rule: Rule, change: &Change, start: usize, end: usize) {
        let size = self.dtype.size() as isize;
        let moved = |offsets: [isize; OPERANDS], len: usize| {
            let at = std::array::from_fn(|k| self.row.at[k].wrapping_offset(offsets[k] * size));
            Row { at, len, ..self.row }
        };
        if !self.has_rows() {
            let offsets = self.row.strides.map(|stride| stride * start as isize);
            return self.span(rule, change, &moved(offsets, end - start));
        }
        self.rows.for_range(start, end, &mut |offsets| {
            self.span(rule, change, &moved(offsets, self.row.len));
        });
    }

    fn span(&self, rule: Rule, change: &Change, row: &Row) {
        // SAFETY: the views of the launch have the elements of the row, of this dtype.
        with_rule!(rule, T => unsafe {
            match self.dtype {
                DType::F64 => span::<T, f64>(change, row),
                DType::F32 => span::<T, f32>(change, row),
                DType::F16 => halves(span::<T, f32>, rule.states(), change, row),
                other => panic!("an update has no loop for {other}"),
            }
        });
    }
}

/// Whether no two operands share memory of which one is written.
fn apart(reads: &[View<'_>], writes: &[ViewMut<'_>]) -> bool {
    let mut places: Vec<_> = reads.iter().map(|read| (extent(read), false)).collect();
    places.extend(writes.iter().map(|write| (extent(&write.as_view()), true)));
    places.sort_unstable();
    let (mut touched, mut changed) = (0, 0);
    places.iter().all(|&((start, end), writes)| {
        let free = start >= changed && (!writes || start >= touched);
        touched = touched.max(end);
        changed = if writes { changed.max(end) } else { changed };
        free
    })
}

/// The addresses between the first byte of a view and the one behind its last.
fn extent(view: &View<'_>) -> (usize, usize) {
    let (mut low, mut high) = (0, 0);
    for (&dim, &stride) in view.dims.iter().zip(view.strides) {
        let reach = stride * dim.saturating_sub(1) as isize;
        (low, high) = (low + reach.min(0), high + reach.max(0));
    }
    let at = |offset: isize| view.byte_at(offset).addr();
    (at(low), at(high + if view.dims.contains(&0) { 0 } else { 1 }))
}
