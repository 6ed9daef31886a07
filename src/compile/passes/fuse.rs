//! Fusion: groups neighbouring element-wise steps over the same elements into chains, with reductions of all their
//! elements, and in chains of rows with one element per row.
//!
//! Small independent steps between the parts of a chain move before or behind it. Invariant: a step reads the same
//! values as before.

use std::collections::HashMap;

use super::chain_slots::chained;
use super::copy_elision::overlap;
use super::fuse_rows::{is_column, pays, rows_of};
use crate::compile::ir::{Action, Argument, Buffer, Id, Map, Slice, Source, Step};
use crate::kernels::fused::broadcast::broadcast_form;
use crate::kernels::fused::chain::{SHORTEST, Shape, WIDEST};
use crate::kernels::fused::chain_op::REDUCTIONS;
use crate::kernels::reduce::whole;

/// Bound on the steps that wait behind one open chain.
const DEFERRED: usize = 16;

/// The kind of a chain.
#[derive(Clone, Copy, PartialEq, Default)]
pub(super) enum Kind {
    /// Steps over the same elements.
    #[default]
    Elements,
    /// The same, with reductions of rows.
    Rows,
}

/// Fuses neighbouring steps over the same elements.
pub(in crate::compile) fn join(steps: Vec<Step>, buffers: &mut Vec<Buffer>) -> Vec<Step> {
    joined(steps, buffers, Kind::Elements)
}

/// Fuses neighbouring steps into chains of this kind.
pub(super) fn joined(steps: Vec<Step>, buffers: &mut Vec<Buffer>, kind: Kind) -> Vec<Step> {
    let mut uses: Vec<usize> = vec![0; buffers.len()];
    steps.iter().flat_map(Step::buffers).for_each(|buffer| uses[buffer as usize] += 1);
    let mut joined: Vec<Step> = Vec::with_capacity(steps.len());
    let mut open = Open { kind, ..Open::default() };
    for step in steps {
        if open.takes(&step, buffers) {
            open.add(step);
        } else if open.is_beside(&step, buffers) && open.precedes(&step, buffers) {
            joined.push(step);
        } else if open.is_beside(&step, buffers) && open.deferred.len() < DEFERRED {
            open.deferred.push(step);
        } else {
            open.close(&mut joined, buffers, &mut uses);
            match open.takes(&step, buffers) {
                true => open.add(step),
                false => joined.push(step),
            }
        }
    }
    open.close(&mut joined, buffers, &mut uses);
    joined
}

/// How a chain accesses a buffer.
#[derive(Clone, Copy)]
struct Touch {
    /// The access pattern; `None` if steps use different ones, which is allowed only while nothing writes the buffer.
    elements: Option<Lie>,
    written: bool,
}

/// Which elements are accessed: byte offset, element size, whether there is only one per row.
type Lie = (isize, usize, bool);

/// A chain under construction.
#[derive(Default)]
struct Open {
    kind: Kind,
    steps: Vec<Step>,
    /// Set by the first reduction of rows.
    shape: Option<Shape>,
    touched: HashMap<Id, Touch>,
    /// Steps that stood between those of the chain, and run after it.
    deferred: Vec<Step>,
}

impl Open {
    /// Whether the chain can take this step next.
    fn takes(&self, step: &Step, buffers: &[Buffer]) -> bool {
        let may = match &step.action {
            Action::Map(map) => self.takes_map(map),
            Action::Copy => self.takes_copy(&step.reads[0], &step.writes[0]),
            Action::Reduce(..) if is_whole_reduction(step) => self.takes_reduction(step, buffers),
            Action::Reduce(..) => self.takes_rows(step),
            _ => false,
        };
        may && self.fits(elements(step))
            && step.reads.iter().chain(&step.writes).all(|slice| slice.dtype.size() <= WIDEST)
            && self.is_apart(step, buffers)
            && !self.deferred.iter().any(|later| conflict(later, step))
    }

    /// Whether a step over so many elements fits: all elements of the chain, or one per row.
    fn fits(&self, count: usize) -> bool {
        match self.steps.first() {
            None => count >= SHORTEST,
            Some(first) => count == elements(first) || self.is_narrow(count),
        }
    }

    /// Whether so many elements are one per row.
    fn is_narrow(&self, count: usize) -> bool {
        self.shape.is_some_and(|shape| count == shape.rows)
    }

