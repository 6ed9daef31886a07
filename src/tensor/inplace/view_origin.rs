//! How a view was made, which decides whether it may be written in place (PyTorch's creation meta).
//!
//! Invariant: a view of a view keeps the first origin.

/// How a view was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ViewOrigin {
    /// By a recorded operation with one output; also for tensors that are no views.
    #[default]
    Plain,
    /// Returned by a custom function.
    CustomFunction,
    /// By one operation with several outputs (`split`).
    MultipleOutputs,
    /// Of a normal tensor, in inference mode.
    InferenceMode,
    /// While recording was off.
    NoGrad,
    /// A copy of one element (`x[i]`), or a view of one.
    Element,
}

impl ViewOrigin {
    /// Why such a view may not be written in place while recording, and the remedy.
    pub(crate) fn refusal(self) -> Option<(&'static str, &'static str)> {
        match self {
            ViewOrigin::Plain | ViewOrigin::Element => None,
            ViewOrigin::CustomFunction => Some((
                "a view that a custom function returned cannot be changed in place: its backward would be bypassed",
                "return a clone() from forward, or change a clone()",
            )),
            ViewOrigin::MultipleOutputs => Some((
                "one of several views that one operation made cannot be changed in place",
                "index the tensor instead, or compute a new tensor",
            )),
            ViewOrigin::InferenceMode => Some((
                "a view made in inference mode cannot be changed in place while recording",
                "make the view and the change both inside inference_mode() or both outside",
            )),
            ViewOrigin::NoGrad => Some((
                "a view made under no_grad() cannot be changed in place while recording",
                "make the view and the change both inside no_grad() or both outside",
            )),
        }
    }
}
