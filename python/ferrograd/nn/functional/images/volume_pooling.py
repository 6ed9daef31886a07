"""Pooling of volumes (N, C, D, H, W), and the adjoint of their convolution.

`conv3d`: `convolution.py`. Invariant: of equal elements in a window, the first in memory is the
largest.
"""

from __future__ import annotations

from typing import Any

from ferrograd import _core
from ferrograd._core import Tensor, asarray
from ferrograd._tensor import creation
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.nn import _operations
from ferrograd.nn.functional._arguments import Sizes, check_ndim, make_ntuple
from ferrograd.nn.functional.convolution import conv_transpose1d
from ferrograd.nn.functional.images.pooling import compute_p_norm

_VOLUME_SHAPE = "(N, C, D, H, W)"


def _flatten_planes(x: Tensor) -> Tensor:
    """(…, D, H, W) as images (…, D, H W) of one column for each element of a plane."""
    return x.reshape((*x.shape[:-2], x.shape[-2] * x.shape[-1]))


def _parse_options(op: str, **given: Any) -> list[tuple[int, ...]]:
    return [make_ntuple(op, name, value, 3) for name, value in given.items()]


def max_pool3d(
    x: Any,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Largest element of windows over the last three axes of (N, C, D, H, W) or (C, D, H, W).

    With `return_indices`, also their indices in the flattened volume. Derivative: `g` for the
    largest element, the first of equal ones. Errors: `ShapeError` for other shapes.

    >>> import ferrograd as fg
    >>> fg.nn.functional.max_pool3d(fg.arange(8.0).reshape(1, 1, 2, 2, 2), 2).tolist()
    [[[[[7.0]]]]]
    """
    op = "max_pool3d"
    x = check_ndim(op, x, (4, 5), _VOLUME_SHAPE)
    stride = kernel_size if stride is None else stride
    size, step, width, gap = _parse_options(
        op, kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation
    )
    planes = x.reshape((-1, *x.shape[-3:]))
    flat, within = _operations.max_pool2d(
        planes, size[1:], step[1:], width[1:], gap[1:], ceil_mode, True
    )
    along = (size[0], 1), (step[0], 1), (width[0], 0), (gap[0], 1)
    out, first = _operations.max_pool2d(_flatten_planes(flat), *along, ceil_mode, True)
    shape = (*x.shape[:-3], out.shape[-2], *flat.shape[-2:])
    if not return_indices:
        return out.reshape(shape)
    columns = int(out.shape[-1])
    plane = first // columns
    place = _core.take_along_axis(_flatten_planes(within), plane, -2)
    places = plane * int(x.shape[-2] * x.shape[-1]) + place
    return out.reshape(shape), places.reshape(shape)


def avg_pool3d(
    x: Any,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: float | None = None,
) -> Tensor:
    """Mean of windows over the last three axes of (N, C, D, H, W) or (C, D, H, W).

    Options as `avg_pool2d`. Derivative: `g` shared by the window. Errors: `ShapeError` for other
    shapes.

    >>> import ferrograd as fg
    >>> fg.nn.functional.avg_pool3d(fg.arange(8.0).reshape(1, 1, 2, 2, 2), 2).tolist()
    [[[[[3.5]]]]]
    """
    op = "avg_pool3d"
    if divisor_override == 0:
        raise ArgumentError(f"{op}: divisor_override=0; give another number")
    x = check_ndim(op, x, (4, 5), _VOLUME_SHAPE)
    stride = kernel_size if stride is None else stride
    size, step, width = _parse_options(op, kernel_size=kernel_size, stride=stride, padding=padding)
    planes = x.reshape((-1, *x.shape[-3:]))
    # With `divisor_override`, each pass is a sum.
    own = None if divisor_override is None else 1.0
    flat = _operations.avg_pool2d(
        planes, size[1:], step[1:], width[1:], ceil_mode, count_include_pad, own
    )
    along = (size[0], 1), (step[0], 1), (width[0], 0)
    out = _operations.avg_pool2d(_flatten_planes(flat), *along, ceil_mode, count_include_pad, own)
    out = out.reshape((*x.shape[:-3], out.shape[-2], *flat.shape[-2:]))
    return out if divisor_override is None else out / float(divisor_override)


def adaptive_avg_pool3d(x: Any, output_size: Any) -> Tensor:
    """Means of the windows that divide the last three axes into `output_size` parts.

    A part that is None is as long as the axis. Derivative: `g` shared by the window.

    >>> import ferrograd as fg
    >>> fg.nn.functional.adaptive_avg_pool3d(fg.ones(1, 2, 4, 6, 5), (2, None, 1)).shape
    (1, 2, 2, 6, 1)
    """
    op = "adaptive_avg_pool3d"
    x = check_ndim(op, x, (4, 5), _VOLUME_SHAPE)
    if isinstance(output_size, list | tuple) and None in output_size:
        sizes = zip(output_size, x.shape[-3:], strict=True)
        output_size = tuple(int(n) if part is None else part for part, n in sizes)
    depth, *rest = make_ntuple(op, "output_size", output_size, 3)
    flat = _operations._adaptive_avg_pool2d(x.reshape((-1, *x.shape[-3:])), tuple(rest))
    lines = _flatten_planes(flat)
    out = _operations._adaptive_avg_pool2d(lines, (depth, int(lines.shape[-1])))
    return out.reshape((*x.shape[:-3], depth, *flat.shape[-2:]))


def lp_pool3d(
    x: Any,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """`(Σ x^p)^(1/p)` over windows of the last three axes, with `p = norm_type`.

    >>> import ferrograd as fg
    >>> fg.nn.functional.lp_pool3d(fg.ones(1, 1, 2, 2, 1), 2, (2, 2, 1)).tolist()
    [[[[[2.0]]]]]
    """
    kernel = make_ntuple("lp_pool3d", "kernel_size", kernel_size, 3)
    means = avg_pool3d(asarray(x) ** norm_type, kernel, stride, 0, ceil_mode)
    return compute_p_norm(means, kernel[0] * kernel[1] * kernel[2], norm_type)


def conv_transpose3d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """Volumes (N, C, D, H, W) spread through kernels (C, O / groups, kd, kh, kw).

    The adjoint of `conv3d`; also (C, D, H, W). Every plane is spread by `conv_transpose2d` with the
    taps along the first axis as channels, which `conv_transpose1d` then adds up.
    Errors: `ShapeError` for shapes that do not fit.

    >>> import ferrograd as fg
    >>> x, w = fg.ones(1, 2, 3, 3, 3), fg.ones(2, 4, 2, 2, 2)
    >>> fg.nn.functional.conv_transpose3d(x, w, stride=2).shape
    (1, 4, 6, 6, 6)
    """
    op = "conv_transpose3d"
    x, weight = check_ndim(op, x, (4, 5), _VOLUME_SHAPE), asarray(weight)
    if x.ndim == 4:
        found = conv_transpose3d(
            x[None], weight, bias, stride, padding, output_padding, groups, dilation
        )
        return found[0]
    if weight.ndim != 5:
        raise ShapeError(
            f"{op}: the weight has shape {tuple(weight.shape)}; it needs 5 axes,"
            " [in, out / groups, kd, kh, kw]"
        )
    step, width, more, gap = _parse_options(
        op, stride=stride, padding=padding, output_padding=output_padding, dilation=dilation
    )
    n, channels, depth, *plane = (int(size) for size in x.shape)
    own, taps = int(weight.shape[1]), int(weight.shape[2])
    kernels = weight.reshape((weight.shape[0], own * taps, *weight.shape[3:]))
    planes = x.permute((0, 2, 1, 3, 4)).reshape((n * depth, channels, *plane))
    spread = _operations.conv_transpose2d(
        planes, kernels, None, step[1:], width[1:], more[1:], groups, gap[1:]
    )
    high, wide = (int(size) for size in spread.shape[-2:])
    outs = own * groups
    parts = spread.reshape((n, depth, outs, taps, high, wide)).permute((0, 2, 4, 5, 3, 1))
    places = creation.eye(taps, dtype=x.dtype).reshape((taps, 1, taps))
    lines = conv_transpose1d(
        parts.reshape((n * outs * high * wide, taps, depth)),
        places,
        None,
        step[0],
        width[0],
        more[0],
        1,
        gap[0],
    )
    out = lines.reshape((n, outs, high, wide, lines.shape[-1])).permute((0, 1, 4, 2, 3))
    return out if bias is None else out + asarray(bias).reshape((1, outs, 1, 1, 1))
