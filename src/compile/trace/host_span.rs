//! Drops the steps of host code from a trace, when one step will call that code again.
//!
//! Invariant: afterwards the trace is as if the host code had not run; its side effects are still undone if the trace
//! fails.

use std::collections::HashMap;

use super::recorder::Steps;
use crate::array::{Storage, capture};
use crate::compile::ir::{Id, Slice};
use crate::error::{Error, Result};
use crate::kernels::host_call::Mark;

impl Steps {
    pub(in crate::compile) fn mark(&mut self) -> Mark {
        Mark {
            before: self.before.len(),
            steps: self.steps.len(),
            buffers: self.buffers.len(),
            refused: self.refused.is_some(),
            chosen_by_number: self.chosen_by_number,
        }
    }

    pub(in crate::compile) fn drop_since(&mut self, mark: Mark) -> Result<()> {
        let dropped = self.steps.split_off(mark.steps);
        let addresses: HashMap<Id, usize> = self.numbers.iter().map(|(&a, &id)| (id, a)).collect();
        let at = |slice: &Slice| addresses.get(&slice.buffer).copied().unwrap_or(0);
        let own = |storage: &Storage| self.arguments.iter().any(|argument| argument.same(storage));
        let writes = |slice: &Slice| {
            let argument = capture::with_buffer(at(slice), |buffer| own(&buffer.storage));
            capture::host_may_write(at(slice)) && argument != Some(true)
        };
        let reads = |slice: &Slice| capture::host_finds(at(slice));
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

/// The error for host code that uses a tensor of the function that it did not receive as an argument.
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
