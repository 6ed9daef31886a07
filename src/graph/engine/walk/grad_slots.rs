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
pub(super) enum Given<V: Value> {
    Whole(V),
    /// Zero outside a slice; padded, or added, when its turn comes.
    Part(Box<V::Part>),
}

/// What one consumer gives to one output: nothing, usually one value, rarely several.
pub(super) type Contribution<V> = SmallVec<[Given<V>; 1]>;

/// Gradients by output.
pub(super) struct Slots<V: Value> {
    slots: Vec<Mutex<Slot<V>>>,
    options: PassOptions,
}

/// The sum so far, and the last addend if it was a slice.
type Sum<V> = (V, Option<Box<<V as Value>::Part>>);

struct Slot<V: Value> {
    sum: Option<Sum<V>>,
    /// The rank whose turn it is.
    turn: u32,
    /// A thread has taken the sum and is adding to it.
    busy: bool,
    early: BTreeMap<u32, Contribution<V>>,
}

impl<V: Value> Slots<V> {
    pub(in crate::graph::engine) fn new(outputs: usize, options: PassOptions) -> Slots<V> {
        let slot = || Slot { sum: None, turn: 0, busy: false, early: BTreeMap::new() };
        Slots { slots: (0..outputs).map(|_| Mutex::new(slot())).collect(), options }
    }

    fn lock(&self, output: u32) -> MutexGuard<'_, Slot<V>> {
        self.slots[output as usize].lock()
    }

    /// Adds a root's gradient, before any consumer's.
    pub(in crate::graph::engine) fn seed(&self, output: u32, v: V) -> Result<()> {
        let before = self.lock(output).sum.take();
        let sum = self.fold(before, std::iter::once(Given::Whole(v)))?;
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
            } else if before.is_none() && matches!(contribution[..], [Given::Whole(_)]) {
                // Nothing to add: the lock can be kept.
                if let Some(Given::Whole(v)) = contribution.pop() {
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
        contributions: impl Iterator<Item = Given<V>>,
    ) -> Result<Option<Sum<V>>> {
        let mut sum = sum;
        for given in contributions {
            sum = Some(match (sum, given) {
                (Some((sum, _)), Given::Whole(v)) => (self.options.sum(sum, &v)?, None),
                (Some((sum, last)), Given::Part(part)) => {
                    (V::accumulate_part(sum, last.as_deref(), &part)?, Some(part))
                }
                (None, Given::Whole(v)) => (v, None),
                (None, Given::Part(part)) => (V::place(&part)?, Some(part)),
            });
        }
        Ok(sum)
    }
}
