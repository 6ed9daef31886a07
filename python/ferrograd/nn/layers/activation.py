"""Activations as modules.

Invariant: an activation has only its options; `PReLU` also has its weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from ferrograd._core import Tensor
from ferrograd.errors import ArgumentError, ArgumentTypeError, ShapeError
from ferrograd.nn import functional as F, init  # noqa: N812
from ferrograd.nn._constructor_signature import make_signature
from ferrograd.nn._module import Module
from ferrograd.nn.functional._arguments import check_flags, check_integer, convert_argument
from ferrograd.nn.layers.base import ResettableModule

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class Activation(Module):
    """A module that applies one function; its keyword options are those of the function."""

    function: ClassVar[str]
    defaults: ClassVar[dict[str, Any]] = {}
    #: Whether the module has the option `inplace`, which is then the last one.
    changes: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        more = {"inplace": False} if cls.changes else {}
        cls.__signature__ = make_signature({**cls.defaults, **more})  # type: ignore[attr-defined]

    def __init__(self, *args: Any, name: str | None = None, **options: Any) -> None:
        super().__init__(name)
        names = [*self.defaults, *(["inplace"] if self.changes else [])]
        if "dim" in names and "axis" in options:
            options["dim"] = options.pop("axis")
        if len(args) > len(names) or not set(options) <= set(names):
            raise ArgumentError(
                f"{type(self).__name__}: the options are {names or 'none'}; got {args} {options}"
            )
        self.options = {**self.defaults, **dict(zip(names, args, strict=False)), **options}
        self.inplace = self.options.pop("inplace", False)
        check_flags(type(self).__name__, inplace=self.inplace)

    def forward(self, input: Tensor) -> Tensor:
        """The function of the input."""
        if self.inplace and hasattr(Tensor, f"{self.function}_"):
            return getattr(input, f"{self.function}_")(**self.options)  # type: ignore[no-any-return]
        out: Tensor = getattr(F, self.function)(input, **self.options)
        return input.copy_(out) if self.inplace else out

    def extra_repr(self) -> str:
        """The options."""
        parts = [f"{key}={value!r}" for key, value in self.options.items()]
        return ", ".join([*parts, *(["inplace=True"] if self.inplace else [])])


class _InplaceActivation(Activation):
    changes = True


class ReLU(_InplaceActivation):
    """`max(x, 0)`; the derivative at 0 is 0. `inplace=True` changes the input."""

    function = "relu"


class ReLU6(_InplaceActivation):
    """`min(max(x, 0), 6)`; the derivative at both ends is 0."""

    function = "relu6"


class LeakyReLU(_InplaceActivation):
    """`x` above zero, `negative_slope x` below."""

    function = "leaky_relu"
    defaults: ClassVar[dict[str, Any]] = {"negative_slope": 0.01}


class RReLU(_InplaceActivation):
    """`x` above zero, else `x` times a slope drawn from [lower, upper) while training.

    Its mean is the slope when not training. Source: arXiv:1505.00853.
    """

    function = "rrelu"
    defaults: ClassVar[dict[str, Any]] = {"lower": 1.0 / 8, "upper": 1.0 / 3}

    def forward(self, input: Tensor) -> Tensor:
        """The function, with slopes drawn while training."""
        function = F.rrelu_ if self.inplace else F.rrelu
        return function(input, training=self.training, **self.options)


class ELU(_InplaceActivation):
    """`x` above zero, `alpha (e^x - 1)` below."""

    function = "elu"
    defaults: ClassVar[dict[str, Any]] = {"alpha": 1.0}


class SELU(_InplaceActivation):
    """`scale elu(x, alpha)` with two fixed constants. Source: arXiv:1706.02515."""

    function = "selu"


class CELU(_InplaceActivation):
    """`x` above zero, `alpha (e^(x/alpha) - 1)` below."""

    function = "celu"
    defaults: ClassVar[dict[str, Any]] = {"alpha": 1.0}


class GELU(Activation):
    """`x Φ(x)`; `approximate="tanh"` for the approximation."""

    function = "gelu"
    defaults: ClassVar[dict[str, Any]] = {"approximate": "none"}


class SiLU(_InplaceActivation):
    """`x sigmoid(x)`."""

    function = "silu"


class Mish(_InplaceActivation):
    """`x tanh(softplus(x))`. Source: arXiv:1908.08681."""

    function = "mish"


class Sigmoid(Activation):
    """`1 / (1 + e^-x)`."""

    function = "sigmoid"


class LogSigmoid(Activation):
    """The logarithm of `Sigmoid`."""

    function = "logsigmoid"


class Tanh(Activation):
    """The hyperbolic tangent."""

    function = "tanh"


class Softplus(Activation):
    """`ln(1 + e^(beta x)) / beta`, and `x` where `beta x` exceeds the threshold."""

    function = "softplus"
    defaults: ClassVar[dict[str, Any]] = {"beta": 1.0, "threshold": 20.0}


class Softsign(Activation):
    """`x / (1 + |x|)`."""

    function = "softsign"


class Tanhshrink(Activation):
    """`x - tanh(x)`."""

    function = "tanhshrink"


class Hardshrink(Activation):
    """`x` where `|x| > lambd`, else 0."""

    function = "hardshrink"
    defaults: ClassVar[dict[str, Any]] = {"lambd": 0.5}


class Softshrink(Activation):
    """`x` moved towards 0 by `lambd`, at most to 0."""

    function = "softshrink"
    defaults: ClassVar[dict[str, Any]] = {"lambd": 0.5}


class Hardtanh(_InplaceActivation):
    """`x` limited to `min_val..max_val`."""

    function = "hardtanh"
    defaults: ClassVar[dict[str, Any]] = {"min_val": -1.0, "max_val": 1.0}


class Hardsigmoid(_InplaceActivation):
    """`x / 6 + 1/2`, limited to 0..1."""

    function = "hardsigmoid"


class Hardswish(_InplaceActivation):
    """`x Hardsigmoid(x)`. Source: arXiv:1905.02244."""

    function = "hardswish"


class Threshold(_InplaceActivation):
    """`x` where it exceeds `threshold`, else `value`.

    >>> import ferrograd as fg
    >>> fg.nn.Threshold(0.5, 20.0)(fg.tensor([0.25, 1.0])).tolist()
    [20.0, 1.0]
    """

    function = "threshold"

    defaults: ClassVar[dict[str, Any]] = {"threshold": ..., "value": ...}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        missing = [key for key, value in self.options.items() if value is ...]
        if missing:
            raise ArgumentTypeError(f"Threshold: {' and '.join(missing)} left out; give a number")


class GLU(Activation):
    """`a sigmoid(b)`, with `a` and `b` the halves of an axis. Source: arXiv:1612.08083."""

    function = "glu"
    defaults: ClassVar[dict[str, Any]] = {"dim": -1}


class Softmax(Activation):
    """`e^x` divided by its sum over an axis, by default the last one."""

    function = "softmax"
    defaults: ClassVar[dict[str, Any]] = {"dim": -1}


class Softmin(Activation):
    """`Softmax` of `-x`."""

    function = "softmin"
    defaults: ClassVar[dict[str, Any]] = {"dim": -1}


class LogSoftmax(Activation):
    """The logarithm of `Softmax`."""

    function = "log_softmax"
    defaults: ClassVar[dict[str, Any]] = {"dim": -1}


class Softmax2d(Module):
    """`Softmax` over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """The softmax over the third axis from the end."""
        input = convert_argument("Softmax2d", input)
        if input.ndim not in (3, 4):
            raise ShapeError(
                f"Softmax2d: an input of shape {tuple(input.shape)}; give (N, C, H, W) or (C, H, W)"
            )
        return F.softmax(input, -3)