    /// Whether an operand has one element per row, broadcast along the row.
    fn is_column(&self, slice: &Slice) -> bool {
        self.shape.is_some_and(|shape| is_column(slice, shape))
    }

    /// The access pattern of an operand; `None` for a broadcast operand other than a column.
    fn lie(&self, slice: &Slice) -> Option<Lie> {
        let column = self.is_column(slice);
        let narrow = column || self.is_narrow(slice.numel());
        (column || !is_repeated(slice)).then(|| (slice.offset, slice.dtype.size(), narrow))
    }

    /// Whether external memory that the chain writes overlaps nothing else that it accesses. The address of an
    /// argument is not known.
    fn is_apart(&self, step: &Step, buffers: &[Buffer]) -> bool {
        let foreign = |&(id, _): &(Id, bool)| {
            matches!(
                buffers[id as usize].source,
                Source::Outside(_) | Source::Input(_) | Source::Constant(_)
            )
        };
        let before = self.touched.iter().map(|(&id, touch)| (id, touch.written));
        let reads = step.reads.iter().map(|slice| (slice.buffer, false));
        let writes = step.writes.iter().map(|slice| (slice.buffer, true));
        let later = self.deferred.iter().flat_map(|s| &s.reads);
        let later = later.map(|slice| (slice.buffer, false));
        let touched = before.chain(reads).chain(writes).chain(later);
        let touched: Vec<(Id, bool)> = touched.filter(foreign).collect();
        let storage = |id: Id| buffers[id as usize].source.outside();
        touched.iter().filter(|(_, written)| *written).all(|&(id, _)| {
            let Some(memory) = storage(id) else { return false };
            touched.iter().filter(|(other, _)| *other != id).all(|&(other, _)| {
                matches!(buffers[other as usize].source, Source::Constant(_))
                    || storage(other).is_some_and(|other| !overlap(memory, other))
            })
        })
    }

    /// A copy of contiguous elements or of a column.
    fn takes_copy(&self, read: &Slice, out: &Slice) -> bool {
        (read.is_contiguous() || self.is_column(read))
            && out.is_contiguous()
            && read.buffer != out.buffer
            && self.agrees(read, false)
            && self.agrees(out, true)
    }

    fn takes_map(&self, map: &Map) -> bool {
        let narrow = self.is_narrow(map.out.numel());
        let reads = map.ins.iter().all(|argument| match argument {
            Argument::Number(..) => true,
            Argument::Slice(slice) if self.lie(slice).is_none() => {
                self.touched.get(&slice.buffer).is_none_or(|touch| !touch.written)
                    && slice.buffer != map.out.buffer
                    && (slice.is_value() || !narrow)
            }
            Argument::Slice(slice) if self.is_column(slice) => {
                slice.buffer != map.out.buffer && self.agrees(slice, false)
            }
            Argument::Slice(slice) => {
                slice.is_contiguous() && self.agrees(slice, false) && meets(slice, &map.out)
            }
        });
        reads && map.out.is_contiguous() && self.agrees(&map.out, true)
    }

    /// A reduction of rows whose output the chain does not use yet.
    fn takes_rows(&self, step: &Step) -> bool {
        let (input, out) = (&step.reads[0], &step.writes[0]);
        self.kind == Kind::Rows
            && rows_of(step).is_some_and(|shape| self.shape.is_none_or(|known| known == shape))
            && input.buffer != out.buffer
            && self.agrees(input, false)
            && !self.touched.contains_key(&out.buffer)
    }

    /// A reduction of all elements whose output the chain does not use yet.
    fn takes_reduction(&self, step: &Step, buffers: &[Buffer]) -> bool {
        let (Action::Reduce(op, axes), input, out) =
            (&step.action, &step.reads[0], &step.writes[0])
        else {
            return false;
        };
        let reductions = self.steps.iter().filter(|step| is_whole_reduction(step));
        matches!(buffers[out.buffer as usize].source, Source::Temporary | Source::Output)
            && reductions.count() < REDUCTIONS
            && axes.len() == input.dims.len()
            && self.steps.first().is_none_or(|first| elements(first) == input.numel())
            && input.is_contiguous()
            && whole(*op, input.dtype).is_some()
            && input.buffer != out.buffer
            && self.agrees(input, false)
            && !self.touched.contains_key(&out.buffer)
    }

