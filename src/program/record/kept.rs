//! Values that outlive a recording although they are no results: an optimiser's state, a list that grows.
//!
//! Owns: what counts as that. Never decides whether the recorded call stands. Invariant: a value that no later run would
//! compute otherwise may be kept.

use super::recording::{Steps, refusal};
use crate::array::{Storage, capture};
use crate::program::steps::Source;

const KEPT: &str = "a tensor that the function computes, or an argument, is kept after each call (in an attribute, a \
                    list, an optimiser's state), and would never change; keep what the call returns, or write into a \
                    tensor that was there before";

impl Steps {
    /// Finds out whether somebody keeps such values, and refuses the program if that must not be. `held` is what the
    /// recording's owner has: arguments and results.
    pub(in crate::program) fn find_kept(&mut self, held: &[&Storage], may_keep: bool) {
        // Values that depend on nothing that varies differ from call to call where they are changed in place.
        let kept = |buffer: &mut capture::Buffer| {
            let differs = buffer.traced || buffer.storage.version() != 0;
            differs && buffer.storage.is_held_beside(held)
        };
        self.kept = self.numbers.iter().any(|(&address, &number)| {
            let own = match self.buffers[number as usize].source {
                Source::Temporary => true,
                Source::Input(_) | Source::Output => {
                    held.iter().any(|own| own.ptr() as usize == address)
                }
                _ => false,
            };
            own && capture::with_buffer(address, kept) == Some(true)
        });
        if self.kept && !may_keep {
            self.refused.get_or_insert_with(|| refusal(KEPT));
        }
    }

    /// Copies the constants that are results: the caller may change those in place.
    pub(in crate::program) fn copy_returned(&mut self, held: &[&Storage]) {
        let _paused = capture::Pause::new();
        for buffer in &mut self.buffers {
            let Source::Constant(storage) = &buffer.source else { continue };
            if !held.iter().any(|own| own.same(storage)) {
                continue;
            }
            match storage.copy() {
                Ok(copy) => buffer.source = Source::Constant(copy),
                Err(error) => {
                    self.refused.get_or_insert(error);
                }
            }
        }
    }
}
