"""Convolutions that are no operations of the core, and windows as columns (`fold`, `unfold`).

Each is a convolution of the core, or a view. Invariant: kernels are PyTorch's, [out, in / groups,
…], or [in, out / groups, …] for the adjoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrograd._core import Tensor, asarray
from ferrograd._tensor import creation
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.nn._operations import conv2d, conv_transpose2d, pad
from ferrograd.nn.functional._arguments import Sizes, check_ndim, make_ntuple


def conv3d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of volumes (N, C, D, H, W) with kernels (O, C / groups, kd, kh, kw).

    Also (C, D, H, W). `padding` is a number, three, "valid" or "same". The windows along the first
    axis become channels of one `conv2d`, whose derivatives follow.
    Errors: `ShapeError` for shapes that do not fit.

    >>> import ferrograd as fg
    >>> fg.nn.functional.conv3d(fg.ones(1, 2, 4, 4, 4), fg.ones(3, 2, 2, 2, 2)).shape
    (1, 3, 3, 3, 3)
    """
    x, weight = check_ndim("conv3d", x, (4, 5), "(N, C, D, H, W)"), asarray(weight)
    if x.ndim == 4:
        return conv3d(x[None], weight, bias, stride, padding, dilation, groups)[0]
    if weight.ndim != 5:
        raise ShapeError(
            f"conv3d: the weight has shape {tuple(weight.shape)}; it needs 5 axes,"
            " [out, in / groups, kd, kh, kw]"
        )
    if groups < 1 or x.shape[1] != weight.shape[1] * groups or weight.shape[0] % groups:
        raise ShapeError(
            f"conv3d: input of {x.shape[1]} channels, weight of shape {tuple(weight.shape)} and"
            f" {groups} groups; the weight is (out, in / groups, …), and groups divides both"
        )
    steps = make_ntuple("conv3d", "stride", stride, 3)
    gaps = make_ntuple("conv3d", "dilation", dilation, 3)
    kernel = tuple(int(k) for k in weight.shape[2:])
    before, after = _compute_padding(padding, kernel, gaps, steps)
    if any((*before, *after)):
        sides = zip(reversed(before), reversed(after), strict=True)
        x = pad(x, [width for pair in sides for width in pair])
    reach = gaps[0] * (kernel[0] - 1) + 1
    if x.shape[2] < reach:
        raise ShapeError(
            f"conv3d: a kernel that reaches over {reach} planes and a padded input of"
            f" {x.shape[2]}; use a smaller kernel or more padding"
        )
    # (N, C, D', H, W, kd), then the planes as rows and the taps as channels.
    windows = x.unfold(2, reach, steps[0])[..., :: gaps[0]].permute((0, 2, 1, 5, 3, 4))
    n, depth, channels, taps, height, width = (int(size) for size in windows.shape)
    planes = windows.reshape((n * depth, channels * taps, height, width))
    flat = weight.reshape((weight.shape[0], weight.shape[1] * taps, *kernel[1:]))
    out = conv2d(planes, flat, bias, steps[1:], 0, gaps[1:], groups)
    out = out.reshape((n, depth, *out.shape[1:]))
    return out.permute((0, 2, 1, 3, 4))


