"""The text format of a tree of tensors, numbers and strings.

Invariant: `decoded` returns the tree from a text of `Encoder`, with exact numbers and the same
containers. Any other text raises `ValueError`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ferrograd._core import Tensor
from ferrograd._tensor.pytree import MAX_DEPTH, Tree, flatten
from ferrograd.errors import ArgumentTypeError

#: The codes of dtypes in a file.
DTYPE_CODES = {
    **{f"int{bits}": f"I{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"U{bits}" for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"F{bits}" for bits in (16, 32, 64)},
    "bool": "BOOL",
    "complex64": "C64",
    # safetensors does not have this dtype: it is stored with a last axis of real and imaginary
    # parts.
    "complex128": "F64",
}

#: Marks the text of a ferrograd file, with the version of the format.
FORMAT_VERSION = 1


class Encoder:
    """Makes the text of a tree and lists its arrays by name."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def encode(self, value: Any) -> str:
        """The text of a whole tree."""
        leaves, tree = flatten(value)
        coded = self._encode_tree(tree, iter(leaves), ())
        return json.dumps({"version": FORMAT_VERSION, "tree": coded}, allow_nan=False)

    def _encode_tree(self, tree: Tree, leaves: Iterator[Any], place: tuple[Any, ...]) -> Any:
        if tree.is_leaf:
            return self._encode_leaf(next(leaves), place)
        kind = tree.kind
        if kind is None:
            return None
        is_dict = issubclass(kind, dict)
        is_tuple = issubclass(kind, tuple) and not hasattr(kind, "_fields")
        if not (is_dict or is_tuple or kind is list):
            raise _make_type_error(kind, place)
        keys = [self._encode_key(key, place) for key in tree.keys] if is_dict else []
        parts = [
            self._encode_tree(child, leaves, (*place, key))
            for key, child in zip(tree.keys, tree.children, strict=True)
        ]
        if is_dict:
            return {"dict": [[key, part] for key, part in zip(keys, parts, strict=True)]}
        return {"tuple": parts} if is_tuple else parts

    def _encode_leaf(self, value: Any, place: tuple[Any, ...]) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is complex:
            return {"complex": [repr(value.real), repr(value.imag)]}
        if isinstance(value, Tensor):
            return self._encode_array("tensor", value.detach().numpy(), place)
        if kind is np.ndarray or isinstance(value, np.memmap):
            return self._encode_array("array", np.asarray(value), place)
        if isinstance(value, np.generic):
            return self._encode_array("scalar", np.asarray(value), place)
        raise _make_type_error(kind, place)

    def _encode_key(self, key: Any, place: tuple[Any, ...]) -> Any:
        if type(key) is tuple:
            return {"tuple": [self._encode_key(each, place) for each in key]}
        if key is None or type(key) in (bool, int, str) or (type(key) is float and key == key):
            return self._encode_leaf(key, place)
        raise _make_type_error(type(key), (*place, key))

    def _encode_array(self, what: str, array: np.ndarray, place: tuple[Any, ...]) -> dict[str, Any]:
        if array.dtype.name not in DTYPE_CODES:
            raise ArgumentTypeError(
                f"save: {_format_path(place)} has dtype {array.dtype}; save numbers of the dtypes"
                " that tensors have"
            )
        plain = ".".join(map(str, place)) or "tensor"
        name, number = plain, 2
        while name in self.arrays or name == "__metadata__":
            name, number = f"{plain}#{number}", number + 1
        self.arrays[name] = array
        coded: dict[str, Any] = {what: name}
        if array.dtype.name == "complex128":
            coded["dtype"] = "complex128"
        return coded


def _format_path(place: tuple[Any, ...]) -> str:
    return "the value" if not place else "".join(f"[{key!r}]" for key in place)


def _make_type_error(kind: type, place: tuple[Any, ...]) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"save: {_format_path(place)} is a {kind.__name__}; save tensors, arrays, numbers,"
        " strings, None, and lists, tuples and dicts of them: of modules, optimisers, generators"
        " their state_dict() or get_state()"
    )


def parse_json(text: str) -> Any:
    """The value of a JSON text without duplicate keys."""
    try:
        return json.loads(text, object_pairs_hook=_make_unique_dict)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _make_unique_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r:.60} comes twice")
    return made


def decode(text: str, tensor: Callable[[str, str, bool], Any]) -> Any:
    """The tree of a text; `tensor(kind, name, wide)` returns the object with a name."""
    whole = parse_json(text)
    if not isinstance(whole, dict) or whole.get("version") != FORMAT_VERSION or "tree" not in whole:
        has = whole.get("version") if isinstance(whole, dict) else whole
        raise ValueError(
            f"its structure has version {has!r:.40}, and this package reads {FORMAT_VERSION}"
        )
    return _decode_tree(whole["tree"], tensor, 0)


def _decode_tree(coded: Any, tensor: Callable[[str, str, bool], Any], depth: int) -> Any:
    if depth > MAX_DEPTH + 1:
        raise ValueError(f"its containers are nested more than {MAX_DEPTH} levels deep")
    if isinstance(coded, list):
        return [_decode_tree(each, tensor, depth + 1) for each in coded]
    if not isinstance(coded, dict):
        return coded
    match coded:
        case {"float": str(number)} if len(coded) == 1:
            return float(number)
        case {"complex": [str(real), str(imag)]} if len(coded) == 1:
            return complex(float(real), float(imag))
        case {"tuple": list(parts)} if len(coded) == 1:
            return tuple(_decode_tree(each, tensor, depth + 1) for each in parts)
        case {"dict": list(rows)} if len(coded) == 1:
            return _decode_dict(rows, tensor, depth)
        case {"tensor": str(name)} | {"array": str(name)} | {"scalar": str(name)}:
            wide = coded.get("dtype") == "complex128"
            if len(coded) == 1 + wide:
                return tensor(next(iter(coded)), name, wide)
    raise ValueError(f"its structure has {coded!r:.60}, which means nothing")


def _decode_dict(
    rows: list[Any], tensor: Callable[[str, str, bool], Any], depth: int
) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    for row in rows:
        if not isinstance(row, list) or len(row) != 2:
            raise ValueError(f"its structure has {row!r:.60} in place of a key and a value")
        key = _decode_tree(row[0], _refuse_tensor_key, depth + 1)
        try:
            twice = key in made
        except TypeError:
            raise ValueError(f"its structure has the key {key!r:.60}, which is none") from None
        if twice:
            raise ValueError(f"the key {key!r:.60} comes twice")
        made[key] = _decode_tree(row[1], tensor, depth + 1)
    return made


def _refuse_tensor_key(kind: str, name: str, wide: bool) -> Any:
    raise ValueError(f"its structure has the {kind} {name!r:.60} as a key")
