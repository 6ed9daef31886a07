//! The backward program of a body or a branch for the cotangents that are present.
//!
//! Invariant: it does not read a missing cotangent.

use super::run_body::ResultBinding;
use crate::compile::exec::Executable;
use crate::compile::trace::{ForwardBackward, PartialBackward};

/// A backward program of a body.
pub(in crate::compile) struct BodyBackward {
    /// The program, unless it is the one for all cotangents; `None` inside if no gradient is computed.
    subset: Option<Option<(Executable, ResultBinding)>>,
    /// The outputs of the full backward program that this one computes.
    pub(in crate::compile) results: Vec<usize>,
}

impl BodyBackward {
    /// The program for all cotangents.
    pub(in crate::compile) fn full(body: &ForwardBackward) -> BodyBackward {
        BodyBackward { subset: None, results: (0..body.backward.outputs().len()).collect() }
    }

    /// The program for these cotangents; `None` if the trace does not determine it.
    pub(in crate::compile) fn of(body: &ForwardBackward, present: &[bool]) -> Option<BodyBackward> {
        if !present.contains(&false) {
            return Some(BodyBackward::full(body));
        }
        if !present.contains(&true) {
            return Some(BodyBackward { subset: Some(None), results: Vec::new() });
        }
        let PartialBackward { program, output_indices } = body.for_cotangents(present)?;
        let results = (0..).zip(output_indices).filter_map(|(n, index)| index.map(|_| n)).collect();
        let binding = ResultBinding::new(&program, &[]);
        Some(BodyBackward { subset: Some(Some((program, binding))), results })
    }

    /// The executable and its binding, unless there is nothing to run; `full` is the pair for all cotangents.
    pub(in crate::compile) fn program<'p>(
        &'p self,
        full: (&'p Executable, &'p ResultBinding),
    ) -> Option<(&'p Executable, &'p ResultBinding)> {
        match &self.subset {
            None => Some(full),
            Some(subset) => subset.as_ref().map(|(program, binding)| (program, binding)),
        }
    }
}
