"""The table from functions of NumPy and SciPy to functions of ferrograd.

Invariant: an existing entry is never replaced by a later one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

Operation = Callable[..., Any]

#: Operations of the core, by NumPy's function or by the name of SciPy's.
OPERATIONS: dict[Any, Operation] = {}

#: The operation that folds elements, or runs along them, with an operation of two operands.
FOLDS: dict[Operation, Operation] = {}
SCANS: dict[Operation, Operation] = {}

#: For a NumPy function: the version with a mask, and the version for integer dtypes.
MASKED_VERSIONS: dict[Any, Operation] = {}
INTEGER_VERSIONS: dict[Any, Operation] = {}

#: Compositions of operations, by NumPy function.
COMPOSED: dict[Any, Operation] = {}

#: The same for libraries that need not be loaded, by name: `"scipy.special.i0"`.
COMPOSED_BY_NAME: dict[str, Operation] = {}

#: Why a NumPy function has no derivative here, and what to do instead.
REFUSAL_REASONS: dict[Any, str] = {}

#: Modules that fill `COMPOSED`, `NAMED` and `REASONS`, in the order in which they are loaded.
_PROVIDERS = ("ferrograd._dispatch.composed", "ferrograd.scipy.special")


def get_numpy_function(path: str) -> Any:
    """NumPy's function of this name, None where this NumPy has none."""
    found: Any = np
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def register(ours: Operation, *paths: str) -> None:
    """Enters a composition for NumPy's functions of these names."""
    for path in paths:
        theirs = get_numpy_function(path)
        if theirs is not None:
            COMPOSED.setdefault(theirs, ours)


def register_module(home: str, names: Mapping[str, Any]) -> None:
    """Registers the public functions of a module for the functions of another library."""
    for name, ours in names.items():
        if not name.startswith("_") and callable(ours):
            COMPOSED_BY_NAME.setdefault(f"{home}.{name}", ours)


def _find_entry(table: Mapping[Any, Any], key: Any) -> Any:
    found = table.get(key)
    for provider in _PROVIDERS:
        if found is not None:
            break
        import_module(provider)
        found = table.get(key)
    return found


def find_composition(function: Any) -> Operation | None:
    """The composition for a NumPy function that is not a single operation."""
    found: Operation | None = _find_entry(COMPOSED, function)
    return found


def find_by_name(name: str) -> Operation | None:
    """Our function for one of another library's, by its full name."""
    found: Operation | None = _find_entry(COMPOSED_BY_NAME, name)
    return found


def find_refusal_reason(function: Any) -> str | None:
    """The reason why a function has no derivative, if there is a specific one."""
    found: str | None = _find_entry(REFUSAL_REASONS, function)
    return found


def find_masked_version(function: Any) -> Operation | None:
    """A reduction with `where=`, where that is more than leaving elements out of a fold."""
    found: Operation | None = _find_entry(MASKED_VERSIONS, function)
    return found


def find_integer_version(function: Any) -> Operation | None:
    """A NumPy function in which an integer dtype truncates every step."""
    found: Operation | None = _find_entry(INTEGER_VERSIONS, function)
    return found
