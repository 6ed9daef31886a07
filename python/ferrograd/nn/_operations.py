"""The operations of the core that live under `fg.nn.functional`.

Owns: nothing; the registry says which operations belong here.
"""

import ferrograd._core as _core

_members = _core._namespaces.get("nn.functional", {})
globals().update(_members)
__all__ = sorted(_members)
