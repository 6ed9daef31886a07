"""One step of a recurrent layer, and the cells that do one.

Loops over time: `recurrent.py`. Invariant: weights are PyTorch's, [gates hidden, in]; everything
starts uniform in ±1/√hidden.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor, sigmoid, tanh
from ferrograd._tensor import creation
from ferrograd._tensor.generator import Generator
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.nn import _operations, init
from ferrograd.nn._operations import linear
from ferrograd.nn._parameter import Parameter
from ferrograd.nn.functional._arguments import check_flags, check_integer, convert_argument
from ferrograd.nn.layers.base import ResettableModule

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

#: The states of a layer: h, or h and c.
States = tuple[Tensor, ...]
#: `step(projected input, states, recurrent weight [hidden, gates hidden], its bias)`.
Step = Callable[[Tensor, States, Tensor, Tensor | None], States]

#: Gates of each kind of layer.
NUM_GATES = {"RNN": 1, "LSTM": 4, "GRU": 3}


def _make_rnn_step(activation: Callable[[Tensor], Tensor]) -> Step:
    def step(x: Tensor, states: States, weight: Tensor, bias: Tensor | None) -> States:
        return (activation(x + linear(states[0], weight, bias)),)

    return step


def _lstm_step(x: Tensor, states: States, weight: Tensor, bias: Tensor | None) -> States:
    h, c = states
    i, f, g, o = _core.split(x + linear(h, weight, bias), 4, -1)
    c = _core.addcmul(sigmoid(f) * c, sigmoid(i), tanh(g))
    return sigmoid(o) * tanh(c), c


def _gru_step(x: Tensor, states: States, weight: Tensor, bias: Tensor | None) -> States:
    (h,) = states
    x_r, x_z, x_n = _core.split(x, 3, -1)
    h_r, h_z, h_n = _core.split(linear(h, weight, bias), 3, -1)
    new = tanh(_core.addcmul(x_n, sigmoid(x_r + h_r), h_n))
    return (_core.lerp(new, h, sigmoid(x_z + h_z)),)


STEPS: dict[str, Step] = {
    "RNN_TANH": _make_rnn_step(tanh),
    "RNN_RELU": _make_rnn_step(_core.relu),
    "LSTM": _lstm_step,
    "GRU": _gru_step,
}


Weights = tuple[Tensor, Tensor, Tensor | None, Tensor | None]
#: Maps (input, states, weights and biases of input and state, reverse) to outputs and last states.
SequenceFunction = Callable[[Tensor, States, Weights, bool], tuple[Tensor, States]]


def _run_lstm_sequence(
    x: Tensor, states: States, weights: Weights, reverse: bool
) -> tuple[Tensor, States]:
    projection, weight, first, _ = weights
    h, c = states
    inputs = linear(x, projection.T, first)
    out, cells = _operations.lstm_sequence(inputs, h, weight, c, reverse)
    last = 0 if reverse else -1
    return out, (out[last], cells[last])


def _run_gru_sequence(
    x: Tensor, states: States, weights: Weights, reverse: bool
) -> tuple[Tensor, States]:
    projection, weight, first, bias = weights
    (h,) = states
    size = int(h.shape[-1])
    if first is None or bias is None:
        inner = creation.zeros((size,), dtype=x.dtype)
    else:
        # The reset gate multiplies the last part of the second bias; the others join the first.
        inner, zero = bias[2 * size :], creation.zeros((size,), dtype=bias.dtype)
        first = first + _core.concatenate([bias[: 2 * size], zero])
    out = _operations.gru_sequence(linear(x, projection.T, first), h, weight, inner, reverse)
    return out, (out[0 if reverse else -1],)


#: All steps at once, where a kind has an operation for them.
SEQUENCE_FUNCTIONS: dict[str, SequenceFunction] = {
    "LSTM": _run_lstm_sequence,
    "GRU": _run_gru_sequence,
}


class _RNNCellBase(ResettableModule):
    kind: ClassVar[str]
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        *,
        dtype: DTypeLike | None = None,
        generator: Generator | np.random.Generator | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        input_size = check_integer(type(self).__name__, "input_size", input_size, 0)
        hidden_size = check_integer(type(self).__name__, "hidden_size", hidden_size)
        check_flags(type(self).__name__, bias=bias)
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows, bound = NUM_GATES[self.kind] * hidden_size, 1.0 / math.sqrt(hidden_size)
        self.weight_ih = init.fresh((rows, input_size), bound, dtype, generator)
        self.weight_hh = init.fresh((rows, hidden_size), bound, dtype, generator)
        self.bias_ih = init.fresh((rows,), bound, dtype, generator) if bias else None
        self.bias_hh = init.fresh((rows,), bound, dtype, generator) if bias else None

    def _run_step(self, input: Tensor, states: Any, name: str, count: int) -> States:
        input = convert_argument(type(self).__name__, input)
        if input.ndim not in (1, 2) or input.shape[-1] != self.input_size:
            raise ShapeError(
                f"{type(self).__name__}: an input of shape {tuple(input.shape)}; give"
                f" (N, {self.input_size}) or ({self.input_size},)"
            )
        shape = (*input.shape[:-1], self.hidden_size)
        if states is None:
            states = (creation.zeros(shape, dtype=input.dtype),) * count
        states = tuple(convert_argument(type(self).__name__, state, "hx") for state in states)
        if len(states) != count or any(tuple(state.shape) != shape for state in states):
            shapes = ", ".join(str(tuple(state.shape)) for state in states)
            raise ShapeError(
                f"{type(self).__name__}: hx of shape {shapes} beside an input of shape"
                f" {tuple(input.shape)}; give {'two of ' if count == 2 else ''}{shape}"
            )
        x = linear(input, self.weight_ih.T, self.bias_ih)
        return STEPS[name](x, states, self.weight_hh.T, self.bias_hh)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.input_size}, {self.hidden_size}, bias={self.bias}"


class RNNCell(_RNNCellBase):
    """`h' = tanh(W_ih x + b_ih + W_hh h + b_hh)`, or relu with `nonlinearity="relu"`.

    Shapes: x (N, in) or (in), h and the result (N, hidden) or (hidden); h is zero if left out.

    >>> import ferrograd as fg
    >>> fg.nn.RNNCell(3, 4)(fg.ones(2, 3)).shape
    (2, 4)
    """

    kind = "RNN"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        **options: Any,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, **options)
        if nonlinearity not in ("tanh", "relu"):
            raise ArgumentError(f'RNNCell: nonlinearity={nonlinearity!r}; use "tanh" or "relu"')
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state."""
        states = None if hx is None else (hx,)
        return self._run_step(input, states, f"RNN_{self.nonlinearity.upper()}", 1)[0]


