"""What the programs of this folder import: the library that runs them, and their first weights.

Owns: the choice, which `run` makes. Never computes.
Invariant: a program gives the same numbers with either library.
"""

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

STEPS = 20
HERE = Path(__file__).parent
NAMES = sorted(path.stem for path in HERE.glob("*.py") if path.stem != "library")

torch: Any = None
load: Callable[[Any], Any] = lambda module: module  # noqa: E731


def rng(seed: int) -> np.random.Generator:
    """The numbers of a program."""
    return np.random.default_rng(seed)


def run(name: str, library: Any, fill: Callable[[Any], Any]) -> list[float]:
    """The numbers of a program that a library computes; `fill` gives a module its weights."""
    me = sys.modules["library"] = sys.modules[__name__]
    me.torch, me.load = library, fill  # type: ignore[attr-defined]
    try:
        found = runpy.run_path(str(HERE / f"{name}.py"))["result"]
    finally:
        del sys.modules["library"]
    return [float(number) for number in found]
