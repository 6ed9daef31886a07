"""Batch normalisation over the samples of all ranks of a job.

Invariant: forward and backward on all ranks equal those of one rank with the whole batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ferrograd._core import Tensor
from ferrograd._tensor.modes import no_grad
from ferrograd.errors import ShapeError
from ferrograd.nn._compiled_members import unwrap_module
from ferrograd.nn._module import Module
from ferrograd.nn.functional._arguments import convert_argument
from ferrograd.nn.layers.normalization import _BatchNorm

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class SyncBatchNorm(_BatchNorm):
    """`BatchNorm1d` of (N, C, …) with the mean and variance over the samples of all ranks.

    `process_group` is an mpi4py communicator; None means all processes. In training mode every rank
    calls forward and backward, even without samples; each direction has two sums over ranks. After
    `eval()` nothing is sent. Gradients are those of the sum of the losses of all ranks.
    Errors: `ShapeError` for fewer than 2 axes and for one value per channel on all ranks together.

    >>> import ferrograd as fg
    >>> fg.nn.SyncBatchNorm(2).eval()(fg.ones(3, 2)).shape
    (3, 2)
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        *,
        bias: bool = True,
        dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(
            num_features,
            eps,
            momentum,
            affine,
            track_running_stats,
            bias=bias,
            dtype=dtype,
            name=name,
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2 or input.shape[1] != self.num_features:
            raise ShapeError(
                f"SyncBatchNorm: an input of shape {tuple(input.shape)}; it needs (N,"
                f" {self.num_features}, …)"
            )

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input; while training, the running averages move alike on all ranks."""
        input = convert_argument("SyncBatchNorm", input)
        if not self.training and self.running_mean is not None:
            return super().forward(input)
        self._check_input_dim(input)
        mean, var, count = self._compute_statistics(input)
        shape = (1, self.num_features, *(1,) * (input.ndim - 2))
        out: Tensor = (input - mean.reshape(shape)) / (var.reshape(shape) + self.eps).sqrt()
        if self.weight is not None:
            out = out * self.weight.reshape(shape)
        if self.bias is not None:
            out = out + self.bias.reshape(shape)
        if self.training and self.running_mean is not None and self.running_var is not None:
            self._update_running_stats(
                self.running_mean, self.running_var, mean, var * (count / (count - 1))
            )
        return out

    def _compute_statistics(self, x: Tensor) -> tuple[Tensor, Tensor, int]:
        """Mean and variance of each channel, and how many values have them, over all ranks."""
        from ferrograd.distributed import _array_collectives, _collectives, _process_group

        comm = _process_group.get_communicator(self.process_group)
        count = int(
            _array_collectives.check_same_calls_without_tensor(
                "SyncBatchNorm", comm, x.numel() // self.num_features
            ).sum()
        )
        if count < 2:
            raise ShapeError(
                f"SyncBatchNorm: {count} values per channel on all ranks together, here an input of"
                f" shape {tuple(x.shape)}; give more while training"
            )
        axes = (0, *range(2, x.ndim))
        mean = _collectives.allreduce(x.sum(axes), "sum", comm) / count
        away = x - mean.reshape((1, self.num_features, *(1,) * (x.ndim - 2)))
        var = _collectives.allreduce((away * away).sum(axes), "sum", comm) / count
        return mean, var, count

    def _update_running_stats(
        self, mean: Tensor, var: Tensor, new_mean: Tensor, new_var: Tensor
    ) -> None:
        share = self._count_batch(mean)
        with no_grad():
            mean.lerp_(new_mean.detach(), share)
            var.lerp_(new_var.detach(), share)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with every `BatchNorm1d`, `2d` and `3d` inside replaced by this layer.

        Parameters and buffers are the same objects; a module that is such a layer itself is
        answered with its replacement, any other one is changed and answered.

        >>> import ferrograd as fg
        >>> net = fg.nn.Sequential(fg.nn.Linear(2, 3), fg.nn.BatchNorm1d(3))
        >>> type(fg.nn.SyncBatchNorm.convert_sync_batchnorm(net)[1]).__name__
        'SyncBatchNorm'
        """
        made: dict[int, Module] = {}

        def convert_module(found: Module) -> Module:
            if id(found) not in made:
                made[id(found)] = found
                if isinstance(found, _BatchNorm) and not isinstance(found, SyncBatchNorm):
                    made[id(found)] = cls._from_batch_norm(found, process_group)
            return made[id(found)]

        for owner in list(module.modules()):
            for name, child in owner._modules.items():
                if child is unwrap_module(child):
                    owner._modules[name] = convert_module(child)
        return convert_module(module)

    @classmethod
    def _from_batch_norm(cls, layer: _BatchNorm, process_group: Any) -> SyncBatchNorm:
        """The layer with the parameters and buffers of another one."""
        made = cls(
            layer.num_features,
            layer.eps,
            layer.momentum,
            layer.affine,
            layer.track_running_stats,
            process_group,
            name=layer.name,
        )
        for table in ("_parameters", "_buffers"):
            getattr(made, table).clear()
            getattr(made, table).update(getattr(layer, table))
        for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
            if name in layer.__dict__:
                made.__dict__[name] = layer.__dict__[name]
        made.train(layer.training)
        return made
