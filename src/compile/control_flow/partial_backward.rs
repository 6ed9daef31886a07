//! The backward program of a body or a branch for the cotangents that are present.
//!
//! Invariant: it does not read a missing cotangent.

use super::binding::Placement;
use crate::compile::exec::Program;
use crate::compile::trace::{Joint, Narrowed};

/// A backward program of a body.
pub(in crate::compile) struct Way {
    /// The program, unless it is the one for all cotangents; `None` inside if no gradient is computed.
    own: Option<Option<(Program, Placement)>>,
    /// The outputs of the full backward program that this one computes.
    pub(in crate::compile) numbers: Vec<usize>,
}

impl Way {
    /// The program for all cotangents.
    pub(in crate::compile) fn whole(body: &Joint) -> Way {
        Way { own: None, numbers: (0..body.backward.outputs().len()).collect() }
    }

    /// The program for these cotangents; `None` if the trace does not determine it.
    pub(in crate::compile) fn of(body: &Joint, given: &[bool]) -> Option<Way> {
        if !given.contains(&false) {
            return Some(Way::whole(body));
        }
        if !given.contains(&true) {
            return Some(Way { own: Some(None), numbers: Vec::new() });
        }
        let Narrowed { program, numbers } = body.narrowed(given)?;
        let numbers = (0..).zip(numbers).filter_map(|(n, own)| own.map(|_| n)).collect();
        let placement = Placement::new(&program, &[]);
        Some(Way { own: Some(Some((program, placement))), numbers })
    }

    /// The executable and its binding, unless there is nothing to run; `whole` is the pair for all cotangents.
    pub(in crate::compile) fn program<'p>(
        &'p self,
        whole: (&'p Program, &'p Placement),
    ) -> Option<(&'p Program, &'p Placement)> {
        match &self.own {
            None => Some(whole),
            Some(own) => own.as_ref().map(|(program, placement)| (program, placement)),
        }
    }
}
