"""The translation of NumPy's arguments to those of operations.

Invariant: an argument is supported or has no effect; otherwise the call is refused with the reason.
"""

import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import ferrograd._core as _core
from ferrograd._dispatch import function_table
from ferrograd._dispatch.ufuncs import cast_same_kind, write_out
from ferrograd.errors import ArgumentError, ArgumentTypeError

Operation = Callable[..., Any]

#: NumPy parameters that have no effect here, with the accepted values; None: all values.
_IGNORED_ARGUMENTS: dict[str, tuple[Any, ...] | None] = {
    "casting": ("same_kind",),
    "subok": None,
    "device": ("cpu",),
    "order": ("C", "K", "A"),
    "copy": (None, True),
}
#: NumPy parameters that never match a parameter of an operation by position.
_NUMPY_ONLY_PARAMETERS = {
    *_IGNORED_ARGUMENTS,
    "out",
    "where",
    "dtype",
    "initial",
    "mean",
    "weights",
    "method",
}


class UnsupportedArgumentError(Exception):
    """An argument that no operation supports."""


class ArgumentTranslation:
    """A NumPy function and the translation of its arguments."""

    def __init__(self, function: Any, row: dict[str, Any]) -> None:
        names = [p["name"] for p in row["params"]]
        renamed = dict(row["keywords"])
        self.function = function
        self.name: str = function.__name__
        self.signature = inspect.signature(function)
        self.takes_sequence = row["params"][0]["kind"] in {"Tensors", "Variadic"}
        #: The operation of the fold, and the value of excluded elements.
        self.fold: Operation | None = getattr(_core, row["fold"]) if row["fold"] else None
        self.neutral: int | None = row["neutral"]
        self.ufunc: bool = row["ufunc"]
        self.ignored = dict(_IGNORED_ARGUMENTS)
        for word, truth in row["ignores"]:
            self.ignored[word] = None if truth is None else (truth,)
        extra = {*_NUMPY_ONLY_PARAMETERS, *self.ignored, *renamed}
        theirs = list(self.signature.parameters.values())
        same = [p.name for p in theirs if p.name in names]
        self.parameter_names: dict[str, str] = {}
        for i, parameter in enumerate(theirs):
            own = parameter.name in names
            name = parameter.name if own else renamed.get(parameter.name, parameter.name)
            if name in names:
                self.parameter_names[parameter.name] = name
            elif parameter.name not in extra and names[i : i + 1] and names[i] not in same:
                self.parameter_names[parameter.name] = names[i]
        if any(p.kind is p.VAR_POSITIONAL for p in theirs):
            self.parameter_names = {p.name: p.name for p in theirs if p.name in names}
        #: The number of positional arguments with the same meaning in both.
        self.direct_count = 0
        for parameter, name in zip(theirs, names, strict=False):
            if parameter.kind is parameter.VAR_POSITIONAL:
                self.direct_count = sys.maxsize
            if (
                self.parameter_names.get(parameter.name) != name
                or parameter.kind is parameter.KEYWORD_ONLY
            ):
                break
            self.direct_count += 1

    def bind(
        self, args: Any, kwargs: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
        """The translated positional arguments and keywords, and the remaining ones."""
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
                if key in self.parameter_names:
                    given[self.parameter_names[key]] = value
                elif value is not parameter.default:
                    rest[key] = value
        return positional, given, rest


def _reduce_masked(
    spelling: ArgumentTranslation, ours: Operation, given: dict[str, Any], where: Any, initial: Any
) -> Any:
    """A reduction over the elements where a mask is true."""
    whole = function_table.find_masked_version(spelling.function)
    if whole is not None:
        return whole(where, **given)
    if spelling.fold is None:
        raise UnsupportedArgumentError("where")
    neutral = initial if spelling.neutral is None else spelling.neutral
    if neutral is None:
        raise ArgumentError(
            f"numpy.{spelling.name}: no element may be chosen; give initial= with where="
        )
    first = next(iter(given))
    others = {key: value for key, value in given.items() if key != first}
    return ours(_core.where(where, _core.asarray(given[first]), neutral), **others)


def _reduce_with_initial(
    spelling: ArgumentTranslation, ours: Operation, given: dict[str, Any], where: Any, initial: Any
) -> Any:
    """A reduction that begins with a number."""
    first = next(iter(given))
    x = _core.asarray(given[first])
    if isinstance(initial, complex) and x.dtype.kind != "c":
        raise ArgumentTypeError(
            f"numpy.{spelling.name}: initial={initial} of elements of {x.dtype}; give a real"
            " number, or complex elements"
        )
    if x.size == 0 and spelling.neutral is None:
        # No element has a part in it.
        axes = {key: value for key, value in given.items() if key in ("axis", "keepdims")}
        shape = np.sum(np.broadcast_to(0, x.shape), **axes).shape
        return _core.broadcast_to(_core.asarray(initial).astype(x.dtype), shape).clone()
    single = ours is _core.prod and x.dtype.kind in "fc" and given.get("axis") is None
    if spelling.neutral is None:
        # An extreme has the dtype of the elements.
        initial = _core.asarray(initial).astype(x.dtype)
    if where is True and single:
        # The initial value comes first: the order decides where a product over- or underflows.
        flat = _core.concatenate([_core.asarray(initial).astype(x.dtype).reshape(1), x.reshape(-1)])
        shape = (1,) * x.ndim if given.get("keepdims") else ()
        rest = {key: v for key, v in given.items() if key not in (first, "axis", "keepdims")}
        return ours(flat, **rest).reshape(shape)
    if where is True:
        return spelling.fold(initial, ours(**given))  # type: ignore[misc]
    return spelling.fold(initial, _reduce_masked(spelling, ours, given, where, initial))  # type: ignore[misc]


def _check_remaining_arguments(spelling: ArgumentTranslation, rest: dict[str, Any]) -> None:
    for key, value in rest.items():
        harmless = spelling.ignored.get(key, ())
        if value is not None and harmless is not None and value not in harmless:
            raise UnsupportedArgumentError(f"{key}={value!r}")


def call_operation(
    spelling: ArgumentTranslation, ours: Operation, args: Any, kwargs: dict[str, Any]
) -> Any:
    """The translated call; `UnsupportedArgumentError` names arguments without counterpart."""
    positional, given, rest = spelling.bind(args, kwargs)
    name = spelling.name
    out, where = rest.pop("out", None), rest.pop("where", True)
    dtype, initial = rest.pop("dtype", None), rest.pop("initial", None)
    copies = rest.get("copy") is True
    unsafe = dtype is not None and spelling.takes_sequence and rest.get("casting") == "unsafe"
    if unsafe:
        rest.pop("casting")
    _check_remaining_arguments(spelling, rest)
    asked = given.get("dtype") if dtype is None else dtype
    if asked is not None and where is True and np.dtype(asked).kind in "iu":
        stepwise = function_table.find_integer_version(spelling.function)
        if stepwise is not None:
            given.pop("dtype", None)
            result = stepwise(np.dtype(asked), **given)
            return result if out is None else write_out(name, out, result, repeats=spelling.ufunc)
    if initial is not None and spelling.fold is None:
        raise UnsupportedArgumentError("initial")
    if dtype is not None and not spelling.takes_sequence:
        first = next(iter(given))
        given[first] = _core.asarray(given[first]).astype(dtype)
    if initial is not None:
        result = _reduce_with_initial(spelling, ours, given, where, initial)
    elif where is not True:
        result = _reduce_masked(spelling, ours, given, where, initial)
    else:
        result = ours(*positional, **given)
    if copies:
        result = _core.clone(result)
    if dtype is not None and spelling.fold is not None:
        result = result.astype(dtype)
    if asked is not None and np.dtype(asked).kind == "c" and result.dtype.kind == "f":
        result = result.astype(asked)
    if dtype is not None and spelling.takes_sequence:
        result = result.astype(dtype) if unsafe else cast_same_kind(name, result, dtype)
    return result if out is None else write_out(name, out, result, repeats=spelling.ufunc)
