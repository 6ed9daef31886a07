"""Sums over a moving window, the common ground of convolutions and image filters."""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd.numpy._tensor_arguments import to_tensor

_conv2d: Any = _core._namespaces["nn.functional"]["conv2d"]


def correlate_valid(x: Any, kernel: Any) -> Any:
    """`Σ_j x[..., i + j] kernel[j]` over the last axes, for all positions inside `x`.

    The kernel has only the convolved axes, one or more; `x` has further axes before them.
    """
    count = np.ndim(kernel)
    if count == 2 and _is_float_array(x) and _is_float_array(kernel):
        return _correlate_by_conv2d(x, kernel)
    axes = tuple(range(np.ndim(x) - count, np.ndim(x)))
    windows = numpy.lib.stride_tricks.sliding_window_view(x, np.shape(kernel), axis=axes)
    inner = list(range(np.ndim(x), np.ndim(x) + count))
    return np.tensordot(windows, kernel, axes=(inner, list(range(count))))


def _is_float_array(value: Any) -> bool:
    return value.dtype in (numpy.float64, numpy.float32)


def _correlate_by_conv2d(x: Any, kernel: Any) -> Any:
    """Uses the kernel of convolution layers, which does not copy windows."""
    shape = np.shape(x)
    dtype = numpy.result_type(x.dtype, kernel.dtype)
    images = to_tensor(x).astype(dtype, copy=False).reshape((-1, 1, *shape[-2:]))
    made = _conv2d(images, to_tensor(kernel).astype(dtype, copy=False)[None, None])
    made = made.reshape((*shape[:-2], *made.shape[-2:]))
    return made if isinstance(x, Tensor) or isinstance(kernel, Tensor) else made.numpy().copy()
