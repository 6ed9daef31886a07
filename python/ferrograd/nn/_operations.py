"""The operations of the core that live under `fg.nn.functional`."""

import ferrograd._core as _core

_members = _core._namespaces.get("nn.functional", {})
globals().update(_members)
__all__ = sorted(name for name in _members if name[0] != "_")
