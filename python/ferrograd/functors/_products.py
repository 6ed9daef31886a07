"""Functors of scaled products, norms and squares.

`_fibers.py` multiplies and sums slices and fibers. Invariant: a call is one node, and
`grad_fn.attrs` is a dict of the call's attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd._tensor.creation import parse_shape
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.functors._base import AutogradFunction
from ferrograd.functors._functor_node import Op
from ferrograd.functors._operations import sum_fiber


class Multiply(AutogradFunction):
    """`multiply(alpha, x, y) = alpha x y` of two tensors of one shape.

    Derivatives: `alpha g y` and `alpha g x`. Errors: `ShapeError` for two shapes.

    >>> import ferrograd as fg
    >>> fg.functors.multiply(2.0, fg.tensor([1.0, 3.0]), fg.tensor([4.0, 5.0])).tolist()
    [8.0, 30.0]
    """

    @staticmethod
    def build_forward(alpha: float, x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
        """`alpha x y`."""
        if x is not None and y is not None and tuple(x.shape) != tuple(y.shape):
            raise ShapeError(
                f"multiply: operands of shapes {tuple(x.shape)} and {tuple(y.shape)}; give one"
                " shape, or use the operator *, which broadcasts"
            )
        return Multiply.run([x, y], {"alpha": alpha}, lambda: alpha * (x * y), name=name)

    @staticmethod
    def build_backward(op: Op) -> Any:  # type: ignore[override]
        """For both operands."""
        (x, y), g = op.inputs, op.attrs["alpha"] * op.grad_outputs[0]
        return [g * y, g * x]


class ScaleFiber(AutogradFunction):
    """`alpha fiber[i_axis, i_batch…]` at every index `i` of a tensor of the given shape.

    The fiber has the size of one axis, then the last `batch_ndim` axes. Derivative: `sum_fiber` of
    `alpha g`. Errors: `ShapeError` for a fiber that does not fit the shape.

    >>> import ferrograd as fg
    >>> fg.functors.scale_fiber(2.0, fg.tensor([1.0, 3.0]), (2, 2)).tolist()
    [[2.0, 2.0], [6.0, 6.0]]
    """

    @staticmethod
    def build_forward(
        alpha: float,
        fiber: Tensor,
        shape: Sequence[int],
        axis: int = 0,
        batch_ndim: int = 0,
        name: str | None = None,
    ) -> Tensor:
        """`alpha fiber`, repeated."""
        shape = parse_shape("scale_fiber", (shape,))
        _check_axis("scale_fiber", axis, len(shape) - batch_ndim)
        want = (shape[axis], *shape[len(shape) - batch_ndim :])
        if fiber is not None and tuple(fiber.shape) != want:
            raise ShapeError(
                f"scale_fiber: a fiber of shape {tuple(fiber.shape)} for {shape}; give {want}"
            )
        attrs = {"alpha": alpha, "shape": shape, "axis": axis, "batch_ndim": batch_ndim}

        def forward() -> Tensor:
            ones = (1,) * (len(shape) - batch_ndim - axis - 1)
            placed = (alpha * fiber).reshape((want[0], *ones, *want[1:]))
            return _core.broadcast_to(placed, shape).clone()

        return ScaleFiber.run([fiber], attrs, forward, name=name)

    @staticmethod
    def build_backward(op: Op) -> Any:  # type: ignore[override]
        """The sums along the fiber."""
        attrs = op.attrs
        return [sum_fiber(op.grad_outputs[0], attrs["axis"], attrs["batch_ndim"], attrs["alpha"])]


class ScaleSlice(AutogradFunction):
    """`alpha slice`, `size` times along a new axis. Derivative: `alpha Σ g` along that axis.

    >>> import ferrograd as fg
    >>> fg.functors.scale_slice(2.0, fg.tensor([1.0, 3.0]), 2, axis=1).tolist()
    [[2.0, 2.0], [6.0, 6.0]]
    """

    @staticmethod
    def build_forward(
        alpha: float, slice: Tensor, size: int, axis: int = 0, name: str | None = None
    ) -> Tensor:
        """`alpha slice`, repeated."""
        attrs = {"alpha": alpha, "size": size, "axis": axis}

        def forward() -> Tensor:
            _check_axis("scale_slice", axis, slice.ndim + 1)
            wide = (alpha * slice).unsqueeze(axis)
            shape = list(wide.shape)
            shape[axis] = size
            return _core.broadcast_to(wide, tuple(shape)).clone()

        return ScaleSlice.run([slice], attrs, forward, name=name)

    @staticmethod
    def build_backward(op: Op) -> Any:  # type: ignore[override]
        """`alpha Σ g`."""
        return [op.attrs["alpha"] * op.grad_outputs[0].sum(op.attrs["axis"])]


class Norm(AutogradFunction):
    """`norm(x, alpha) = alpha sqrt(Σ x²)` over all elements.

    Derivative: `alpha² g x / y`, 0 where the norm is 0.

    >>> import ferrograd as fg
    >>> fg.functors.norm(fg.tensor([3.0, 4.0]), 2.0).item()
    10.0
    """

    @staticmethod
    def build_forward(x: Tensor, alpha: float = 1.0, name: str | None = None) -> Tensor:
        """`alpha sqrt(Σ x²)`."""
        return Norm.run([x], {"alpha": alpha}, lambda: alpha * (x * x).sum().sqrt(), name=name)

    @staticmethod
    def build_backward(op: Op) -> Any:  # type: ignore[override]
        """`alpha² g x / y`."""
        y, alpha = op.outputs[0], op.attrs["alpha"]
        safe = _core.where(y == 0, 1.0, y)
        share = _core.where(y == 0, 0.0, alpha * alpha * op.grad_outputs[0] / safe)
        return [share * op.inputs[0]]


class MseLoss(AutogradFunction):
    """`mse_loss(x, scale) = scale Σ x²` of one tensor, often a difference.

    Derivative: `2 scale g x`. With `scale=1 / x.size` it is the mean.

    >>> import ferrograd as fg
    >>> fg.functors.mse_loss(fg.tensor([1.0, 3.0]), 0.5).item()
    5.0
    """

    @staticmethod
    def build_forward(x: Tensor, scale: float = 1.0, name: str | None = None) -> Tensor:
        """`scale Σ x²`."""
        return MseLoss.run([x], {"scale": scale}, lambda: scale * (x * x).sum(), name=name)

    @staticmethod
    def build_backward(op: Op) -> Any:  # type: ignore[override]
        """`2 scale g x`."""
        return [(2.0 * op.attrs["scale"]) * op.grad_outputs[0] * op.inputs[0]]


def _check_axis(op: str, axis: int, ndim: int) -> None:
    if not 0 <= axis < ndim:
        raise ArgumentError(f"{op}: axis is {axis} for {ndim} axes; give 0 to {ndim - 1}")


multiply = Multiply.build_forward
scale_fiber = ScaleFiber.build_forward
scale_slice = ScaleSlice.build_forward
norm = Norm.build_forward
mse_loss = MseLoss.build_forward
