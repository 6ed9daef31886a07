"""Functors that scale, multiply and sum along one axis, or along all but one.

A slice is a tensor without one of its axes; a fiber is as for `add_fiber`. Invariant: a call is one
node, `grad_fn.attrs` is a dict of the call's attributes, and the derivative is also recorded.
"""

from __future__ import annotations

from typing import Any

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.functors._base import AutogradFunction
from ferrograd.functors._functor_node import Op
from ferrograd.functors._operations import add_fiber, sum_fiber


def _check_axis(op: str, axis: int, ndim: int) -> int:
    if not 0 <= axis < ndim:
        raise ArgumentError(f"{op}: axis is {axis} for {ndim} axes; give 0 to {ndim - 1}")
    return axis


def _check_slice(op: str, part: Tensor, tensor: Tensor, axis: int) -> None:
    _check_axis(op, axis, tensor.ndim)
    shape = tuple(tensor.shape)
    if tuple(part.shape) != shape[:axis] + shape[axis + 1 :]:
        raise ShapeError(
            f"{op}: a slice of shape {tuple(part.shape)} and a tensor of shape {shape}; give the"
            f" tensor's shape without axis {axis}"
        )


def _broadcast_fiber(fiber: Tensor, like: Tensor, attrs: dict[str, Any]) -> Tensor:
    """The fiber along the axes of a tensor."""
    return add_fiber(1.0, fiber, 0.0, like, attrs["axis"], attrs["batch_ndim"])


class Scale(AutogradFunction):
    """`scale(alpha, x) = alpha x`. Derivative: `alpha g`."""

    @staticmethod
    def build_forward(alpha: float, x: Tensor, name: str | None = None) -> Tensor:
        """`alpha x`."""
        return Scale.run([x], {"alpha": alpha}, lambda: alpha * x, name=name)

    @staticmethod
    def build_backward(op: Op) -> Any:  # type: ignore[override]
        """`alpha g`."""
        return [op.attrs["alpha"] * op.grad_outputs[0]]


class SumSlice(AutogradFunction):
    """`alpha Σ x` along one axis, which disappears. Derivative: `alpha g` repeated along it."""

    @staticmethod
    def build_forward(
        x: Tensor, axis: int = 0, alpha: float = 1.0, name: str | None = None
    ) -> Tensor:
        """`alpha Σ x`."""
        _check_axis("sum_slice", axis, x.ndim)
        attrs = {"axis": axis, "alpha": alpha}
        return SumSlice.run([x], attrs, lambda: alpha * x.sum(axis), name=name)

    @staticmethod
    def build_backward(op: Op) -> Any:  # type: ignore[override]
        """`alpha g`, repeated."""
        wide = op.grad_outputs[0].unsqueeze(op.attrs["axis"])
        return [_core.broadcast_to(op.attrs["alpha"] * wide, tuple(op.inputs[0].shape))]


class AddSlice(AutogradFunction):
    """`beta tensor + alpha slice`, the slice repeated along an axis.

    Derivatives: `alpha Σ g` along the axis, and `beta g`.
    """

    @staticmethod
    def build_forward(
        alpha: float,
        slice: Tensor,
        beta: float,
        tensor: Tensor,
        axis: int = 0,
        name: str | None = None,
    ) -> Tensor:
        """`beta tensor + alpha slice`."""
        _check_slice("add_slice", slice, tensor, axis)
        attrs = {"alpha": alpha, "beta": beta, "axis": axis}

        def forward() -> Tensor:
            return beta * tensor + alpha * slice.unsqueeze(axis)

        return AddSlice.run([slice, tensor], attrs, forward, name=name)

    @staticmethod
    def build_backward(op: Op) -> Any:  # type: ignore[override]
        """For the slice and for the tensor."""
        g, attrs = op.grad_outputs[0], op.attrs
        return [attrs["alpha"] * g.sum(attrs["axis"]), attrs["beta"] * g]


