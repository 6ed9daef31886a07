//! Restores external memory and the states of host callbacks when a trace fails.
//!
//! Invariant: after a refusal the caller sees no effect of the trace.

use super::recorder::{Steps, refusal};
use crate::array::{Storage, capture};

impl Steps {
    /// Undoes the side effects of a failed trace.
    pub(in crate::compile) fn give_back(&self) {
        self.outside.iter().for_each(|(storage, held)| storage.overwrite(held));
        self.held.iter().rev().for_each(|(host, held)| host.give_back(held));
    }

    /// Copies external memory that is about to be written, for `roll_back`.
    pub(in crate::compile) fn keep_outside(&mut self, storage: Storage) {
        if self.arguments.iter().any(|argument| argument.same(&storage)) {
            let what = "an argument is memory that the function changes; pass a copy of it";
            self.refused.get_or_insert_with(|| refusal(what));
        }
        if self.outside.iter().any(|(kept, _)| kept.same(&storage)) {
            return;
        }
        let _paused = capture::Pause::new();
        match storage.copy() {
            Ok(copy) => self.outside.push((storage, copy)),
            Err(error) => self.refused = Some(error),
        }
    }
}
