"""Layers that learn the size of their input from the first call.

Invariant: before the first call a lazy layer has no parameters, and asking for them is an error;
after it, it is the other layer, with the hooks, the mode and the name that it had.
"""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from ferrograd._core import _is_recording_program
from ferrograd._tensor.modes import inference_mode
from ferrograd.errors import CompileError, ShapeError
from ferrograd.nn._compiled_members import UninitializedParameters
from ferrograd.nn._module import Module
from ferrograd.nn.functional._arguments import convert_argument
from ferrograd.nn.layers.convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from ferrograd.nn.layers.linear import Linear
from ferrograd.nn.layers.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)


class LazyModule(Module):
    """Base of the lazy layers.

    `becomes` is the final class; its first size is that of the input's axis `axis`.
    """

    becomes: ClassVar[Any]
    axis: ClassVar[int] = 1
    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        rows = list(inspect.signature(cls.becomes).parameters.values())[1:]
        first = rows[0]
        if cls.becomes is Linear:
            rows[0] = first.replace(default=inspect.Parameter.empty)
            rows = [row for row in rows if row.name != "weight"]
        if issubclass(cls.becomes, InstanceNorm1d | InstanceNorm2d | InstanceNorm3d):
            # PyTorch's lazy ones learn and keep averages, unlike those they become.
            on = ("affine", "track_running_stats")
            rows = [row.replace(default=True) if row.name in on else row for row in rows]
        cls.__signature__ = inspect.Signature(rows)

    def __init__(self, *args: Any, **options: Any) -> None:
        Module.__init__(self, options.get("name"))
        bound = self.__signature__.bind(*args, **options)
        bound.apply_defaults()
        object.__setattr__(self, "_parameters", UninitializedParameters(type(self).__name__))
        object.__setattr__(self, "_options", dict(bound.arguments))

    def _infer_size(self, input: Any) -> int:
        """The first size of the layer to be, read off an input."""
        axes, axis = input.ndim, self.axis
        if not -axes <= axis < axes:
            raise ShapeError(
                f"{type(self).__name__}: an input of shape {tuple(input.shape)} has no axis {axis};"
                " give one that has"
            )
        return int(input.shape[axis])

    def forward(self, *inputs: Any, **options: Any) -> Any:
        """Becomes the layer for this input, then calls it."""
        if _is_recording_program():
            raise CompileError(
                f"{type(self).__name__}: fg.compile records the first call, in which the layer gets"
                " its parameters; call the network once before"
            )
        size = self._infer_size(
            convert_argument(type(self).__name__, inputs[0] if inputs else None)
        )
        with inference_mode(False):
            made = self.becomes(size, **self._options)
        own = {"training", "name", "_hooks"}
        vars(self).update({key: value for key, value in vars(made).items() if key not in own})
        if "_options" not in vars(made):
            del vars(self)["_options"]
        object.__setattr__(self, "__class__", self.becomes)
        return self.forward(*inputs, **options)

    def extra_repr(self) -> str:
        """The options; the size that is missing."""
        rows = self.__signature__.parameters
        given = (f"{k}={v!r}" for k, v in self._options.items() if v != rows[k].default)
        return ", ".join(["?", *given])


class LazyLinear(LazyModule, Linear):
    """`Linear` whose `in_features` is the last axis of the first input.

    >>> import ferrograd as fg
    >>> layer = fg.nn.LazyLinear(2)
    >>> layer(fg.ones(4, 3)).shape, layer
    ((4, 2), Linear(in_features=3, out_features=2, bias=True))
    """

    becomes = Linear
    axis = -1


class LazyConv1d(LazyModule, Conv1d):
    """`Conv1d` whose `in_channels` are those of the first input. As `LazyLinear`."""

    becomes = Conv1d
    axis = -2


class LazyConv2d(LazyModule, Conv2d):
    """`Conv2d` whose `in_channels` are those of the first input. As `LazyLinear`.

    >>> import ferrograd as fg
    >>> layer = fg.nn.LazyConv2d(8, 3)
    >>> layer(fg.ones(1, 3, 5, 5)).shape, layer.weight.shape
    ((1, 8, 3, 3), (8, 3, 3, 3))
    """

    becomes = Conv2d
    axis = -3


class LazyConv3d(LazyModule, Conv3d):
    """`Conv3d` whose `in_channels` are those of the first input. As `LazyLinear`."""

    becomes = Conv3d
    axis = -4


class LazyConvTranspose1d(LazyModule, ConvTranspose1d):
    """`ConvTranspose1d` whose `in_channels` are those of the first input. As `LazyLinear`."""

    becomes = ConvTranspose1d
    axis = -2


class LazyConvTranspose2d(LazyModule, ConvTranspose2d):
    """`ConvTranspose2d` whose `in_channels` are those of the first input. As `LazyLinear`."""

    becomes = ConvTranspose2d
    axis = -3


class LazyConvTranspose3d(LazyModule, ConvTranspose3d):
    """`ConvTranspose3d` whose `in_channels` are those of the first input. As `LazyLinear`."""

    becomes = ConvTranspose3d
    axis = -4


class LazyBatchNorm1d(LazyModule, BatchNorm1d):
    """`BatchNorm1d` whose `num_features` is the second axis of the first input."""

    becomes = BatchNorm1d


class LazyBatchNorm2d(LazyModule, BatchNorm2d):
    """`BatchNorm2d` whose `num_features` is the second axis of the first input."""

    becomes = BatchNorm2d


class LazyBatchNorm3d(LazyModule, BatchNorm3d):
    """`BatchNorm3d` whose `num_features` is the second axis of the first input."""

    becomes = BatchNorm3d


class LazyInstanceNorm1d(LazyModule, InstanceNorm1d):
    """`InstanceNorm1d` whose `num_features` are the channels of the first input."""

    becomes = InstanceNorm1d
    axis = -2


class LazyInstanceNorm2d(LazyModule, InstanceNorm2d):
    """`InstanceNorm2d` whose `num_features` are the channels of the first input."""

    becomes = InstanceNorm2d
    axis = -3


class LazyInstanceNorm3d(LazyModule, InstanceNorm3d):
    """`InstanceNorm3d` whose `num_features` are the channels of the first input."""

    becomes = InstanceNorm3d
    axis = -4