class PReLU(ResettableModule):
    """`x` above zero, `weight x` elsewhere; the weights are parameters.

    Shapes: (N, C, …) with `num_parameters` 1 or C. Source: arXiv:1502.01852.

    >>> import ferrograd as fg
    >>> fg.nn.PReLU()(fg.tensor([-4.0, 4.0])).tolist()
    [-1.0, 4.0]
    """

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        *,
        dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        num_parameters = check_integer("PReLU", "num_parameters", num_parameters)
        self.num_parameters, self.init = num_parameters, init
        self.weight = _make_constant_parameter(num_parameters, init, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """The function with the module's weights."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """The number of weights."""
        return f"num_parameters={self.num_parameters}"


def _make_constant_parameter(count: int, value: float, dtype: DTypeLike | None) -> Any:
    return init.started(init.empty_parameter((count,), dtype), "constant_", (value,))


class Identity(Module):
    """Returns the input; arguments of the constructor are ignored."""

    def __init__(self, *args: Any, name: str | None = None, **options: Any) -> None:
        super().__init__(name)

    def forward(self, input: Tensor) -> Tensor:
        """The input."""
        return input


_ACTIVATIONS: dict[str, Callable[[], Module]] = {
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


def make_activation(name: str) -> Module:
    """A new activation by name, such as "gelu", "relu", "silu", "gelu_tanh"."""
    make = _ACTIVATIONS.get(name) if isinstance(name, str) else None
    if make is None:
        raise ArgumentError(
            f"activation: {name!r} is not known; use a Module or one of {', '.join(_ACTIVATIONS)}"
        )
    return make()
