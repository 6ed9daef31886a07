"""PyTorch's modules for accelerators, of which there are none.

Invariant: no accelerator is available, and functions that wait for one return at once.
"""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any


class Accelerators:
    """Queries and settings for devices that do not exist.

    >>> import ferrograd as fg
    >>> "cuda" if fg.cuda.is_available() else "cpu"
    'cpu'
    """

    def is_available(self) -> bool:
        """False: operations run on the processor's cores."""
        return False

    def device_count(self) -> int:
        """0."""
        return 0

    def manual_seed(self, seed: int) -> None:
        """Does nothing: `fg.manual_seed` seeds the generator."""

    manual_seed_all = manual_seed

    def synchronize(self, device: Any = None) -> None:
        """Does nothing: operations are synchronous."""

    def empty_cache(self) -> None:
        """Nothing."""

    @property
    def amp(self) -> SimpleNamespace:
        """`fg.amp`, under its older name and in its older form."""
        amp: SimpleNamespace = import_module("ferrograd._pytorch.amp").cuda_amp
        return amp


cuda = accelerator = Accelerators()

#: Switches of PyTorch's kernels, which may be set and change nothing.
backends = SimpleNamespace(
    mps=cuda,
    cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=False)),
    cudnn=SimpleNamespace(
        enabled=False, benchmark=False, deterministic=True, allow_tf32=False, is_available=bool
    ),
)
