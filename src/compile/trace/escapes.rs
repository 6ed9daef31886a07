//! Escapes: values that are no results and are still referenced after the traced call, such as an optimiser's state.
//!
//! Invariant: a value may escape only if every later run would compute it again, and its holder changes no later run.

use smallvec::SmallVec;

use super::buffers;
use super::tracer::{TracedSteps, refusal};
use crate::array::{Storage, observer};
use crate::compile::ir::{BufferId, Source};

const ESCAPE_TEXT: &str = "a tensor that the function computes, or an argument, is kept after each call (in an attribute, a \
                    list, an optimiser's state), and would never change; keep what the call returns, or write into a \
                    tensor that was there before";

impl TracedSteps {
    /// Looks for escaped values, and refuses the program unless `may_keep`. `held` are the handles of the tracer's
    /// caller: arguments and results.
    pub(in crate::compile) fn find_escapes(&mut self, held: &[&Storage], may_keep: bool) {
        // Untraced values differ between calls only if they are changed in place.
        let escaped = |buffer: &mut buffers::Buffer| {
            let differs = buffer.traced || buffer.storage.version() != 0;
            differs && buffer.storage.has_other_handles(held)
        };
        self.values_escape = self.buffer_ids.iter().any(|(&address, &id)| {
            self.is_own((address, id), held) && buffers::with_buffer(address, escaped) == Some(true)
        });
        if self.values_escape && !may_keep {
            self.error.get_or_insert_with(|| refusal(ESCAPE_TEXT));
        }
    }

    /// Whether a buffer was allocated by the trace, or is an argument or a result. Gradients of leaves are none of
    /// these.
    fn is_own(&self, (address, id): (usize, BufferId), held: &[&Storage]) -> bool {
        match self.buffers[id as usize].source {
            Source::Temporary => true,
            Source::Input(_) | Source::Output => {
                held.iter().any(|handle| handle.ptr() as usize == address)
            }
            _ => false,
        }
    }

    /// Guards the version of escaped values, which their holder may change in place: a function that keeps what it
    /// made then sees the change, one that makes it anew does not. Constants among the results are copied.
    pub(in crate::compile) fn guard_escapes(&mut self, held: &[&Storage]) {
        let (mut escaped, mut returned) = (Vec::new(), Vec::new());
        for (&address, &id) in &self.buffer_ids {
            let constant = match &self.buffers[id as usize].source {
                Source::Constant(storage) => Some(storage),
                _ if self.is_own((address, id), held) => None,
                _ => continue,
            };
            let others: SmallVec<[&Storage; 8]> = held.iter().copied().chain(constant).collect();
            let is_escaped = |buffer: &mut buffers::Buffer| {
                let is_escaped = buffer.storage.has_other_handles(&others);
                is_escaped.then(|| buffer.storage.clone())
            };
            match (buffers::with_buffer(address, is_escaped).flatten(), constant) {
                (Some(storage), _) => escaped.push(storage),
                (None, Some(constant)) if held.iter().any(|handle| handle.same(constant)) => {
                    returned.push(id);
                }
                _ => {}
            }
        }
        escaped.iter().for_each(buffers::require_version);
        returned.into_iter().for_each(|id| self.copy_constant(id));
    }

    fn copy_constant(&mut self, id: BufferId) {
        let _paused = observer::Pause::new();
        let source = &mut self.buffers[id as usize].source;
        let Source::Constant(storage) = source else { return };
        match storage.copy() {
            Ok(copy) => *source = Source::Constant(copy),
            Err(error) => {
                self.error.get_or_insert(error);
            }
        }
    }
}
