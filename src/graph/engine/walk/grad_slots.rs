//! Gradients of a parallel pass: one slot per output, summed in the order of the consumers' ranks.
//!
//! Contributions are summed as soon as their turn comes; one that comes too early waits in its slot. No lock is held while
//! values are added or dropped.
//! Invariant: a slot's sum is the left fold by rank, as in the serial walk.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use crate::error::Result;
use crate::graph::engine::step::PassOptions;
use crate::graph::value::Value;
use crate::threads::{Mutex, MutexGuard};

/// A gradient as given by a rule.
pub(super) enum GivenGrad<V: Value> {
    Whole(V),
    /// Zero outside a slice; padded, or added, when its turn comes.
    Slice(Box<V::Slice>),
}

/// What one consumer gives to one output: nothing, usually one value, rarely several.
pub(super) type Contribution<V> = SmallVec<[GivenGrad<V>; 1]>;

/// Gradients by output.
pub(super) struct GradSlots<V: Value> {
    slots: Vec<Mutex<Slot<V>>>,
    options: PassOptions,
}

/// The sum so far, and the last addend if it was a slice.
type Sum<V> = (V, Option<Box<<V as Value>::Slice>>);

struct Slot<V: Value> {
    sum: Option<Sum<V>>,
    /// The rank whose turn it is.
    turn: u32,
    /// A thread has taken the sum and is adding to it.
    busy: bool,
    early: BTreeMap<u32, Contribution<V>>,
}

impl<V: Value> GradSlots<V> {
    pub(in crate::graph::engine) fn new(outputs: usize, options: PassOptions) -> GradSlots<V> {
        let slot = || Slot { sum: None, turn: 0, busy: false, early: BTreeMap::new() };
        GradSlots { slots: (0..outputs).map(|_| Mutex::new(slot())).collect(), options }
    }

    fn lock(&self, output: u32) -> MutexGuard<'_, Slot<V>> {
        self.slots[output as usize].lock()
    }

    /// Adds a root's gradient, before any consumer's.
    pub(in crate::graph::engine) fn seed(&self, output: u32, v: V) -> Result<()> {
        let before = self.lock(output).sum.take();
        let sum = self.fold(before, std::iter::once(GivenGrad::Whole(v)))?;
        self.lock(output).sum = sum;
        Ok(())
    }

    /// Takes the complete gradient.
    pub(in crate::graph::engine) fn take(&self, output: u32) -> Option<V> {
        self.lock(output).sum.take().map(|(sum, _)| sum)
    }

    /// Delivers the contribution of the consumer with this rank; returns how many contributions were added by the call.
    pub(super) fn deliver(
        &self,
        output: u32,
        rank: u32,
        contribution: Contribution<V>,
    ) -> Result<u32> {
        let mut slot = self.lock(output);
        if slot.busy || slot.turn != rank {
            slot.early.insert(rank, contribution);
            return Ok(0);
        }
        let (mut contribution, mut added) = (contribution, 0);
        loop {
            let before = slot.sum.take();
            if contribution.is_empty() {
                slot.sum = before;
            } else if before.is_none() && matches!(contribution[..], [GivenGrad::Whole(_)]) {
                // Nothing to add: the lock can be kept.
                if let Some(GivenGrad::Whole(v)) = contribution.pop() {
                    slot.sum = Some((v, None));
                }
            } else {
                slot.busy = true;
                drop(slot);
                let sum = self.fold(before, contribution.drain(..))?;
                slot = self.lock(output);
                slot.sum = sum;
                slot.busy = false;
            }
            slot.turn += 1;
            added += 1;
            let turn = slot.turn;
            match slot.early.remove(&turn) {
                Some(next) => contribution = next,
                None => return Ok(added),
            }
        }
    }

    fn fold(
        &self,
        sum: Option<Sum<V>>,
        contributions: impl Iterator<Item = GivenGrad<V>>,
    ) -> Result<Option<Sum<V>>> {
        let mut sum = sum;
        for given in contributions {
            sum = Some(match (sum, given) {
                (Some((sum, _)), GivenGrad::Whole(v)) => (self.options.sum(sum, &v)?, None),
                (Some((sum, last)), GivenGrad::Slice(slice)) => {
                    (V::accumulate_slice(sum, last.as_deref(), &slice)?, Some(slice))
                }
                (None, GivenGrad::Whole(v)) => (v, None),
                (None, GivenGrad::Slice(slice)) => (V::pad(&slice)?, Some(slice)),
            });
        }
        Ok(sum)
    }
}
