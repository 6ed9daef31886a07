"""Every name of `ferrograd.numpy`, made once from NumPy's own list.

Owns: nothing; `_face` makes the names.
"""

from ferrograd.numpy._wrappers import members as _members

_made = _members()
globals().update(_made)
__all__ = sorted(_made)
