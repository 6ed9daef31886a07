"""Signatures: what must be equal for a recorded program to serve a call.

Invariant: two calls with one key differ in nothing but the contents of arrays and tensors and the
values of floats and complex numbers.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from ferrograd._core import Tensor, _value, get_default_dtype, is_grad_enabled, tensor
from ferrograd._tensor.pytree import LEAF, Tree, flatten
from ferrograd.errors import ArgumentTypeError

#: Python numbers that a program may take anew, and what stands for them in a key.
NUMBERS = {float: "a float", complex: "a complex number"}

#: NumPy dtypes that tensors have.
_HELD = frozenset(
    np.dtype(f"{kind}{size}")
    for kind, sizes in {"b": "1", "i": "1248", "u": "1248", "f": "248", "c": ("8", "16")}.items()
    for size in sizes
)


class Call(NamedTuple):
    """A call, taken apart."""

    #: What must be equal.
    key: Hashable
    #: What the program takes anew: arrays, tensors, floats, complex numbers.
    values: list[Any]
    #: All leaves of the arguments; those of `values` stand at `places`.
    leaves: list[Any]
    places: list[int]
    tree: Tree
    #: Whether there is a tensor among them: then results are tensors.
    tensors: bool
    #: The first array or tensor that does not lie in C order: another order sums in another order.
    non_contiguous: int | None
    #: Which of `values` are NumPy's scalars: they are values, where arrays without axes are memory.
    scalars: frozenset[int]

    def as_tensors(self) -> list[Tensor]:
        """The values that the program takes anew, as tensors."""
        return [as_tensor(value, k in self.scalars) for k, value in enumerate(self.values)]

    @property
    def has_numbers(self) -> bool:
        """Whether there are Python numbers among the values."""
        return any(type(value) in NUMBERS for value in self.values)

    def explain_layout(self) -> str:
        """Which argument does not lie in C order, and what to pass."""
        path = [*self.tree.paths()][self.non_contiguous or 0]
        array = isinstance(self.leaves[self.non_contiguous or 0], np.ndarray)
        remedy = "np.ascontiguousarray(x)" if array else "x.contiguous()"
        return f"argument {_argument(path)} is not in C order: pass {remedy}"


def split_call(args: tuple[Any, ...], kwargs: dict[str, Any], static: Static, floats: bool) -> Call:
    """Takes the arguments of a call apart. With `floats`, Python numbers are taken anew."""
    leaves: list[Any] = []
    kept, args, kwargs = static.split(args, kwargs)
    tree = flatten((args, kwargs), leaves)
    values: list[Any] = []
    places: list[int] = []
    key: list[Hashable] = [_structure(tree), kept, is_grad_enabled(), get_default_dtype()]
    tensors, non_contiguous = False, None
    scalars: set[int] = set()
    for place, leaf in enumerate(leaves):
        kind = type(leaf)
        if kind is np.ndarray and leaf.dtype in _HELD:
            if not (leaf.flags.c_contiguous or non_contiguous is not None):
                non_contiguous = place
            key.append((leaf.dtype.char, leaf.shape))
        elif isinstance(leaf, Tensor):
            tensors = True
            if not (leaf.is_contiguous() or non_contiguous is not None):
                non_contiguous = place
            kind_of_memory = ("a value",) if leaf._is_value() else ()
            key.append((leaf.dtype.char, leaf.shape, leaf.requires_grad, *kind_of_memory))
        elif isinstance(leaf, np.ma.MaskedArray | np.matrix):
            raise ArgumentTypeError(
                f"compile: an argument is a {kind.__name__}, which computes otherwise than arrays"
                " do; pass a plain array (numpy.asarray, filled())"
            )
        elif isinstance(leaf, np.ndarray | np.generic) and leaf.dtype.newbyteorder("=") in _HELD:
            scalar = ("a scalar",) if isinstance(leaf, np.generic) else ()
            if scalar:
                scalars.add(len(values))
            native = leaf.dtype.newbyteorder("=")
            leaf = np.ascontiguousarray(leaf, native).reshape(leaf.shape)
            key.append((leaf.dtype.char, leaf.shape, *scalar))
        elif kind in NUMBERS and floats:
            key.append(NUMBERS[kind])
        else:
            key.append((kind, _as_hashable(leaf)))
            continue
        values.append(leaf)
        places.append(place)
    return Call(
        tuple(key), values, leaves, places, tree, tensors, non_contiguous, frozenset(scalars)
    )


def as_tensor(value: Any, scalar: bool = False) -> Tensor:
    """An argument that a program takes anew, as a tensor: a value for what is none of memory."""
    if isinstance(value, Tensor):
        return value
    dtype = {float: "float64", complex: "complex128"}.get(type(value))
    return _value(value) if scalar or dtype else tensor(value)


def takes_any_keyword(function: Any) -> bool:
    """Whether a function takes, or may take, `**kwargs`, whose order it sees."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    if not hasattr(function, "__code__"):
        function = getattr(function, "forward", function)
    code = getattr(function, "__code__", None)
    return code is None or bool(code.co_flags & VAR_KEYWORD)


