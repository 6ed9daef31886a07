"""The operations of the registry that live in `ferrograd.functors`."""

from ferrograd import _core

globals().update(_core._namespaces["functors"])

__all__ = sorted(_core._namespaces["functors"])
