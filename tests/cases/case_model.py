"""The vocabulary of the operation table: arrays to be made, calls, rows.

Invariant: the same row, call and seed give the same arrays.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: A finite-difference step stays clear of a kink by this much.
CLEAR = 0.05

Number = float | int | bool


@dataclass(frozen=True)
class A:
    """An array of a shape, with values between two bounds; `distinct` ones differ by a wide gap."""

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    avoid: tuple[float, ...] = ()
    distinct: bool = False

    def __init__(self, *shape: int, **options: Any) -> None:
        object.__setattr__(self, "shape", shape)
        unknown = options.keys() - {"low", "high", "avoid", "distinct"}
        assert not unknown, f"unknown options of A: {unknown}"
        for name, value in options.items():
            object.__setattr__(self, name, value)

    def make(self, rng: np.random.Generator) -> np.ndarray:
        size = int(np.prod(self.shape))
        if self.distinct:
            values = rng.permutation(np.linspace(self.low, self.high, max(size, 1)))[:size]
        else:
            values = rng.uniform(self.low, self.high, size)
        for point in self.avoid:
            near = np.abs(values - point) < CLEAR
            values[near] = point + np.where(values[near] < point, -2 * CLEAR, 2 * CLEAR)
        return values.reshape(self.shape)


@dataclass(frozen=True)
class Call:
    """The arguments of one call; every `A` in them is an array to be made."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def arrays(self, seed: int = 0) -> list[np.ndarray]:
        rng = np.random.default_rng(seed)
        return [spec.make(rng) for spec in _specs(self.args)]

    def filled(self, values: list[Any]) -> tuple[Any, ...]:
        """The positional arguments with `values` in place of the arrays."""
        return _fill(self.args, iter(values))

    def apply(self, function: Callable[..., Any], values: list[Any]) -> Any:
        return function(*self.filled(values), **self.kwargs)


def _specs(part: Any) -> Iterator[A]:
    if isinstance(part, A):
        yield part
    elif isinstance(part, list | tuple):
        for item in part:
            yield from _specs(item)


def _fill(part: Any, values: Iterator[Any]) -> Any:
    if isinstance(part, A):
        return next(values)
    if isinstance(part, list | tuple):
        return type(part)(_fill(item, values) for item in part)
    return part


def _grown(part: Any, factor: int) -> Any:
    if isinstance(part, A):
        given = {"low": part.low, "high": part.high, "avoid": part.avoid}
        shape = (n * factor if n > 1 else n for n in part.shape)
        return A(*shape, **given, distinct=part.distinct)
    if isinstance(part, list | tuple):
        return type(part)(_grown(item, factor) for item in part)
    return part


def grown(known: Call, elements: int) -> Call | None:
    """The call with longer axes, its largest array of about so many elements."""
    size, axes = max(
        ((a.size, sum(n > 1 for n in a.shape)) for a in known.arrays()), default=(0, 0)
    )
    if axes == 0:
        return None
    return Call(_grown(known.args, max(2, round((elements / size) ** (1 / axes)))), known.kwargs)


def call(*args: Any, **kwargs: Any) -> Call:
    return Call(args, kwargs)


@dataclass(frozen=True)
class Case:
    """One row: what an operation computes, where, and how exactly."""

    name: str
    ref: Callable[..., Any]
    calls: tuple[Call, ...]
    #: Calls whose work is split over threads; where there are none, one of `calls` is grown.
    large: tuple[Call, ...] = ()
    #: The elements of the largest array of a grown call.
    grown: int = 40_000
    #: How many orders of derivative are checked against differences; 0: no derivative.
    order: int = 2
    #: Relative tolerance against the reference in float64, and of float32 against float64.
    rtol: float = 1e-12
    f32: float = 2e-6
    #: What integers become: "numpy", as the reference says; "float"; None: not taken.
    ints: str | None = "numpy"
    #: Whether float32 becomes float64, as in NumPy's function.
    wide: bool = False
    #: Element-wise: the special values to compare at; empty: none.
    points: tuple[float, ...] = ()
    #: Relative tolerance at the special values.
    points_rtol: float = 1e-12
    #: Whether the sign of a zero is the reference's at the special values.
    signed_zeros: bool = True
    #: Stated derivatives: (arguments, gradients of the sum of the result).
    kinks: tuple[tuple[tuple[Any, ...], tuple[Any, ...]], ...] = ()
    #: Number of element-wise operands, 0 for a structured operation.
    operands: int = 0
    #: Keyword arguments of each call of an element-wise row.
    options: dict[str, Any] = field(default_factory=dict)
    #: What is compared where the operation alone is not smooth or not unique: a function of it.
    through: Callable[[Any], Callable[..., Any]] | None = None
    #: Whether NaN and infinity among the values are left out: a factorisation has no meaning there.
    finite: bool = False
    #: The name below `fg`, where it is not `name` alone: "linalg.det".
    path: str = ""
    #: Why a tolerance is loose or a check left out.
    note: str = ""

    @property
    def key(self) -> str:
        """The name by which the registry and users know the operation."""
        return self.path or self.name

    def __post_init__(self) -> None:
        assert self.ints in ("numpy", "float", None), self.name
        loose = max(self.rtol, self.points_rtol) > 1e-12 or self.f32 > 1e-5
        assert self.note or (self.signed_zeros and not loose), f"{self.name}: say why"


