"""What a program that is being written has defined so far: names, places and random expressions.

Invariant: an expression refers to names in scope only, and its value stays bounded and smooth where
those of its operands are.
"""

from collections.abc import Callable, Iterator
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np

#: Ways to make a bounded smooth value of one operand, of whatever shape.
SMOOTH = (
    "np.sin({a})",
    "np.cos({a})",
    "np.tanh({a})",
    "np.exp(-np.square({a}))",
    "np.exp(0.3 * np.tanh({a}))",
    "np.sqrt(1.0 + np.square({a}))",
    "np.log(2.0 + np.sin({a}))",
    "np.arctan({a})",
    "np.square({a}) / (1.0 + {a} ** 2)",
    "{a} / (1.5 + np.square({a}))",
    "-{a}",
    "+{a}",
    "(0.5 * {a})",
    "({a} ** 2 * 0.3)",
    "(1.0 - {a})",
    "(2.0 / (2.0 + np.square({a})))",
    "abs({a})",
)
#: Ways to make one of two operands that broadcast.
JOINED = (
    "({a} + {b})",
    "({a} - {b})",
    "(0.7 * {a} * {b})",
    "({a} / (1.5 + np.square({b})))",
    "np.minimum({a}, {b})",
    "np.maximum({a}, {b})",
    "np.hypot(1.0 + {a}, {b})",
    "np.arctan2({a}, 2.0 + np.square({b}))",
    "(1.3 + np.tanh({a})) ** np.tanh({b})",
    "np.tanh({a} - 0.4 * {b})",
    "(0.6 * {a} + 0.4 * {b})",
    "np.multiply({a}, {b})",
    "np.add({a}, {b})",
    "np.where({a} > {b}, {a}, 0.5 * {b})",
)


def shape_of(value: Any) -> tuple[int, ...] | None:
    """The shape of an array of floats; None of everything else."""
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value.shape
    return None


def is_scalar(value: Any) -> bool:
    return type(value) in (float, np.float64)


def is_number(value: Any) -> bool:
    """Whether it is an array of floats, or a scalar."""
    return is_scalar(value) or shape_of(value) is not None


def is_memory(value: Any) -> bool:
    """Whether it is an array of floats that may be written to: arguments may not."""
    return shape_of(value) is not None and bool(value.flags.writeable)


def in_order(value: Any) -> bool:
    """Whether the memory of an array lies in C order, as that of every result of tensors does.

    NumPy's results lie as their operands do, so `np.cos(A.T).reshape(-1)` is a copy.
    """
    while type(value.base) is np.ndarray:
        value = value.base
    return bool(value.flags.c_contiguous)


def may_change(value: Any) -> bool:
    """Whether a name of it is a target of `+=`."""
    return is_scalar(value) or is_memory(value)


def is_object(value: Any) -> bool:
    """Whether it is an object with attributes: a namespace, or of a class of the program."""
    kind = type(value)
    return kind is SimpleNamespace or (kind.__module__ == "program" and hasattr(value, "__dict__"))


