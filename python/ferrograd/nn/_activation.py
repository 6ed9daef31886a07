"""Activations as modules.

Owns: the classes and the table of their names. Never computes: each calls the function it names.
Invariant: an activation holds its options and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd.errors import ArgumentError
from ferrograd.nn._module import Module


class Activation(Module):
    """A module that applies one function; its keyword options are those of the function."""

    function: ClassVar[str]
    defaults: ClassVar[dict[str, Any]] = {}

    def __init__(self, *args: Any, name: str | None = None, **options: Any) -> None:
        super().__init__(name)
        names = list(self.defaults)
        if len(args) > len(names) or not set(options) <= set(names):
            raise ArgumentError(
                f"{type(self).__name__}: the options are {names or 'none'}; got {args} {options}"
            )
        self.options = {**self.defaults, **dict(zip(names, args, strict=False)), **options}

    def forward(self, input: Tensor) -> Tensor:
        """The function of the input."""
        return getattr(_core, self.function)(input, **self.options)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        """The options."""
        return ", ".join(f"{key}={value!r}" for key, value in self.options.items())


class ReLU(Activation):
    """`max(x, 0)`; the derivative at 0 is 0."""

    function = "relu"


class ReLU6(Activation):
    """`min(max(x, 0), 6)`; the derivative at both ends is 0."""

    function = "relu6"


class LeakyReLU(Activation):
    """`x` above zero, `negative_slope x` below."""

    function = "leaky_relu"
    defaults: ClassVar[dict[str, Any]] = {"negative_slope": 0.01}


class ELU(Activation):
    """`x` above zero, `alpha (e^x - 1)` below."""

    function = "elu"
    defaults: ClassVar[dict[str, Any]] = {"alpha": 1.0}


class GELU(Activation):
    """`x Φ(x)`; `approximate="tanh"` for the approximation."""

    function = "gelu"
    defaults: ClassVar[dict[str, Any]] = {"approximate": "none"}


class SiLU(Activation):
    """`x sigmoid(x)`."""

    function = "silu"


class Sigmoid(Activation):
    """`1 / (1 + e^-x)`."""

    function = "sigmoid"


class Tanh(Activation):
    """The hyperbolic tangent."""

    function = "tanh"


class Softplus(Activation):
    """`ln(1 + e^x)`."""

    function = "softplus"


class Softmax(Activation):
    """`e^x` divided by its sum over an axis."""

    function = "softmax"
    defaults: ClassVar[dict[str, Any]] = {"axis": -1}


class LogSoftmax(Activation):
    """The logarithm of `Softmax`."""

    function = "log_softmax"
    defaults: ClassVar[dict[str, Any]] = {"axis": -1}


class Identity(Module):
    """The input itself."""

    def forward(self, input: Tensor) -> Tensor:
        """The input."""
        return input


_NAMES: dict[str, Callable[[], Module]] = {
    "gelu": lambda: GELU(),
    "gelu_tanh": lambda: GELU(approximate="tanh"),
    "gelutanh": lambda: GELU(approximate="tanh"),
    "relu": lambda: ReLU(),
    "silu": lambda: SiLU(),
    "swish": lambda: SiLU(),
    "tanh": lambda: Tanh(),
    "sigmoid": lambda: Sigmoid(),
    "identity": lambda: Identity(),
}


def activation(name: str) -> Module:
    """A new activation by name, such as "gelu", "relu", "silu", "gelu_tanh"."""
    make = _NAMES.get(name) if isinstance(name, str) else None
    if make is None:
        raise ArgumentError(
            f"activation: {name!r} is not known; use a Module or one of {', '.join(_NAMES)}"
        )
    return make()
