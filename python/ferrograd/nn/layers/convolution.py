"""Convolutions as modules.

Invariant: weights are PyTorch's, [out, in / groups, …], and [in, out / groups, …] for the adjoints;
they start uniform in ±1/√fan_in.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ferrograd._core import Tensor
from ferrograd._tensor.generator import Generator
from ferrograd.errors import ArgumentError
from ferrograd.nn import functional as F, init  # noqa: N812
from ferrograd.nn._parameter import Parameter
from ferrograd.nn.functional._arguments import Sizes, check_flags, check_integer, make_ntuple
from ferrograd.nn.layers.base import ResettableModule

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(ResettableModule):
    """Base of all convolutions; `axes` is the number of axes of a window."""

    axes: ClassVar[int]
    transposed: ClassVar[bool] = False
    bias: Parameter | None

    def _init_parameters(
        self,
        channels: tuple[int, int],
        kernel_size: Sizes,
        steps: tuple[Any, Any, Any],
        groups: int,
        bias: bool,
        dtype: DTypeLike | None,
        generator: Generator | np.random.Generator | None,
    ) -> None:
        op = type(self).__name__
        channels = (
            check_integer(op, "in_channels", channels[0]),
            check_integer(op, "out_channels", channels[1]),
        )
        check_flags(op, bias=bias)
        self.groups = groups = check_integer(op, "groups", groups)
        self.in_channels, self.out_channels = channels
        for what in ("in_channels", "out_channels"):
            count = getattr(self, what)
            if groups < 1 or count < 1 or count % groups:
                raise ArgumentError(
                    f"{op}: {what} is {count} and groups is {groups}; give a multiple of groups"
                )
        self.kernel_size = make_ntuple(op, "kernel_size", kernel_size, self.axes)
        if min(self.kernel_size) < 1:
            raise ArgumentError(f"{op}: kernel_size is {kernel_size}; give at least 1")
        stride, padding, dilation = steps
        self.stride = make_ntuple(op, "stride", stride, self.axes)
        self.dilation = make_ntuple(op, "dilation", dilation, self.axes)
        self.padding: Any = padding
        if not isinstance(padding, str):
            self.padding = make_ntuple(op, "padding", padding, self.axes)
        elif padding not in ("valid", "same"):
            raise ArgumentError(f'{op}: padding={padding!r}; use a number, "valid" or "same"')
        elif padding == "same" and any(step != 1 for step in self.stride):
            raise ArgumentError(f'{op}: padding="same" with stride {stride}; use a stride of 1')
        first, second = channels[::-1] if not self.transposed else channels
        shape = (first, second // groups, *self.kernel_size)
        bound = 1.0 / math.sqrt(math.prod(shape[1:]))
        self.weight = init.fresh(shape, bound, dtype, generator)
        self.weight.fan_layout = "out_in"
        self.bias = init.fresh((self.out_channels,), bound, dtype, generator) if bias else None

    def extra_repr(self) -> str:
        """The sizes, and the options that are not the default."""
        parts = [
            f"{self.in_channels}, {self.out_channels}",
            f"kernel_size={self.kernel_size}",
            f"stride={self.stride}",
        ]
        if self.padding != (0,) * self.axes:
            parts.append(f"padding={self.padding!r}")
        if self.dilation != (1,) * self.axes:
            parts.append(f"dilation={self.dilation}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        return ", ".join(parts)


class _PaddedConvNd(_ConvNd):
    """A convolution with padding of any mode."""

    function: ClassVar[str]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        *,
        dtype: DTypeLike | None = None,
        generator: Generator | np.random.Generator | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        if padding_mode not in _PADDING_MODES:
            raise ArgumentError(
                f"{type(self).__name__}: padding_mode={padding_mode!r}; use one of"
                f" {', '.join(_PADDING_MODES)}"
            )
        steps = (stride, padding, dilation)
        channels = (in_channels, out_channels)
        self._init_parameters(channels, kernel_size, steps, groups, bias, dtype, generator)
        self.padding_mode = padding_mode

    def _compute_padding(self) -> list[int]:
        """The widths of the padding, the last axis first."""
        if self.padding == "valid":
            return [0] * (2 * self.axes)
        if self.padding == "same":
            spare = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            return [w for n in reversed(spare) for w in (n // 2, n - n // 2)]
        return [width for width in reversed(self.padding) for _ in (0, 1)]

    def forward(self, input: Tensor) -> Tensor:
        """The convolution."""
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._compute_padding(), mode=self.padding_mode), 0
        convolve: Any = getattr(F, self.function)
        out: Tensor = convolve(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )
        return out


class Conv1d(_PaddedConvNd):
    """Convolution of sequences: `out[o, l] = b[o] + Σ_ck W[o, c, k] x[c, l stride + k dilation]`.

    Shapes: (N, C, L) to (N, O, L') with `L' = (L + 2 padding - dilation (k - 1) - 1) //
    stride + 1`; also (C, L). `padding` is a number, "valid" or "same"; `padding_mode` "zeros",
    "reflect", "replicate" or "circular".
    Errors: `ArgumentError` for channels that `groups` does not divide.

    >>> import ferrograd as fg
    >>> fg.nn.Conv1d(4, 6, 3, padding=1)(fg.ones(2, 4, 10)).shape
    (2, 6, 10)
    """

    axes = 1
    function = "conv1d"


class Conv2d(_PaddedConvNd):
    """Convolution of images (N, C, H, W), or (C, H, W); as `Conv1d` with two numbers each.

    >>> import ferrograd as fg
    >>> layer = fg.nn.Conv2d(3, 8, (3, 5), stride=2, padding="valid")
    >>> layer(fg.ones(1, 3, 9, 9)).shape, layer.weight.shape
    ((1, 8, 4, 3), (8, 3, 3, 5))
    """

    axes = 2
    function = "conv2d"


class Conv3d(_PaddedConvNd):
    """Convolution of volumes (N, C, D, H, W), or (C, D, H, W); as `Conv1d` with three numbers each.

    >>> import ferrograd as fg
    >>> fg.nn.Conv3d(2, 3, 2)(fg.ones(1, 2, 4, 4, 4)).shape
    (1, 3, 3, 3, 3)
    """

    axes = 3
    function = "conv3d"


class _ConvTransposeNd(_ConvNd):
    """The adjoint of a convolution."""

    function: ClassVar[str]
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        *,
        dtype: DTypeLike | None = None,
        generator: Generator | np.random.Generator | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        op = type(self).__name__
        if padding_mode != "zeros" or isinstance(padding, str):
            raise ArgumentError(
                f"{op}: padding={padding!r} and padding_mode={padding_mode!r}; use numbers and"
                ' "zeros"'
            )
        steps = (stride, padding, dilation)
        channels = (in_channels, out_channels)
        self._init_parameters(channels, kernel_size, steps, groups, bias, dtype, generator)
        self.output_padding = make_ntuple(op, "output_padding", output_padding, self.axes)

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """The adjoint, of the size `output_size` where a stride leaves several."""
        more = (
            self.output_padding if output_size is None else self._output_padding(input, output_size)
        )
        spread: Any = getattr(F, self.function)
        out: Tensor = spread(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            more,
            self.groups,
            self.dilation,
        )
        return out

    def _output_padding(self, input: Tensor, output_size: Any) -> list[int]:
        """The output padding for an output size."""
        op = type(self).__name__
        sizes = [int(n) for n in output_size][-self.axes :]
        more = []
        for axis, size in enumerate(sizes):
            reach = self.dilation[axis] * (self.kernel_size[axis] - 1) + 1
            old = int(input.shape[axis - self.axes])
            least = (old - 1) * self.stride[axis] - 2 * self.padding[axis] + reach
            if not least <= size < least + self.stride[axis]:
                raise ArgumentError(
                    f"{op}: output_size {sizes} for an input of shape {tuple(input.shape)}; axis"
                    f" {axis} may have {least} to {least + self.stride[axis] - 1}"
                )
            more.append(size - least)
        return more


class ConvTranspose1d(_ConvTransposeNd):
    """The adjoint of `Conv1d`: each element of (N, C, L) spreads its kernel W[c, o, k].

    The result has length `(L - 1) stride - 2 padding + dilation (k - 1) + output_padding + 1`.

    >>> import ferrograd as fg
    >>> fg.nn.ConvTranspose1d(4, 2, 3, stride=2)(fg.ones(1, 4, 5)).shape
    (1, 2, 11)
    """

    axes = 1
    function = "conv_transpose1d"


class ConvTranspose2d(_ConvTransposeNd):
    """The adjoint of `Conv2d`; as `ConvTranspose1d` with two numbers each.

    >>> import ferrograd as fg
    >>> layer = fg.nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1)
    >>> layer(fg.ones(1, 4, 5, 5), output_size=(10, 9)).shape
    (1, 2, 10, 9)
    """

    axes = 2
    function = "conv_transpose2d"


class ConvTranspose3d(_ConvTransposeNd):
    """The adjoint of `Conv3d`; as `ConvTranspose1d` with three numbers each.

    >>> import ferrograd as fg
    >>> fg.nn.ConvTranspose3d(2, 3, 2, stride=2)(fg.ones(1, 2, 2, 3, 4)).shape
    (1, 3, 4, 6, 8)
    """

    axes = 3
    function = "conv_transpose3d"
