"""NumPy's mean, variance and standard deviation with a mask, and with integer dtypes.

Invariant: an element that is left out contributes nothing and gets no gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd._dispatch.function_table import INTEGER_VERSIONS, MASKED_VERSIONS
from ferrograd.errors import ArgumentTypeError


def _drop_reduced_axes(x: Tensor, axis: Any, keepdims: Any) -> Tensor:
    """Removes the reduced axes, which have size 1, unless `keepdims` is true."""
    if keepdims:
        return x
    return x.reshape(()) if axis is None else _core.squeeze(x, axis)


def _convert_elements(x: Any, dtype: Any) -> tuple[Tensor, Any]:
    """The elements to compute with, float32 for float16, and the dtype of the result."""
    x = _core.asarray(x)
    x = x if dtype is None else x.astype(dtype)
    if x.dtype == np.float16:
        return x.astype(np.float32), x.dtype
    return x, x.dtype if x.dtype.kind in "fc" else np.dtype(np.float64)


def _center_elements(x: Tensor, where: Any, axis: Any, dtype: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The elements minus their mean (0 where the mask is false), the mean, and the count."""
    chosen = _core.broadcast_to(_core.asarray(where), x.shape)
    # A real number, which widens no mean.
    real = np.zeros(0, np.result_type(dtype, np.float32)).real.dtype
    n = _core.sum(chosen, axis=axis, keepdims=True).astype(real)
    mean = _core.sum(_core.where(where, x, 0), axis=axis, keepdims=True) / n
    return _core.where(where, x - mean, 0), mean, n


def masked_mean(
    where: Any, x: Any, axis: Any = None, keepdims: Any = False, dtype: Any = None
) -> Tensor:
    """The mean over the elements where a mask is true."""
    x, dtype = _convert_elements(x, dtype)
    return _drop_reduced_axes(_center_elements(x, where, axis, dtype)[1], axis, keepdims).astype(
        dtype
    )


def masked_var(
    where: Any, x: Any, axis: Any = None, ddof: Any = 0, keepdims: Any = False, dtype: Any = None
) -> Tensor:
    """The variance over the elements where a mask is true."""
    x, dtype = _convert_elements(x, dtype)
    gap, _, n = _center_elements(x, where, axis, dtype)
    squares = (gap * gap.conj()).real if dtype.kind == "c" else gap * gap
    squares = _core.sum(squares, axis=axis, keepdims=True)
    out = _drop_reduced_axes(squares / _core.maximum(n - ddof, 0), axis, keepdims)
    return out if dtype.kind == "c" else out.astype(dtype)


def masked_std(
    where: Any, x: Any, axis: Any = None, ddof: Any = 0, keepdims: Any = False, dtype: Any = None
) -> Tensor:
    """The standard deviation where a mask is true; differentiable for equal elements."""
    x, dtype = _convert_elements(x, dtype)
    gap, _, n = _center_elements(x, where, axis, dtype)
    length = _core._namespaces["linalg"]["vector_norm"](gap, axis=axis, keepdims=True)
    out = _drop_reduced_axes(length / _core.sqrt(_core.maximum(n - ddof, 0)), axis, keepdims)
    return out if dtype.kind == "c" else out.astype(dtype)


def _refuse_float_elements(name: str, x: Any, dtype: Any) -> Tensor:
    """The operand of a function that ignores NaN; integer dtypes have none."""
    given = _core.asarray(x)
    if name.startswith("nan") and given.dtype.kind == "f":
        raise ArgumentTypeError(f"numpy.{name}: {dtype} of {given.dtype}; give a float dtype")
    return given


def _make_integer_moment(name: str, power: int) -> Callable[..., Tensor]:
    """A mean, variance or deviation in an integer dtype, every step of it truncated, as NumPy's."""

    def compute_stepwise(
        dtype: Any,
        x: Any,
        axis: Any = None,
        ddof: Any = 0,
        keepdims: Any = False,
        **_: Any,
    ) -> Tensor:
        x = _refuse_float_elements(name, x, dtype)
        total = _core.sum(x.astype(dtype), axis=axis, keepdims=True).astype(dtype)
        n = x.size // max(total.size, 1)
        out = (total / n).astype(dtype)
        if power > 0:
            squares = _core.square(x - out).astype(dtype)
            total = _core.sum(squares, axis=axis, keepdims=True).astype(dtype)
            out = (total / max(n - ddof, 0)).astype(dtype)
        if power > 1:
            if out.size != 1 or axis is not None:
                raise ArgumentTypeError(f"numpy.{name}: no root in {dtype}; give a float dtype")
            out = _core.sqrt(out).astype(dtype)
        return _drop_reduced_axes(out, axis, keepdims)

    return compute_stepwise


MASKED_VERSIONS.update({np.mean: masked_mean, np.var: masked_var, np.std: masked_std})
INTEGER_VERSIONS.update(
    {
        getattr(np, prefix + name): _make_integer_moment(prefix + name, power)
        for prefix in ("", "nan")
        for power, name in enumerate(("mean", "var", "std"))
    }
)
