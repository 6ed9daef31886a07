"""Names beyond the standard that other libraries call on the namespace of their arguments.

Invariant: names by which libraries detect which array package they have are left out.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd._dispatch.composed import calculus
from ferrograd.array_api.linalg import cross as cross


def cumprod(x: Any, /, *, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The running product along an axis, or of the flattened array."""
    return _core.cumprod(x, axis, dtype)


def cumsum(x: Any, /, *, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The running sum along an axis, or of the flattened array."""
    return _core.cumsum(x, axis, dtype)


def diag(x: Any, /, *, k: int = 0) -> Tensor:
    """The diagonal of a matrix, or the matrix with this diagonal."""
    return _core.diag(x, k)


def einsum(subscripts: str, /, *operands: Any, **options: Any) -> Tensor:
    """Einstein summation: `"ij,jk->ik"` names the axes of the operands and of the result."""
    return _core.einsum(subscripts, *operands, **options)


def gradient(f: Any, /, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Second-order central differences along axes, one-sided at the ends."""
    return calculus.gradient(f, *varargs, axis=axis, edge_order=edge_order)


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Tensor:
    """Whether each element of `x1` is among those of `x2`."""
    return _core.isin(x1, x2, invert=invert)


def logspace(
    start: Any, stop: Any, /, num: int = 50, *, endpoint: bool = True, base: Any = 10.0
) -> Tensor:
    """Numbers from `base**start` to `base**stop` whose logarithms are evenly spaced."""
    return calculus.logspace(start, stop, num, endpoint, base)


def median(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The median over the axes, the mean of the middle two if the count is even."""
    return _core.median(x, axis, keepdims=keepdims)


def pad(x: Any, pad_width: Any, /, mode: str = "constant", **options: Any) -> Tensor:
    """More elements before and after those of each axis, made by NumPy's `mode`."""
    return _core.pad(x, pad_width, mode, **options)


def quantile(
    x: Any, q: Any, /, *, axis: Any = None, keepdims: bool = False, **options: Any
) -> Tensor:
    """Quantiles at levels from 0 to 1; the axes of `q` come first."""
    return _core.quantile(x, q, axis, keepdims=keepdims, **options)


def transpose(x: Any, /, axes: Any = None) -> Tensor:
    """The axes in another order, reversed by default."""
    return _core.transpose(x, axes)


#: Half precision, which the standard leaves out and tensors have.
float16: np.dtype[Any] = np.dtype("float16")

#: NumPy's place for windows.
lib = SimpleNamespace(stride_tricks=SimpleNamespace(sliding_window_view=_core.sliding_window_view))