def sort_keywords(kwargs: dict[str, Any], ordered: bool) -> dict[str, Any]:
    """Keywords in an order of their own, unless the function sees that of the call."""
    return kwargs if ordered or len(kwargs) < 2 else dict(sorted(kwargs.items()))


#: The flag of code that takes `**kwargs`.
VAR_KEYWORD = 0x08

#: What stands in a key before the leaves.
_SURROUNDINGS = (
    "the structure of the arguments",
    "a static argument",
    "whether gradients are recorded",
    "the default dtype",
)


def difference(before: Hashable, call: Call) -> str:
    """What is new about the key of a call, against another one."""
    assert isinstance(before, tuple)
    assert isinstance(call.key, tuple)
    for what, old, new in zip(_SURROUNDINGS, before, call.key, strict=False):
        if old != new:
            return f"{what} is different"
    first = len(_SURROUNDINGS)
    pairs = zip(call.tree.paths(), before[first:], call.key[first:], strict=True)
    news = [
        f"argument {_argument(path)} is {_describe_leaf(new)} and was {_describe_leaf(old)}"
        for path, old, new in pairs
        if old != new
    ]
    return ", ".join(news[:3]) or "what belongs to the program is different"


def _argument(path: str) -> str:
    """The place of a leaf: positional arguments are the first of a pair, keywords the second."""
    keyword = path.startswith("[1]")
    name, _, rest = path[len("[0]") + 1 :].partition("]")
    return (name.strip("'\"") if keyword else name) + rest


def _describe_leaf(leaf: Any) -> str:
    if not isinstance(leaf, tuple):
        return str(leaf)
    kind, *rest = leaf
    if isinstance(kind, str):
        history = ", which requires grad" if True in rest[1:] else ""
        return f"{np.dtype(kind).name}{tuple(rest[0])}{history}"
    value = rest[0]
    if issubclass(kind, float):
        value = float.fromhex(value)
    elif issubclass(kind, complex):
        value = complex(*map(float.fromhex, value))
    return f"{kind.__name__} {value!r}"


def _structure(tree: Tree) -> Hashable:
    """What must be equal for two trees to be of one kind: classes, not their names."""
    return tree.kind, tree.keys, tuple(map(_structure, tree.children)), tree is LEAF


def _as_hashable(leaf: Hashable) -> Hashable:
    if isinstance(leaf, slice):
        return "slice", _as_hashable(leaf.start), _as_hashable(leaf.stop), _as_hashable(leaf.step)
    try:
        hash(leaf)
    except TypeError:
        if isinstance(leaf, np.ndarray):
            raise ArgumentTypeError(
                f"compile: an argument is an array of {leaf.dtype}, which programs do not take;"
                " convert it with astype"
            ) from None
        raise ArgumentTypeError(
            f"compile: an argument is a {type(leaf).__name__}, which is neither an array, a number"
            " nor hashable; convert it to an array, or close over it"
        ) from None
    # -0.0 equals 0.0, NaN not even itself, and 1 equals 1.0 and True.
    if isinstance(leaf, float):
        return leaf.hex()
    if isinstance(leaf, complex):
        return leaf.real.hex(), leaf.imag.hex()
    if isinstance(leaf, tuple | frozenset):
        return tuple((type(part), _as_hashable(part)) for part in leaf)
    return leaf


class Static(NamedTuple):
    """The arguments that belong to the program."""

    nums: tuple[int, ...]
    names: tuple[str, ...]

    def split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Hashable, tuple[Any, ...], dict[str, Any]]:
        """The static arguments as a key, and the others, with None in the place of a static one."""
        if not self.nums and not self.names:
            return None, args, kwargs
        places = {n + len(args) if n < 0 else n for n in self.nums}
        fixed = {i: args[i] for i in sorted(places) if i < len(args)}
        named = {name: kwargs[name] for name in sorted(kwargs) if name in self.names}
        key = (
            tuple((i, type(a), _as_hashable(a)) for i, a in fixed.items()),
            tuple((name, type(a), _as_hashable(a)) for name, a in named.items()),
        )
        rest = tuple(None if i in fixed else a for i, a in enumerate(args))
        return key, rest, {name: a for name, a in kwargs.items() if name not in named}

    def without_first(self) -> Static:
        """The same of a call without its first argument."""
        nums = (n - (n > 0) for n in self.nums if n)
        return Static(tuple(nums), self.names)

    def only(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call with None for those that are not static."""
        places = {n + len(args) if n < 0 else n for n in self.nums}
        kept = tuple(a if i in places else None for i, a in enumerate(args))
        return kept, {name: a if name in self.names else None for name, a in kwargs.items()}

    def join(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        full: tuple[Any, ...],
        named: dict[str, Any],
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with the static ones of the call in their places."""
        places = {n + len(full) if n < 0 else n for n in self.nums}
        whole = tuple(full[i] if i in places else a for i, a in enumerate(args))
        return whole, {k: v if k in self.names else kwargs[k] for k, v in named.items()}
