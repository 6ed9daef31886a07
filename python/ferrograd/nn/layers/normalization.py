"""Normalisation as modules.

Invariant: running averages and their count are buffers that change in place, only in training mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ferrograd._core import Tensor, get_default_dtype, tensor
from ferrograd._tensor import creation
from ferrograd._tensor.modes import no_grad
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.nn import functional as F, init  # noqa: N812
from ferrograd.nn._module import Module
from ferrograd.nn._parameter import Parameter
from ferrograd.nn.functional._arguments import (
    check_eps,
    check_flags,
    check_integer,
    convert_argument,
)
from ferrograd.nn.functional.normalization import update_running_stats
from ferrograd.nn.layers.base import ResettableModule

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


def _make_scale(
    shape: Any, wanted: bool, value: float, dtype: DTypeLike | None
) -> Parameter | None:
    """A parameter of one value, or None."""
    if not wanted:
        return None
    empty = init.empty_parameter(tuple(shape) if hasattr(shape, "__len__") else (shape,), dtype)
    return init.started(empty, "constant_", (value,))


class _ChannelNorm(ResettableModule):
    """One weight, bias and running average for each channel (axis 1)."""

    #: The numbers of axes of an input, and their names in messages.
    ranks: ClassVar[tuple[int, ...]]
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Any

    def _init_parameters(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track: bool,
        bias: bool,
        dtype: DTypeLike | None,
    ) -> None:
        op = type(self).__name__
        check_flags(op, affine=affine, track_running_stats=track, bias=bias)
        self.num_features, self.eps, self.momentum = num_features, check_eps(op, eps), momentum
        self.affine, self.track_running_stats = affine, track
        num_features = check_integer(op, "num_features", num_features, 0)
        self.weight = _make_scale(num_features, affine, 1.0, dtype)
        self.bias = _make_scale(num_features, affine and bias, 0.0, dtype)
        self.running_mean = self.running_var = self.num_batches_tracked = None
        if track:
            kind = dtype or get_default_dtype()
            self.register_buffer("running_mean", creation.zeros(num_features, dtype=kind))
            self.register_buffer("running_var", creation.ones(num_features, dtype=kind))
            self.register_buffer("num_batches_tracked", tensor(0))

    def reset_running_stats(self) -> None:
        """Resets to mean 0, variance 1 and no batches."""
        if self.running_mean is not None and self.running_var is not None:
            with no_grad():
                self.running_mean.fill_(0.0)
                self.running_var.fill_(1.0)
                self.num_batches_tracked.fill_(0)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim not in self.ranks:
            raise ShapeError(
                f"{type(self).__name__}: an input of shape {tuple(input.shape)}; it needs"
                f" {' or '.join(map(str, self.ranks))} axes"
            )

    def extra_repr(self) -> str:
        """The options."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum},"
            f" affine={self.affine}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_ChannelNorm):
    def _count_batch(self, mean: Tensor) -> Any:
        """Counts a batch; returns its weight in the running averages."""
        with no_grad():
            self.num_batches_tracked.add_(1)
            if self.momentum is not None:
                return self.momentum
            # The mean of all batches: each counts as much as those before it.
            return (1.0 / self.num_batches_tracked).astype(mean.dtype)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        *,
        bias: bool = True,
        dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self._init_parameters(num_features, eps, momentum, affine, track_running_stats, bias, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input; while training, the running averages move."""
        input = convert_argument(type(self).__name__, input)
        self._check_input_dim(input)
        training = self.training or self.running_mean is None
        mean, var, momentum = self.running_mean, self.running_var, self.momentum
        if self.training and mean is not None and var is not None:
            share = self._count_batch(mean)
            if momentum is None:
                update_running_stats(input, mean, var, share)
                mean = var = None
        return F.batch_norm(
            input,
            mean,
            var,
            self.weight,
            self.bias,
            training,
            0.1 if momentum is None else momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """`(x - mean) / sqrt(var + eps) weight + bias` for each channel of (N, C) or (N, C, L).

    While training, mean and variance are the batch's, and the running ones move towards them by
    `momentum` (None: they are the mean over all batches; the running variance has `n - 1` in its
    divisor). After `eval()` they are the running ones. Source: Ioffe and Szegedy, arXiv:1502.03167.
    Errors: `ShapeError` for other shapes and for one value per channel while training.

    >>> import ferrograd as fg
    >>> layer = fg.nn.BatchNorm1d(2, eps=0.0)
    >>> layer(fg.tensor([[1.0, 0.0], [3.0, 4.0]])).tolist(), layer.running_mean.tolist()
    ([[-1.0, -1.0], [1.0, 1.0]], [0.2, 0.2])
    """

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """`BatchNorm1d` of images (N, C, H, W).

    >>> import ferrograd as fg
    >>> fg.nn.BatchNorm2d(3)(fg.randn(2, 3, 4, 4)).shape
    (2, 3, 4, 4)
    """

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """`BatchNorm1d` of volumes (N, C, D, H, W).

    >>> import ferrograd as fg
    >>> fg.nn.BatchNorm3d(3).eval()(fg.ones(2, 3, 2, 2, 2)).shape
    (2, 3, 2, 2, 2)
    """

    ranks = (5,)


class _InstanceNorm(_ChannelNorm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        *,
        bias: bool = True,
        dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self._init_parameters(num_features, eps, momentum, affine, track_running_stats, bias, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input; while training, the running averages move."""
        input = convert_argument(type(self).__name__, input)
        self._check_input_dim(input)
        single = input.ndim == self.ranks[0]
        x = input.unsqueeze(0) if single else input
        if x.shape[1] != self.num_features:
            raise ShapeError(
                f"{type(self).__name__}: an input of shape {tuple(input.shape)}; it needs"
                f" {self.num_features} channels"
            )
        out = F.instance_norm(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.1 if self.momentum is None else self.momentum,
            self.eps,
        )
        return out.squeeze(0) if single else out


class InstanceNorm1d(_InstanceNorm):
    """Normalises each channel of each row of (N, C, L) or (C, L) separately.

    With `track_running_stats`, running averages are kept, and used after `eval()`. Source:
    arXiv:1607.08022.

    >>> import ferrograd as fg
    >>> fg.nn.InstanceNorm1d(1, eps=0.0)(fg.tensor([[1.0, 3.0]])).tolist()
    [[-1.0, 1.0]]
    """

    ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """`InstanceNorm1d` of images (N, C, H, W) or (C, H, W).

    >>> import ferrograd as fg
    >>> fg.nn.InstanceNorm2d(3)(fg.randn(2, 3, 4, 4)).shape
    (2, 3, 4, 4)
    """

    ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """`InstanceNorm1d` of volumes (N, C, D, H, W) or (C, D, H, W).

    >>> import ferrograd as fg
    >>> fg.nn.InstanceNorm3d(3)(fg.randn(2, 3, 2, 2, 2)).shape
    (2, 3, 2, 2, 2)
    """

    ranks = (4, 5)


class GroupNorm(ResettableModule):
    """Normalises the channels of (N, C, …) in `num_groups` groups, then scales each channel.

    Source: Wu and He, arXiv:1803.08494. Errors: `ArgumentError` for channels that the groups do not
    divide.

    >>> import ferrograd as fg
    >>> fg.nn.GroupNorm(2, 6)(fg.randn(1, 6, 3)).shape
    (1, 6, 3)
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        *,
        bias: bool = True,
        dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        num_groups = check_integer("GroupNorm", "num_groups", num_groups)
        num_channels = check_integer("GroupNorm", "num_channels", num_channels)
        if num_groups < 1 or num_channels % num_groups:
            raise ArgumentError(
                f"GroupNorm: {num_channels} channels and {num_groups} groups; give a multiple"
            )
        check_flags("GroupNorm", affine=affine, bias=bias)
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = check_eps("GroupNorm", eps), affine
        self.weight = _make_scale(num_channels, affine, 1.0, dtype)
        self.bias = _make_scale(num_channels, affine and bias, 0.0, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The options."""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


def _check_normalized_shape(op: str, normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    several = isinstance(normalized_shape, list | tuple)
    each = normalized_shape if several else (normalized_shape,)
    return tuple(check_integer(op, "normalized_shape", n, 0) for n in each)  # type: ignore[union-attr]


class LayerNorm(ResettableModule):
    """`(x - mean) / sqrt(var + eps) weight + bias` over the last axes, `normalized_shape`.

    Source: Ba et al., arXiv:1607.06450.

    >>> import ferrograd as fg
    >>> fg.nn.LayerNorm(2, eps=0.0)(fg.tensor([[1.0, 3.0]])).tolist()
    [[-1.0, 1.0]]
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        *,
        dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        op = type(self).__name__
        check_flags(op, elementwise_affine=elementwise_affine, bias=bias)
        self.normalized_shape, self.eps = (
            _check_normalized_shape(op, normalized_shape),
            check_eps(op, eps),
        )
        self.elementwise_affine = elementwise_affine
        self.weight = _make_scale(self.normalized_shape, elementwise_affine, 1.0, dtype)
        self.bias = _make_scale(self.normalized_shape, elementwise_affine and bias, 0.0, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The options."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class RMSNorm(ResettableModule):
    """`x / sqrt(mean(x²) + eps) weight` over the last axes; eps is the machine epsilon if None.

    Source: Zhang and Sennrich, arXiv:1910.07467.

    >>> import ferrograd as fg
    >>> fg.nn.RMSNorm(2)(fg.tensor([[3.0, 3.0]])).tolist()
    [[1.0, 1.0]]
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        *,
        dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        op = type(self).__name__
        check_flags(op, elementwise_affine=elementwise_affine)
        self.normalized_shape, self.eps = (
            _check_normalized_shape(op, normalized_shape),
            check_eps(op, eps),
        )
        self.elementwise_affine = elementwise_affine
        self.weight = _make_scale(self.normalized_shape, elementwise_affine, 1.0, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    extra_repr = LayerNorm.extra_repr


class LocalResponseNorm(Module):
    """`x / (k + alpha mean(x²))^beta`, the mean over `size` neighbouring channels.

    >>> import ferrograd as fg
    >>> fg.nn.LocalResponseNorm(3)(fg.ones(1, 4, 2)).shape
    (1, 4, 2)
    """

    def __init__(
        self,
        size: int,
        alpha: float = 1e-4,
        beta: float = 0.75,
        k: float = 1.0,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """The options."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
