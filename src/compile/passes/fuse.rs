//! Fusion: groups neighbouring element-wise steps over the same elements into chains. A chain may also contain reductions of
//! all its elements; a chain of rows may contain reductions of each row and operands with one element per row.
//!
//! Small independent steps between the parts of a chain move before or behind it. Invariant: a step reads the same
//! values as before.

use std::collections::HashMap;

use super::chain_slots::build_chain;
use super::copy_elision::overlap;
use super::fuse_rows::{is_column, is_profitable, row_reduction};
use crate::compile::ir::{Action, Buffer, BufferId, BufferView, Map, MapOperand, Source, Step};
use crate::kernels::fused::broadcast::broadcast_pattern;
use crate::kernels::fused::chain::{ChainShape, MAX_ITEMSIZE, MIN_CHAIN_ELEMENTS};
use crate::kernels::fused::chain_op::MAX_REDUCTIONS;
use crate::kernels::reduce::whole_reduction;

/// Bound on the steps that wait behind one open chain.
const MAX_DEFERRED: usize = 16;

/// The kind of a chain.
#[derive(Clone, Copy, PartialEq, Default)]
pub(super) enum FusionKind {
    /// Steps over the same elements.
    #[default]
    Elements,
    /// The same, with reductions of rows.
    Rows,
}

/// Fuses neighbouring steps over the same elements.
pub(in crate::compile) fn fuse(steps: Vec<Step>, buffers: &mut Vec<Buffer>) -> Vec<Step> {
    fuse_steps(steps, buffers, FusionKind::Elements)
}

/// Fuses neighbouring steps into chains of this kind.
pub(super) fn fuse_steps(
    steps: Vec<Step>,
    buffers: &mut Vec<Buffer>,
    kind: FusionKind,
) -> Vec<Step> {
    let mut uses: Vec<usize> = vec![0; buffers.len()];
    steps.iter().flat_map(Step::buffers).for_each(|buffer| uses[buffer as usize] += 1);
    let mut fused: Vec<Step> = Vec::with_capacity(steps.len());
    let mut chain = OpenChain { kind, ..OpenChain::default() };
    for step in steps {
        if chain.accepts(&step, buffers) {
            chain.add(step);
        } else if chain.may_move(&step, buffers) && chain.may_precede(&step, buffers) {
            fused.push(step);
        } else if chain.may_move(&step, buffers) && chain.deferred.len() < MAX_DEFERRED {
            chain.deferred.push(step);
        } else {
            chain.close(&mut fused, buffers, &mut uses);
            match chain.accepts(&step, buffers) {
                true => chain.add(step),
                false => fused.push(step),
            }
        }
    }
    chain.close(&mut fused, buffers, &mut uses);
    fused
}

/// How a chain accesses a buffer.
#[derive(Clone, Copy)]
struct BufferAccess {
    /// The access pattern; `None` if steps use different ones, which is allowed only while nothing writes the buffer.
    elements: Option<AccessPattern>,
    written: bool,
}

/// Which elements are accessed: byte offset, element size, whether there is only one per row.
type AccessPattern = (isize, usize, bool);

/// A chain under construction.
#[derive(Default)]
struct OpenChain {
    kind: FusionKind,
    steps: Vec<Step>,
    /// Known as soon as rows are reduced.
    shape: Option<ChainShape>,
    accesses: HashMap<BufferId, BufferAccess>,
    /// Steps that stood between those of the chain, and run after it.
    deferred: Vec<Step>,
}

impl OpenChain {
    /// Whether the chain can take this step next.
    fn accepts(&self, step: &Step, buffers: &[Buffer]) -> bool {
        let may = match &step.action {
            Action::Map(map) => self.accepts_map(map),
            Action::Copy => self.accepts_copy(&step.reads[0], &step.writes[0]),
            Action::Reduce(..) if is_whole_reduction(step) => self.accepts_reduction(step, buffers),
            Action::Reduce(..) => self.accepts_row_reduction(step),
            _ => false,
        };
        may && self.fits(elements(step))
            && step.reads.iter().chain(&step.writes).all(|slice| slice.dtype.size() <= MAX_ITEMSIZE)
            && self.is_disjoint(step, buffers)
            && !self.deferred.iter().any(|later| must_keep_order(later, step))
    }

    /// Whether a step over so many elements fits: all elements of the chain, or one per row.
    fn fits(&self, count: usize) -> bool {
        match self.steps.first() {
            None => count >= MIN_CHAIN_ELEMENTS,
            Some(first) => count == elements(first) || self.is_narrow(count),
        }
    }

    /// Whether so many elements are one per row.
    fn is_narrow(&self, count: usize) -> bool {
        self.shape.is_some_and(|shape| count == shape.rows)
    }

    /// Whether an operand has one element per row, broadcast along the row.
    fn is_column(&self, slice: &BufferView) -> bool {
        self.shape.is_some_and(|shape| is_column(slice, shape))
    }

