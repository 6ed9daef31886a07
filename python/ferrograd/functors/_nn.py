"""Functors of networks: activations, normalisation, attention, embeddings, losses of classes.

Invariant: a call is one node, and `grad_fn.attrs` is a dict of the call's attributes. Its rule
computes the operation again with recording on, so derivatives of every order are right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ferrograd import _core
from ferrograd._core import Tensor, _grad
from ferrograd._tensor.modes import enable_grad, set_grad_enabled
from ferrograd.errors import ArgumentError
from ferrograd.functors._base import AutogradFunction
from ferrograd.functors._functor_node import Op

_NN = _core._namespaces["nn.functional"]


class _FormulaFunctor(AutogradFunction):
    """A functor of an operation of the core: `formula(*inputs, **attrs)`."""

    formula: ClassVar[Any]

    @classmethod
    def _call(cls, inputs: Sequence[Tensor], name: str | None, **attrs: Any) -> Tensor:
        return cls.run(inputs, attrs, lambda: cls.formula(*inputs, **attrs), name=name)

    @classmethod
    def build_backward(cls, op: Op) -> Any:  # type: ignore[override]
        """The gradients of the inputs that want one."""
        recorded = _core.is_grad_enabled()
        wanted = [i for i, needs in enumerate(op.needs_input_grad) if needs]
        inputs = list(op.inputs)
        for i in wanted:
            own = inputs[i].requires_grad and recorded
            inputs[i] = inputs[i] if own else inputs[i].detach().requires_grad_()
        with enable_grad():
            out = cls.formula(*inputs, **op.attrs)
        with set_grad_enabled(recorded):
            leaves = [inputs[i] for i in wanted]
            found = _grad(out, leaves, op.grad_outputs[0], create_graph=recorded, allow_unused=True)
        given: list[Tensor | None] = [None] * len(inputs)
        for i, gradient in zip(wanted, found, strict=True):
            given[i] = gradient
        return given


class Relu(_FormulaFunctor):
    """`relu(x) = max(x, 0)`. Derivative: `g` where `x > 0`.

    >>> import ferrograd as fg
    >>> fg.functors.relu(fg.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    formula = staticmethod(_core.relu)

    @staticmethod
    def build_forward(x: Tensor, name: str | None = None) -> Tensor:
        """`max(x, 0)`."""
        return Relu._call([x], name)


class Silu(_FormulaFunctor):
    """`silu(x) = x σ(x)`. Derivative: `g σ(x) (1 + x (1 - σ(x)))`.

    >>> import ferrograd as fg
    >>> fg.functors.silu(fg.tensor([0.0])).tolist()
    [0.0]
    """

    formula = staticmethod(_core.silu)

    @staticmethod
    def build_forward(x: Tensor, name: str | None = None) -> Tensor:
        """`x σ(x)`."""
        return Silu._call([x], name)


class GeluTanh(_FormulaFunctor):
    """`gelutanh(x) = ½ x (1 + tanh(√(2/π) (x + 0.044715 x³)))`, the common approximation of `gelu`.

    >>> import ferrograd as fg
    >>> fg.functors.gelutanh(fg.tensor([0.0])).tolist()
    [0.0]
    """

    @staticmethod
    def formula(x: Tensor) -> Tensor:
        """The operation of the core."""
        return _core.gelu(x, approximate="tanh")

    @staticmethod
    def build_forward(x: Tensor, name: str | None = None) -> Tensor:
        """The approximation."""
        return GeluTanh._call([x], name)


class Softmax(_FormulaFunctor):
    """`softmax(x, axis) = e^x / Σ e^x` along an axis. Derivative: `y (g - Σ g y)`.

    >>> import ferrograd as fg
    >>> fg.functors.softmax(fg.zeros(2, 2), 1).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """

    formula = staticmethod(_core.softmax)

    @staticmethod
    def build_forward(x: Tensor, axis: int = 0, name: str | None = None) -> Tensor:
        """`e^x / Σ e^x`."""
        return Softmax._call([x], name, axis=axis)


class RmsNorm(_FormulaFunctor):
    """`rms_norm(x, gamma, eps) = gamma x / sqrt(mean(x²) + eps)` over the last axis.

    `gamma` has its size. Errors: `ShapeError` for another one.

    >>> import ferrograd as fg
    >>> fg.functors.rms_norm(fg.tensor([[3.0, 3.0]]), fg.ones(2), eps=0.0).tolist()
    [[1.0, 1.0]]
    """

    @staticmethod
    def formula(x: Tensor, gamma: Tensor, eps: float) -> Tensor:
        """The operation of the core."""
        found: Tensor = _NN["rms_norm"](x, tuple(gamma.shape), gamma, eps)
        return found

    @staticmethod
    def build_forward(
        x: Tensor, gamma: Tensor, eps: float = 1e-6, name: str | None = None
    ) -> Tensor:
        """`gamma x / sqrt(mean(x²) + eps)`."""
        return RmsNorm._call([x, gamma], name, eps=eps)


class Rope(_FormulaFunctor):
    """Rotary positions, as `nn.functional.rope`: rotates pairs of the last axis by the position.

    x is (…, L, E) with an even E; `positions`, (L), default to 0, 1, 2, ….

    >>> import ferrograd as fg
    >>> fg.functors.rope(fg.ones(1, 2)).tolist()
    [[1.0, 1.0]]
    """

    formula = staticmethod(_NN["rope"])

    @staticmethod
    def build_forward(
        x: Tensor,
        positions: Tensor | None = None,
        base: float = 10000.0,
        interleaved: bool = False,
        name: str | None = None,
    ) -> Tensor:
        """`x`, turned."""
        return Rope._call([x], name, positions=positions, base=base, interleaved=interleaved)


class Embedding(_FormulaFunctor):
    """`embedding(index, weight)`: the rows of the weight (rows, E) that integers name.

    The result has the shape of `index`, then E. Derivative: `g` added to the rows.

    >>> import ferrograd as fg
    >>> fg.functors.embedding(fg.tensor([1, 0]), fg.tensor([[1.0], [2.0]])).tolist()
    [[2.0], [1.0]]
    """

    @staticmethod
    def formula(index: Tensor, weight: Tensor) -> Tensor:
        """The operation of the core."""
        return _core.take(weight, index, 0)

    @staticmethod
    def build_forward(index: Tensor, weight: Tensor, name: str | None = None) -> Tensor:
        """The rows."""
        if index is not None and index.dtype.kind not in "iu":
            raise ArgumentError(
                f"embedding: an index of dtype {index.dtype}; give integers, index.astype(fg.int64)"
            )
        return Embedding._call([index, weight], name)


class Sdpa(_FormulaFunctor):
    """`sdpa(q, k, v, mask) = softmax(q kᵀ / √E) v`, over the keys where the mask is true.

    q is (…, L, E), k (…, S, E), v (…, S, V); a boolean mask (L, S) selects keys, a float mask is
    added.

    >>> import ferrograd as fg
    >>> fg.functors.sdpa(fg.ones(1, 2), fg.ones(3, 2), fg.ones(3, 1)).tolist()
    [[1.0]]
    """

    formula = staticmethod(_NN["_scaled_dot_product_attention"])

    @staticmethod
    def build_forward(
        q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, name: str | None = None
    ) -> Tensor:
        """`softmax(q kᵀ / √E) v`."""
        return Sdpa._call([q, k, v], name, attn_mask=mask)


class Concat(_FormulaFunctor):
    """`concat(tensors, axis)`: joined along an axis. Derivatives: the parts of `g`.

    >>> import ferrograd as fg
    >>> fg.functors.concat([fg.zeros(1), fg.ones(2)]).tolist()
    [0.0, 1.0, 1.0]
    """

    @staticmethod
    def formula(*tensors: Tensor, axis: int) -> Tensor:
        """The operation of the core."""
        return _core.concatenate(list(tensors), axis)

    @staticmethod
    def build_forward(tensors: Sequence[Tensor], axis: int = 0, name: str | None = None) -> Tensor:
        """The tensors, joined."""
        return Concat._call(tensors, name, axis=axis)


class Transpose(_FormulaFunctor):
    """`transpose(x, ndim)`: moves the first `ndim` axes to the end. Derivative: the inverse.

    >>> import ferrograd as fg
    >>> fg.functors.transpose(fg.ones(2, 3, 4), 1).shape
    (3, 4, 2)
    """

    @staticmethod
    def formula(x: Tensor, ndim: int) -> Tensor:
        """The operation of the core, with its own memory."""
        return x.permute((*range(ndim, x.ndim), *range(ndim))).clone()

    @staticmethod
    def build_forward(x: Tensor, ndim: int = 1, name: str | None = None) -> Tensor:
        """`x` with its axes shifted."""
        if x is not None and not 0 <= ndim <= x.ndim:
            raise ArgumentError(f"transpose: ndim is {ndim} for {x.ndim} axes; give 0 to {x.ndim}")
        return Transpose._call([x], name, ndim=ndim)


class CrossEntropy(_FormulaFunctor):
    """`scale Σ` of the cross entropies of logits (classes, …) and class indices (…).

    Axis 0 has the classes; elements equal to `ignore_index` do not count. Derivative:
    `scale g (softmax(x) - onehot(labels))`.

    >>> import ferrograd as fg
    >>> round(fg.functors.cross_entropy(fg.zeros(2, 3), fg.tensor([0, 1, 0]), 0.5).item(), 6)
    1.039721
    """

    @staticmethod
    def formula(x: Tensor, labels: Tensor, scale: float, ignore_index: int) -> Tensor:
        """The operation of the core, with the classes last."""
        rows = x.reshape((x.shape[0], -1)).T
        total = _core.cross_entropy(
            rows, labels.reshape((-1,)), ignore_index=ignore_index, reduction="sum"
        )
        return scale * total

    @staticmethod
    def build_forward(
        x: Tensor,
        labels: Tensor,
        scale: float = 1.0,
        ignore_index: int = -100,
        name: str | None = None,
    ) -> Tensor:
        """`scale` times the sum."""
        return CrossEntropy._call([x, labels], name, scale=scale, ignore_index=ignore_index)


relu = Relu.build_forward
silu = Silu.build_forward
gelutanh = GeluTanh.build_forward
softmax = Softmax.build_forward
rms_norm = RmsNorm.build_forward
rope = Rope.build_forward
embedding = Embedding.build_forward
sdpa = Sdpa.build_forward
concat = Concat.build_forward
transpose = Transpose.build_forward
cross_entropy = CrossEntropy.build_forward
