//! Which steps form a chain: neighbouring element-wise steps over the same elements, and reductions of all of them.
//!
//! Owns: the pass. Short steps between two parts of a chain move behind it, where nothing in it needs them. Never says how a
//! chain runs. Invariant: a step reads the values that it read before.

use std::collections::HashMap;

use super::chain::{REDUCTIONS, SHORTEST};
use super::slots::chained;
use super::step::{Action, Argument, Buffer, Id, Map, Slice, Source, Step};
use crate::kernels::reduce::whole;

/// The most steps that move behind one chain.
const DEFERRED: usize = 16;

/// Joins neighbouring steps into chains.
pub(super) fn join(steps: Vec<Step>, buffers: &mut Vec<Buffer>) -> Vec<Step> {
    let mut uses: Vec<usize> = vec![0; buffers.len()];
    steps.iter().flat_map(Step::buffers).for_each(|buffer| uses[buffer as usize] += 1);
    let mut joined: Vec<Step> = Vec::with_capacity(steps.len());
    let mut open = Open::default();
    for step in steps {
        if open.takes(&step, buffers) {
            open.add(step);
        } else if open.defers(&step, buffers) {
            open.deferred.push(step);
        } else {
            open.close(&mut joined, buffers, &uses);
            match open.takes(&step, buffers) {
                true => open.add(step),
                false => joined.push(step),
            }
        }
    }
    open.close(&mut joined, buffers, &uses);
    joined
}

/// How a chain touches a buffer: where, by elements of which size, whether it writes.
#[derive(Clone, Copy)]
struct Touch {
    /// `None` where steps touch different ones: only reads agree with that, and only while nothing writes.
    elements: Option<(isize, usize)>,
    written: bool,
}

/// A chain that may grow.
#[derive(Default)]
struct Open {
    steps: Vec<Step>,
    touched: HashMap<Id, Touch>,
    /// Steps that stood between those of the chain, and run after it.
    deferred: Vec<Step>,
}

impl Open {
    /// Whether a step may stand next in this chain.
    fn takes(&self, step: &Step, buffers: &[Buffer]) -> bool {
        let n = match &step.action {
            Action::Map(map) => map.out.numel(),
            Action::Reduce(..) => step.reads[0].numel(),
            _ => return false,
        };
        let same_length = self.steps.first().is_none_or(|first| elements(first) == n);
        let out = &step.writes[0];
        let own = matches!(buffers[out.buffer as usize].source, Source::Temporary | Source::Output);
        n >= SHORTEST
            && same_length
            && own
            && !self.deferred.iter().any(|later| conflict(later, step))
            && match &step.action {
                Action::Map(map) => self.takes_map(map),
                _ => self.takes_reduction(step),
            }
    }

    fn takes_map(&self, map: &Map) -> bool {
        let reads = map.ins.iter().all(|argument| match argument {
            Argument::Number(..) => true,
            Argument::Slice(slice) if slice.is_value() => {
                self.touched.get(&slice.buffer).is_none_or(|touch| !touch.written)
                    && slice.buffer != map.out.buffer
            }
            Argument::Slice(slice) => {
                slice.is_contiguous() && self.agrees(slice, false) && meets(slice, &map.out)
            }
        });
        reads && map.out.is_contiguous() && self.agrees(&map.out, true)
    }

    /// A reduction of all elements to a result that nothing in the chain touches.
    fn takes_reduction(&self, step: &Step) -> bool {
        let (Action::Reduce(op, axes), input, out) =
            (&step.action, &step.reads[0], &step.writes[0])
        else {
            return false;
        };
        axes.len() == input.dims.len()
            && input.is_contiguous()
            && whole(*op, input.dtype).is_some()
            && input.buffer != out.buffer
            && self.agrees(input, false)
            && !self.touched.contains_key(&out.buffer)
            && self.steps.iter().filter(|step| step.map().is_none()).count() < REDUCTIONS
    }

    /// Whether a buffer is touched here as it is by the steps before, unless nobody writes to it.
    fn agrees(&self, slice: &Slice, writes: bool) -> bool {
        self.touched.get(&slice.buffer).is_none_or(|touch| {
            touch.elements == Some((slice.offset, slice.dtype.size())) || !(touch.written || writes)
        })
    }

    fn add(&mut self, step: Step) {
        for slice in &step.reads {
            let elements = (!slice.is_value()).then(|| (slice.offset, slice.dtype.size()));
            let touch =
                self.touched.entry(slice.buffer).or_insert(Touch { elements, written: false });
            if touch.elements != elements {
                touch.elements = None;
            }
        }
        let out = &step.writes[0];
        let elements = step.map().map(|_| (out.offset, out.dtype.size()));
        self.touched.insert(out.buffer, Touch { elements, written: true });
        self.steps.push(step);
    }

    /// Whether a step may run after the chain, which goes on behind it.
    fn defers(&self, step: &Step, buffers: &[Buffer]) -> bool {
        let plain = matches!(
            step.action,
            Action::Map(_) | Action::Fill(_) | Action::Copy | Action::Reduce(..)
        );
        let short = |slice: &Slice| slice.numel() < SHORTEST;
        let inside = |slice: &Slice| {
            matches!(buffers[slice.buffer as usize].source, Source::Temporary | Source::Output)
        };
        plain
            && !self.steps.is_empty()
            && self.deferred.len() < DEFERRED
            && step.reads.iter().chain(&step.writes).all(short)
            && step.writes.iter().all(inside)
    }

    /// Ends the chain and appends it to `joined`.
    fn close(&mut self, joined: &mut Vec<Step>, buffers: &mut Vec<Buffer>, uses: &[usize]) {
        let open = std::mem::take(self);
        if open.steps.len() < 2 {
            joined.extend(open.steps);
        } else {
            joined.push(chained(open.steps, buffers, uses));
        }
        joined.extend(open.deferred);
    }
}

/// The number of elements of a step of a chain.
fn elements(step: &Step) -> usize {
    step.map().map_or_else(|| step.reads[0].numel(), |map| map.out.numel())
}

/// Whether two steps may not change places.
fn conflict(first: &Step, second: &Step) -> bool {
    let meet = |written: &[Slice], touched: &Step| {
        written.iter().any(|w| touched.buffers().any(|buffer| buffer == w.buffer))
    };
    meet(&first.writes, second) || meet(&second.writes, first)
}

/// Whether a step that reads and writes one buffer does so at the same elements.
fn meets(read: &Slice, out: &Slice) -> bool {
    read.buffer != out.buffer || (read.offset, read.dtype.size()) == (out.offset, out.dtype.size())
}
