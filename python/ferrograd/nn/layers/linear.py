"""`Linear`, `MLP` and `Bilinear`.

Invariant: the weight of `Linear` is [in, out] (document 001), unlike PyTorch's.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, cast

from ferrograd._core import Tensor, get_default_dtype
from ferrograd._tensor.generator import Generator
from ferrograd.errors import ArgumentTypeError, DTypeError, ShapeError
from ferrograd.nn import functional as F, init  # noqa: N812
from ferrograd.nn._module import Module
from ferrograd.nn._parameter import Parameter
from ferrograd.nn.functional._arguments import check_flags, check_integer
from ferrograd.nn.layers.activation import make_activation
from ferrograd.nn.layers.base import ResettableModule

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike


class Linear(ResettableModule):
    """`y = x W + b` over the last axis of x; W is [in, out], b is [out].

    Shapes: x is […, in], y is […, out]. `bias` is True, False, or an existing tensor. `weight` is
    an existing tensor to be tied; it may have more than two axes, [in, …, out], and `in_features`
    and `out_features` may then be left out. A new weight and bias are uniform in ±1/√in. Each call
    is two nodes, Gemm and AddFiber.
    Errors: `ShapeError` for a scalar input, for a wrong last axis (`Expected {in}, got {k}`) and
    for tied tensors with a wrong rank or size; `DTypeError` for tied tensors of different dtypes or
    without floats; `ArgumentError` for sizes below 1.

    >>> import ferrograd as fg
    >>> layer = fg.nn.Linear(8, 4)
    >>> layer(fg.ones(2, 3, 8)).shape, layer.weight.shape
    ((2, 3, 4), (8, 4))
    """

    weight_is_in_out: ClassVar[bool] = True
    bias: Parameter | None

    def __init__(
        self,
        in_features: int | None = None,
        out_features: int | None = None,
        bias: bool | Tensor = True,
        *,
        weight: Tensor | None = None,
        dtype: DTypeLike | None = None,
        generator: Generator | np.random.Generator | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        if not isinstance(bias, Tensor):
            check_flags("Linear", bias=bias)
        fresh = weight is None
        if weight is None:
            sizes = tuple(
                check_integer("Linear", what, size)
                for what, size in (("in_features", in_features), ("out_features", out_features))
            )
            weight = init.empty_parameter(sizes, dtype or get_default_dtype())
        else:
            _check_weight(weight, in_features, out_features, dtype)
        self.in_features, self.out_features = int(weight.shape[0]), int(weight.shape[-1])
        if isinstance(bias, Tensor):
            _check_bias(bias, weight)
        elif bias:
            bias_tensor = init.empty_parameter((self.out_features,), weight.dtype)
            around = init.bounds(self.in_features)
            bias = init.started(bias_tensor, "uniform_", around, generator)
        if fresh:
            around = init.bounds(self.in_features)
            init.started(cast(Parameter, weight), "uniform_", around, generator)
        self.register_parameter("weight", weight)
        if isinstance(weight, Parameter):
            weight.fan_layout = "in_out"
        if isinstance(bias, Tensor):
            self.register_parameter("bias", bias)
        else:
            self.bias = None

    def forward(self, input: Tensor) -> Tensor:
        """The product with the weight, plus the bias."""
        try:
            return F.linear(input, self.weight, self.bias)
        except (ShapeError, ArgumentTypeError):
            self._check_input(input)
            self._check_not_transposed()
            raise

    def _check_input(self, input: Any) -> None:
        """Raises for a wrong input; objects without a shape are left to the product."""
        if input is None:
            raise ArgumentTypeError("Linear: inputs must not be null: input is None; pass a tensor")
        shape = getattr(input, "shape", None)
        if shape is None:
            return
        if len(shape) == 0:
            raise ShapeError(
                f"Linear: the input is a scalar; give at least one axis, of size {self.in_features}"
            )
        if shape[-1] != self.in_features:
            raise ShapeError(
                f"Linear: Expected {self.in_features}, got {shape[-1]}: the last axis of the input,"
                f" of shape {tuple(shape)}, does not fit the weight"
            )

    def _check_not_transposed(self) -> None:
        """Raises for a weight in PyTorch's layout."""
        sizes = (self.in_features, self.out_features)
        if tuple(self.weight.shape) == sizes[::-1] != sizes:
            raise ShapeError(
                f"Linear: the weight has shape {sizes[::-1]}; it is [in, out] here, {sizes},"
                " and not [out, in]. To share another layer's weight, leave this layer out and"
                " call nn.functional.linear(x, other.weight.T)"
            )

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features},"
            f" bias={self.bias is not None}"
        )


