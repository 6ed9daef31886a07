//! Escapes: values that are no results and are still referenced after the traced call, such as an optimiser's state.
//!
//! Invariant: a value may escape only if every later run would compute it again, and its holder changes no later run.

use smallvec::SmallVec;

use super::recorder::{Steps, refusal};
use crate::array::{Storage, capture};
use crate::compile::ir::{Id, Source};

const KEPT: &str = "a tensor that the function computes, or an argument, is kept after each call (in an attribute, a \
                    list, an optimiser's state), and would never change; keep what the call returns, or write into a \
                    tensor that was there before";

impl Steps {
    /// Looks for escaped values, and refuses the program unless `may_keep`. `held` are the handles of the tracer's
    /// caller: arguments and results.
    pub(in crate::compile) fn find_kept(&mut self, held: &[&Storage], may_keep: bool) {
        // Untraced values differ between calls only if they are changed in place.
        let kept = |buffer: &mut capture::Buffer| {
            let differs = buffer.traced || buffer.storage.version() != 0;
            differs && buffer.storage.is_held_beside(held)
        };
        self.kept = self.numbers.iter().any(|(&address, &number)| {
            self.is_own((address, number), held)
                && capture::with_buffer(address, kept) == Some(true)
        });
        if self.kept && !may_keep {
            self.refused.get_or_insert_with(|| refusal(KEPT));
        }
    }

    /// Whether a buffer was allocated by the trace, or is an argument or a result. Gradients of leaves are none of
    /// these.
    fn is_own(&self, (address, number): (usize, Id), held: &[&Storage]) -> bool {
        match self.buffers[number as usize].source {
            Source::Temporary => true,
            Source::Input(_) | Source::Output => {
                held.iter().any(|own| own.ptr() as usize == address)
            }
            _ => false,
        }
    }

    /// Guards the version of escaped values, which their holder may change in place: a function that keeps what it
    /// made then sees the change, one that makes it anew does not. Constants among the results are copied.
    pub(in crate::compile) fn watch_kept(&mut self, held: &[&Storage]) {
        let (mut kept, mut returned) = (Vec::new(), Vec::new());
        for (&address, &number) in &self.numbers {
            let constant = match &self.buffers[number as usize].source {
                Source::Constant(storage) => Some(storage),
                _ if self.is_own((address, number), held) => None,
                _ => continue,
            };
            let others: SmallVec<[&Storage; 8]> = held.iter().copied().chain(constant).collect();
            let is_kept = |buffer: &mut capture::Buffer| {
                let is_kept = buffer.storage.is_held_beside(&others);
                is_kept.then(|| buffer.storage.clone())
            };
            match (capture::with_buffer(address, is_kept).flatten(), constant) {
                (Some(storage), _) => kept.push(storage),
                (None, Some(constant)) if held.iter().any(|own| own.same(constant)) => {
                    returned.push(number);
                }
                _ => {}
            }
        }
        kept.iter().for_each(capture::serve_version);
        returned.into_iter().for_each(|number| self.copy_constant(number));
    }

    fn copy_constant(&mut self, number: Id) {
        let _paused = capture::Pause::new();
        let source = &mut self.buffers[number as usize].source;
        let Source::Constant(storage) = source else { return };
        match storage.copy() {
            Ok(copy) => *source = Source::Constant(copy),
            Err(error) => {
                self.refused.get_or_insert(error);
            }
        }
    }
}
