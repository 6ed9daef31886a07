"""Many elements into fewer, or running along an axis: statistics, truth, sums, differences."""

from __future__ import annotations

from typing import Any

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd._tensor import creation
from ferrograd.errors import ArgumentError


def all(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether all elements over the axes are true."""
    return _core.all(x, axis, keepdims=keepdims)


def any(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether any element over the axes is true."""
    return _core.any(x, axis, keepdims=keepdims)


def max(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The largest element over the axes; NaN if there is one."""
    return _core.amax(x, axis, keepdims=keepdims)


def min(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The smallest element over the axes; NaN if there is one."""
    return _core.amin(x, axis, keepdims=keepdims)


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The mean over the axes."""
    return _core.mean(x, axis, keepdims=keepdims)


def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum over the axes, of small integers in the default integer dtype.

    >>> import ferrograd.array_api as xp
    >>> xp.sum(xp.ones((2, 3)), axis=1, keepdims=True).tolist()
    [[3.0], [3.0]]
    """
    return _core.sum(x, axis, keepdims=keepdims, dtype=dtype)


def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The product over the axes, of small integers in the default integer dtype."""
    return _core.prod(x, axis, keepdims=keepdims, dtype=dtype)


def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The standard deviation over the axes, the root of `var`."""
    return _core.std(x, axis, ddof=correction, keepdims=keepdims)


def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The variance over the axes, a sum of squares over the count less `correction`.

    >>> import ferrograd.array_api as xp
    >>> xp.var(xp.asarray([1.0, 3.0]), correction=1).item()
    2.0
    """
    return _core.var(x, axis, ddof=correction, keepdims=keepdims)


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """How many elements over the axes are not zero."""
    return _core.count_nonzero(x, axis, keepdims=keepdims)


def diff(
    x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None
) -> Tensor:
    """Differences of neighbours along an axis, `n` times."""
    return _core.diff(x, n, axis, prepend, append)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """The running sum; with `include_initial`, after a zero.

    >>> import ferrograd.array_api as xp
    >>> xp.cumulative_sum(xp.asarray([1, 2, 3]), include_initial=True).tolist()
    [0, 1, 3, 6]
    """
    return _compute_cumulative("cumulative_sum", _core.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """The running product; with `include_initial`, after a one."""
    return _compute_cumulative("cumulative_prod", _core.cumprod, 1, x, axis, dtype, include_initial)


def _compute_cumulative(
    name: str, scan: Any, first: int, x: Any, axis: int | None, dtype: Any, initial: bool
) -> Tensor:
    x = _core.asarray(x)
    if axis is None:
        if x.ndim != 1:
            raise ArgumentError(
                f"{name}: axis is left out and the array has {x.ndim} dimensions; name the axis"
            )
        axis = 0
    made: Tensor = scan(x, axis, dtype)
    if not initial:
        return made
    shape = list(made.shape)
    shape[axis] = 1
    return _core.concatenate([creation.full(tuple(shape), first, dtype=made.dtype), made], axis)