class Scope:
    """The names of a program and their values, with a source of random choices."""

    def __init__(self, rng: Random, names: dict[str, Any], dynamic: bool) -> None:
        self.rng, self.names = rng, names
        #: Whether shapes and branches may depend on values, which compiled functions refuse.
        self.dynamic = dynamic
        self.count = 0

    def fresh(self, letter: str) -> str:
        """A name that the program does not have."""
        self.count += 1
        return f"{letter}{self.count}"

    def number(self) -> str:
        """A Python number."""
        return f"{self.rng.choice((-1, 1, 1)) * self.rng.randint(2, 15) / 10}"

    def places(self) -> Iterator[tuple[str, Any]]:
        """Every name, attribute and entry that a statement may read, bind or change."""
        for name, value in self.names.items():
            yield name, value
            if type(value) is list:
                yield from ((f"{name}[{k}]", v) for k, v in enumerate(value[:4]))
            elif type(value) is dict:
                yield from ((f'{name}["{k}"]', v) for k, v in value.items())
            elif is_object(value):
                yield from ((f"{name}.{k}", v) for k, v in vars(value).items())

    def find(self, test: Callable[[Any], bool]) -> str | None:
        """A random place whose value passes; newer ones more often."""
        fitting = [place for place, value in self.places() if test(value)]
        if not fitting:
            return None
        return self.rng.choice(fitting[-6:] if self.rng.random() < 0.5 else fitting)

    def array(
        self, ndim: int, least: int = 1, written: bool = False
    ) -> tuple[str, tuple[int, ...]] | None:
        """A place of an array with so many axes, each of at least so many elements."""

        def fits(value: Any) -> bool:
            shape = shape_of(value)
            if shape is None or len(shape) != ndim or (written and not is_memory(value)):
                return False
            return min(shape, default=least) >= least

        place = self.find(fits)
        return None if place is None else (place, self.value(place).shape)

    def value(self, text: str) -> Any:
        """The value of a place."""
        return eval(text, {"np": np}, self.names)

    def index(self, size: int) -> int:
        """An index within an axis, from either end."""
        return self.rng.randrange(size) - (size if self.rng.random() < 0.25 else 0)

    # --- expressions of a wanted shape ---------------------------------------------------------

    def scalar(self, depth: int = 2) -> str:
        """Something without axes: an element, a number, a reduction, or computed from those."""
        roll = self.rng.random()
        if depth > 0 and roll < 0.25:
            return self.rng.choice(SMOOTH).format(a=self.scalar(depth - 1))
        if depth > 0 and roll < 0.5:
            a, b = self.scalar(depth - 1), self.scalar(depth - 1)
            return self.rng.choice(JOINED).format(a=a, b=b)
        if depth > 0 and roll < 0.62:
            return self.reduction(depth - 1)
        return self.without_axes()

    def without_axes(self) -> str:
        """An operand without axes that is read, not computed."""
        roll = self.rng.random()
        if roll < 0.4 and (found := self.array(1)):
            place, (n,) = found
            return f"{place}[{self.index(n)}]"
        if roll < 0.5 and (found := self.array(2)):
            place, (n, k) = found
            i, j = self.index(n), self.index(k)
            return self.rng.choice((f"{place}[{i}, {j}]", f"{place}[{i}][{j}]"))
        if roll < 0.9 and (name := self.find(lambda v: is_scalar(v) or shape_of(v) == ())):
            return name
        return self.number()

    def reduction(self, depth: int) -> str:
        """A reduction or product that leaves no axes."""
        roll = self.rng.random()
        if roll < 0.25 and (found := self.array(2)):
            form = self.rng.choice(
                ("{a}.mean()", "np.trace({a})", "np.sum({a} * {a}) * 0.1", "{a}.sum() * 0.2")
            )
            return form.format(a=found[0])
        found = self.array(1)
        if found is None:
            return self.number()
        a, (n,) = found
        if roll < 0.5:
            b = self.vector(n, depth)
            form = self.rng.choice(("({a} @ {b}) * 0.3", "0.3 * np.dot({a}, {b})"))
            return form.format(a=a, b=b)
        forms = (
            "{a}.sum() * 0.3",
            "np.sum({a}) / len({a})",
            "{a}.mean()",
            "np.mean({a}[1:])" if n > 1 else "np.mean({a})",
            "np.linalg.norm(1.0 + {a})",
            "{a}.max()",
            "np.min({a})",
            "{a}.var()",
            "sum({a}) * 0.2",
            "np.prod(np.tanh({a}))",
            "float(len({a})) * {a}[0] * 0.2",
        )
        return self.rng.choice(forms).format(a=a)

    def vector(self, n: int, depth: int = 2) -> str:
        """A vector of n elements."""
        roll = self.rng.random()
        if depth > 0 and roll < 0.22:
            return self.rng.choice(SMOOTH).format(a=self.vector(n, depth - 1))
        if depth > 0 and roll < 0.45:
            a, b = self.vector(n, depth - 1), self.operand((n,), depth - 1)
            return self.rng.choice(JOINED).format(a=a, b=b)
        if depth > 0 and roll < 0.6:
            return self.composed(n, depth - 1)
        return self.read_vector(n)

    def operand(self, shape: tuple[int, ...], depth: int) -> str:
        """Something that broadcasts to a shape."""
        if self.rng.random() < 0.4 or 0 in shape or not shape:
            return self.scalar(depth)
        if len(shape) == 2 and self.rng.random() < 0.5:
            return self.matrix(shape, depth)
        return self.vector(shape[-1], depth)

    def read_vector(self, n: int) -> str:
        """A vector that is read, not computed: a name, a row, a column, a slice, a selection."""
        fitting: list[str] = []
        for place, value in self.places():
            shape = shape_of(value)
            if shape == (n,):
                fitting += [place, place, place, f"{place}[::-1]"]
            elif shape is not None and len(shape) == 1 and shape[0] > n:
                begin = self.rng.randint(0, shape[0] - n)
                fitting.append(f"{place}[{begin}:{begin + n}]")
                chosen = [self.index(shape[0]) for _ in range(n)]
                fitting.append(f"{place}[{chosen}]")
                if shape[0] >= 2 * n - 1:
                    fitting.append(f"{place}[:{2 * n - 1}:2]")
            elif shape is not None and len(shape) == 2:
                fitting += self.lines(place, shape, n)
        if not fitting or self.rng.random() < 0.04:
            made = ("np.ones({n})", "np.full({n}, {s})", "np.arange({n}) * {s}", "np.zeros({n})")
            return self.rng.choice(made).format(n=n, s=self.without_axes())
        return self.rng.choice(fitting)

    def lines(self, place: str, shape: tuple[int, ...], n: int) -> list[str]:
        """The rows, columns and diagonals of a matrix that have n elements."""
        rows, columns = shape
        found = []
        if columns == n:
            found += [f"{place}[{self.index(rows)}]", f"{place}[{self.index(rows)}, :]"]
        if rows == n:
            found += [f"{place}[:, {self.index(columns)}]", f"{place}.T[{self.index(columns)}]"]
        if rows == columns == n:
            found += [f"np.diagonal({place})", f"np.diag({place})"]
        if rows * columns == n and in_order(self.value(place)):
            found += [f"{place}.ravel()", f"{place}.reshape(-1)", f"{place}.flatten()"]
        return found

    def composed(self, n: int, depth: int) -> str:
        """A vector that an operation over axes makes."""
        roll = self.rng.random()
        if roll < 0.3 and (place := self.find(lambda v: len(shape_of(v) or ()) == 2)):
            rows, columns = self.value(place).shape
            if columns == n:
                form = self.rng.choice(("{a}.sum(axis=0) * 0.3", "np.mean({a}, axis=0)"))
                return form.format(a=place)
            if rows == n:
                b = self.vector(columns, depth)
                form = self.rng.choice(("{a}.mean(axis=1)", "({a} @ {b}) * 0.3"))
                return form.format(a=place, b=b)
        if roll < 0.5 and n > 1:
            k = self.rng.randint(1, n - 1)
            a, b = self.vector(k, depth), self.vector(n - k, depth)
            return self.rng.choice(("np.concatenate([{a}, {b}])", "np.hstack(({a}, {b}))")).format(
                a=a, b=b
            )
        if roll < 0.65 and n <= 4:
            parts = ", ".join(self.scalar(depth) for _ in range(n))
            return self.rng.choice(("np.array([{p}])", "np.stack([{p}])")).format(p=parts)
        a = self.vector(n, depth)
        forms = (
            "0.4 * np.cumsum({a})",
            "np.clip({a}, -0.65, 0.85)",
            "np.roll({a}, 1)",
            "np.flip({a})",
            "np.sort({a})",
            "np.diff(np.append({a}, {s}))",
            "np.where({a} > 0.2, {a}, {s})",
            "np.interp({s}, [-9.0, 9.0], [0.0, 1.0]) * {a}",
            "{a}.clip(-0.75, 0.95)",
            "np.array([v * {s} for v in {a}])",
            "np.take({a}, [{i}] * {n})",
        )
        return self.rng.choice(forms).format(a=a, s=self.without_axes(), i=self.index(n), n=n)

    def matrix(self, shape: tuple[int, ...], depth: int = 2) -> str:
        """A matrix of a shape."""
        roll, (rows, columns) = self.rng.random(), shape
        if depth > 0 and roll < 0.2:
            return self.rng.choice(SMOOTH).format(a=self.matrix(shape, depth - 1))
        if depth > 0 and roll < 0.4:
            a, b = self.matrix(shape, depth - 1), self.operand(shape, depth - 1)
            return self.rng.choice(JOINED).format(a=a, b=b)
        if roll < 0.8:
            fitting = []
            for place, value in self.places():
                size = shape_of(value)
                if size == shape:
                    fitting += [place, place, f"{place}[::-1]"]
                if size is not None and len(size) == 2 and size == shape[::-1]:
                    fitting.append(f"{place}.T")
                if size == (rows * columns,):
                    fitting.append(f"{place}.reshape({rows}, {columns})")
            if fitting:
                return self.rng.choice(fitting)
        a, b = self.vector(rows, 0), self.vector(columns, 0)
        forms = (
            "np.outer({a}, {b})",
            "{a}[:, None] * {b}",
            "np.stack([{b}] * {rows})",
            "np.array([{b} * {s} for _ in range({rows})])",
            "np.column_stack([{a}] * {columns})",
            "np.full(({rows}, {columns}), {s})",
            "(np.eye({rows}, {columns}) * {s})",
        )
        return self.rng.choice(forms).format(
            a=a, b=b, rows=rows, columns=columns, s=self.without_axes()
        )

    def of_shape(self, shape: tuple[int, ...], depth: int = 2) -> str:
        """An expression of a shape."""
        if len(shape) == 2:
            return self.matrix(shape, depth)
        return self.vector(shape[0], depth) if shape else self.scalar(depth)
