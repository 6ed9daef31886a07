//! Accumulation of gradients: by output for a serial pass, by input for a single node.
//!
//! Slots are reused, so a long chain stays in cache. Sums are left folds in the order of the calls.

use smallvec::{SmallVec, smallvec};

use super::step::PassOptions;
use crate::error::Result;
use crate::graph::value::Value;

/// Receives the gradients of inputs from a rule.
pub(in crate::graph) trait InputGrads<V: Value> {
    /// Adds `v`, the gradient of the rule's input `input`, to the gradient of output `target`.
    fn give(&mut self, input: usize, target: u32, v: V) -> Result<()>;

    /// As `give`, for a gradient that is zero outside a slice.
    fn give_slice(&mut self, input: usize, target: u32, slice: V::Slice) -> Result<()> {
        self.give(input, target, V::pad(&slice)?)
    }

    /// As `give`, taking the value out of `from`.
    fn give_from(&mut self, input: usize, target: u32, from: &mut Option<V>) -> Result<()> {
        from.take().map_or(Ok(()), |v| self.give(input, target, v))
    }

    /// The gradient of output `target` so far, to be added to in place; `None` if there is none yet, or if gradients are not
    /// summed as they come.
    fn partial_sum(&mut self, _target: u32) -> Option<&mut V> {
        None
    }
}

const NO_SLOT: u32 = u32::MAX;

/// Gradients by output.
pub(super) struct GradTable<V: Value> {
    options: PassOptions,
    slot_of: SmallVec<[u32; 16]>,
    values: Vec<Option<V>>,
    vacant: SmallVec<[u32; 8]>,
    /// For slots whose last addend was a slice: that slice.
    slices: Vec<(u32, V::Slice)>,
}

impl<V: Value> GradTable<V> {
    #[inline(always)]
    pub(super) fn new(outputs: usize, options: PassOptions) -> GradTable<V> {
        GradTable {
            options,
            slot_of: smallvec![NO_SLOT; outputs],
            values: Vec::with_capacity(4),
            vacant: SmallVec::new(),
            slices: Vec::new(),
        }
    }

    /// Adds `v` to the gradient of `output`.
    #[inline]
    pub(super) fn add(&mut self, output: u32, v: V) -> Result<()> {
        let slot = self.slot_of[output as usize];
        if slot == NO_SLOT {
            self.put(output, v);
            return Ok(());
        }
        self.forget_slice(slot);
        let value = &mut self.values[slot as usize];
        if let Some(sum) = value.take() {
            *value = Some(self.options.sum(sum, &v)?);
        }
        Ok(())
    }

    /// Forgets the last slice of a slot.
    #[inline]
    fn forget_slice(&mut self, slot: u32) {
        if !self.slices.is_empty() {
            self.slices.retain(|slice| slice.0 != slot);
        }
    }

    /// Takes the gradient of `output`.
    #[inline]
    pub(super) fn take(&mut self, output: u32) -> Option<V> {
        let mut taken = None;
        self.take_to(output, &mut taken);
        taken
    }

    /// Moves the gradient of `output`, if any, to `to`, which is `None`: values are large to move.
    #[inline(always)]
    pub(super) fn take_to(&mut self, output: u32, to: &mut Option<V>) {
        let slot = std::mem::replace(&mut self.slot_of[output as usize], NO_SLOT);
        if slot == NO_SLOT {
            return;
        }
        self.forget_slice(slot);
        self.vacant.push(slot);
        *to = self.values[slot as usize].take();
    }

    #[inline]
    fn put(&mut self, output: u32, v: V) {
        let slot = match self.vacant.pop() {
            Some(slot) => {
                self.values[slot as usize] = Some(v);
                slot
            }
            None => {
                self.values.push(Some(v));
                (self.values.len() - 1) as u32
            }
        };
        self.slot_of[output as usize] = slot;
    }
}

impl<V: Value> InputGrads<V> for GradTable<V> {
    #[inline]
    fn give(&mut self, _input: usize, target: u32, v: V) -> Result<()> {
        self.add(target, v)
    }

    fn give_slice(&mut self, _input: usize, target: u32, slice: V::Slice) -> Result<()> {
        if self.slot_of[target as usize] == NO_SLOT {
            self.put(target, V::pad(&slice)?);
            self.slices.push((self.slot_of[target as usize], slice));
            return Ok(());
        }
        let slot = self.slot_of[target as usize];
        let last = self.slices.iter().position(|slice| slice.0 == slot);
        let last = last.map(|at| self.slices.swap_remove(at).1);
        let value = &mut self.values[slot as usize];
        if let Some(sum) = value.take() {
            *value = Some(V::accumulate_slice(sum, last.as_ref(), &slice)?);
        }
        self.slices.push((slot, slice));
        Ok(())
    }

    #[inline]
    fn give_from(&mut self, _input: usize, target: u32, from: &mut Option<V>) -> Result<()> {
        if self.slot_of[target as usize] != NO_SLOT {
            return from.take().map_or(Ok(()), |v| self.add(target, v));
        }
        match self.vacant.pop() {
            Some(slot) => {
                // A vacant slot is `None`.
                std::mem::swap(&mut self.values[slot as usize], from);
                self.slot_of[target as usize] = slot;
            }
            None => {
                self.slot_of[target as usize] = self.values.len() as u32;
                self.values.push(from.take());
            }
        }
        Ok(())
    }

    #[inline]
    fn partial_sum(&mut self, target: u32) -> Option<&mut V> {
        let slot = self.slot_of[target as usize];
        self.forget_slice(slot);
        // `NO_SLOT` is out of range.
        self.values.get_mut(slot as usize)?.as_mut()
    }
}

/// Gradients by input, for hooks and checks that see them before they are passed on.
pub(super) struct GradsByInput<V> {
    options: PassOptions,
    pub(super) grads: Vec<Option<V>>,
}

impl<V: Value> GradsByInput<V> {
    pub(super) fn new(options: PassOptions, inputs: usize) -> GradsByInput<V> {
        GradsByInput { options, grads: (0..inputs).map(|_| None).collect() }
    }
}

impl<V: Value> InputGrads<V> for GradsByInput<V> {
    fn give(&mut self, input: usize, _target: u32, v: V) -> Result<()> {
        let slot = &mut self.grads[input];
        *slot = Some(match slot.take() {
            Some(sum) => self.options.sum(sum, &v)?,
            None => v,
        });
        Ok(())
    }
}
