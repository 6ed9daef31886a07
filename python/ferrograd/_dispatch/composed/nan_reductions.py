"""Composed reductions that ignore NaN, and `bincount`.

Invariant: a NaN contributes nothing and gets no gradient.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor, asarray
from ferrograd._dispatch.composed.registration import (
    check_unsupported,
    get_values,
    normalize_axes,
    register_composition,
    to_floats,
)
from ferrograd.errors import ArgumentError, ArgumentTypeError


def _replace_nan(a: Any, value: float) -> Any:
    a = asarray(a)
    if a.dtype.kind not in "fc":
        return a
    return _core.where(_core.isnan(a), asarray(np.asarray(value, a.dtype)), a)


@register_composition("nanprod")
def nanprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, **kwargs: Any) -> Tensor:
    """The product; NaN and elements that `where` excludes count as 1."""
    a, where = _replace_nan(a, 1.0), kwargs.pop("where", np._NoValue)
    if where is not np._NoValue:
        a = _core.where(where, a, asarray(np.ones((), a.dtype)))
    initial = kwargs.pop("initial", np._NoValue)
    made = _core.prod(a, axis, keepdims=_get_keepdims("nanprod", kwargs), dtype=dtype)
    return made if initial is np._NoValue else initial * made


@register_composition("nancumsum")
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Tensor:
    """The running sum, a NaN counting as 0."""
    return _core.cumsum(_replace_nan(a, 0.0), axis, dtype)


@register_composition("nancumprod")
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Tensor:
    """The running product, a NaN counting as 1."""
    return _core.cumprod(_replace_nan(a, 1.0), axis, dtype)


def _get_keepdims(name: str, kwargs: dict[str, Any]) -> bool:
    """`keepdims`; other options are refused unless they have no effect."""
    given = {k: v for k, v in kwargs.items() if v is not np._NoValue}
    keepdims = bool(given.pop("keepdims", False))
    check_unsupported(name, **given)
    return keepdims


@register_composition("nanpercentile")
def nanpercentile(a: Any, q: Any, axis: Any = None, out: Any = None, **kwargs: Any) -> Tensor:
    """Percentiles of the elements that are not NaN."""
    level = q / 100 if isinstance(q, Tensor) else np.true_divide(q, 100)
    return nanquantile(a, level, axis, **kwargs)


@register_composition("nanquantile")
def nanquantile(a: Any, q: Any, axis: Any = None, out: Any = None, **kwargs: Any) -> Tensor:
    """Quantiles of the elements that are not NaN, by NumPy's methods."""
    kwargs.pop("overwrite_input", None)
    method = kwargs.pop("method", "linear")
    keepdims = _get_keepdims("nanquantile", kwargs)
    picks = method in _ELEMENT_METHODS
    a = asarray(a)
    if not picks or a.dtype.kind == "c":
        a = to_floats("nanquantile", a)
    levels = _check_levels(q)
    if levels.ndim and not picks:
        a = a.astype(np.result_type(a.dtype, levels.dtype))
    if not np.all((levels >= 0) & (levels <= 1)):
        raise ArgumentError(f"numpy.nanquantile: the level {q} is outside 0..1; give one inside")
    if method not in _QUANTILE_METHODS:
        raise ArgumentError(
            f'numpy.nanquantile: method "{method}"; use one of {", ".join(_QUANTILE_METHODS)}'
        )
    shape = list(a.shape)
    axes = normalize_axes("nanquantile", axis, a.ndim)
    rest = [k for k in range(a.ndim) if k not in axes]
    lead, count = [shape[k] for k in rest], math.prod(shape[k] for k in axes)
    rows = a.permute((*rest, *axes)).reshape([*lead, count])
    if not count:
        a = to_floats("nanquantile", a)
        # The quantiles of an empty array are NaN.
        rows = asarray(np.full([*lead, 1], np.nan, a.dtype))
    ordered = _core.sort(rows, -1)
    present = np.sum(~np.isnan(get_values(rows)), -1)
    moving: list[Any] = [None] * levels.size
    if isinstance(q, Tensor) and q.requires_grad and method in _INTERPOLATION_RANKS:
        moving = list(q.reshape(-1))
    made = [
        _compute_quantile(ordered, present, level, method, own)
        for level, own in zip(levels.reshape(-1), moving, strict=True)
    ]
    kept = [1 if k in axes else shape[k] for k in range(a.ndim)]
    made = [m.reshape(kept) if keepdims else m for m in made]
    if not levels.ndim:
        return made[0]
    stacked = _core.stack(made)
    return stacked.reshape(levels.shape + tuple(stacked.shape[1:]))


def _check_levels(q: Any) -> Any:
    try:
        return np.asarray(get_values(q), dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"numpy.nanquantile: the level is {q!r:.80}; give numbers from 0 to 1"
        ) from None


#: NumPy's methods.
_QUANTILE_METHODS = (
    *("linear", "lower", "higher", "nearest", "midpoint", "inverted_cdf"),
    *("averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf"),
    *("hazen", "weibull", "median_unbiased", "normal_unbiased"),
)
#: The methods that interpolate at rank `(n + more) level + start`; the others have steps.
_INTERPOLATION_RANKS = {
    "linear": (-1.0, 0.0),
    "interpolated_inverted_cdf": (0.0, -1.0),
    "hazen": (0.0, -0.5),
    "weibull": (1.0, -1.0),
    "median_unbiased": (1.0 / 3.0, -2.0 / 3.0),
    "normal_unbiased": (0.25, -0.625),
}
#: The methods that return an element, without interpolation.
_ELEMENT_METHODS = {"lower", "higher", "nearest", "inverted_cdf", "closest_observation"}


def _get_quantile_positions(counts: Any, level: float, method: str) -> Any:
    """The position of a quantile in rows of a given length: the quantile of `0, 1, …`."""
    known, inverse = np.unique(np.maximum(counts, 1), return_inverse=True)
    found = [np.quantile(np.arange(float(n)), level, method=method) for n in known]  # type: ignore[call-overload]
    return np.asarray(found)[inverse].reshape(np.shape(counts))


def _compute_quantile(
    ordered: Tensor, count: Any, level: float, method: str, moving: Any
) -> Tensor:
    """One quantile of sorted rows; only the first `count` elements are not NaN.

    `moving` is the level as a tensor, if it requires grad.
    """
    if method == "linear":
        place = np.maximum(count - 1, 0) * level
    else:
        place = _get_quantile_positions(count, level, method)
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, np.maximum(count - 1, 0))
    below = _core.take_along_axis(ordered, low[..., None], -1)[..., 0]
    above = _core.take_along_axis(ordered, high[..., None], -1)[..., 0]
    if method in _ELEMENT_METHODS:
        return below
    share: Any = (place - low).astype(ordered.dtype)
    if moving is not None:
        more, start = _INTERPOLATION_RANKS[method]
        inside = (high > low) & ((count + more) * level + start >= 0)
        slope = np.where(inside, count + more, 0.0).astype(ordered.dtype)
        share = share + slope * (moving - moving.detach())
    return _core.lerp(below, above, share)


@register_composition("bincount")
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Tensor:
    """The count of each integer, or the sum of its weights."""
    numbers = np.asarray(get_values(x))
    if weights is None:
        return asarray(np.bincount(numbers, minlength=minlength))
    size = np.bincount(numbers, minlength=minlength).size
    amounts = to_floats("bincount", weights)
    return _core.index_add(asarray(np.zeros(size)), 0, numbers.astype(np.int64), amounts)
