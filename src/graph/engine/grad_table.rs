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
    fn give_part(&mut self, input: usize, target: u32, part: V::Part) -> Result<()> {
        self.give(input, target, V::place(&part)?)
    }

    /// As `give`, taking the value out of `from`.
    fn pass(&mut self, input: usize, target: u32, from: &mut Option<V>) -> Result<()> {
        from.take().map_or(Ok(()), |v| self.give(input, target, v))
    }

    /// The gradient of output `target` so far, to be added to in place; `None` if there is none yet, or if gradients are not
    /// summed as they come.
    fn sum(&mut self, _target: u32) -> Option<&mut V> {
        None
    }
}

const ABSENT: u32 = u32::MAX;

/// Gradients by output.
pub(super) struct Table<V: Value> {
    options: PassOptions,
    place: SmallVec<[u32; 16]>,
    values: Vec<Option<V>>,
    vacant: SmallVec<[u32; 8]>,
    /// For slots whose last addend was a slice: that slice.
    parts: Vec<(u32, V::Part)>,
}

impl<V: Value> Table<V> {
    #[inline(always)]
    pub(super) fn new(outputs: usize, options: PassOptions) -> Table<V> {
        Table {
            options,
            place: smallvec![ABSENT; outputs],
            values: Vec::with_capacity(4),
            vacant: SmallVec::new(),
            parts: Vec::new(),
        }
    }

    /// Adds `v` to the gradient of `output`.
    #[inline]
    pub(super) fn add(&mut self, output: u32, v: V) -> Result<()> {
        let place = self.place[output as usize];
        if place == ABSENT {
            self.put(output, v);
            return Ok(());
        }
        self.whole(place);
        let value = &mut self.values[place as usize];
        if let Some(sum) = value.take() {
            *value = Some(self.options.sum(sum, &v)?);
        }
        Ok(())
    }

    /// Forgets the last slice of a slot.
    #[inline]
    fn whole(&mut self, place: u32) {
        if !self.parts.is_empty() {
            self.parts.retain(|part| part.0 != place);
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
        let place = std::mem::replace(&mut self.place[output as usize], ABSENT);
        if place == ABSENT {
            return;
        }
        self.whole(place);
        self.vacant.push(place);
        *to = self.values[place as usize].take();
    }

    #[inline]
    fn put(&mut self, output: u32, v: V) {
        let place = match self.vacant.pop() {
            Some(place) => {
                self.values[place as usize] = Some(v);
                place
            }
            None => {
                self.values.push(Some(v));
                (self.values.len() - 1) as u32
            }
        };
        self.place[output as usize] = place;
    }
}

impl<V: Value> InputGrads<V> for Table<V> {
    #[inline]
    fn give(&mut self, _input: usize, target: u32, v: V) -> Result<()> {
        self.add(target, v)
    }

    fn give_part(&mut self, _input: usize, target: u32, part: V::Part) -> Result<()> {
        if self.place[target as usize] == ABSENT {
            self.put(target, V::place(&part)?);
            self.parts.push((self.place[target as usize], part));
            return Ok(());
        }
        let place = self.place[target as usize];
        let last = self.parts.iter().position(|part| part.0 == place);
        let last = last.map(|at| self.parts.swap_remove(at).1);
        let value = &mut self.values[place as usize];
        if let Some(sum) = value.take() {
            *value = Some(V::accumulate_part(sum, last.as_ref(), &part)?);
        }
        self.parts.push((place, part));
        Ok(())
    }

    #[inline]
    fn pass(&mut self, _input: usize, target: u32, from: &mut Option<V>) -> Result<()> {
        if self.place[target as usize] != ABSENT {
            return from.take().map_or(Ok(()), |v| self.add(target, v));
        }
        match self.vacant.pop() {
            Some(place) => {
                // A vacant slot is `None`.
                std::mem::swap(&mut self.values[place as usize], from);
                self.place[target as usize] = place;
            }
            None => {
                self.place[target as usize] = self.values.len() as u32;
                self.values.push(from.take());
            }
        }
        Ok(())
    }

    #[inline]
    fn sum(&mut self, target: u32) -> Option<&mut V> {
        let place = self.place[target as usize];
        self.whole(place);
        // `ABSENT` is out of range.
        self.values.get_mut(place as usize)?.as_mut()
    }
}

/// Gradients by input, for hooks and checks that see them before they are passed on.
pub(super) struct ByInput<V> {
    options: PassOptions,
    pub(super) grads: Vec<Option<V>>,
}

impl<V: Value> ByInput<V> {
    pub(super) fn new(options: PassOptions, inputs: usize) -> ByInput<V> {
        ByInput { options, grads: (0..inputs).map(|_| None).collect() }
    }
}

impl<V: Value> InputGrads<V> for ByInput<V> {
    fn give(&mut self, input: usize, _target: u32, v: V) -> Result<()> {
        let place = &mut self.grads[input];
        *place = Some(match place.take() {
            Some(sum) => self.options.sum(sum, &v)?,
            None => v,
        });
        Ok(())
    }
}
