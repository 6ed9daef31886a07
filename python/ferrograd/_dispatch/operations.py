"""The operations of the core under NumPy's functions, made from the `numpy` names of the registry.

Owns: the filling of the table, and the few functions whose arguments or results NumPy spells in a
way that names alone do not say. Never computes.
"""

from string import ascii_letters
from typing import Any

import numpy as np

import ferrograd._core as _core
from ferrograd._dispatch.table import OPERATIONS as OPERATIONS, Operation

#: The parameters of each operation, by the operation.
PARAMETERS: dict[Operation, list[dict[str, Any]]] = {}


def _fill(table: dict[Any, Operation]) -> None:
    for row in _core._registry():
        spaces = row["namespaces"]
        home_of = _core.__dict__ if not spaces or "" in spaces else _core._namespaces[spaces[0]]
        ours = home_of[row["name"]]
        PARAMETERS[ours] = row["params"]
        for path in row["numpy"]:
            if path.startswith("scipy."):
                table.setdefault(path.rsplit(".", 1)[1], ours)
                continue
            home: Any = np
            for part in path.split("."):
                home = getattr(home, part, None)
            if home is not None:
                # NumPy has several names for one function: the first operation to claim it wins.
                table.setdefault(home, ours)
    for theirs, ours, as_numpy in (
        (np.transpose, _core.transpose, _transpose),
        (np.einsum, _core.einsum, _einsum),
    ):
        PARAMETERS[as_numpy] = PARAMETERS[ours]
        table[theirs] = as_numpy
    for decomposition in (np.linalg.eigh, np.linalg.qr, np.linalg.slogdet, np.linalg.svd):
        ours = table[decomposition]
        table[decomposition] = _with_fields(decomposition, ours)
        PARAMETERS[table[decomposition]] = PARAMETERS[ours]


def _with_fields(theirs: Any, ours: Operation) -> Operation:
    """The operation with its results in NumPy's named tuple."""
    named: list[Any] = []

    def decompose(*args: Any, **kwargs: Any) -> Any:
        out = ours(*args, **kwargs)
        if not isinstance(out, tuple):
            return out
        if not named:
            named.append(type(theirs(np.eye(1))))
        return named[0](*out)

    return decompose


def _transpose(x: Any, axes: Any = None) -> Any:
    """NumPy's meaning of the axes, which `transpose` refuses where PyTorch's differs."""
    return _core.transpose(x) if axes is None else _core.permute(x, axes)


def _einsum(subscripts: Any, *operands: Any) -> Any:
    """Also the form without a string: each operand followed by the numbers of its axes."""
    if isinstance(subscripts, str):
        return _core.einsum(subscripts, *operands)

    def text(labels: Any) -> str:
        return "".join("..." if k is Ellipsis else ascii_letters[k] for k in labels)

    parts = [subscripts, *operands]
    result = "->" + text(parts.pop()) if len(parts) % 2 else ""
    return _core.einsum(",".join(map(text, parts[1::2])) + result, *parts[::2])


_fill(OPERATIONS)
