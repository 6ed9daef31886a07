"""Every name of `ferrograd.numpy`, made once from NumPy's own list."""

from ferrograd.numpy._wrappers import get_members as _members

_made = _members()
globals().update(_made)
__all__ = sorted(_made)
