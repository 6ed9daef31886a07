//! Runs the passes over a traced program at its first use.
//!
//! Invariant: a program that never runs again is never planned.

use std::sync::OnceLock;

use super::io_lists::Uses;
use crate::array::capture;
use crate::compile::ir::lowered::{Code, lower};
use crate::compile::ir::{Buffer, Output, Step};
use crate::compile::passes::memory_plan;
use crate::compile::passes::memory_plan::Plan;
use crate::compile::passes::pipeline;
use crate::threads::Mutex;

/// An optimised program, ready to run.
pub(super) struct Planned {
    pub(super) steps: Vec<Step>,
    pub(super) code: Vec<Code>,
    pub(super) buffers: Vec<Buffer>,
    pub(super) uses: Uses,
    pub(super) plan: Plan,
}

type Recorded = (Vec<Step>, Vec<Buffer>);

/// A traced program that is planned at its first use.
pub(super) struct Deferred {
    recorded: Mutex<Option<Recorded>>,
    planned: OnceLock<Planned>,
}

impl Deferred {
    pub(super) fn new(steps: Vec<Step>, buffers: Vec<Buffer>) -> Deferred {
        Deferred { recorded: Mutex::new(Some((steps, buffers))), planned: OnceLock::new() }
    }

    /// The plan, made now if there is none yet.
    #[inline]
    pub(super) fn get(&self, inputs: usize, outputs: &[Output]) -> &Planned {
        self.planned.get_or_init(|| self.plan(inputs, outputs))
    }

    /// The same, mutable.
    pub(super) fn get_mut(&mut self, inputs: usize, outputs: &[Output]) -> &mut Planned {
        self.get(inputs, outputs);
        self.planned.get_mut().expect("it was planned just now")
    }

    #[cold]
    fn plan(&self, inputs: usize, outputs: &[Output]) -> Planned {
        let recorded = self.recorded.lock().take();
        let (steps, mut buffers) = recorded.expect("a recording is planned once");
        // Constants are computed here: pause the active trace.
        let _paused = capture::Pause::new();
        let steps = pipeline::run(steps, &mut buffers, outputs);
        let code = lower(&steps);
        let plan = memory_plan::place(&steps, &buffers);
        let uses = Uses::of(&steps, &buffers, inputs);
        Planned { steps, code, buffers, uses, plan }
    }
}
