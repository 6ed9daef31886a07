"""How NumPy's functions spell the arguments of our operations.

Owns: for each function, which of its parameters mean which of ours, and what `out`, `where`,
`dtype` and `initial` come to. Never computes: everything is composed of operations.
Invariant: an argument is obeyed, or changes nothing, or the call is refused with the reason.
"""

import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import ferrograd._core as _core
from ferrograd._core import Tensor
from ferrograd._dispatch.ufuncs import cast, write
from ferrograd.errors import ArgumentError, ArgumentTypeError

Operation = Callable[..., Any]

#: Parameters whose names differ and whose positions do too.
_RENAMED = {
    "a_min": "min",
    "a_max": "max",
    "UPLO": "uplo",
    "correction": "ddof",
    "rtol": "rcond",
}
#: Parameters that change nothing here, by the values of which that holds; None: all of them.
_HARMLESS: dict[str, tuple[Any, ...] | None] = {
    "casting": ("same_kind",),
    "subok": None,
    "overwrite_input": None,
    "optimize": None,
    "device": ("cpu",),
    "kind": None,
    "stable": None,
    "sorted": (True,),
    "equal_nan": (True,),
    "order": ("C", "K", "A"),
    "copy": (None, True),
}
#: Parameters that no operation has and that are never another one's by position.
_EXTRA = {*_HARMLESS, *_RENAMED, "out", "where", "dtype", "initial", "mean", "weights", "method"}
#: What an element that `where` leaves out counts as.
_NEUTRAL: dict[str, Any] = {"sum": 0, "nansum": 0, "prod": 1, "all": True, "any": False}
#: What divides a sum, in which an integer dtype truncates.
_MEANS = {"mean", "var", "std", "nanmean", "nanvar", "nanstd"}
_COMBINE: dict[str, Operation] = {
    "sum": _core.add,
    "nansum": _core.add,
    "prod": _core.multiply,
    "max": _core.maximum,
    "amax": _core.maximum,
    "min": _core.minimum,
    "amin": _core.minimum,
}


class UnsupportedArgumentError(Exception):
    """An argument that no operation of ours obeys."""


