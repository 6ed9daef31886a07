"""Recurrent layers: loops of steps over time, several layers, both directions.

One step: `cells.py`. Invariant: the input is projected for all times at once. A step after the end
of a sequence does not change the states, and its output is zero.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd._tensor import creation
from ferrograd._tensor.generator import Generator
from ferrograd.errors import ArgumentError, ArgumentTypeError, ShapeError
from ferrograd.nn import functional as F, init  # noqa: N812
from ferrograd.nn.functional._arguments import check_flags, check_integer, convert_argument
from ferrograd.nn.layers.base import ResettableModule
from ferrograd.nn.layers.container import MOST_LAYERS
from ferrograd.nn.layers.sequences.cells import NUM_GATES, SEQUENCE_FUNCTIONS, STEPS, States
from ferrograd.nn.utils.rnn import PackedSequence

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class _RNNBase(ResettableModule):
    kind: ClassVar[str]
    #: States of a layer: h, or h and c.
    count: ClassVar[int] = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        proj_size: int = 0,
        dtype: DTypeLike | None = None,
        generator: Generator | np.random.Generator | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        op = type(self).__name__
        input_size = check_integer(op, "input_size", input_size, 0)
        hidden_size = check_integer(op, "hidden_size", hidden_size)
        num_layers, proj_size = (
            check_integer(op, "num_layers", num_layers),
            check_integer(op, "proj_size", proj_size, 0),
        )
        check_flags(op, bias=bias, batch_first=batch_first, bidirectional=bidirectional)
        if num_layers > MOST_LAYERS:
            raise ArgumentError(f"{op}: num_layers is {num_layers}; give at most {MOST_LAYERS}")
        if not 0.0 <= dropout <= 1.0:
            raise ArgumentError(f"{op}: dropout={dropout}; give a probability from 0 to 1")
        if proj_size and not (self.kind == "LSTM" and 0 < proj_size < hidden_size):
            raise ArgumentError(
                f"{op}: proj_size is {proj_size}; give 0, or for an LSTM less than {hidden_size}"
            )
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        for layer in range(num_layers):
            self._add_layer(layer, dtype, generator)

    @property
    def _num_directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _add_layer(
        self, layer: int, dtype: Any, generator: Generator | np.random.Generator | None
    ) -> None:
        """The parameters of both directions of a layer."""
        bound, rows = 1.0 / math.sqrt(self.hidden_size), NUM_GATES[self.kind] * self.hidden_size
        size = self.proj_size or self.hidden_size
        inputs = self.input_size if layer == 0 else size * self._num_directions
        shapes = {"weight_ih": (rows, inputs), "weight_hh": (rows, size)}
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}  # type: ignore[dict-item]
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        for direction in range(self._num_directions):
            for what, shape in shapes.items():
                setattr(
                    self,
                    _format_parameter_name(what, layer, direction),
                    init.fresh(shape, bound, dtype, generator),
                )

    def flatten_parameters(self) -> None:
        """Nothing: it arranges memory of accelerators in PyTorch."""

    def _step_name(self) -> str:
        return self.kind

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """The outputs of the last layer at all times, and the last states of all layers."""
        packed = input if isinstance(input, PackedSequence) else None
        x = convert_argument(type(self).__name__, input) if packed is None else packed.data
        batched = packed is not None or x.ndim == 3
        if x.ndim not in (2, 3) or x.shape[-1] != self.input_size:
            raise ShapeError(
                f"{type(self).__name__}: an input of shape {tuple(x.shape)}; give"
                f" {'(N, T' if self.batch_first else '(T, N'}, {self.input_size}) or"
                f" (T, {self.input_size})"
            )
        if not batched:
            x = x.unsqueeze(1)
        elif self.batch_first and packed is None:
            x = x.swapaxes(0, 1)
        if not x.shape[0]:
            raise ShapeError(
                f"{type(self).__name__}: an input of shape {tuple(input.shape)} has no steps; give"
                " at least one"
            )
        mask = None if packed is None else packed.mask.unsqueeze(-1)
        states = self._prepare_states(x, hx, batched)
        last: list[States] = []
        for layer in range(self.num_layers):
            parts = []
            for direction in range(self._num_directions):
                place = layer * self._num_directions + direction
                first = tuple(s[place] for s in states)
                out, end = self._run_layer(x, first, layer, direction, mask)
                parts.append(out)
                last.append(end)
            x = parts[0] if len(parts) == 1 else _core.concatenate(parts, -1)
            if self.dropout and layer + 1 < self.num_layers:
                x = F.dropout(x, self.dropout, self.training)
        ends = tuple(_core.stack(list(parts), 0) for parts in zip(*last, strict=True))
        if not batched:
            x, ends = x.squeeze(1), tuple(s.squeeze(1) for s in ends)
        elif self.batch_first and packed is None:
            x = x.swapaxes(0, 1)
        result = x if packed is None else PackedSequence(x, packed.lengths)
        return result, (ends if self.count == 2 else ends[0])

    def _prepare_states(self, x: Tensor, hx: Any, batched: bool) -> States:
        """The first states, (layers directions, N, size) each."""
        sizes = [self.proj_size or self.hidden_size, self.hidden_size][: self.count]
        shapes = [(self.num_layers * self._num_directions, int(x.shape[1]), size) for size in sizes]
        if hx is None:
            return tuple(creation.zeros(shape, dtype=x.dtype) for shape in shapes)
        hidden = _check_lstm_states(type(self).__name__, hx) if self.count == 2 else (hx,)
        if not batched:
            hidden = tuple(s.unsqueeze(1) for s in hidden)
        for state, shape in zip(hidden, shapes, strict=True):
            if tuple(state.shape) != shape:
                want = shape if batched else (shape[0], shape[2])
                have = tuple(state.shape) if batched else (state.shape[0], *state.shape[2:])
                raise ShapeError(
                    f"{type(self).__name__}: a first state of shape {have}; give {want}"
                )
        return hidden

    def _run_layer(
        self, x: Tensor, states: States, layer: int, direction: int, mask: Tensor | None
    ) -> tuple[Tensor, States]:
        """One layer in one direction: its outputs in the order of time, its last states."""

        def get_parameter(what: str) -> Any:
            return getattr(self, _format_parameter_name(what, layer, direction))

        weight, projection, first, bias = (
            get_parameter("weight_hh"),
            get_parameter("weight_ih"),
            None,
            None,
        )
        if self.bias:
            first, bias = get_parameter("bias_ih"), get_parameter("bias_hh")
            if self.kind != "GRU":
                # Both are added to the same gates, so once for all times is enough.
                first, bias = first + bias, None
        whole = mask is None and not self.proj_size and x.dtype.kind == "f" and len(x) > 0
        if whole and self.kind in SEQUENCE_FUNCTIONS:
            return SEQUENCE_FUNCTIONS[self.kind](
                x, states, (projection, weight, first, bias), bool(direction)
            )
        step, weight = STEPS[self._step_name()], weight.T
        shrink = get_parameter("weight_hr").T if self.proj_size else None
        # One node for the rows of all times: a subscript for each would add up T whole gradients.
        inputs = _core.unbind(F.linear(x, projection.T, first))
        times = range(int(x.shape[0]))
        outputs = []
        for t in reversed(times) if direction else times:
            new = step(inputs[t], states, weight, bias)
            if shrink is not None:
                new = (new[0] @ shrink, *new[1:])
            if mask is not None:
                new = tuple(_core.where(mask[t], n, s) for n, s in zip(new, states, strict=True))
            states = new
            outputs.append(new[0])
        if direction:
            outputs.reverse()
        out = _core.stack(outputs, 0)
        return (out if mask is None else _core.where(mask, out, 0.0)), states

    def extra_repr(self) -> str:
        """The sizes, and the options that are not the default."""
        parts = [f"{self.input_size}, {self.hidden_size}"]
        defaults = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0.0,
            "bidirectional": False,
        }
        for key, default in defaults.items():
            if getattr(self, key) != default:
                parts.append(f"{key}={getattr(self, key)!r}")
        return ", ".join(parts)


def _check_lstm_states(op: str, hx: Any) -> States:
    """The first states (h, c) of an LSTM."""
    if isinstance(hx, Tensor) or len(hx) != 2:
        kind = "one tensor" if isinstance(hx, Tensor) else f"{len(hx)} states"
        raise ArgumentTypeError(f"{op}: the first states are {kind}; give a pair (h_0, c_0)")
    return tuple(hx)


def _format_parameter_name(what: str, layer: int, direction: int) -> str:
    return f"{what}_l{layer}{'_reverse' if direction else ''}"


class RNN(_RNNBase):
    """`h_t = tanh(W_ih x_t + b_ih + W_hh h_{t-1} + b_hh)`, or relu with `nonlinearity="relu"`.

    Shapes: x (T, N, in), (N, T, in) with `batch_first`, (T, in), or a `PackedSequence`; h_0
    (layers directions, N, hidden), zero if left out. The result is the outputs (T, N, directions
    hidden) and h_n, shaped as h_0. `dropout` acts between layers while training.

    >>> import ferrograd as fg
    >>> out, h = fg.nn.RNN(3, 4, num_layers=2, bidirectional=True)(fg.ones(5, 2, 3))
    >>> out.shape, h.shape
    ((5, 2, 8), (4, 2, 4))
    """

    kind = "RNN"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            **options,
        )
        if nonlinearity not in ("tanh", "relu"):
            raise ArgumentError(f'RNN: nonlinearity={nonlinearity!r}; use "tanh" or "relu"')
        self.nonlinearity = nonlinearity

    def _step_name(self) -> str:
        return f"RNN_{self.nonlinearity.upper()}"


class LSTM(_RNNBase):
    """Long short-term memory: the steps of `LSTMCell` over time; states are pairs (h, c).

    Shapes as `RNN`; with `proj_size`, h and the outputs have that size. Source: Hochreiter and
    Schmidhuber, 1997.

    >>> import ferrograd as fg
    >>> out, (h, c) = fg.nn.LSTM(3, 4, batch_first=True)(fg.ones(2, 5, 3))
    >>> out.shape, h.shape, c.shape
    ((2, 5, 4), (1, 2, 4), (1, 2, 4))
    """

    kind = "LSTM"
    count = 2


class GRU(_RNNBase):
    """Gated recurrent units: the steps of `GRUCell` over time. Shapes as `RNN`.

    Source: Cho et al., arXiv:1406.1078.

    >>> import ferrograd as fg
    >>> out, h = fg.nn.GRU(3, 4)(fg.ones(5, 2, 3))
    >>> out.shape, h.shape
    ((5, 2, 4), (1, 2, 4))
    """

    kind = "GRU"
