"""Linear algebra: the operations of the core that live under `fg.linalg`.

Owns: nothing; the registry says which operations belong here.
"""

import ferrograd._core as _core

_members = _core._namespaces.get("linalg", {})
globals().update(_members)
__all__ = sorted(_members)
