//! Runs the passes over a traced program at its first use.
//!
//! Invariant: a program that never runs again is never planned.

use std::sync::OnceLock;

use super::io_lists::IoLists;
use crate::array::observer;
use crate::compile::ir::lowered::{LoweredStep, lower_steps};
use crate::compile::ir::{Buffer, Output, Step};
use crate::compile::passes::memory_plan;
use crate::compile::passes::memory_plan::MemoryPlan;
use crate::compile::passes::pipeline;
use crate::threads::Mutex;

/// An optimised program, ready to run.
pub(super) struct ExecutionPlan {
    pub(super) steps: Vec<Step>,
    pub(super) lowered: Vec<LoweredStep>,
    pub(super) buffers: Vec<Buffer>,
    pub(super) lists: IoLists,
    pub(super) memory_plan: MemoryPlan,
}

type UnplannedSteps = (Vec<Step>, Vec<Buffer>);

/// A traced program that is planned at its first use.
pub(super) struct LazyPlan {
    unplanned: Mutex<Option<UnplannedSteps>>,
    plan_cell: OnceLock<ExecutionPlan>,
}

impl LazyPlan {
    pub(super) fn new(steps: Vec<Step>, buffers: Vec<Buffer>) -> LazyPlan {
        LazyPlan { unplanned: Mutex::new(Some((steps, buffers))), plan_cell: OnceLock::new() }
    }

    /// The plan, made now if there is none yet.
    #[inline]
    pub(super) fn get(&self, inputs: usize, outputs: &[Output]) -> &ExecutionPlan {
        self.plan_cell.get_or_init(|| self.plan(inputs, outputs))
    }

    /// The same, mutable.
    pub(super) fn get_mut(&mut self, inputs: usize, outputs: &[Output]) -> &mut ExecutionPlan {
        self.get(inputs, outputs);
        self.plan_cell.get_mut().expect("it was planned just now")
    }

    #[cold]
    fn plan(&self, inputs: usize, outputs: &[Output]) -> ExecutionPlan {
        let unplanned = self.unplanned.lock().take();
        let (steps, mut buffers) = unplanned.expect("a recording is planned once");
        // Constants are computed here: pause the active trace.
        let _paused = observer::Pause::new();
        let steps = pipeline::run(steps, &mut buffers, outputs);
        let lowered = lower_steps(&steps);
        let memory_plan = memory_plan::plan_memory(&steps, &buffers);
        let lists = IoLists::of(&steps, &buffers, inputs);
        ExecutionPlan { steps, lowered, buffers, lists, memory_plan }
    }
}
