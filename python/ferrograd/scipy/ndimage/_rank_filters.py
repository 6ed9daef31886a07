"""Ranks of neighbourhoods: largest, smallest, middle, and any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as _ferrograd_numpy
from ferrograd.errors import ArgumentError
from ferrograd.numpy._tensor_arguments import holds_tensor
from ferrograd.scipy._scipy_primitives import get_scipy_function
from ferrograd.scipy.ndimage._correlate import _compute_kernel_extent, _pad, check_mode
from ferrograd.scipy.ndimage._gaussian import _expand_to_axes
from ferrograd.scipy.ndimage._output import support_output

np: Any = _ferrograd_numpy


def _stack_neighbours(
    name: str, x: Any, size: Any, footprint: Any, mode: Any, cval: Any, origin: Any
) -> Any:
    """The values around every element, along one more axis."""
    check_mode(name, mode)
    x = np.asarray(x)
    if (size is None) == (footprint is None):
        raise ArgumentError(f"{name}: size is {size} and footprint {footprint}; give one of them")
    if footprint is None:
        footprint = numpy.ones([int(n) for n in _expand_to_axes(size, np.ndim(x), name)], bool)
    footprint = numpy.asarray(footprint, bool)
    if footprint.ndim != np.ndim(x) or not footprint.any():
        raise ArgumentError(
            f"{name}: footprint has shape {footprint.shape} and {footprint.sum()} places for an"
            f" image of {np.ndim(x)} axes; give as many axes and at least one place"
        )
    origins = _expand_to_axes(origin, np.ndim(x), name)
    reaches = [
        _compute_kernel_extent(name, n, start)
        for n, start in zip(footprint.shape, origins, strict=True)
    ]
    wide = _pad(x, reaches, mode, cval)
    windows = numpy.lib.stride_tricks.sliding_window_view(wide, footprint.shape)
    flat = np.reshape(windows, (*np.shape(x), footprint.size))
    return flat if footprint.all() else flat[..., numpy.flatnonzero(footprint)]


def _select_rank(name: str, found: Any, rank: int) -> Any:
    count = np.shape(found)[-1]
    rank = rank + count if rank < 0 else rank
    if not 0 <= rank < count:
        raise ArgumentError(
            f"{name}: rank {rank} is asked of {count} values; give a rank among them"
        )
    return np.sort(found, -1)[..., rank]


def _make_filter(name: str, choose: Callable[[Any], Any], text: str) -> Callable[..., Any]:
    """Makes one of SciPy's filters with `size` or `footprint`."""

    def filter_(
        input: Any,
        size: Any = None,
        footprint: Any = None,
        output: Any = None,
        mode: str = "reflect",
        cval: Any = 0.0,
        origin: Any = 0,
    ) -> Any:
        if not holds_tensor([input, cval]):
            return get_scipy_function(f"ndimage.{name}")(
                input, size, footprint, output, mode, cval, origin
            )
        return choose(_stack_neighbours(name, input, size, footprint, mode, cval, origin))

    filter_.__name__ = filter_.__qualname__ = name
    filter_.__doc__ = text
    return support_output(filter_)


maximum_filter = _make_filter(
    "maximum_filter",
    lambda found: np.max(found, -1),
    "The largest value among the neighbours of every element, in a box or under a footprint.",
)
minimum_filter = _make_filter(
    "minimum_filter",
    lambda found: np.min(found, -1),
    "The smallest value among the neighbours of every element, in a box or under a footprint.",
)
median_filter = _make_filter(
    "median_filter",
    lambda found: _select_rank("median_filter", found, np.shape(found)[-1] // 2),
    "The middle value among the neighbours of every element, in a box or under a footprint.",
)


@support_output
def rank_filter(
    input: Any,
    rank: int,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
) -> Any:
    """The value of a rank among the neighbours of every element; -1 is the largest.

    >>> from ferrograd.scipy import ndimage
    >>> ndimage.rank_filter(fg.tensor([3.0, 1.0, 2.0]), 1, size=3).tolist()
    [3.0, 2.0, 2.0]
    """
    if not holds_tensor([input, cval]):
        return get_scipy_function("ndimage.rank_filter")(
            input, rank, size, footprint, output, mode, cval, origin
        )
    found = _stack_neighbours("rank_filter", input, size, footprint, mode, cval, origin)
    return _select_rank("rank_filter", found, int(rank))


@support_output
def percentile_filter(
    input: Any,
    percentile: float,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
) -> Any:
    """A percentile of the neighbours of every element.

    >>> from ferrograd.scipy import ndimage
    >>> ndimage.percentile_filter([1.0, 5.0, 2.0, 4.0], 50, 3).tolist()
    [1.0, 2.0, 4.0, 4.0]
    """
    if not holds_tensor([input, cval]):
        return get_scipy_function("ndimage.percentile_filter")(
            input, percentile, size, footprint, output, mode, cval, origin
        )
    found = _stack_neighbours("percentile_filter", input, size, footprint, mode, cval, origin)
    share = percentile + 100.0 if percentile < 0 else percentile
    if not 0 <= share <= 100:
        raise ArgumentError(f"percentile_filter: percentile is {percentile}; give 0 to 100")
    count = np.shape(found)[-1]
    return _select_rank(
        "percentile_filter", found, -1 if share == 100 else int(count * share / 100)
    )
