//! What a recording does with the steps that host code took, when a step is to call that code again.
//!
//! Owns: where a recording stands, and the way back there. Never runs anything.
//! Invariant: after it the recording is as if the host code had not run, but for what must be given back if it fails.

use std::collections::HashMap;

use super::recorder::Steps;
use crate::array::{Storage, capture};
use crate::compile::ir::{Id, Slice};
use crate::error::{Error, Result};
use crate::kernels::host_call::TraceMark;

impl Steps {
    pub(in crate::compile) fn mark(&mut self) -> TraceMark {
        TraceMark {
            before: self.before.len(),
            steps: self.steps.len(),
            buffers: self.buffers.len(),
            refused: self.refused.is_some(),
            chosen_by_number: self.chosen_by_number,
        }
    }

    pub(in crate::compile) fn drop_since(&mut self, mark: TraceMark) -> Result<()> {
        let dropped = self.steps.split_off(mark.steps);
        let addresses: HashMap<Id, usize> = self.numbers.iter().map(|(&a, &id)| (id, a)).collect();
        let at = |slice: &Slice| addresses.get(&slice.buffer).copied().unwrap_or(0);
        let own = |storage: &Storage| self.arguments.iter().any(|argument| argument.same(storage));
        let writes = |slice: &Slice| {
            let argument = capture::with_buffer(at(slice), |buffer| own(&buffer.storage));
            capture::host_may_write(at(slice)) && argument != Some(true)
        };
        let reads = |slice: &Slice| capture::host_read_is_repeatable(at(slice));
        let reads = dropped.iter().flat_map(|step| &step.reads).all(reads);
        let writes = dropped.iter().flat_map(|step| &step.writes).all(writes);
        self.forget_lent((mark.buffers, mark.steps));
        self.before.truncate(mark.before);
        self.buffers.truncate(mark.buffers);
        self.numbers.retain(|_, id| (*id as usize) < mark.buffers);
        self.chosen_by_number = mark.chosen_by_number;
        if !mark.refused {
            self.refused = None;
        }
        match (reads, writes) {
            (true, true) => Ok(()),
            (false, _) => Err(closed_over("looks at")),
            _ => Err(closed_over("changes in place")),
        }
    }
}

/// Why host code is refused that knows a tensor of the function by other ways than its arguments.
#[cold]
pub(in crate::compile) fn closed_over(does: &str) -> Box<Error> {
    Box::new(Error::Captured {
        op: "compile".into(),
        what: format!(
            "Python code that every call runs again {does} a tensor of the recorded function that it was not given"
        ),
        remedy: "pass a copy of the tensor to it as an argument",
    })
}
