//! Marks of a handle: what it is to the memory it shows.
//!
//! Owns: a byte of bits. Never says anything about the graph.
//! Invariant: a view takes over its base's marks; only a handle that starts a family of its own has none.

/// A set of marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Marks(u8);

impl Marks {
    /// An unrecorded result of a custom function's forward, which varies with an input.
    pub(crate) const CUT: Marks = Marks(1);
    /// Shows memory of another tensor.
    pub(crate) const VIEW: Marks = Marks(2);
    /// Shares data with another tensor but not its history.
    pub(crate) const DETACHED: Marks = Marks(4);
    /// Made in inference mode.
    pub(crate) const INFERENCE: Marks = Marks(8);
    /// A gradient that a hook or a backward was given: reading only.
    pub(crate) const READ_ONLY: Marks = Marks(16);
    /// A view, made while recording was off, of a tensor that requires grad.
    pub(crate) const HIDES_GRAD: Marks = Marks(32);
    /// Memory without axes, as NumPy's 0-d arrays: `x += y` changes it. Without axes and this mark, a tensor is a value, as
    /// NumPy's scalars.
    pub(crate) const MEMORY: Marks = Marks(64);
    /// A sum of gradients that zeros have been added to: more of them change no sign of a zero in it.
    pub(crate) const SETTLED: Marks = Marks(128);

    /// Whether all of `other` is set.
    #[inline(always)]
    pub(crate) fn has(self, other: Marks) -> bool {
        self.0 & other.0 == other.0
    }

    /// With none of `other`.
    #[inline(always)]
    pub(crate) fn without(self, other: Marks) -> Marks {
        Marks(self.0 & !other.0)
    }

    /// With `other` as well.
    #[inline(always)]
    pub(crate) fn and(self, other: Marks) -> Marks {
        Marks(self.0 | other.0)
    }
}
