//! What a recording that fails gives back: memory outside, and the states that host code changed.
//!
//! Owns: what they held before. Never decides whether a recording fails.
//! Invariant: after a refusal the caller sees nothing of the recording.

use super::recorder::{Steps, refusal};
use crate::array::{Storage, capture};

impl Steps {
    /// Puts back what a capture that failed has changed.
    pub(in crate::compile) fn give_back(&self) {
        self.outside.iter().for_each(|(storage, held)| storage.overwrite(held));
        self.held.iter().rev().for_each(|(host, held)| host.give_back(held));
    }

    /// Keeps the contents of memory outside that is about to be written: a capture that fails gives them back.
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
