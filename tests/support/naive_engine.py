"""A naive engine on NumPy alone, against which the state machine holds ferrograd.

Invariant: derivatives run forward with the values, so there is no tape, no version, no view chain:
an in-place change overwrites cells, and whoever shows them sees it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

Array = np.ndarray
#: A function with its first and second derivative.
Jet = tuple[Callable[[Array], Array], Callable[[Array], Array], Callable[[Array], Array]]

UNARY: dict[str, Jet] = {
    "sin": (np.sin, np.cos, lambda x: -np.sin(x)),
    # By tanh alone: the square of cosh overflows where the derivatives are zero.
    "tanh": (
        np.tanh,
        lambda x: 1 - np.tanh(x) ** 2,
        lambda x: -2 * np.tanh(x) * (1 - np.tanh(x) ** 2),
    ),
    "square": (np.square, lambda x: 2 * x, lambda x: np.full(x.shape, 2.0)),
    "negative": (np.negative, lambda x: np.full(x.shape, -1.0), np.zeros_like),
}
_numbers = count()


@dataclass
class Shared:
    """What detached tensors share with the others: the elements, and how often they changed."""

    value: Array
    leaf: bool = False
    version: int = 0
    number: int = field(default_factory=lambda: next(_numbers))


@dataclass
class Memory:
    """The elements and, of one family of tensors, their derivatives."""

    shared: Shared
    first: Array
    second: Array
    #: What the histories of the family saved, memories with versions; and the operations that did.
    saved: frozenset[tuple[int, int]] = frozenset()
    nodes: frozenset[int] = frozenset()
    #: The derivatives that views made without recording see: only those of later writes.
    shadows: list["Memory"] = field(default_factory=list)


@dataclass
class Value:
    """A tensor: memory, and the cells of it that it shows."""

    memory: Memory
    cells: Array
    #: Whether it was viewed while nothing was recorded.
    poisoned: bool = False

    @property
    def value(self) -> Array:
        return self.memory.shared.value[self.cells]

    @property
    def first(self) -> Array:
        return self.memory.first[self.cells]

    @property
    def second(self) -> Array:
        return self.memory.second[self.cells]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.cells.shape


def outer(a: Array, b: Array) -> Array:
    return a[..., :, None] * b[..., None, :]


class Engine:
    """Operations on values; `recording` off drops the derivatives."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.used = 0
        #: All memory that ever was, by number.
        self.known: dict[int, Shared] = {}

    def fresh(self, value: Array, first: Array | None = None, second: Array | None = None) -> Value:
        n, size = self.columns, value.size
        first = np.zeros((size, n)) if first is None else first.reshape(size, n)
        second = np.zeros((size, n, n)) if second is None else second.reshape(size, n, n)
        shared = Shared(np.array(value, float).reshape(-1))
        self.known[shared.number] = shared
        return Value(Memory(shared, first, second), np.arange(size).reshape(value.shape))

    def leaf(self, value: Array) -> tuple[Value, slice]:
        place = slice(self.used, self.used + value.size)
        self.used = place.stop
        first = np.zeros((value.size, self.columns))
        first[:, place] = np.eye(value.size)
        leaf = self.fresh(value, first)
        leaf.memory.shared.leaf = True
        return leaf, place

    def unary(self, name: str, x: Value, *, recording: bool = True) -> Value:
        f, df, ddf = UNARY[name]
        u = x.value
        if not recording:
            return self.fresh(f(u))
        d, dd = df(u)[..., None], ddf(u)[..., None, None]
        second = dd * outer(x.first, x.first) + d[..., None] * x.second
        out = self.fresh(f(u), d * x.first, second)
        return self.after(out, x, keeps=(x,))

    def add(self, a: Value, b: Value, *, recording: bool = True) -> Value:
        if not recording:
            return self.fresh(a.value + b.value)
        first, second = lift(a, b, lambda u, v: u + v)
        return self.after(self.fresh(a.value + b.value, first, second), a, b)

    def multiply(self, a: Value, b: Value, *, recording: bool = True) -> Value:
        out = a.value * b.value
        if not recording:
            return self.fresh(out)
        (u, fu, su), (v, fv, sv) = aligned(a, out.ndim), aligned(b, out.ndim)
        first = u[..., None] * fv + v[..., None] * fu
        cross = outer(fu, fv)
        second = u[..., None, None] * sv + v[..., None, None] * su
        second = second + cross + np.swapaxes(cross, -1, -2)
        return self.after(self.fresh(out, first, second), a, b, keeps=(a, b))

    def total(self, x: Value, *, recording: bool = True) -> Value:
        out = np.asarray(x.value.sum())
        if not recording:
            return self.fresh(out)
        n = self.columns
        first = x.first.reshape(-1, n).sum(axis=0)
        return self.after(self.fresh(out, first, x.second.reshape(-1, n, n).sum(axis=0)), x)

    def after(self, out: Value, *inputs: Value, keeps: tuple[Value, ...] = ()) -> Value:
        """The result with what its history saved."""
        memory = out.memory
        memory.saved = frozenset().union(*(x.memory.saved for x in inputs))
        memory.nodes = frozenset().union(*(x.memory.nodes for x in inputs))
        if keeps:
            shared = (x.memory.shared for x in keeps)
            memory.saved |= {(part.number, part.version) for part in shared}
            memory.nodes |= {next(_numbers)}
        return out

    def shown(self, x: Value, cells: Array, *, recording: bool = True) -> Value:
        if recording:
            return Value(x.memory, cells, x.poisoned)
        shadow = self.apart(x.memory)
        x.memory.shadows.append(shadow)
        return Value(shadow, cells, poisoned=True)

    def apart(self, old: Memory) -> Memory:
        return Memory(old.shared, np.zeros_like(old.first), np.zeros_like(old.second))

    def detached(self, x: Value) -> Value:
        return Value(self.apart(x.memory), x.cells)

    def write(self, x: Value, new: Value, *, recording: bool = True) -> None:
        """Overwrites the cells of `x`; unrecorded, they keep their derivatives."""
        memory, depth = x.memory, x.cells.ndim
        value, first, second = aligned(new, depth)
        memory.shared.value[x.cells] = np.broadcast_to(value, x.shape)
        memory.shared.version += 1
        pending = [memory] if recording and not x.poisoned else []
        n = self.columns
        while pending:
            family = pending.pop()
            family.saved |= new.memory.saved
            family.nodes |= new.memory.nodes
            family.first[x.cells] = np.broadcast_to(first, (*x.shape, n))
            family.second[x.cells] = np.broadcast_to(second, (*x.shape, n, n))
            pending += family.shadows


def aligned(x: Value, ndim: int) -> tuple[Array, Array, Array]:
    """Value and derivatives with leading axes of size 1 up to `ndim`."""
    lead = (1,) * (ndim - x.cells.ndim)
    return tuple(part.reshape(lead + part.shape) for part in (x.value, x.first, x.second))


def lift(a: Value, b: Value, f: Callable[[Any, Any], Any]) -> tuple[Array, Array]:
    """A linear function of two values, applied to their derivatives."""
    ndim = max(a.cells.ndim, b.cells.ndim)
    (_, fa, sa), (_, fb, sb) = aligned(a, ndim), aligned(b, ndim)
    return f(fa, fb), f(sa, sb)