    /// The access pattern of an operand; `None` for a broadcast operand other than a column.
    fn access_pattern(&self, slice: &BufferView) -> Option<AccessPattern> {
        let column = self.is_column(slice);
        let narrow = column || self.is_narrow(slice.numel());
        (column || !is_broadcast(slice)).then(|| (slice.offset, slice.dtype.size(), narrow))
    }

    /// Whether external memory that the chain writes overlaps nothing else that it accesses. The address of an
    /// argument is not known.
    fn is_disjoint(&self, step: &Step, buffers: &[Buffer]) -> bool {
        let foreign = |&(id, _): &(BufferId, bool)| {
            matches!(
                buffers[id as usize].source,
                Source::External(_) | Source::Input(_) | Source::Constant(_)
            )
        };
        let before = self.accesses.iter().map(|(&id, access)| (id, access.written));
        let reads = step.reads.iter().map(|slice| (slice.buffer, false));
        let writes = step.writes.iter().map(|slice| (slice.buffer, true));
        let later = self.deferred.iter().flat_map(|s| &s.reads);
        let later = later.map(|slice| (slice.buffer, false));
        let accesses = before.chain(reads).chain(writes).chain(later);
        let accesses: Vec<(BufferId, bool)> = accesses.filter(foreign).collect();
        let storage = |id: BufferId| buffers[id as usize].source.external();
        accesses.iter().filter(|(_, written)| *written).all(|&(id, _)| {
            let Some(memory) = storage(id) else { return false };
            accesses.iter().filter(|(other, _)| *other != id).all(|&(other, _)| {
                matches!(buffers[other as usize].source, Source::Constant(_))
                    || storage(other).is_some_and(|other| !overlap(memory, other))
            })
        })
    }

    /// A copy of contiguous elements or of a column.
    fn accepts_copy(&self, read: &BufferView, out: &BufferView) -> bool {
        (read.is_contiguous() || self.is_column(read))
            && out.is_contiguous()
            && read.buffer != out.buffer
            && self.access_agrees(read, false)
            && self.access_agrees(out, true)
    }

    fn accepts_map(&self, map: &Map) -> bool {
        let narrow = self.is_narrow(map.out.numel());
        let reads = map.ins.iter().all(|argument| match argument {
            MapOperand::Number(..) => true,
            MapOperand::BufferView(slice) if self.access_pattern(slice).is_none() => {
                self.accesses.get(&slice.buffer).is_none_or(|access| !access.written)
                    && slice.buffer != map.out.buffer
                    && (slice.is_value() || !narrow)
            }
            MapOperand::BufferView(slice) if self.is_column(slice) => {
                slice.buffer != map.out.buffer && self.access_agrees(slice, false)
            }
            MapOperand::BufferView(slice) => {
                slice.is_contiguous()
                    && self.access_agrees(slice, false)
                    && same_elements(slice, &map.out)
            }
        });
        reads && map.out.is_contiguous() && self.access_agrees(&map.out, true)
    }

    /// A reduction of rows whose output the chain does not use yet.
    fn accepts_row_reduction(&self, step: &Step) -> bool {
        let (input, out) = (&step.reads[0], &step.writes[0]);
        self.kind == FusionKind::Rows
            && row_reduction(step)
                .is_some_and(|shape| self.shape.is_none_or(|known| known == shape))
            && input.buffer != out.buffer
            && self.access_agrees(input, false)
            && !self.accesses.contains_key(&out.buffer)
    }

    /// A reduction of all elements whose output the chain does not use yet.
    fn accepts_reduction(&self, step: &Step, buffers: &[Buffer]) -> bool {
        let (Action::Reduce(op, axes), input, out) =
            (&step.action, &step.reads[0], &step.writes[0])
        else {
            return false;
        };
        let reductions = self.steps.iter().filter(|step| is_whole_reduction(step));
        matches!(buffers[out.buffer as usize].source, Source::Temporary | Source::Output)
            && reductions.count() < MAX_REDUCTIONS
            && axes.len() == input.dims.len()
            && self.steps.first().is_none_or(|first| elements(first) == input.numel())
            && input.is_contiguous()
            && whole_reduction(*op, input.dtype).is_some()
            && input.buffer != out.buffer
            && self.access_agrees(input, false)
            && !self.accesses.contains_key(&out.buffer)
    }

    /// Whether an access matches the earlier ones of the same buffer, or all of them are reads.
    fn access_agrees(&self, slice: &BufferView, writes: bool) -> bool {
        self.accesses.get(&slice.buffer).is_none_or(|access| {
            let access_pattern = self.access_pattern(slice);
            access_pattern.is_some() && access.elements == access_pattern
                || !(access.written || writes)
        })
    }

