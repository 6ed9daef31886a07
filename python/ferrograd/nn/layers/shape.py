"""Modules that rearrange: no parameters, and no arithmetic but that of interpolation.

Invariant: each calls one function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from ferrograd._core import Tensor, flatten
from ferrograd._pytorch.validate import check_integers
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.nn import functional as F  # noqa: N812
from ferrograd.nn._module import Module
from ferrograd.nn.functional._arguments import Sizes, convert_argument, make_ntuple
from ferrograd.nn.layers.base import FunctionModule


class Flatten(Module):
    """The axes from `start_dim` to `end_dim` merged into one.

    >>> import ferrograd as fg
    >>> fg.nn.Flatten()(fg.ones(2, 3, 4)).shape
    (2, 12)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1, *, name: str | None = None) -> None:
        super().__init__(name)
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """The input with fewer axes."""
        return flatten(input, self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The axes."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One axis divided into several; one size may be -1.

    >>> import ferrograd as fg
    >>> fg.nn.Unflatten(1, (3, -1))(fg.ones(2, 12)).shape
    (2, 3, 4)
    """

    def __init__(
        self, dim: int, unflattened_size: Sequence[int], *, name: str | None = None
    ) -> None:
        super().__init__(name)
        if isinstance(dim, str):
            raise ArgumentError("Unflatten: axes have no names here; give the number of the axis")
        self.dim = dim
        self.unflattened_size = check_integers(
            "Unflatten", "unflattened_size", unflattened_size, -1
        )

    def forward(self, input: Tensor) -> Tensor:
        """The input with more axes."""
        input = convert_argument("Unflatten", input)
        shape = list(input.shape)
        axis = self.dim + input.ndim if self.dim < 0 else self.dim
        if not 0 <= axis < input.ndim:
            raise ShapeError(
                f"Unflatten: axis {self.dim} of an input of shape {tuple(shape)}; give one it has"
            )
        sizes = [int(size) for size in self.unflattened_size]
        known = math.prod(size for size in sizes if size != -1)
        if known != shape[axis] and (sizes.count(-1) != 1 or not known or shape[axis] % known):
            raise ShapeError(
                f"Unflatten: axis {self.dim} of an input of shape {tuple(shape)} and the sizes"
                f" {tuple(sizes)}; give sizes whose product is {shape[axis]}"
            )
        return input.reshape((*shape[:axis], *sizes, *shape[axis + 1 :]))

    def extra_repr(self) -> str:
        """The axis and its sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Unfold(FunctionModule):
    """The windows of images as columns: (N, C, H, W) to (N, C kh kw, windows).

    >>> import ferrograd as fg
    >>> fg.nn.Unfold((2, 3))(fg.ones(1, 3, 4, 5)).shape
    (1, 18, 9)
    """

    function = "unfold"

    def __init__(
        self,
        kernel_size: Sizes,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        stride: Sizes = 1,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self._set_options(
            kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
        )


class Fold(FunctionModule):
    """Columns summed into images: the adjoint of `Unfold`.

    >>> import ferrograd as fg
    >>> fg.nn.Fold((4, 5), (2, 3))(fg.ones(1, 18, 9)).shape
    (1, 3, 4, 5)
    """

    function = "fold"

    def __init__(
        self,
        output_size: Sizes,
        kernel_size: Sizes,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        stride: Sizes = 1,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self._set_options(
            output_size=output_size,
            kernel_size=kernel_size,
            dilation=dilation,
            padding=padding,
            stride=stride,
        )


class PixelShuffle(FunctionModule):
    """(…, C r², H, W) to (…, C, H r, W r). Source: arXiv:1609.05158.

    >>> import ferrograd as fg
    >>> fg.nn.PixelShuffle(2)(fg.ones(1, 8, 3, 3)).shape
    (1, 2, 6, 6)
    """

    function = "pixel_shuffle"

    def __init__(self, upscale_factor: int, *, name: str | None = None) -> None:
        super().__init__(name)
        self._set_options(upscale_factor=upscale_factor)


class PixelUnshuffle(FunctionModule):
    """(…, C, H r, W r) to (…, C r², H, W): the inverse of `PixelShuffle`.

    >>> import ferrograd as fg
    >>> fg.nn.PixelUnshuffle(2)(fg.ones(1, 2, 6, 6)).shape
    (1, 8, 3, 3)
    """

    function = "pixel_unshuffle"

    def __init__(self, downscale_factor: int, *, name: str | None = None) -> None:
        super().__init__(name)
        self._set_options(downscale_factor=downscale_factor)


class ChannelShuffle(FunctionModule):
    """The channels of `groups` groups interleaved. Source: arXiv:1707.01083.

    >>> import ferrograd as fg
    >>> fg.nn.ChannelShuffle(2)(fg.ones(1, 4, 3)).shape
    (1, 4, 3)
    """

    function = "channel_shuffle"

    def __init__(self, groups: int, *, name: str | None = None) -> None:
        super().__init__(name)
        self._set_options(groups=groups)


class Upsample(FunctionModule):
    """Resizes the axes after (N, C) to `size` or by `scale_factor`; modes as `F.interpolate`.

    >>> import ferrograd as fg
    >>> fg.nn.Upsample(scale_factor=2, mode="bilinear")(fg.ones(1, 2, 3, 4)).shape
    (1, 2, 6, 8)
    """

    function = "interpolate"

    def __init__(
        self,
        size: Sizes | None = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self._set_options(
            size=size,
            scale_factor=scale_factor,
            mode=mode,
            align_corners=align_corners,
            recompute_scale_factor=recompute_scale_factor,
        )


class UpsamplingNearest2d(Upsample):
    """`Upsample` of images with mode "nearest"."""

    def __init__(
        self, size: Sizes | None = None, scale_factor: Any = None, *, name: str | None = None
    ) -> None:
        super().__init__(size, scale_factor, "nearest", name=name)


class UpsamplingBilinear2d(Upsample):
    """`Upsample` of images with mode "bilinear" and align_corners=True."""

    def __init__(
        self, size: Sizes | None = None, scale_factor: Any = None, *, name: str | None = None
    ) -> None:
        super().__init__(size, scale_factor, "bilinear", True, name=name)


class _PadNd(Module):
    """Padding of the last axes; a negative width crops where the mode is a constant."""

    axes: ClassVar[int]
    mode: ClassVar[str]

    def __init__(self, padding: Sizes, *, name: str | None = None) -> None:
        super().__init__(name)
        self.padding = make_ntuple(type(self).__name__, "padding", padding, 2 * self.axes)

    def forward(self, input: Tensor) -> Tensor:
        """The padded input."""
        value = getattr(self, "value", None)
        return F.pad(input, self.padding, mode=self.mode, value=value)

    def extra_repr(self) -> str:
        """The widths."""
        return str(self.padding)


class _ConstantPadNd(_PadNd):
    mode = "constant"

    def __init__(self, padding: Sizes, value: float, *, name: str | None = None) -> None:
        super().__init__(padding, name=name)
        self.value = value


class _ZeroPadNd(_PadNd):
    mode = "constant"


def _make_pad_classes(base: type[_PadNd], name: str, mode: str, what: str) -> list[Any]:
    """The classes for one, two and three axes."""
    made = []
    for axes in (1, 2, 3):
        text = f"The last {axes} axes padded with {what}; a width, or two for each axis."
        about = {"axes": axes, "mode": mode, "__doc__": text, "__module__": __name__}
        made.append(type(f"{name}{axes}d", (base,), about))
    return made


ConstantPad1d, ConstantPad2d, ConstantPad3d = _make_pad_classes(
    _ConstantPadNd, "ConstantPad", "constant", "a number"
)
ZeroPad1d, ZeroPad2d, ZeroPad3d = _make_pad_classes(_ZeroPadNd, "ZeroPad", "constant", "zeros")
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = _make_pad_classes(
    _PadNd, "ReflectionPad", "reflect", "their reflection, the edge not repeated"
)
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = _make_pad_classes(
    _PadNd, "ReplicationPad", "replicate", "their edge"
)
CircularPad1d, CircularPad2d, CircularPad3d = _make_pad_classes(
    _PadNd, "CircularPad", "circular", "their other end"
)
