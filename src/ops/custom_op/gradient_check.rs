//! Checks the gradients that a user's backward returns: count, shapes and dtypes, with the error messages of the
//! CustomFunction spec; all wrong gradients are reported in one error.
//!
//! Invariant: an accepted gradient has the shape and dtype of its input.

use crate::error::{Dims, Error, Result};
use crate::ops::core::broadcast::{astype, sum_to};
use crate::ops::core::shape_dtype::ShapeDType;
use crate::tensor::Tensor;

/// The check of one backward's results.
pub struct GradientCheck<'a> {
    op: &'a str,
    strict: bool,
    wrong: Vec<String>,
}

impl<'a> GradientCheck<'a> {
    /// For the function `op`. With `strict` only equal shapes are accepted; otherwise a gradient of a broadcast shape is
    /// summed to the input's shape.
    pub fn new(op: &'a str, strict: bool) -> GradientCheck<'a> {
        GradientCheck { op, strict, wrong: Vec::new() }
    }

    /// Checks the number of gradients; `extra` tells whether all surplus ones are `None`.
    ///
    /// # Errors
    /// `Gradients` with the message "Expected {n} gradients but got {m}".
    pub fn count(&self, expected: usize, got: usize, extra: impl FnOnce() -> bool) -> Result<()> {
        if got == expected || (got > expected && extra()) {
            return Ok(());
        }
        let what = format!(
            "Expected {expected} gradients but got {got} from the backward of {}; return one gradient or None for \
             each argument of forward",
            self.op
        );
        Err(Box::new(Error::Gradients { what }))
    }

    /// The gradient cast and summed to its input; one of a wrong shape is noted for `finish` and dropped.
    ///
    /// # Errors
    /// Those of the sum and of the cast.
    #[inline]
    pub fn fit(
        &mut self,
        index: usize,
        gradient: Tensor,
        want: &ShapeDType,
    ) -> Result<Option<Tensor>> {
        let mut gradient = gradient;
        if gradient.shape() != &want.dims[..] {
            if self.strict || !expands_to(&want.dims, gradient.shape()) {
                self.wrong_shape(index, &gradient, want);
                return Ok(None);
            }
            gradient = sum_to(&gradient, &want.dims)?;
        }
        if gradient.dtype() != want.dtype {
            gradient = astype(&gradient, want.dtype)?;
        }
        Ok(Some(gradient))
    }

    #[cold]
    fn wrong_shape(&mut self, index: usize, gradient: &Tensor, want: &ShapeDType) {
        let (actual, expected) = (Dims::from(gradient.shape()), Dims::from(&want.dims[..]));
        let mut text =
            format!("Gradient at index {index} has shape {actual} but expected {expected}");
        if expands_to(&want.dims, gradient.shape()) {
            text += &format!(" (sum_to_size({expected}) would reduce it)");
        }
        self.wrong.push(text);
    }

    /// Reports all wrong gradients at once.
    ///
    /// # Errors
    /// `Gradients` when `fit` noted any.
    #[inline]
    pub fn finish(self) -> Result<()> {
        if self.wrong.is_empty() {
            return Ok(());
        }
        let what = format!(
            "{}; in the backward of {}: return gradients of the shapes of the inputs",
            self.wrong.join("; "),
            self.op
        );
        Err(Box::new(Error::Gradients { what }))
    }
}

/// Whether `dims` broadcast to `wide`.
fn expands_to(dims: &[usize], wide: &[usize]) -> bool {
    dims.len() <= wide.len()
        && dims.iter().rev().zip(wide.iter().rev()).all(|(&d, &w)| d == w || d == 1)
}