    /// Whether an access matches the earlier ones of the same buffer, or all of them are reads.
    fn agrees(&self, slice: &Slice, writes: bool) -> bool {
        self.touched.get(&slice.buffer).is_none_or(|touch| {
            let lie = self.lie(slice);
            lie.is_some() && touch.elements == lie || !(touch.written || writes)
        })
    }

    fn add(&mut self, step: Step) {
        if self.kind == Kind::Rows {
            self.shape = self.shape.or_else(|| rows_of(&step));
        }
        for slice in &step.reads {
            let elements = self.lie(slice);
            let touch =
                self.touched.entry(slice.buffer).or_insert(Touch { elements, written: false });
            if touch.elements != elements {
                touch.elements = None;
            }
        }
        let out = &step.writes[0];
        let elements = if is_whole_reduction(&step) { None } else { self.lie(out) };
        self.touched.insert(out.buffer, Touch { elements, written: true });
        self.steps.push(step);
    }

    /// Whether a small step can run before the chain: it depends on no write of the chain or of the deferred steps.
    fn precedes(&self, step: &Step, buffers: &[Buffer]) -> bool {
        let source = |id: Id| &buffers[id as usize].source;
        let apart = |read: &Slice, written: Id| match (source(read.buffer), source(written)) {
            (Source::Outside(a), Source::Outside(b)) => !overlap(a, b),
            (Source::Input(_), Source::Outside(_)) => false,
            _ => read.buffer != written,
        };
        let mut written = self.touched.iter().filter(|(_, touch)| touch.written);
        written.all(|(&id, _)| step.reads.iter().all(|read| apart(read, id)))
            && !step.writes.iter().any(|out| self.touched.contains_key(&out.buffer))
            && !self.deferred.iter().any(|later| conflict(later, step))
    }

    /// Whether a step is small, and may be moved across the chain.
    fn is_beside(&self, step: &Step, buffers: &[Buffer]) -> bool {
        let few = self.shape.map_or(0, |shape| shape.rows);
        let short = |slice: &Slice| slice.numel() < SHORTEST || slice.numel() <= few;
        // A reduction of many elements is better fused into a chain of rows, or deferred behind it.
        let reduces = self.shape.is_some() && matches!(step.action, Action::Reduce(..));
        let plain = match &step.action {
            Action::Map(_) | Action::Fill(_) | Action::Copy | Action::Reduce(..) => true,
            // A guard only reads; if it fails, the results of the run are discarded.
            Action::Decision(_) => self.kind == Kind::Rows,
            _ => false,
        };
        let inside = |slice: &Slice| {
            matches!(buffers[slice.buffer as usize].source, Source::Temporary | Source::Output)
        };
        plain
            && !self.steps.is_empty()
            && (reduces || step.reads.iter().all(short))
            && step.writes.iter().all(|out| short(out) && inside(out))
    }

    /// Finishes the chain and appends it to `joined`.
    fn close(&mut self, joined: &mut Vec<Step>, buffers: &mut Vec<Buffer>, uses: &mut Vec<usize>) {
        let open = std::mem::replace(self, Open { kind: self.kind, ..Open::default() });
        let shape = match (open.kind, open.shape, open.steps.first()) {
            (Kind::Rows, Some(shape), _) => Some(shape).filter(|&shape| pays(&open.steps, shape)),
            (Kind::Elements, _, Some(first)) => Some(Shape { rows: elements(first), row: 1 }),
            _ => None,
        };
        match shape.filter(|_| open.steps.len() > 1) {
            Some(shape) => {
                uses.resize(buffers.len(), 0);
                joined.push(chained(open.steps, shape, buffers, uses));
            }
            None => joined.extend(open.steps),
        }
        joined.extend(open.deferred);
    }
}

/// Whether an operand is broadcast.
fn is_repeated(slice: &Slice) -> bool {
    slice.is_value()
        || (!slice.is_contiguous() && broadcast_form(&slice.dims, &slice.strides).is_some())
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
fn conflict(first: &Step, second: &Step) -> bool {
    let meet = |written: &[Slice], touched: &Step| {
        written.iter().any(|w| touched.buffers().any(|buffer| buffer == w.buffer))
    };
    meet(&first.writes, second) || meet(&second.writes, first)
}

/// Whether a step that reads and writes one buffer accesses the same elements.
fn meets(read: &Slice, out: &Slice) -> bool {
    read.buffer != out.buffer || (read.offset, read.dtype.size()) == (out.offset, out.dtype.size())
}
