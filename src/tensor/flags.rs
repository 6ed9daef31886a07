//! Flags of a tensor handle: view, detached, inference, read-only, …
//!
//! Invariant: a view inherits its base's flags.

/// A set of flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct TensorFlags(u8);

impl TensorFlags {
    /// Cut: computed by a custom function's unrecorded forward from an input that requires grad.
    pub(crate) const CUT: TensorFlags = TensorFlags(1);
    /// Shows memory of another tensor.
    pub(crate) const VIEW: TensorFlags = TensorFlags(2);
    /// Shares data with another tensor but not its history.
    pub(crate) const DETACHED: TensorFlags = TensorFlags(4);
    /// Made in inference mode.
    pub(crate) const INFERENCE: TensorFlags = TensorFlags(8);
    /// A gradient passed to user code: in-place writes are refused.
    pub(crate) const READ_ONLY: TensorFlags = TensorFlags(16);
    /// A view, made while recording was off, of a tensor that requires grad.
    pub(crate) const HIDES_GRAD: TensorFlags = TensorFlags(32);
    /// A 0-d tensor that is memory, like NumPy's 0-d arrays: `x += y` writes to it. A 0-d tensor without this flag is a value,
    /// like NumPy's scalars.
    pub(crate) const MEMORY: TensorFlags = TensorFlags(64);
    /// A sum of gradients to which zeros were added: adding more zeros changes no sign of zero in it.
    pub(crate) const ZERO_PADDED: TensorFlags = TensorFlags(128);

    /// Whether all flags of `other` are set.
    #[inline(always)]
    pub(crate) fn has(self, other: TensorFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// This set without the flags of `other`.
    #[inline(always)]
    pub(crate) fn without(self, other: TensorFlags) -> TensorFlags {
        TensorFlags(self.0 & !other.0)
    }

    /// This set with the flags of `other`.
    #[inline(always)]
    pub(crate) fn with(self, other: TensorFlags) -> TensorFlags {
        TensorFlags(self.0 | other.0)
    }
}
