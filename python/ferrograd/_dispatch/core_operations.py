"""The operations of the core under NumPy's functions.

Made from the `numpy` names of the registry.
"""

from string import ascii_letters
from typing import Any

import numpy as np

import ferrograd._core as _core
from ferrograd._dispatch.function_table import FOLDS, OPERATIONS as OPERATIONS, SCANS, Operation
from ferrograd._tensor.creation import full_like

#: The declaration of each operation, by the operation.
DECLARATIONS: dict[Operation, dict[str, Any]] = {}


def _get_operation(row: dict[str, Any]) -> Operation:
    """The function of a declaration, or the method that has none."""
    spaces = row["namespaces"]
    if not spaces or "" in spaces:
        found: Operation = getattr(_core, row["function"])
    elif spaces[0] in _core._namespaces:
        found = _core._namespaces[spaces[0]][row["function"]]
    else:
        found = getattr(_core.Tensor, row["name"])
    return found


def _fill_operations(table: dict[Any, Operation]) -> None:
    for row in _core._registry():
        ours = _get_operation(row)
        DECLARATIONS[ours] = row
        if row["fold"]:
            FOLDS.setdefault(getattr(_core, row["fold"]), ours)
        if row["scan"]:
            SCANS.setdefault(getattr(_core, row["scan"]), ours)
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
        (np.full_like, _core._full_like, _full_like),
        (np.copy, _core.clone, _copy),
    ):
        DECLARATIONS[as_numpy] = DECLARATIONS[ours]
        table[theirs] = as_numpy
    row = DECLARATIONS[_core.nan_to_num]
    first, *rest = row["params"]
    DECLARATIONS[_nan_to_num] = {**row, "params": [first, {"name": "copy"}, *rest]}
    table[np.nan_to_num] = _nan_to_num
    for decomposition in (np.linalg.eigh, np.linalg.qr, np.linalg.slogdet, np.linalg.svd):
        ours = table[decomposition]
        table[decomposition] = _wrap_in_named_tuple(decomposition, ours)
        DECLARATIONS[table[decomposition]] = DECLARATIONS[ours]


def _wrap_in_named_tuple(theirs: Any, ours: Operation) -> Operation:
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


def _full_like(x: Any, fill_value: Any, dtype: Any = None) -> Any:
    """NumPy's order of the arguments, of which `full_like` takes the last by name."""
    return full_like(x, fill_value, dtype=dtype)


def _nan_to_num(x: Any, copy: Any = True, *rest: Any, **replaced: Any) -> Any:
    """Also without a copy: then the tensor itself is written to."""
    made = _core.nan_to_num(x, *rest, **replaced)
    if copy or not isinstance(x, _core.Tensor) or x._is_value():
        return made
    x[...] = made
    return x


def _copy(x: Any) -> Any:
    """A new array, even of a value; the method `copy` of a value returns a value."""
    made = _core.clone(x)
    made._become_memory()
    return made


def _einsum(subscripts: Any, *operands: Any) -> Any:
    """Also accepts the form without a string: each operand followed by a list of axis labels."""
    if isinstance(subscripts, str):
        return _core.einsum(subscripts, *operands)

    def text(labels: Any) -> str:
        return "".join("..." if k is Ellipsis else ascii_letters[k] for k in labels)

    parts = [subscripts, *operands]
    result = "->" + text(parts.pop()) if len(parts) % 2 else ""
    return _core.einsum(",".join(map(text, parts[1::2])) + result, *parts[::2])


_fill_operations(OPERATIONS)
