"""The functors of document 001 as callable objects.

Invariant: `Add()(…)` and `add(…)` are the same call; batch axes are the last ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import ClassVar

from ferrograd import _core
from ferrograd._core import Tensor, _grad
from ferrograd._tensor.modes import enable_grad, set_grad_enabled
from ferrograd.functors._base import AutogradFunction
from ferrograd.functors._functor_node import Op
from ferrograd.functors._operations import (
    add as add,
    add_fiber as add_fiber,
    gelu as gelu,
    gemm as gemm,
    sum_fiber as sum_fiber,
)


@cache
def _get_operand_names() -> dict[str, list[str]]:
    """The names of the operands of each functor."""
    return {
        row["name"]: [p["name"] for p in row["params"] if p["kind"] == "Tensor"]
        for row in _core._registry()
        if row["namespaces"] == ["functors"]
    }


class _CoreFunctor(AutogradFunction):
    """A functor whose rule is implemented in the core."""

    build_forward: ClassVar[Callable[..., Tensor]]

    @classmethod
    def build_backward(cls, op: Op) -> list[Tensor | None]:  # type: ignore[override]
        """The gradients of this operation by the core's rule.

        `op` is an `Op` with inputs, attributes (a dict of keywords) and output gradients; the
        result is recorded if this thread records.
        """
        recorded = _core.is_grad_enabled()
        inputs = [x if x.requires_grad and recorded else x.detach() for x in op.inputs]
        inputs = [x if x.requires_grad else x.requires_grad_() for x in inputs]
        with enable_grad():
            named = dict(zip(_get_operand_names()[cls.build_forward.__name__], inputs, strict=True))
            out = cls.build_forward(**named, **(op.attrs or {}))
        with set_grad_enabled(recorded):
            found = _grad(out, inputs, op.grad_outputs[0], create_graph=recorded, allow_unused=True)
        return list(found)


class Add(_CoreFunctor):
    """`Add()(alpha, x, beta, y, "z")` is `add(alpha, x, beta, y, "z")`."""

    build_forward = __call__ = staticmethod(add)


class Gemm(_CoreFunctor):
    """`Gemm()(a, b, …)` is `gemm(a, b, …)`."""

    build_forward = __call__ = staticmethod(gemm)


class AddFiber(_CoreFunctor):
    """`AddFiber()(alpha, fiber, beta, tensor, …)` is `add_fiber(alpha, fiber, beta, tensor, …)`."""

    build_forward = __call__ = staticmethod(add_fiber)


class SumFiber(_CoreFunctor):
    """`SumFiber()(x, …)` is `sum_fiber(x, …)`."""

    build_forward = __call__ = staticmethod(sum_fiber)


class Gelu(_CoreFunctor):
    """`Gelu()(x)` is `gelu(x)`."""

    build_forward = __call__ = staticmethod(gelu)