    fn add(&mut self, step: Step) {
        if self.kind == FusionKind::Rows {
            self.shape = self.shape.or_else(|| row_reduction(&step));
        }
        for slice in &step.reads {
            let elements = self.access_pattern(slice);
            let access = self
                .accesses
                .entry(slice.buffer)
                .or_insert(BufferAccess { elements, written: false });
            if access.elements != elements {
                access.elements = None;
            }
        }
        let out = &step.writes[0];
        let elements = if is_whole_reduction(&step) { None } else { self.access_pattern(out) };
        self.accesses.insert(out.buffer, BufferAccess { elements, written: true });
        self.steps.push(step);
    }

    /// Whether a small step can run before the chain: it depends on no write of the chain or of the deferred steps.
    fn may_precede(&self, step: &Step, buffers: &[Buffer]) -> bool {
        let source = |id: BufferId| &buffers[id as usize].source;
        let is_disjoint =
            |read: &BufferView, written: BufferId| match (source(read.buffer), source(written)) {
                (Source::External(a), Source::External(b)) => !overlap(a, b),
                (Source::Input(_), Source::External(_)) => false,
                _ => read.buffer != written,
            };
        let mut written = self.accesses.iter().filter(|(_, access)| access.written);
        written.all(|(&id, _)| step.reads.iter().all(|read| is_disjoint(read, id)))
            && !step.writes.iter().any(|out| self.accesses.contains_key(&out.buffer))
            && !self.deferred.iter().any(|later| must_keep_order(later, step))
    }

    /// Whether a step is short, and may run before or after the chain.
    fn may_move(&self, step: &Step, buffers: &[Buffer]) -> bool {
        let rows = self.shape.map_or(0, |shape| shape.rows);
        let is_small =
            |slice: &BufferView| slice.numel() < MIN_CHAIN_ELEMENTS || slice.numel() <= rows;
        // What ends many elements is read where they lie, in a chain of rows or behind it.
        let reduces = self.shape.is_some() && matches!(step.action, Action::Reduce(..));
        let plain = match &step.action {
            Action::Map(_) | Action::Fill(_) | Action::Copy | Action::Reduce(..) => true,
            // A guard only reads; if it fails, the results of the run are discarded.
            Action::Decision(_) => self.kind == FusionKind::Rows,
            _ => false,
        };
        let is_private = |slice: &BufferView| {
            matches!(buffers[slice.buffer as usize].source, Source::Temporary | Source::Output)
        };
        plain
            && !self.steps.is_empty()
            && (reduces || step.reads.iter().all(is_small))
            && step.writes.iter().all(|out| is_small(out) && is_private(out))
    }

    /// Ends the chain and appends it to `joined`.
    fn close(&mut self, fused: &mut Vec<Step>, buffers: &mut Vec<Buffer>, uses: &mut Vec<usize>) {
        let chain = std::mem::replace(self, OpenChain { kind: self.kind, ..OpenChain::default() });
        let shape = match (chain.kind, chain.shape, chain.steps.first()) {
            (FusionKind::Rows, Some(shape), _) => {
                Some(shape).filter(|&shape| is_profitable(&chain.steps, shape))
            }
            (FusionKind::Elements, _, Some(first)) => {
                Some(ChainShape { rows: elements(first), row: 1 })
            }
            _ => None,
        };
        match shape.filter(|_| chain.steps.len() > 1) {
            Some(shape) => {
                uses.resize(buffers.len(), 0);
                fused.push(build_chain(chain.steps, shape, buffers, uses));
            }
            None => fused.extend(chain.steps),
        }
        fused.extend(chain.deferred);
    }
}

/// Whether an operand is broadcast.
fn is_broadcast(slice: &BufferView) -> bool {
    slice.is_value()
        || (!slice.is_contiguous() && broadcast_pattern(&slice.dims, &slice.strides).is_some())
}

/// Whether a step reduces all elements to one.
pub(super) fn is_whole_reduction(step: &Step) -> bool {
    matches!(&step.action, Action::Reduce(_, axes) if axes.len() == step.reads[0].dims.len())
}

/// The number of elements that a step of a chain runs over.
pub(in crate::compile) fn elements(step: &Step) -> usize {
    let reduced = matches!(step.action, Action::Reduce(..));
    if reduced { step.reads[0].numel() } else { step.writes[0].numel() }
}

/// Whether two steps must keep their order.
fn must_keep_order(first: &Step, second: &Step) -> bool {
    let meet = |written: &[BufferView], other: &Step| {
        written.iter().any(|w| other.buffers().any(|buffer| buffer == w.buffer))
    };
    meet(&first.writes, second) || meet(&second.writes, first)
}

/// Whether a step that reads and writes one buffer accesses the same elements.
fn same_elements(read: &BufferView, out: &BufferView) -> bool {
    read.buffer != out.buffer || (read.offset, read.dtype.size()) == (out.offset, out.dtype.size())
}
