//! How a view was made, as far as that decides whether it may be changed in place.
//!
//! Owns: the reasons and their texts. Never asked while nothing is recorded.
//! Invariant: a view of a view keeps the first reason.

/// How a view was made: PyTorch's creation meta.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Creation {
    /// By a recorded operation with one output, or of a tensor that is no view at all.
    #[default]
    Plain,
    /// A custom function returned it.
    CustomFunction,
    /// Together with others, by one operation.
    MultipleOutputs,
    /// Of a normal tensor, in inference mode.
    InferenceMode,
    /// While recording was off.
    NoGrad,
    /// By reading one element: no view, but a value of its own, or a view of such.
    Element,
}

impl Creation {
    /// Why such a view may not be changed in place while recording, and what to do instead.
    pub(crate) fn refusal(self) -> Option<(&'static str, &'static str)> {
        match self {
            Creation::Plain | Creation::Element => None,
            Creation::CustomFunction => Some((
                "a view that a custom function returned cannot be changed in place: its backward would be bypassed",
                "return a clone() from forward, or change a clone()",
            )),
            Creation::MultipleOutputs => Some((
                "one of several views that one operation made cannot be changed in place",
                "index the tensor instead, or compute a new tensor",
            )),
            Creation::InferenceMode => Some((
                "a view made in inference mode cannot be changed in place while recording",
                "make the view and the change both inside inference_mode() or both outside",
            )),
            Creation::NoGrad => Some((
                "a view made under no_grad() cannot be changed in place while recording",
                "make the view and the change both inside no_grad() or both outside",
            )),
        }
    }
}