class Spelling:
    """One function of NumPy's and how its arguments become ours."""

    def __init__(self, function: Any, names: list[str], kinds: list[str]) -> None:
        self.name: str = function.__name__
        self.signature = inspect.signature(function)
        self.several = kinds[0] in {"Tensors", "Several"}
        theirs = list(self.signature.parameters.values())
        same = [p.name for p in theirs if p.name in names]
        self.ours: dict[str, str] = {}
        for i, parameter in enumerate(theirs):
            own = parameter.name in names
            name = parameter.name if own else _RENAMED.get(parameter.name, parameter.name)
            if name in names:
                self.ours[parameter.name] = name
            elif parameter.name not in _EXTRA and names[i : i + 1] and names[i] not in same:
                self.ours[parameter.name] = names[i]
        if any(p.kind is p.VAR_POSITIONAL for p in theirs):
            self.ours = {p.name: p.name for p in theirs if p.name in names}
        #: How many arguments by position mean the same in both.
        self.direct = 0
        for parameter, name in zip(theirs, names, strict=False):
            if parameter.kind is parameter.VAR_POSITIONAL:
                self.direct = sys.maxsize
            if self.ours.get(parameter.name) != name or parameter.kind is parameter.KEYWORD_ONLY:
                break
            self.direct += 1

    def bind(
        self, args: Any, kwargs: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
        """Positional arguments and keywords of ours, and what is left over."""
        bound = self.signature.bind(*args, **kwargs).arguments
        positional: list[Any] = []
        given: dict[str, Any] = {}
        rest: dict[str, Any] = {}
        for key, value in bound.items():
            parameter = self.signature.parameters[key]
            if parameter.kind is parameter.VAR_POSITIONAL:
                positional += value
            elif parameter.kind is parameter.VAR_KEYWORD:
                given.update(value)
            elif value is not np._NoValue:
                if key in self.ours:
                    given[self.ours[key]] = value
                elif value is not parameter.default:
                    rest[key] = value
        return positional, given, rest


def _masked(name: str, ours: Operation, given: dict[str, Any], where: Any, initial: Any) -> Any:
    """A reduction over the elements where a mask holds."""
    first = next(iter(given))
    x = _core.asarray(given[first])
    others = {key: value for key, value in given.items() if key != first}
    neutral = _NEUTRAL.get(name, initial)
    if name not in _COMBINE.keys() | _NEUTRAL.keys():
        neutral = None
    if neutral is not None:
        return ours(_core.where(where, x, neutral), **others)
    if name in {"max", "amax", "min", "amin"}:
        raise ArgumentError(f"numpy.{name}: no element may be chosen; give initial= with where=")
    if name not in {"mean", "var", "std"}:
        raise UnsupportedArgumentError("where")
    ddof, dtype = others.pop("ddof", 0), others.pop("dtype", None)
    x = x if dtype is None else x.astype(dtype)
    over: dict[str, Any] = {"axis": others.get("axis"), "keepdims": True}
    n = _core.sum(_core.broadcast_to(_core.asarray(where), x.shape), **over)
    mean = _core.sum(_core.where(where, x, 0), **over) / n
    if name == "mean":
        return mean if others.get("keepdims") else _dropped(mean, others)
    gap = _core.where(where, x - mean, 0)
    divisor = _core.maximum(n - ddof, 0)
    if name == "var":
        out = _core.sum(gap * gap, **over) / divisor
    else:
        out = _core._namespaces["linalg"]["vector_norm"](gap, **over) / _core.sqrt(divisor)
    return out if others.get("keepdims") else _dropped(out, others)


def _dropped(x: Tensor, others: dict[str, Any]) -> Tensor:
    """Without the axes that were reduced, which have size 1."""
    axis = others.get("axis")
    return x.reshape(()) if axis is None else _core.squeeze(x, axis)


def _check_rest(spelling: Spelling, rest: dict[str, Any]) -> None:
    for key, value in rest.items():
        harmless = _HARMLESS.get(key, ())
        if value is not None and harmless is not None and value not in harmless:
            raise UnsupportedArgumentError(f"{key}={value!r}")


def _in_integers(name: str, given: dict[str, Any], dtype: Any) -> Tensor:
    """A mean or variance in an integer dtype, every step of it truncated, as NumPy's."""
    x = _core.asarray(next(iter(given.values())))
    if name.startswith("nan") and x.dtype.kind == "f":
        raise ArgumentTypeError(f"numpy.{name}: {dtype} of {x.dtype}; give a float dtype")
    over: dict[str, Any] = {"axis": given.get("axis"), "keepdims": True}
    total = _core.sum(x.astype(dtype), **over)
    n = x.size // max(total.size, 1)
    out = (total / n).astype(dtype)
    if not name.endswith("mean"):
        squares = _core.square(x - out).astype(dtype)
        out = (_core.sum(squares, **over) / max(n - given.get("ddof", 0), 0)).astype(dtype)
    if name.endswith("std"):
        if out.size != 1 or given.get("axis") is not None:
            raise ArgumentTypeError(f"numpy.{name}: no root in {dtype}; give a float dtype")
        out = _core.sqrt(out).astype(dtype)
    return out if given.get("keepdims") else _dropped(out, given)


def call(spelling: Spelling, ours: Operation, args: Any, kwargs: dict[str, Any]) -> Any:
    """The call with our names; `UnsupportedArgumentError` names what has no counterpart."""
    positional, given, rest = spelling.bind(args, kwargs)
    name = spelling.name
    out, where = rest.pop("out", None), rest.pop("where", True)
    dtype, initial = rest.pop("dtype", None), rest.pop("initial", None)
    copies = rest.get("copy") is True
    _check_rest(spelling, rest)
    asked = given.get("dtype") if dtype is None else dtype
    if asked is not None and name in _MEANS and where is True and np.dtype(asked).kind in "iu":
        result = _in_integers(name, given, np.dtype(asked))
        return result if out is None else write(name, out, result)
    if initial is not None and name not in _COMBINE:
        raise UnsupportedArgumentError("initial")
    if dtype is not None and not spelling.several:
        first = next(iter(given))
        given[first] = _core.asarray(given[first]).astype(dtype)
    if where is not True:
        result = _masked(name, ours, given, where, initial)
    else:
        result = ours(*positional, **given)
    if copies:
        result = _core.clone(result)
    if initial is not None:
        result = _COMBINE[name](initial, result)
    if dtype is not None and spelling.several:
        result = cast(name, result, dtype)
    return result if out is None else write(name, out, result)
