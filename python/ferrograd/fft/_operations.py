"""The operations of the registry that live in `ferrograd.fft`."""

from ferrograd import _core

globals().update(_core._namespaces.get("fft", {}))

__all__ = sorted(_core._namespaces.get("fft", {}))