class MultiplySlice(AutogradFunction):
    """`alpha slice tensor`, the slice repeated along an axis.

    Derivatives: `alpha Σ g tensor` along the axis, and `alpha g slice`.
    """

    @staticmethod
    def build_forward(
        alpha: float, slice: Tensor, tensor: Tensor, axis: int = 0, name: str | None = None
    ) -> Tensor:
        """`alpha slice tensor`."""
        _check_slice("multiply_slice", slice, tensor, axis)
        attrs = {"alpha": alpha, "axis": axis}

        def forward() -> Tensor:
            return alpha * (slice.unsqueeze(axis) * tensor)

        return MultiplySlice.run([slice, tensor], attrs, forward, name=name)

    @staticmethod
    def build_backward(op: Op) -> Any:  # type: ignore[override]
        """For the slice and for the tensor."""
        (part, tensor), axis = op.inputs, op.attrs["axis"]
        g = op.attrs["alpha"] * op.grad_outputs[0]
        return [(g * tensor).sum(axis), g * part.unsqueeze(axis)]


class MultiplyFiber(AutogradFunction):
    """`alpha fiber[i_axis, i_batch…] tensor[i]`.

    Derivatives: `alpha sum_fiber(g tensor)`, and `alpha fiber g`.
    """

    @staticmethod
    def build_forward(
        alpha: float,
        fiber: Tensor,
        tensor: Tensor,
        axis: int = 0,
        batch_ndim: int = 0,
        name: str | None = None,
    ) -> Tensor:
        """`alpha fiber tensor`."""
        attrs = {"alpha": alpha, "axis": axis, "batch_ndim": batch_ndim}

        def forward() -> Tensor:
            return alpha * (_broadcast_fiber(fiber, tensor, attrs) * tensor)

        return MultiplyFiber.run([fiber, tensor], attrs, forward, name=name)

    @staticmethod
    def build_backward(op: Op) -> Any:  # type: ignore[override]
        """For the fiber and for the tensor."""
        (fiber, tensor), attrs, g = op.inputs, op.attrs, op.grad_outputs[0]
        sums = sum_fiber(g * tensor, attrs["axis"], attrs["batch_ndim"], attrs["alpha"])
        return [sums, attrs["alpha"] * (_broadcast_fiber(fiber, tensor, attrs) * g)]


class NormSlice(AutogradFunction):
    """`alpha sqrt(Σ x²)` along one axis. Derivative: `alpha² g x / y`, 0 where `y` is 0."""

    @staticmethod
    def build_forward(
        x: Tensor, axis: int = 0, alpha: float = 1.0, name: str | None = None
    ) -> Tensor:
        """`alpha sqrt(Σ x²)`."""
        _check_axis("norm_slice", axis, x.ndim)
        attrs = {"axis": axis, "alpha": alpha}
        return NormSlice.run([x], attrs, lambda: alpha * (x * x).sum(axis).sqrt(), name=name)

    @staticmethod
    def build_backward(op: Op) -> Any:  # type: ignore[override]
        """`alpha² g x / y`."""
        share = _compute_norm_factor(op).unsqueeze(op.attrs["axis"])
        return [share * op.inputs[0]]


class NormFiber(AutogradFunction):
    """`alpha sqrt(Σ x²)` over every axis but `axis` and the last `batch_ndim` ones.

    Derivative: `alpha² g x / y`, 0 where `y` is 0.
    """

    @staticmethod
    def build_forward(
        x: Tensor,
        axis: int = 0,
        batch_ndim: int = 0,
        alpha: float = 1.0,
        name: str | None = None,
    ) -> Tensor:
        """`alpha sqrt(Σ x²)`."""
        attrs = {"axis": axis, "batch_ndim": batch_ndim, "alpha": alpha}

        def forward() -> Tensor:
            return alpha * sum_fiber(x * x, axis, batch_ndim).sqrt()

        return NormFiber.run([x], attrs, forward, name=name)

    @staticmethod
    def build_backward(op: Op) -> Any:  # type: ignore[override]
        """`alpha² g x / y`."""
        x = op.inputs[0]
        return [_broadcast_fiber(_compute_norm_factor(op), x, op.attrs) * x]


def _compute_norm_factor(op: Op) -> Tensor:
    """`alpha² g / y`, 0 where `y` is 0."""
    y, alpha = op.outputs[0], op.attrs["alpha"]
    safe = _core.where(y == 0, 1.0, y)
    found: Tensor = _core.where(y == 0, 0.0, alpha * alpha * op.grad_outputs[0] / safe)
    return found


scale = Scale.build_forward
sum_slice = SumSlice.build_forward
add_slice = AddSlice.build_forward
multiply_slice = MultiplySlice.build_forward
multiply_fiber = MultiplyFiber.build_forward
norm_slice = NormSlice.build_forward
norm_fiber = NormFiber.build_forward
