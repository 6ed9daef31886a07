"""The messages in which gradients are summed over ranks.

Invariant: every rank has the same messages in the same order. A message is the memory of a gradient
itself where that can be, and is divided by the number of ranks where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd._core import Tensor, asarray

#: A gradient of at least this part of the largest message is a message of its own and is summed in
#: place. Smaller ones are copied into a shared message, which saves latency.
MIN_UNBUCKETED_FRACTION = 1 / 16


class Bucket:
    """Parameters whose gradients are summed in one message."""

    def __init__(self, parameters: list[tuple[int, Tensor]]) -> None:
        self.parameters = parameters
        self.ends = np.cumsum([p.numel() for _, p in parameters]).tolist()
        shared = len(parameters) > 1
        self._flat = np.zeros(self.ends[-1], parameters[0][1].dtype) if shared else None
        #: The numbers of the parameters whose gradients are not complete yet.
        self.pending: set[int] = set()
        self._sent: np.ndarray | None = None

    @property
    def is_sent(self) -> bool:
        """Whether the sum of this bucket has been started."""
        return self._sent is not None

    def start_pass(self, reached: set[int]) -> None:
        """Starts a backward pass that reaches these parameters."""
        self._sent = None
        self.pending = {number for number, _ in self.parameters if number in reached}

    def pack(self, used: np.ndarray) -> np.ndarray:
        """The elements to be summed in place; `used` marks the gradients that are set on this rank.

        The gradient of a parameter that is not used here may have to be kept, so it is copied.
        """
        if self._flat is None:
            (number, p), *_ = self.parameters
            self._sent = _get_gradient_memory(p) if used[number] else None
            if self._sent is None:
                self._sent = _copy_gradient(p)
        else:
            for _, p, part in self._split_message(self._flat):
                np.copyto(part, 0 if p.grad is None else p.grad.detach().numpy())
            self._sent = self._flat
        return self._sent.reshape(-1)

    def divide(self, size: int) -> None:
        """Makes sums means: one pass over memory, where it is."""
        assert self._sent is not None
        flat = self._sent.reshape(-1)
        if flat.dtype.kind == "c":
            flat = flat.view(flat.real.dtype)
        np.divide(flat, size, out=flat)

    def unpack(self, used: np.ndarray) -> None:
        """Writes the sums to the gradients of the parameters that any rank has used."""
        assert self._sent is not None
        for number, p, part in self._split_message(self._sent):
            if not used[number]:
                continue
            if p.grad is None:
                p.grad = asarray(part.copy())
                continue
            own = p.grad.detach().numpy(writable=True)
            if own.ctypes.data != part.ctypes.data:
                np.copyto(own, part)
        self._sent = None

    def _split_message(self, elements: np.ndarray) -> Any:
        """Number, parameter, and the slice of its gradient in the message."""
        flat, begin = elements.reshape(-1), 0
        for (number, p), end in zip(self.parameters, self.ends, strict=True):
            yield number, p, flat[begin:end].reshape(p.shape)
            begin = end


def _get_gradient_memory(p: Tensor) -> np.ndarray | None:
    """The memory of a gradient, if it is contiguous."""
    if p.grad is None:
        return None
    elements: np.ndarray = p.grad.detach().numpy(writable=True)
    return elements if elements.flags.c_contiguous else None


def _copy_gradient(p: Tensor) -> np.ndarray:
    if p.grad is None:
        return np.zeros(p.shape, p.dtype)
    return np.array(p.grad.detach().numpy(), order="C")


def make_buckets(parameters: Sequence[Tensor], limit: float) -> list[Bucket]:
    """Groups the parameters into buckets, from the last parameter to the first.

    Gradients usually become complete in this order.
    """
    made: list[Bucket] = []
    open_groups: dict[Any, list[tuple[int, Tensor]]] = {}
    for number in reversed(range(len(parameters))):
        p = parameters[number]
        if p.nbytes >= limit * MIN_UNBUCKETED_FRACTION:
            made.append(Bucket([(number, p)]))
            continue
        group = open_groups.setdefault(p.dtype, [])
        if group and sum(q.nbytes for _, q in group) + p.nbytes > limit:
            made.append(Bucket(list(group)))
            group.clear()
        group.append((number, p))
    return [*made, *(Bucket(group) for group in open_groups.values())]
