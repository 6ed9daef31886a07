# Written by tools/stubs.py from the registry and tools/_core_classes.pyi; edit those.

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any

from numpy.typing import DTypeLike

from ferrograd._core import Tensor, _Axes, _Shape, _TensorLike

def add(alpha: _float, x: _TensorLike, beta: _float, y: _TensorLike, name: str | None = None, *, out: Any = None) -> Tensor: """`alpha x + beta y` of two tensors of one shape; `name` names the result. Operands of two dtypes meet in the larger one, integers become float64; zero factors follow IEEE. Derivatives: `alpha g` and `beta g`."""
def add_fiber(alpha: _float, fiber: _TensorLike, beta: _float, tensor: _TensorLike, axis: _int = 0, batch_ndim: _int = 0, name: str | None = None, *, out: Any = None) -> Tensor: """`beta tensor[i] + alpha fiber[i_axis, i_batch…]`: the fiber has the size of one axis, then the last `batch_ndim` axes of the tensor. With `beta` 0 the tensor's values are not read. Derivatives: `sum_fiber` of `alpha g`, and `beta g`."""
def gelu(x: _TensorLike, name: str | None = None, *, out: Any = None) -> Tensor: """`x Φ(x) = ½ x erfc(-x / √2)`, element by element; the erfc form keeps the negative tail. Derivative: `g (Φ(x) + x φ(x))`."""
def gemm(a: _TensorLike, b: _TensorLike, alpha: _float = 1.0, trans_a: _bool = False, trans_b: _bool = False, ndim: _int = 1, batch_ndim: _int = 0, name: str | None = None, *, out: Any = None) -> Tensor: """`C[M…, N…, B…] = alpha Σ_K A[M…, K…, B…] · B[K…, N…, B…]`: `ndim` axes are contracted, the last `batch_ndim` axes are batch axes; with `trans_a`, a is `[K…, M…, B…]`, with `trans_b`, b is `[N…, K…, B…]`. Nothing broadcasts. Derivatives: `g` contracted with the other operand, times alpha."""
def sum_fiber(x: _TensorLike, axis: _int = 0, batch_ndim: _int = 0, alpha: _float = 1.0, name: str | None = None, *, out: Any = None) -> Tensor: """`alpha Σ x` over every axis but `axis` and the last `batch_ndim` ones, summed pairwise and the same at any number of threads. Derivative: `alpha g` repeated along the summed axes."""

__all__ = [
    "add",
    "add_fiber",
    "gelu",
    "gemm",
    "sum_fiber",
]
