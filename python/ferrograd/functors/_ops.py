"""The five functors of document 001, as callable objects and as free functions.

Owns: their Python faces. Never computes: each call is one operation of the core, recorded as one
node whose `grad_fn.attrs` holds the attributes of the call.
Invariant: `Add()(…)` and `add(…)` are the same call; batch axes are the last ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor, grad
from ferrograd._tensor.modes import enable_grad, set_grad_enabled
from ferrograd.errors import ArgumentTypeError
from ferrograd.functors._base import AutogradFunction
from ferrograd.functors._operation import Op

_add, _gemm = _core._add, _core._gemm
_add_fiber, _sum_fiber, _gelu = _core._add_fiber, _core._sum_fiber, _core._gelu


def add(alpha: float, x: Tensor, beta: float, y: Tensor, name: str | None = None) -> Tensor:
    """`z = alpha x + beta y` of two tensors of one shape; dx = alpha g, dy = beta g.

    Shapes: x, y and z agree. Dtypes: float; operands of two dtypes meet in the larger one, integers
    become float64. Zero factors follow IEEE: 0 · NaN is NaN. `name` names z.
    Errors: `ShapeError` for unequal shapes, `ArgumentTypeError` for null operands.
    Source: document 001, Add.

    >>> import ferrograd as fg
    >>> x = fg.tensor([1.0, 2.0], requires_grad=True)
    >>> z = fg.functors.add(2.0, x, 3.0, x, "z")
    >>> z.tolist(), z.name, z.grad_fn.attrs
    ([5.0, 10.0], 'z', {'alpha': 2.0, 'beta': 3.0})
    """
    try:
        return _add(alpha, x, beta, y, name)
    except Exception:
        _check_factors("add", alpha=alpha, beta=beta)
        raise


def _check_factors(op: str, **factors: Any) -> None:
    """Names the factor that is an array: the operands are easily given without their factors."""
    for name, value in factors.items():
        if isinstance(value, Tensor | np.ndarray) and value.size != 1:
            kind = "a tensor" if isinstance(value, Tensor) else "an array"
            raise ArgumentTypeError(
                f"{op}: {name} is {kind} of shape {tuple(value.shape)}; give a number: the order is"
                " alpha, x, beta, y"
            ) from None


def gemm(
    a: Tensor,
    b: Tensor,
    alpha: float = 1.0,
    trans_a: bool = False,
    trans_b: bool = False,
    ndim: int = 1,
    batch_ndim: int = 0,
    name: str | None = None,
) -> Tensor:
    """`C[M…, N…, B…] = alpha Σ_K A[M…, K…, B…] · B[K…, N…, B…]`.

    `ndim` axes are contracted (0 gives the outer product), `batch_ndim` trailing axes are batch
    axes; the numbers of M, N and K axes may all differ. With `trans_a`, a is [K…, M…, B…]; with
    `trans_b`, b is [N…, K…, B…]. Gradients: da contracts g with b over the N axes, db contracts g
    with a over the M axes, both times alpha.
    Dtypes: as for `add`. Errors: `ShapeError` when an operand has too few axes or the contracted or
    batch axes differ (nothing broadcasts), `ArgumentError` for negative counts.
    Source: document 001, Gemm; axis rules of its implementation.

    >>> import ferrograd as fg
    >>> a, b = fg.ones(2, 3, 4), fg.ones(3, 4, 5)
    >>> fg.functors.gemm(a, b, alpha=0.5, ndim=2).shape, fg.functors.gemm(a, b, ndim=2)[0, 0].item()
    ((2, 5), 12.0)
    """
    return _gemm(a, b, alpha, trans_a, trans_b, ndim, batch_ndim, name)


def add_fiber(
    alpha: float,
    fiber: Tensor,
    beta: float,
    tensor: Tensor,
    axis: int = 0,
    batch_ndim: int = 0,
    name: str | None = None,
) -> Tensor:
    """`out[i] = beta tensor[i] + alpha fiber[i_axis, i_batch…]`.

    Shapes: the fiber is `[tensor.shape[axis]]` followed by the `batch_ndim` trailing axes of the
    tensor; 0 <= axis < ndim - batch_ndim. Gradients: dfiber = `sum_fiber(g, axis, batch_ndim,
    alpha)`, dtensor = beta g. With beta = 0 the tensor's values are not read, so its NaNs do not
    spread. Dtypes: as for `add`.
    Errors: `ShapeError` for the axis or the fiber's shape.
    Source: document 001, AddFiber.

    >>> import ferrograd as fg
    >>> fg.functors.add_fiber(1.0, fg.tensor([1.0, 2.0]), 1.0, fg.zeros(3, 2), axis=1).tolist()
    [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]
    """
    return _add_fiber(alpha, fiber, beta, tensor, axis, batch_ndim, name)


def sum_fiber(
    x: Tensor,
    axis: int = 0,
    batch_ndim: int = 0,
    alpha: float = 1.0,
    name: str | None = None,
) -> Tensor:
    """`y[k, b…] = alpha Σ x` over every axis but `axis` and the `batch_ndim` trailing ones.

    Shapes: y is `[x.shape[axis]]` followed by the batch axes; 0 <= axis < ndim - batch_ndim.
    Gradient: dx[i] = alpha g[i_axis, i_batch…]. The sum is pairwise and the same at any number of
    threads. Dtypes: as for `add`. Errors: `ShapeError` for the axis.
    Source: document 001, SumFiber; its `beta` and `redux` have no effect there and are left out.

    >>> import ferrograd as fg
    >>> fg.functors.sum_fiber(fg.ones(3, 2), axis=1, alpha=0.5).tolist()
    [1.5, 1.5]
    """
    return _sum_fiber(x, axis, batch_ndim, alpha, name)


def gelu(x: Tensor, name: str | None = None) -> Tensor:
    """`x Φ(x) = ½ x erfc(-x / √2)`, element by element; dx = g (Φ(x) + x φ(x)).

    Shapes: any. Dtypes: float; integers become float64. The erfc form keeps the negative tail.
    Source: document 001, Gelu.

    >>> import ferrograd as fg
    >>> round(fg.functors.gelu(fg.tensor(1.0)).item(), 6)
    0.841345
    """
    return _gelu(x, name)


class _Builtin(AutogradFunction):
    """A functor whose rule is the core's."""

    @classmethod
    def build_backward(cls, op: Op) -> list[Tensor | None]:  # type: ignore[override]
        """The gradients that the core's rule gives for this operation.

        `op` is an `Op` with inputs, attributes (a dict of keywords) and output gradients; the
        result is recorded when this thread records.
        """
        attrs = dict(op.attrs or {})
        recorded = _core.is_grad_enabled()
        inputs = [x if x.requires_grad and recorded else x.detach() for x in op.inputs]
        inputs = [x if x.requires_grad else x.requires_grad_() for x in inputs]
        with enable_grad():
            out = cls._again(inputs, attrs)
        with set_grad_enabled(recorded):
            found = grad(out, inputs, op.grad_outputs[0], create_graph=recorded, allow_unused=True)
        return list(found)

    @staticmethod
    def _again(inputs: list[Tensor], attrs: dict[str, Any]) -> Tensor:
        raise NotImplementedError


