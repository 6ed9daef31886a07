//! The errors of matrices that have no answer: a kernel returns the index of the matrix in its stack.

use crate::error::{Error, Result};
use crate::kernels::launch::Outcome;
use crate::kernels::view::View;

/// A kernel whose error is the index of the matrix of a stack for which it failed.
impl Outcome for Result<(), usize> {
    fn outcome(self, name: &'static str, reads: &[View<'_>]) -> Result<()> {
        self.map_err(|index| {
            let singular = ("is singular", "use pinv or lstsq, or add a multiple of the identity");
            let (op, (is, remedy)) = match name {
                "inverse" => ("inv", singular),
                "solve" => (name, singular),
                "cholesky" => (
                    name,
                    (
                        "is not positive definite",
                        "check its symmetry, or add a multiple of the identity",
                    ),
                ),
                _ => (
                    name,
                    (
                        "has no answer: it holds NaN or infinity, or an iteration did not converge",
                        "check where the values come from",
                    ),
                ),
            };
            let one = reads.first().is_none_or(|read| read.dims.len() <= 2);
            let which =
                if one { "the matrix".into() } else { format!("matrix {index} of the stack") };
            Box::new(Error::Matrix { op: op.into(), what: format!("{which} {is}"), remedy })
        })
    }
}
