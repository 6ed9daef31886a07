"""The namespace of the array API standard: what `t.__array_namespace__()` gives.

Owns: the standard's names that the package has no use for. Every other name is the package's.
Never computes. Invariant: dtypes that no tensor has (`int8`, `complex64`) are absent, so that a
program which asks for them learns it.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import ferrograd
from ferrograd import _core
from ferrograd._core import Tensor, asarray
from ferrograd._dispatch.composed import calculus, linear, rearranging
from ferrograd._dispatch.detached import detached

__array_api_version__ = "2024.12"

bool = np.dtype("bool")
finfo, iinfo = np.finfo, np.iinfo
conj, real, imag = calculus.positive, calculus.real, calculus.imag
positive = calculus.positive
matrix_transpose, vecdot = rearranging.matrix_transpose, linear.vecdot

_DTYPES = {d: np.dtype(d) for d in ("bool", "int32", "int64", "uint8", "float32", "float64")}


def can_cast(from_: Any, to: Any) -> Any:
    """Whether a dtype, or that of a tensor, becomes another without loss."""
    return np.can_cast(getattr(from_, "dtype", from_), to)


def isdtype(dtype: Any, kind: Any) -> Any:
    """Whether a dtype is of a kind, such as `"real floating"`."""
    return np.isdtype(dtype, kind)


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype that an operation on these gives."""
    return np.result_type(*detached(arrays_and_dtypes))


def signbit(x: Any) -> Tensor:
    """Whether the sign of each element is set; also of -0."""
    return asarray(np.signbit(detached(asarray(x))))


def nextafter(x1: Any, x2: Any) -> Any:
    """The next number of the dtype towards another; it has no derivative."""
    return np.nextafter(x1, x2)


def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: Any = False
) -> Any:
    """The running sum; with `include_initial`, after a zero."""
    return _cumulative(_core.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: Any = False
) -> Any:
    """The running product; with `include_initial`, after a one."""
    return _cumulative(_core.cumprod, 1, x, axis, dtype, include_initial)


def _cumulative(fold: Any, first: int, x: Any, axis: Any, dtype: Any, initial: Any) -> Any:
    axis = 0 if axis is None else axis
    made = fold(asarray(x), axis, dtype)
    if not initial:
        return made
    shape = list(made.shape)
    shape[axis] = 1
    return _core.concatenate([np.full(shape, first, made.dtype), made], axis)


class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: Any
    inverse_indices: Any


def unique_all(x: Any, /) -> UniqueAll:
    """The distinct elements with first positions, inverse and counts."""
    found = np.unique_all(detached(asarray(x)))
    return UniqueAll(unique_values(x), *map(asarray, found[1:]))


def unique_counts(x: Any, /) -> UniqueCounts:
    """The distinct elements and how often each occurs."""
    everything = unique_all(x)
    return UniqueCounts(everything.values, everything.counts)


def unique_inverse(x: Any, /) -> UniqueInverse:
    """The distinct elements, and for each element the number of its own."""
    everything = unique_all(x)
    return UniqueInverse(everything.values, everything.inverse_indices)


def unique_values(x: Any, /) -> Tensor:
    """The distinct elements, in rising order."""
    return asarray(x).reshape(-1)[np.unique_all(detached(asarray(x))).indices]


class _Info:
    """What `__array_namespace_info__` gives."""

    def capabilities(self) -> dict[str, Any]:
        """Boolean indexing and shapes that depend on data exist; ranks go as far as NumPy's."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """The only one."""
        return "cpu"

    def devices(self) -> list[str]:
        """The only one."""
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of floats and integers that nothing else decides."""
        return {
            "real floating": _core.get_default_dtype(),
            "integral": _DTYPES["int64"],
            "indexing": _DTYPES["int64"],
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The dtypes that tensors have."""
        kept = _DTYPES if kind is None else {}
        return dict(kept) or {n: d for n, d in _DTYPES.items() if np.isdtype(d, kind)}


def __array_namespace_info__() -> _Info:  # noqa: N807
    """Devices, dtypes and capabilities."""
    return _Info()


linalg = SimpleNamespace(
    **{name: f for name, f in _core._namespaces["linalg"].items() if not name.startswith("_")}
)
for _name in ("cross", "diagonal", "matmul", "outer", "tensordot", "trace", "vecdot"):
    setattr(linalg, _name, getattr(linear, _name))
linalg.matrix_transpose = rearranging.matrix_transpose
linalg.matrix_rank = lambda x, /, *, rtol=None: asarray(
    np.linalg.matrix_rank(detached(asarray(x)), rtol=rtol)
)


def __getattr__(name: str) -> Any:
    """Every other name is the package's."""
    return getattr(ferrograd, name)
