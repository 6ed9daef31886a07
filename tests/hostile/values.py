"""Hostile values: data, containers without an end, objects whose methods raise, lie or re-enter.

Invariant: the same generator state makes an equal value, whatever was made before.
"""

import collections
import itertools
import types
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any, NamedTuple

import numpy as np

import ferrograd as fg
from hostile.data import (
    ENDS,
    WORDS as WORDS,
    array,
    huge,
    nothing,
    number,
    numbers,
    plain,
    simple,
    tensor,
    word,
)

Maker = Callable[[Random], Any]

DEEP = 300_000


class Pair(NamedTuple):
    """A named tuple."""

    left: Any
    right: Any


class Worse(list):  # type: ignore[type-arg]
    """A list that says something else of itself when it is iterated or measured."""

    def __iter__(self) -> Iterator[Any]:
        return iter([1.0, self] * 500)

    def __len__(self) -> int:
        return 2**40


@cache
def deep(kind: type) -> Any:
    """A container nested far beyond any stack; shared, since it takes long to make."""
    made: Any = kind([1.0])
    for _ in range(DEEP):
        made = kind([made])
    return made


def deep_dict() -> Any:
    """A nested dict."""
    made: Any = {"a": 1.0}
    for _ in range(3000):
        made = {"a": made}
    return made


def itself(rng: Random) -> Any:
    """A container that contains itself, beside numbers or tensors."""
    kind = rng.randrange(4)
    if kind == 0:
        loop: list[Any] = [tensor(rng)] if rng.randrange(2) else []
        loop.append(loop)
        return loop
    if kind == 1:
        table: dict[str, Any] = {}
        table["again"] = table
        return table
    if kind == 2:
        inner: list[Any] = [1.0]
        outer = (inner, inner)
        inner.append(outer)
        return outer
    left: list[Any] = []
    right = [left, 2.0]
    left.extend((right, right))
    return left


def raiser(rng: Random) -> BaseException:
    """Something to raise."""
    kinds = (ValueError, TypeError, AttributeError, IndexError, StopIteration, MemoryError)
    return rng.choice((*kinds, RecursionError, KeyError, RuntimeError, SystemError))("hostile")


def reenter(rng: Random) -> Any:
    """Calls the library from within one of its calls."""
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    match rng.randrange(5):
        case 0:
            (x * x).sum().backward()
        case 1:
            return fg.grad(lambda a: (a * a).sum())(np.ones(2))
        case 2:
            with fg.no_grad():
                return x + 1.0
        case 3:
            fg.tensor([[1.0], [x[0]]])
        case 4:
            fg.checkpoint(lambda a: a.exp(), x).sum().backward()
    return x


#: What a hostile method takes beside its object is not looked at.
METHODS = (
    "__index__",
    "__int__",
    "__float__",
    "__bool__",
    "__len__",
    "__iter__",
    "__next__",
    "__getitem__",
    "__array__",
    "__call__",
    "__eq__",
    "__hash__",
    "__lt__",
    "__add__",
    "__radd__",
    "__mul__",
    "__rmul__",
    "__array_ufunc__",
    "__array_function__",
    "__dlpack__",
    "__dlpack_device__",
    "__enter__",
    "__exit__",
    "__del__",
    "__repr__",
    "__str__",
    "__contains__",
    "__complex__",
    "__neg__",
    "__matmul__",
    "__format__",
    "__reduce__",
    "__copy__",
    "__getattr__",
    "keys",
    "items",
    "shape",
    "dtype",
    "ndim",
)


def awkward(rng: Random) -> Any:
    """An object some of whose methods raise, lie or call the library."""
    seed = rng.randrange(1 << 30)

    def method(name: str, how: int) -> Any:
        calls = itertools.count()

        def act(self: Any, *_: Any, **__: Any) -> Any:
            if name in {"__getitem__", "__next__"} and next(calls) > 99:
                # Else a loop over the object has no end, which is the loop's fault.
                raise IndexError if name == "__getitem__" else StopIteration
            inner = Random(seed)
            if how == 0:
                raise raiser(inner)
            if how == 1:
                reenter(inner)
            if how == 2:
                return self
            if how == 3 and name in {"__len__", "__index__", "__hash__", "__int__"}:
                return inner.choice((*ENDS, 2, 0))
            if how == 4:
                return {"__iter__": itertools.count(), "__len__": 3, "__float__": 1.0}.get(name, 1)
            return simple(inner)

        return act

    names = rng.sample(METHODS, rng.randrange(1, 6))
    members: dict[str, Any] = {name: method(name, rng.randrange(6)) for name in names}
    if "__getattr__" in members:
        members["__getattr__"] = lambda self, name: (_ for _ in ()).throw(AttributeError(name))
    bases = (object,) if rng.randrange(3) else (rng.choice((list, tuple, dict, int, float, str)),)
    try:
        return types.new_class("Hostile", bases, exec_body=lambda ns: ns.update(members))()
    except Exception:
        return object()


def function(rng: Random) -> Any:
    """A function: of use, raising, or giving anything."""
    seed = rng.randrange(1 << 30)

    def raises(*_: Any, **__: Any) -> Any:
        raise raiser(Random(seed))

    def reenters(*_: Any, **__: Any) -> Any:
        return reenter(Random(seed))

    def gives(*_: Any, **__: Any) -> Any:
        return simple(Random(seed))

    def product(*given: Any, **_: Any) -> Any:
        return sum((x * x).sum() for x in given) if given else None

    def first(*given: Any, **_: Any) -> Any:
        return given[0] if given else None

    return rng.choice((raises, reenters, gives, product, product, product, first, np.sin, fg.exp))


def endless(rng: Random) -> Any:
    """Something longer than time; never where it would be walked by right."""
    ranges = (range(2**62), range(2**40), range(-(2**62), 2**62, 2**40), range(2**70))
    return rng.choice((*ranges, itertools.count(), itertools.repeat(1.0), Worse([1.0])))


def container(rng: Random) -> Any:
    """A container of anything."""
    items = [anything(rng) for _ in range(rng.randrange(4))]
    kinds = (
        list,
        tuple,
        list,
        tuple,
        iter,
        collections.deque,
        Pair,
        dict,
        set,
        types.MappingProxyType,
    )
    kind = rng.choice(kinds)
    if kind is Pair:
        return Pair(simple(rng), items)
    if kind in {dict, types.MappingProxyType}:
        return kind({rng.choice(("a", "b", 0, None)): item for item in items})
    if kind is set:
        return {number(rng) for _ in items}
    return kind(items)


def nest(rng: Random) -> Any:
    """A container nested too deeply, or in itself."""
    kinds: tuple[Maker, ...] = (
        itself,
        itself,
        # No tuple: its hash alone overflows the interpreter's stack.
        lambda _: deep(list),
        lambda _: [fg.ones(()), deep(list)],
        lambda _: deep_dict(),
    )
    return rng.choice(kinds)(rng)


KINDS: tuple[tuple[Maker, int], ...] = (
    (number, 16),
    (tensor, 14),
    (array, 12),
    (plain, 6),
    (word, 6),
    (nothing, 10),
    (numbers, 10),
    (container, 10),
    (function, 6),
    (awkward, 12),
    (endless, 4),
    (nest, 4),
    (huge, 1),
)
_MAKERS = [maker for maker, _ in KINDS]
_WEIGHTS = [weight for _, weight in KINDS]


def anything(rng: Random) -> Any:
    """Any value."""
    return rng.choices(_MAKERS, _WEIGHTS)[0](rng)