def _check_weight(
    weight: Any, in_features: int | None, out_features: int | None, dtype: DTypeLike | None
) -> None:
    if not isinstance(weight, Tensor):
        raise ArgumentTypeError(
            f"Linear: the weight is a {type(weight).__name__}; pass a Parameter to tie"
        )
    if weight.ndim < 2:
        raise ShapeError(
            f"Linear: the weight has {weight.ndim} dimensions; it needs at least 2, [in, out]"
        )
    given = (in_features, out_features)
    own = (weight.shape[0], weight.shape[-1])
    for name, want, have in zip(("in_features", "out_features"), given, own, strict=True):
        if want is not None and want != have:
            raise ShapeError(
                f"Linear: {name} is {want} but the weight has shape {tuple(weight.shape)};"
                " give a weight [in, out]"
            )
    if weight.dtype.kind != "f" or (dtype is not None and weight.dtype != dtype):
        raise DTypeError(f"Linear: the weight has dtype {weight.dtype}; give one of {dtype}")


def _check_bias(bias: Tensor, weight: Tensor) -> None:
    if bias.ndim != 1:
        raise ShapeError(f"Linear: the bias has {bias.ndim} dimensions; it needs 1")
    if bias.shape[0] != weight.shape[-1]:
        raise ShapeError(
            f"Linear: the bias has {bias.shape[0]} entries but the weight has {weight.shape[-1]}"
            " outputs; they must agree"
        )
    if bias.dtype != weight.dtype:
        raise DTypeError(
            f"Linear: the bias has dtype {bias.dtype} and the weight {weight.dtype}; convert one"
        )


class MLP(Module):
    """Linear, activation, linear: children `fc1`, `activation`, `fc2`.

    `out_features` defaults to `in_features`. The activation defaults to gelu; others are "relu",
    "silu", "gelu_tanh" or a module. As in document 001 there are no biases by default.
    Shapes: […, in] to […, out].

    >>> import ferrograd as fg
    >>> mlp = fg.nn.MLP(8, 32)
    >>> mlp(fg.ones(2, 8)).shape, [name for name, _ in mlp.named_parameters()]
    ((2, 8), ['fc1.weight', 'fc2.weight'])
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: int,
        out_features: int | None = None,
        activation: str | Module = "gelu",
        bias: bool = False,
        *,
        dtype: DTypeLike | None = None,
        generator: Generator | np.random.Generator | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        middle = _convert_activation(activation)
        last = in_features if out_features is None else out_features
        self.fc1 = Linear(in_features, hidden_features, bias, dtype=dtype, generator=generator)
        self.activation = middle
        self.fc2 = Linear(hidden_features, last, bias, dtype=dtype, generator=generator)

    def forward(self, input: Tensor) -> Tensor:
        """Both products with the activation between them."""
        out: Tensor = self.fc2(self.activation(self.fc1(input)))
        return out


def _convert_activation(given: str | Module) -> Module:
    return given if isinstance(given, Module) else make_activation(given)


class Bilinear(ResettableModule):
    """`Σ_ij x1_i W_kij x2_j + b_k` of two inputs; W is [out, in1, in2], b is [out].

    Shapes: (…, in1) and (…, in2) to (…, out). Both start uniform in ±1/√in1.

    >>> import ferrograd as fg
    >>> fg.nn.Bilinear(3, 4, 5)(fg.ones(2, 3), fg.ones(2, 4)).shape
    (2, 5)
    """

    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        *,
        dtype: DTypeLike | None = None,
        generator: Generator | np.random.Generator | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        in1_features = check_integer("Bilinear", "in1_features", in1_features)
        in2_features = check_integer("Bilinear", "in2_features", in2_features)
        out_features = check_integer("Bilinear", "out_features", out_features)
        check_flags("Bilinear", bias=bias)
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features, bound = out_features, 1.0 / math.sqrt(in1_features)
        shape = (out_features, in1_features, in2_features)
        self.weight = init.fresh(shape, bound, dtype, generator)
        self.bias = init.fresh((out_features,), bound, dtype, generator) if bias else None

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """The form of both inputs."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features},"
            f" out_features={self.out_features}, bias={self.bias is not None}"
        )