class Add(_Builtin):
    """`Add()(alpha, x, beta, y, "z")` is `add(alpha, x, beta, y, "z")`."""

    build_forward = staticmethod(add)
    __call__ = staticmethod(_add)

    @staticmethod
    def _again(inputs: list[Tensor], attrs: dict[str, Any]) -> Tensor:
        return add(attrs["alpha"], inputs[0], attrs["beta"], inputs[1])


class Gemm(_Builtin):
    """`Gemm()(a, b, …)` is `gemm(a, b, …)`."""

    build_forward = staticmethod(gemm)
    __call__ = staticmethod(_gemm)

    @staticmethod
    def _again(inputs: list[Tensor], attrs: dict[str, Any]) -> Tensor:
        return gemm(inputs[0], inputs[1], **attrs)


class AddFiber(_Builtin):
    """`AddFiber()(alpha, fiber, beta, tensor, …)` is `add_fiber(alpha, fiber, beta, tensor, …)`."""

    build_forward = staticmethod(add_fiber)
    __call__ = staticmethod(_add_fiber)

    @staticmethod
    def _again(inputs: list[Tensor], attrs: dict[str, Any]) -> Tensor:
        return add_fiber(fiber=inputs[0], tensor=inputs[1], **attrs)


class SumFiber(_Builtin):
    """`SumFiber()(x, …)` is `sum_fiber(x, …)`."""

    build_forward = staticmethod(sum_fiber)
    __call__ = staticmethod(_sum_fiber)

    @staticmethod
    def _again(inputs: list[Tensor], attrs: dict[str, Any]) -> Tensor:
        return sum_fiber(inputs[0], **attrs)


class Gelu(_Builtin):
    """`Gelu()(x)` is `gelu(x)`."""

    build_forward = staticmethod(gelu)
    __call__ = staticmethod(_gelu)

    @staticmethod
    def _again(inputs: list[Tensor], attrs: dict[str, Any]) -> Tensor:
        return gelu(inputs[0])
