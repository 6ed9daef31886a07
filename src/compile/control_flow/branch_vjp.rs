//! The VJP of a branch, as a branch: a function of operands and cotangents that returns gradients. A traced
//! derivative of a `switch` is a `switch` of these.
//!
//! Invariant: all branches return gradients of the same targets, zeros where a branch has none.

use crate::array::Storage;
use crate::compile::autograd::{Closures, Original, gradients};
use crate::error::Result;
use crate::graph::Foreign;
use crate::ops::autograd::backward::Endpoint;
use crate::ops::custom_op::Spec;
use crate::tensor::Tensor;

/// The Python functions of the branches.
pub(super) struct Branches(pub(super) Vec<Box<dyn Original>>);

impl Foreign for Branches {
    fn visit(&self, visit: &mut dyn FnMut(&dyn std::any::Any)) {
        self.0.iter().filter_map(|f| f.foreign()).for_each(|foreign| foreign.visit(visit));
    }

    fn clear(&self) {
        self.0.iter().filter_map(|f| f.foreign()).for_each(Foreign::clear);
    }
}

/// A branch that computes the gradients of another branch.
pub(super) struct Derived {
    pub(super) branch: Box<dyn Original>,
    /// Which operands of that branch require grad.
    pub(super) requires: Vec<bool>,
    pub(super) closures: Vec<Endpoint>,
    /// The results that have cotangents.
    pub(super) histories: Vec<usize>,
    /// The shapes and dtypes of the gradients, without those of operands that do not require grad.
    pub(super) targets: Vec<Spec>,
}

impl Original for Derived {
    fn call(&self, arguments: &[Tensor]) -> Result<Vec<Tensor>> {
        let (operands, cotangents) = arguments.split_at(self.requires.len());
        let cotangents = self.histories.iter().copied().zip(cotangents.iter().cloned().map(Some));
        let cotangents: Vec<_> = cotangents.collect();
        let closures = Closures::Reached(&self.closures);
        let call = |copies: &[Tensor]| self.branch.call(copies);
        let found = gradients(operands, &self.requires, &closures, &cotangents, true, &call)?;
        let all = self.requires.iter().copied().chain(self.closures.iter().map(|_| true));
        let wanted = found.into_iter().zip(all).filter(|(_, wanted)| *wanted);
        let filled = |((gradient, _), spec): ((Option<Tensor>, bool), &Spec)| match gradient {
            Some(gradient) => Ok(gradient),
            None => spec.zeros(),
        };
        wanted.zip(&self.targets).map(filled).collect()
    }

    fn keeps(&self, memory: &Storage) -> bool {
        self.branch.keeps(memory)
    }

    fn share(&self) -> Box<dyn Original> {
        Box::new(Derived {
            branch: self.branch.share(),
            requires: self.requires.clone(),
            closures: self.closures.clone(),
            histories: self.histories.clone(),
            targets: self.targets.clone(),
        })
    }

    fn foreign(&self) -> Option<&dyn Foreign> {
        self.branch.foreign()
    }
}