#: Where element-wise operations are compared with the reference besides random values.
POINTS = (
    *(0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5, 2.0, -2.0, 2.5, 3.0, 10.0, -10.0, 100.0),
    *(np.inf, -np.inf, np.nan, 5e-324, -5e-324, 2.3e-308, 1e-300, -1e-300, 1e-8, -1e-8),
    *(36.0, -36.0, 88.0, -104.0, 709.0, 710.0, -745.0, -746.0, 1e15, -1e15, 1e300, -1e300),
)
PAIR_POINTS = (0.0, -0.0, 0.5, 1.0, -1.0, 2.0, -2.5, 3.0, np.inf, -np.inf, np.nan, 1e-300, -1e300)

_UNARY_SHAPES = ((3, 4), (), (1,), (0,), (2, 0, 3), (2, 3, 2))
_BINARY_SHAPES = (
    *(((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (3, 2)), ((2, 3), ())),
    *(((), ()), ((1,), (1,)), ((0,), (1,)), ((2, 0), ()), ((1, 1, 2), (3, 1))),
)
#: Enough elements for several blocks, for cheap and for expensive loops.
CHEAP, HEAVY = 400_003, 20_011


def unary(
    name: str,
    ref: Callable[..., Any],
    low: float = -3.0,
    high: float = 3.0,
    *,
    avoid: tuple[float, ...] = (),
    options: dict[str, Any] | None = None,
    heavy: bool = False,
    points: tuple[float, ...] = POINTS,
    more: tuple[Call, ...] = (),
    **over: Any,
) -> Case:
    """A row of an element-wise operation of one operand."""
    options = options or {}
    spec = {"low": low, "high": high, "avoid": avoid}
    calls = tuple(call(A(*shape, **spec), **options) for shape in _UNARY_SHAPES)
    large = (call(A(HEAVY if heavy else CHEAP, **spec), **options),)
    rest = {"order": 3, "operands": 1, "points": (*points, low, high), **over}
    return Case(name, ref, (*calls, *more), large, options=options, **rest)


def binary(
    name: str,
    ref: Callable[..., Any],
    a: dict[str, Any] | None = None,
    b: dict[str, Any] | None = None,
    *,
    heavy: bool = False,
    points: tuple[float, ...] = PAIR_POINTS,
    **over: Any,
) -> Case:
    """A row of an element-wise operation of two operands."""
    a, b = a or {}, b or {}
    calls = tuple(call(A(*x, **a), A(*y, **b)) for x, y in _BINARY_SHAPES)
    n = HEAVY if heavy else CHEAP
    large = (call(A(n, **a), A(n, **b)), call(A(4, n // 4, **a), A(n // 4, **b)))
    rest = {"order": 3, "operands": 2, "points": points, **over}
    return Case(name, ref, calls, large, **rest)


def predicate(name: str, ref: Callable[..., Any], operands: int = 2, **over: Any) -> Case:
    """A row of an element-wise operation whose result is boolean."""
    make = unary if operands == 1 else binary
    return make(name, ref, order=0, **over)


def op(name: str, ref: Callable[..., Any], *calls: Call, **over: Any) -> Case:
    """A row of an operation that is not element-wise."""
    return Case(name, ref, calls, **over)
