//! The backward program of a body or a branch for those of its results that have a gradient.
//!
//! Owns: that program, if it is not the one for all results. Never runs it. Invariant: it reads no gradient that is missing.

use super::binding::Placement;
use crate::compile::exec::Program;
use crate::compile::trace::{Joint, Narrowed};

/// How gradients go through a body.
pub(in crate::compile) struct Way {
    /// Its program, if it is not that for all results; it may have nothing to do.
    own: Option<Option<(Program, Placement)>>,
    /// The results of the program for all results that this one gives.
    pub(in crate::compile) numbers: Vec<usize>,
}

impl Way {
    /// The way of gradients of all results.
    pub(in crate::compile) fn whole(body: &Joint) -> Way {
        Way { own: None, numbers: (0..body.backward.outputs().len()).collect() }
    }

    /// The way of gradients of those results; none where it cannot be told from the recording.
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

    /// Its program and where the results of that lie, if there is anything to do; those of the whole body are given.
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
