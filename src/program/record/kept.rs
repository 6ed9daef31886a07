//! Values that outlive a recording although they are no results: an optimiser's state, a list that grows.
//!
//! Owns: what counts as that. Never decides whether the recorded call stands. Invariant: a value that no later run would
//! compute otherwise may be kept.

use super::recording::{Steps, refusal};
use crate::array::capture;
use crate::program::steps::Source;

const KEPT: &str = "a tensor that the function computes is kept after each call (in an attribute, a list, an \
                    optimiser's state), and would never change; return it instead, or write into a tensor that was \
                    there before";

impl Steps {
    /// Finds out whether somebody keeps such values, and refuses the program if that must not be.
    pub(in crate::program) fn find_kept(&mut self, may_keep: bool) {
        // Values that depend on nothing that varies differ from call to call where they are changed in place.
        let held = |buffer: &mut capture::Buffer| {
            let differs = buffer.traced || buffer.storage.version() != 0;
            differs && buffer.storage.is_held_elsewhere()
        };
        self.kept = self.numbers.iter().any(|(&address, &number)| {
            matches!(self.buffers[number as usize].source, Source::Temporary)
                && capture::with_buffer(address, held) == Some(true)
        });
        if self.kept && !may_keep {
            self.refused.get_or_insert_with(|| refusal(KEPT));
        }
    }
}
