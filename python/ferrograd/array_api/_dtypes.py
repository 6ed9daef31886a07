"""What is asked of dtypes: limits, kinds, promotion, conversion.

NumPy's rules decide, as everywhere in the package.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd.array_api._devices import check_device


@dataclass(frozen=True)
class FloatInfo:
    """What `finfo` gives; of a complex dtype, that of its parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class IntegerInfo:
    """The result of `iinfo`."""

    bits: int
    max: int
    min: int
    dtype: np.dtype[Any]


def _get_dtype(of: Any) -> Any:
    """The dtype of an array, or a dtype itself."""
    return of if isinstance(of, np.dtype | type | str) else getattr(of, "dtype", of)


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a floating dtype or of an array's, as numbers of Python's.

    >>> import ferrograd.array_api as xp
    >>> xp.finfo(xp.float32).bits, xp.finfo(xp.float64).eps == 2.0**-52
    (32, True)
    """
    info = np.finfo(_get_dtype(type))
    return FloatInfo(
        bits=int(info.bits),
        eps=float(info.eps),
        max=float(info.max),
        min=float(info.min),
        smallest_normal=float(info.smallest_normal),
        dtype=np.dtype(info.dtype),
    )


def iinfo(type: Any, /) -> IntegerInfo:
    """The limits of an integer dtype or of an array's.

    >>> import ferrograd.array_api as xp
    >>> xp.iinfo(xp.uint8).max
    255
    """
    info = np.iinfo(_get_dtype(type))
    return IntegerInfo(int(info.bits), int(info.max), int(info.min), np.dtype(info.dtype))


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is another, or of a kind such as `"real floating"`, or one of several.

    >>> import ferrograd.array_api as xp
    >>> xp.isdtype(xp.float32, ("real floating", "integral"))
    True
    """
    return np.isdtype(dtype, kind)


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether a dtype, or that of an array, becomes another without loss.

    >>> import ferrograd.array_api as xp
    >>> xp.can_cast(xp.ones(2, dtype=xp.float32), xp.float64)
    True
    """
    return bool(np.can_cast(_get_dtype(from_), to))


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype that an operation on arrays, dtypes and numbers of Python's gives.

    >>> import ferrograd.array_api as xp
    >>> xp.result_type(xp.ones(2, dtype=xp.float32), 2.0)
    dtype('float32')
    """
    return np.result_type(*(x.dtype if isinstance(x, Tensor) else x for x in arrays_and_dtypes))


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """The elements in another dtype. A copy, unless `copy=False` and the dtype is the same.

    Derivative: the gradient in the dtype of `x`; none through integers and booleans.

    >>> import ferrograd.array_api as xp
    >>> xp.astype(xp.asarray([1.5, -2.5]), xp.int64).tolist()
    [1, -2]
    """
    check_device("astype", device)
    return _core.astype(x, dtype, copy=copy)
