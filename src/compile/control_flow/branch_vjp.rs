//! The VJP of a branch, as a branch: a function of operands and cotangents that returns gradients. A traced
//! derivative of a `switch` is a `switch` of these.
//!
//! Invariant: all branches return gradients of the same targets, zeros where a branch has none.

use crate::array::Storage;
use crate::compile::autograd::{Closures, OriginalFunction, differentiate_call};
use crate::error::Result;
use crate::graph::HostObjects;
use crate::ops::autograd::backward::Endpoint;
use crate::ops::core::shape_dtype::ShapeDType;
use crate::tensor::Tensor;

/// The Python functions of the branches.
pub(super) struct BranchFunctions(pub(super) Vec<Box<dyn OriginalFunction>>);

impl HostObjects for BranchFunctions {
    fn visit(&self, visit: &mut dyn FnMut(&dyn std::any::Any)) {
        self.0.iter().filter_map(|f| f.host_objects()).for_each(|foreign| foreign.visit(visit));
    }

    fn clear(&self) {
        self.0.iter().filter_map(|f| f.host_objects()).for_each(HostObjects::clear);
    }
}

/// A branch that computes the gradients of another branch.
pub(super) struct BranchVjp {
    pub(super) branch: Box<dyn OriginalFunction>,
    /// Which operands of that branch require grad.
    pub(super) requires: Vec<bool>,
    pub(super) closures: Vec<Endpoint>,
    /// The results that have cotangents.
    pub(super) grad_results: Vec<usize>,
    /// The shapes and dtypes of the gradients, without those of operands that do not require grad.
    pub(super) targets: Vec<ShapeDType>,
}

impl OriginalFunction for BranchVjp {
    fn call(&self, arguments: &[Tensor]) -> Result<Vec<Tensor>> {
        let (operands, cotangents) = arguments.split_at(self.requires.len());
        let cotangents =
            self.grad_results.iter().copied().zip(cotangents.iter().cloned().map(Some));
        let cotangents: Vec<_> = cotangents.collect();
        let closures = Closures::Subset(&self.closures);
        let call = |copies: &[Tensor]| self.branch.call(copies);
        let gradients =
            differentiate_call(operands, &self.requires, &closures, &cotangents, true, &call)?;
        let is_target = self.requires.iter().copied().chain(self.closures.iter().map(|_| true));
        let wanted = gradients.into_iter().zip(is_target).filter(|(_, wanted)| *wanted);
        let gradient_or_zeros =
            |((gradient, _), spec): ((Option<Tensor>, bool), &ShapeDType)| match gradient {
                Some(gradient) => Ok(gradient),
                None => spec.zeros(),
            };
        wanted.zip(&self.targets).map(gradient_or_zeros).collect()
    }

    fn has_copy_of(&self, memory: &Storage) -> bool {
        self.branch.has_copy_of(memory)
    }

    fn share(&self) -> Box<dyn OriginalFunction> {
        Box::new(BranchVjp {
            branch: self.branch.share(),
            requires: self.requires.clone(),
            closures: self.closures.clone(),
            grad_results: self.grad_results.clone(),
            targets: self.targets.clone(),
        })
    }

    fn host_objects(&self) -> Option<&dyn HostObjects> {
        self.branch.host_objects()
    }
}
