"""Shared helpers of the compositions.

Invariant: a composition takes the arguments of NumPy's function under NumPy's names; an unsupported
one is refused, never ignored.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ferrograd._core import Tensor, asarray
from ferrograd._dispatch.function_table import REFUSAL_REASONS, get_numpy_function, register
from ferrograd._dispatch.ufuncs import write_out
from ferrograd.errors import ArgumentError, ArgumentTypeError, DTypeError, NotDifferentiableError

F = TypeVar("F", bound=Callable[..., Any])


def register_composition(*paths: str) -> Callable[[F], F]:
    """Registers a function as the composition for NumPy functions with these names.

    A function with a parameter `out` is called without it; the result is written to `out`.
    """

    def decorate(function: F) -> F:
        register(_add_out_parameter(function, paths[0]), *paths)
        return function

    return decorate


def _add_out_parameter(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function with its result in `out`, if it declares that."""
    signature = inspect.signature(function)
    if "out" not in signature.parameters:
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        out = bound.arguments.pop("out", None)
        result = function(*bound.args, **bound.kwargs)
        return result if out is None else write_out(name, out, result)

    return call


def register_refusal(*paths: str, reason: str) -> None:
    """Registers the reason why functions with these names refuse tensors that require grad."""
    for path in paths:
        theirs = get_numpy_function(path)
        if theirs is not None:
            REFUSAL_REASONS[theirs] = reason


def check_unsupported(name: str, **given: Any) -> None:
    """Refuses arguments that are not at the default, which is falsy."""
    for key, value in given.items():
        if value is not None and value is not False:
            raise ArgumentError(
                f"numpy.{name}: {key}={value!r} cannot be used with tensors; leave it out"
            )


def make_refusal_error(name: str, reason: str, remedy: str) -> Exception:
    """The error of a function that has no derivative, with the reason."""
    return NotDifferentiableError(f"numpy.{name}: {reason}; {remedy}")


def to_inexact(value: Any) -> Tensor:
    """A tensor of floats or complex numbers from a tensor, array, number or nested sequence."""
    made: Tensor = asarray(value)
    return made if made.dtype.kind in "fc" else made.astype(np.float64)


def to_floats(name: str, value: Any) -> Tensor:
    """`inexact` for a function of real numbers only: complex ones are refused."""
    made = to_inexact(value)
    if made.dtype.kind == "c":
        raise DTypeError(
            f"numpy.{name}: dtype {made.dtype} is not supported; compute with x.real, x.imag or"
            " abs(x)"
        )
    return made


def conjugate(value: Any) -> Tensor:
    """The conjugate of a complex tensor; other tensors are returned unchanged."""
    made: Tensor = asarray(value)
    return made.conj() if made.dtype.kind == "c" else made


def check_same_kind(name: str, value: Any, dtype: Any) -> None:
    """Refuses a value that would lose its imaginary part in elements of a dtype."""
    if np.dtype(dtype).kind not in "biuf":
        return
    kind = value.dtype if hasattr(value, "dtype") else asarray(value).dtype
    if kind.kind == "c":
        raise DTypeError(
            f"numpy.{name}: the value is {kind} and goes into elements of {np.dtype(dtype)}; take"
            " its real part, or use a complex dtype"
        )


def get_values(value: Any) -> Any:
    """The elements of a tensor, for decisions that have no derivative."""
    return value.detach().numpy(writable=False) if isinstance(value, Tensor) else value


def normalize_axis(name: str, axis: Any, ndim: int) -> int:
    """A non-negative axis, checked by NumPy's rule."""
    _check_axes(name, (axis,))
    return int(np.lib.array_utils.normalize_axis_index(axis, ndim, f"numpy.{name}"))


def normalize_axes(name: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """Non-negative axes, each once; None: all."""
    if axis is None:
        return tuple(range(ndim))
    _check_axes(name, axis if isinstance(axis, tuple | list) else (axis,))
    axes = np.lib.array_utils.normalize_axis_tuple(axis, ndim, f"numpy.{name}", True)
    if len(set(axes)) < len(axes):
        raise ArgumentError(f"numpy.{name}: axis is {axis}; give each axis once")
    return tuple(axes)


def _check_axes(name: str, axes: Any) -> None:
    for axis in axes:
        if not hasattr(type(axis), "__index__"):
            raise ArgumentTypeError(
                f"numpy.{name}: axis is {axis!r:.80}; pass an integer, or a tuple of integers where"
                " several are taken"
            )