def _compute_padding(
    padding: Any, kernel: tuple[int, ...], gaps: tuple[int, ...], steps: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The widths before and after each axis."""
    if padding == "valid":
        return (0,) * 3, (0,) * 3
    if padding == "same":
        if any(step != 1 for step in steps):
            raise ArgumentError(f'conv3d: padding="same" with stride {steps}; use a stride of 1')
        spare = [gap * (k - 1) for gap, k in zip(gaps, kernel, strict=True)]
        return tuple(n // 2 for n in spare), tuple(n - n // 2 for n in spare)
    if isinstance(padding, str):
        raise ArgumentError(f'conv3d: padding={padding!r}; use a number, "valid" or "same"')
    widths = make_ntuple("conv3d", "padding", padding, 3)
    return widths, widths


def conv_transpose1d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """Sequences (N, C, L) spread through kernels (C, O / groups, k): the adjoint of `conv1d`.

    Also (C, L). The result has length `(L - 1) stride - 2 padding + dilation (k - 1) +
    output_padding + 1`. It is `conv_transpose2d` of images of one line.
    Errors: `ShapeError` for shapes that do not fit.

    >>> import ferrograd as fg
    >>> x, w = fg.ones(1, 2, 4), fg.ones(2, 3, 2)
    >>> fg.nn.functional.conv_transpose1d(x, w, stride=2).shape
    (1, 3, 8)
    """
    op = "conv_transpose1d"
    x, weight = check_ndim(op, x, (2, 3), "(N, C, L)"), asarray(weight)
    if weight.ndim != 3:
        raise ShapeError(
            f"{op}: the weight has shape {tuple(weight.shape)}; it needs 3 axes,"
            " [in, out / groups, k]"
        )
    if x.shape[-2] != weight.shape[0]:
        raise ShapeError(
            f"{op}: input of {x.shape[-2]} channels and weight of shape {tuple(weight.shape)}; the"
            " weight is (in, out / groups, k)"
        )
    (step,), (width,) = make_ntuple(op, "stride", stride, 1), make_ntuple(op, "padding", padding, 1)
    (more,) = make_ntuple(op, "output_padding", output_padding, 1)
    (gap,) = make_ntuple(op, "dilation", dilation, 1)
    out = conv_transpose2d(
        x.unsqueeze(-2),
        weight.unsqueeze(-2),
        bias,
        (1, step),
        (0, width),
        (0, more),
        groups,
        (1, gap),
    )
    return out.squeeze(-2)


def unfold(
    x: Any, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Tensor:
    """The windows of images as columns: (N, C, H, W) becomes (N, C kh kw, windows).

    Also (C, H, W). A convolution is the product of its kernels with these columns.

    >>> import ferrograd as fg
    >>> fg.nn.functional.unfold(fg.ones(1, 3, 4, 5), (2, 3)).shape
    (1, 18, 9)
    """
    x = check_ndim("unfold", x, (3, 4), "(N, C, H, W)")
    if x.ndim == 3:
        return unfold(x[None], kernel_size, dilation, padding, stride)[0]
    kernel, gaps, widths, steps = _parse_window_options(
        "unfold", kernel_size, dilation, padding, stride
    )
    if any(widths):
        x = pad(x, (widths[1], widths[1], widths[0], widths[0]))
    for axis in (0, 1):
        reach = gaps[axis] * (kernel[axis] - 1) + 1
        if x.shape[2 + axis] < reach:
            raise ShapeError(
                f"unfold: a window over {reach} elements and a padded axis of"
                f" {x.shape[2 + axis]}; use a smaller window or more padding"
            )
        x = x.unfold(2 + axis, reach, steps[axis])[..., :: gaps[axis]]
    n, channels, rows, columns = (int(size) for size in x.shape[:4])
    lines = x.permute((0, 1, 4, 5, 2, 3))
    return lines.reshape((n, channels * kernel[0] * kernel[1], rows * columns))


def fold(
    x: Any,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> Tensor:
    """Columns (N, C kh kw, windows) summed into images (N, C, H, W): the adjoint of `unfold`.

    Also (C kh kw, windows).
    Errors: `ShapeError` for a number of rows or columns that does not fit.

    >>> import ferrograd as fg
    >>> fg.nn.functional.fold(fg.ones(1, 4, 1), (2, 2), 2).tolist()
    [[[[1.0, 1.0], [1.0, 1.0]]]]
    """
    x = check_ndim("fold", x, (2, 3), "(N, C kh kw, windows)")
    if x.ndim == 2:
        return fold(x[None], output_size, kernel_size, dilation, padding, stride)[0]
    kernel, gaps, widths, steps = _parse_window_options(
        "fold", kernel_size, dilation, padding, stride
    )
    size = make_ntuple("fold", "output_size", output_size, 2)
    spans = [n + 2 * p for n, p in zip(size, widths, strict=True)]
    reach = [gap * (k - 1) + 1 for gap, k in zip(gaps, kernel, strict=True)]
    counts = [(n - r) // s + 1 for n, r, s in zip(spans, reach, steps, strict=True)]
    taps = kernel[0] * kernel[1]
    if x.shape[1] % taps or x.shape[2] != counts[0] * counts[1]:
        raise ShapeError(
            f"fold: an input of shape {tuple(x.shape)}; it needs (N, a multiple of {taps},"
            f" {counts[0] * counts[1]})"
        )
    channels = int(x.shape[1]) // taps
    places = creation.eye(taps, dtype=x.dtype).reshape((taps, 1, *kernel))
    planes = x.reshape((x.shape[0] * channels, taps, *counts))
    rest = [(n - r) % s for n, r, s in zip(spans, reach, steps, strict=True)]
    image = conv_transpose2d(planes, places, None, steps, 0, rest, 1, gaps)
    image = image.reshape((x.shape[0], channels, *spans))
    top, left = widths
    return image[:, :, top : top + size[0], left : left + size[1]]


def _parse_window_options(op: str, *given: Sizes) -> Sequence[tuple[int, ...]]:
    names = ("kernel_size", "dilation", "padding", "stride")
    return [make_ntuple(op, name, value, 2) for name, value in zip(names, given, strict=True)]
