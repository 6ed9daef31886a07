//! Drops the steps of host code from a trace, when one step will call that code again.
//!
//! Invariant: afterwards the trace is as if the host code had not run; its side effects are still undone if the trace
//! fails.

use std::collections::HashMap;

use super::buffers;
use super::tracer::TracedSteps;
use crate::array::Storage;
use crate::compile::ir::{BufferId, BufferView};
use crate::error::{Error, Result};

/// A position in a trace, to roll back to.
#[derive(Clone, Copy)]
pub(in crate::compile) struct TraceMark {
    /// Number of steps that fill constants.
    before: usize,
    /// Number of steps.
    steps: usize,
    /// Number of buffers.
    buffers: usize,
    /// Whether the trace was refused already.
    refused: bool,
    /// The operation that may depend on which number an argument is.
    chosen_by_number: Option<&'static str>,
}

impl TracedSteps {
    pub(in crate::compile) fn mark(&mut self) -> TraceMark {
        TraceMark {
            before: self.constant_inits.len(),
            steps: self.steps.len(),
            buffers: self.buffers.len(),
            refused: self.error.is_some(),
            chosen_by_number: self.scalar_dependent_op,
        }
    }

    pub(in crate::compile) fn drop_since(&mut self, mark: TraceMark) -> Result<()> {
        let dropped = self.steps.split_off(mark.steps);
        let addresses: HashMap<BufferId, usize> =
            self.buffer_ids.iter().map(|(&a, &id)| (id, a)).collect();
        let address_of = |slice: &BufferView| addresses.get(&slice.buffer).copied().unwrap_or(0);
        let is_argument =
            |storage: &Storage| self.arguments.iter().any(|argument| argument.same(storage));
        let writes = |slice: &BufferView| {
            let argument =
                buffers::with_buffer(address_of(slice), |buffer| is_argument(&buffer.storage));
            buffers::host_may_write(address_of(slice)) && argument != Some(true)
        };
        let reads = |slice: &BufferView| buffers::host_read_is_repeatable(address_of(slice));
        let reads = dropped.iter().flat_map(|step| &step.reads).all(reads);
        let writes = dropped.iter().flat_map(|step| &step.writes).all(writes);
        self.forget_foreign((mark.buffers, mark.steps));
        self.constant_inits.truncate(mark.before);
        self.buffers.truncate(mark.buffers);
        self.buffer_ids.retain(|_, id| (*id as usize) < mark.buffers);
        self.scalar_dependent_op = mark.chosen_by_number;
        if !mark.refused {
            self.error = None;
        }
        match (reads, writes) {
            (true, true) => Ok(()),
            (false, _) => Err(closure_error("looks at")),
            _ => Err(closure_error("changes in place")),
        }
    }
}

/// The error for host code that uses a tensor of the function that it did not receive as an argument.
#[cold]
pub(in crate::compile) fn closure_error(does: &str) -> Box<Error> {
    Box::new(Error::NotTraceable {
        op: "compile".into(),
        what: format!(
            "Python code that every call runs again {does} a tensor of the recorded function that it was not given"
        ),
        remedy: "pass a copy of the tensor to it as an argument",
    })
}
