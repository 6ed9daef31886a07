"""The backend for tensors in einops.

Invariant: einops is loaded by its own loader, and its modules refer to this loader.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from ferrograd import _core
from ferrograd._core import Tensor


class _BackendLoader:
    """The loader of einops' backends; afterwards ferrograd's backend is added."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: Any) -> Any:
        """Creates the module with the original loader."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Runs the module, then adds the backend."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        register_backend(module)


def find_backends_spec(finder: Any, name: str) -> Any:
    """The module spec of the following finders, with our loader."""
    with suppress(ValueError):
        sys.meta_path.remove(finder)
    spec = find_spec(name)
    if spec is not None and spec.loader is not None:
        spec.loader = _BackendLoader(spec.loader)  # type: ignore[assignment]
    return spec


def register_backend(backends: ModuleType) -> None:
    """Adds the backend to the module in which einops looks for classes."""
    base: Any = getattr(backends, "AbstractBackend", None)
    if base is None:
        return

    class FerrogradBackend(base):  # type: ignore[misc]
        """The operations that einops needs, with derivatives."""

        framework_name = "ferrograd"

        def is_appropriate_type(self, tensor: Any) -> bool:
            return isinstance(tensor, Tensor)

        def from_numpy(self, x: Any) -> Any:
            return _core.asarray(x)

        def to_numpy(self, x: Any) -> Any:
            return x.detach().numpy()

        def arange(self, start: int, stop: int) -> Any:
            return _core.asarray(list(range(start, stop)), "int64")

        def transpose(self, x: Any, axes: Any) -> Any:
            return _core.permute(x, axes)

        def reduce(self, x: Any, operation: str, axes: Any) -> Any:
            ours = {"min": "amin", "max": "amax"}.get(operation, operation)
            return getattr(_core, ours)(x, tuple(axes))

        def stack_on_zeroth_dimension(self, tensors: list[Any]) -> Any:
            return _core.stack(tensors)

        def add_axis(self, x: Any, new_position: int) -> Any:
            return _core.expand_dims(x, new_position)

        def tile(self, x: Any, repeats: Any) -> Any:
            return _core.tile(x, repeats)

        def concat(self, tensors: Any, axis: int) -> Any:
            return _core.concatenate(tensors, axis)

        def is_float_type(self, x: Any) -> bool:
            return x.dtype.kind in "fc"

        def einsum(self, pattern: str, *x: Any) -> Any:
            return _core.einsum(pattern, *x)

    # einops finds the class among the subclasses, which Python keeps weakly.
    backends.FerrogradBackend = FerrogradBackend  # type: ignore[attr-defined]