class LSTMCell(_RNNCellBase):
    """`c' = σ(f) c + σ(i) tanh(g)`, `h' = σ(o) tanh(c')`; i, f, g, o are linear in x and h.

    Shapes: x (N, in) or (in); (h, c) and the result are pairs of (N, hidden) or (hidden).
    Source: Hochreiter and Schmidhuber, 1997.

    >>> import ferrograd as fg
    >>> h, c = fg.nn.LSTMCell(3, 4)(fg.ones(2, 3))
    >>> h.shape, c.shape
    ((2, 4), (2, 4))
    """

    kind = "LSTM"

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """The next pair of states."""
        h, c = self._run_step(input, hx, "LSTM", 2)
        return h, c


class GRUCell(_RNNCellBase):
    """`h' = (1 - z) n + z h` with `n = tanh(W x + b + r (U h + d))`; gates r and z are sigmoids.

    Shapes: x (N, in) or (in), h and the result (N, hidden) or (hidden). Source: arXiv:1406.1078.

    >>> import ferrograd as fg
    >>> fg.nn.GRUCell(3, 4)(fg.ones(2, 3)).shape
    (2, 4)
    """

    kind = "GRU"

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state."""
        return self._run_step(input, None if hx is None else (hx,), "GRU", 1)[0]
