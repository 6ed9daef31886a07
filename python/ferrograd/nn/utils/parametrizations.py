"""Weights that are computed: normalised by their length, or by their largest singular value.

`parametrize.py` replaces the parameters. Invariant: `dim` counts the axes of PyTorch's weight,
so that the axis of outputs is 0 also for `Linear`, whose weight is [in, out] here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core, linalg
from ferrograd._core import Tensor
from ferrograd._tensor.generator import draw_tensor
from ferrograd._tensor.modes import no_grad
from ferrograd.errors import ArgumentError
from ferrograd.nn._module import Module
from ferrograd.nn.functional.normalization import normalize
from ferrograd.nn.layers.convolution import _ConvTransposeNd
from ferrograd.nn.utils.orthogonal import orthogonal as orthogonal
from ferrograd.nn.utils.parametrize import register_parametrization, remove_parametrizations


def _find_axis(module: Module, name: str, dim: int) -> int:
    """The axis of our weight that PyTorch calls `dim`."""
    tensor = getattr(module, name, None)
    if not isinstance(tensor, Tensor) or not -tensor.ndim <= dim < tensor.ndim:
        raise ArgumentError(
            f"{type(module).__name__}: {name!r} has no axis {dim}; give a parameter and one of its"
            " axes"
        )
    dim %= tensor.ndim
    turned = name == "weight" and getattr(module, "weight_is_in_out", False) and tensor.ndim == 2
    return 1 - dim if turned else dim


class _WeightNorm(Module):
    def __init__(self, axis: int | None) -> None:
        super().__init__()
        self.axis = axis

    def _compute_norm(self, weight: Tensor) -> Tensor:
        axes = tuple(k for k in range(weight.ndim) if k != self.axis)
        if self.axis is None:
            return linalg.vector_norm(weight)
        return linalg.vector_norm(weight, axis=axes, keepdims=True)

    def forward(self, length: Tensor, direction: Tensor) -> Tensor:
        """The direction with these lengths."""
        return direction * (length / self._compute_norm(direction))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The lengths and directions of a weight."""
        return self._compute_norm(weight), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Makes a weight `g v / |v|`: lengths and directions learn apart. Returns the module.

    One length for each index of axis `dim`, or one for all with None. Parameters are
    `parametrizations.weight.original0` (g) and `original1` (v). Source: arXiv:1602.07868.

    >>> import ferrograd as fg
    >>> layer = fg.nn.utils.parametrizations.weight_norm(fg.nn.Linear(3, 2, bias=False))
    >>> [(name, p.shape) for name, p in layer.named_parameters()]
    [('parametrizations.weight.original0', (1, 2)), ('parametrizations.weight.original1', (3, 2))]
    """
    axis = None if dim is None or dim == -1 else _find_axis(module, name, dim)
    return register_parametrization(module, name, _WeightNorm(axis), unsafe=True)


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, iterations: int, axis: int, eps: float) -> None:
        super().__init__()
        self.iterations, self.axis, self.eps = iterations, axis, eps
        if weight.ndim > 1:
            matrix = self._reshape_weight_to_matrix(weight.detach())
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                start = _core.asarray(_draw_normal(int(size))).astype(weight.dtype)
                self.register_buffer(name, normalize(start, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        return _core.moveaxis(weight, self.axis, 0).reshape((weight.shape[self.axis], -1))

    def _power_method(self, matrix: Tensor, times: int) -> None:
        """Moves both vectors towards those of the largest singular value."""
        with no_grad():
            for _ in range(times):
                self._u.copy_(normalize(matrix @ self._v, dim=0, eps=self.eps))
                self._v.copy_(normalize(matrix.T @ self._u, dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        """The weight over its largest singular value."""
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix.detach(), self.iterations)
        # Copies: later steps change the vectors in place.
        u, v = self._u.clone(), self._v.clone()
        return weight / (u @ (matrix @ v))

    def right_inverse(self, weight: Tensor) -> Tensor:
        """The weight itself."""
        return weight


def _draw_normal(size: int) -> Any:
    return draw_tensor(None, lambda rng: np.asarray(rng.standard_normal(size)))


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Makes a weight `w / σ(w)`, σ the largest singular value. Returns the module.

    The weight is a matrix whose rows are axis `dim`: 0, or 1 for adjoint convolutions. In training
    mode, each call does `n_power_iterations` steps of the power method for the singular vectors.
    Source: Miyato et al., arXiv:1802.05957.

    >>> import ferrograd as fg
    >>> layer = fg.nn.utils.parametrizations.spectral_norm(fg.nn.Linear(3, 2), n_power_iterations=9)
    >>> bool(fg.linalg.norm(layer.weight, 2) < 1.01)
    True
    """
    if n_power_iterations < 1:
        raise ArgumentError(
            f"spectral_norm: n_power_iterations is {n_power_iterations}; give at least 1"
        )
    if dim is None:
        dim = 1 if isinstance(module, _ConvTransposeNd) else 0
    axis = _find_axis(module, name, dim)
    function = _SpectralNorm(getattr(module, name), n_power_iterations, axis, eps)
    return register_parametrization(module, name, function)


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Makes the weight a parameter again, with its present value.

    >>> import ferrograd as fg
    >>> layer = fg.nn.utils.weight_norm(fg.nn.Linear(3, 2, bias=False))
    >>> [name for name, _ in fg.nn.utils.remove_weight_norm(layer).named_parameters()]
    ['weight']
    """
    return remove_parametrizations(module, name)


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Makes the weight a parameter again, with its present value."""
    return remove_parametrizations(module, name)
