"""Random programs that save views of a buffer and write to it, beside a model in NumPy.

The model knows the buffer as a vector of real numbers, and its Jacobian.
"""

import gc
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ferrograd as fg

SHAPE = (4, 6)
SIZE = 24
DTYPES = ["float64", "float32", "complex128"]


def start(dtype: str) -> np.ndarray:
    real = np.linspace(-1.0, 1.0, SIZE).reshape(SHAPE)
    return (real + 1j * real[::-1, ::-1] ** 2 if dtype == "complex128" else real).astype(dtype)


def places(dtype: str) -> np.ndarray:
    """What stands for the buffer: the places of its real numbers, of a complex one as two parts."""
    one = np.arange(SIZE).reshape(SHAPE)
    return 2.0 * one + 1j * (2 * one + 1) if dtype == "complex128" else one


def parts(view: np.ndarray) -> np.ndarray:
    """The places of the real numbers of a view of `places`, in a row."""
    if view.dtype.kind == "c":
        view = np.stack([view.real, view.imag], -1)
    return view.reshape(-1).astype(int)


class View(NamedTuple):
    """A chain of views, of tensors as of arrays."""

    text: str
    of: Callable[[Any], Any]


def key(text: str) -> View:
    return View(f"[{text}]", lambda a: a[eval(f"np.s_[{text}]")])


KEYS = [
    "1",
    ":, 2",
    "::2",
    "1:3, ::-1",
    ":, 1::3",
    "::-2, 4:0:-2",
    "...",
    "2:2",
    "None, 1:",
    "0, 3:5",
]
MATRIX = [
    *map(key, KEYS),
    View(".T", lambda a: a.T),
    View(".reshape", lambda a: a.reshape(2, 12)),
    View(".reshape.column", lambda a: a.reshape(8, 3)[:, 1]),
    View(".reshape(-1)", lambda a: a.reshape(-1)[3:20:4]),
    View(".diagonal", lambda a: fg.diagonal(a, 1) if isinstance(a, fg.Tensor) else a.diagonal(1)),
    View(".T[1:4]", lambda a: a.T[1:4][:, ::-1]),
    View("[1, 2, ...]", lambda a: a[1, 2, ...]),
]
REAL = View(".real", lambda a: a.real)
IMAG = View(".imag", lambda a: a.imag)


def views(dtype: str) -> st.SearchStrategy[list[View]]:
    """Views of the buffer, and parts of such."""
    first = st.sampled_from(MATRIX).map(lambda view: [view])
    tail = [key("::-1"), key("1:"), key("...")]
    second = st.tuples(st.sampled_from(MATRIX[1:10]), st.sampled_from(tail)).map(list)
    if dtype != "complex128":
        return first | second
    part = st.sampled_from([REAL, IMAG])
    both = st.tuples(part, st.sampled_from(MATRIX)).map(list)
    return first | second | both | st.tuples(st.sampled_from(MATRIX), part).map(list)


def seen(chain: list[View], a: Any) -> Any:
    for view in chain:
        a = view.of(a)
    return a


class Model:
    """The buffer as real numbers, each with its derivatives in those that it began with."""

    def __init__(self, dtype: str) -> None:
        self.places = places(dtype)
        first = start(dtype)
        flat = np.stack([first.real, first.imag], -1) if first.dtype.kind == "c" else first
        self.values = flat.reshape(-1).astype("float64")
        self.slopes = np.eye(self.values.size)
        self.gradient = np.zeros(self.values.size)

    def square(self, chain: list[View], weight: float) -> None:
        """Adds `weight` times the sum of the real part of the squares to the loss."""
        view = seen(chain, self.places)
        at = parts(view)
        sign = np.tile([1.0, -1.0], at.size // 2) if view.dtype.kind == "c" else 1.0
        self.gradient += weight * (2 * sign * self.values[at]) @ self.slopes[at]

    def product(self, chain: list[View], weight: float) -> None:
        """Adds `weight` times the sum of the products of real parts with those in reverse order."""
        at = parts(seen(chain, self.places).real)
        other = at[::-1]
        self.gradient += weight * self.values[other] @ self.slopes[at]
        self.gradient += weight * self.values[at] @ self.slopes[other]

    def write(self, at: np.ndarray, values: Any, slopes: Any, recorded: bool) -> None:
        self.values[at] = values
        if recorded:
            self.slopes[at] = slopes


class Write(NamedTuple):
    """A write to a view: of a tensor, and in the model."""

    tensor: Callable[[Any, float], Any]
    value: Callable[[np.ndarray, float], Any]
    slope: Callable[[np.ndarray, float], Any]


def added(v: Any, c: float) -> None:
    v += c


def scaled(v: Any, c: float) -> None:
    v *= c


def into(v: Any, c: float) -> None:
    fg.multiply(v, c, out=v)


def replaced(v: Any, c: float) -> None:
    v[...] = v * c


def squared(v: Any, c: float) -> None:
    v *= v * c


SCALE: tuple[Any, Any] = (lambda v, c: v * c, lambda v, c: 0 * v + c)
WRITES = {
    "assigned": Write(lambda v, c: v.__setitem__(..., c), lambda v, c: c, lambda v, c: 0 * v),
    "filled": Write(lambda v, c: v.fill_(c), lambda v, c: c, lambda v, c: 0 * v),
    "+=": Write(added, lambda v, c: v + c, lambda v, c: 0 * v + 1),
    "*=": Write(scaled, *SCALE),
    "mul_": Write(lambda v, c: v.mul_(c), *SCALE),
    "out=": Write(into, *SCALE),
    "v[...] = v * c": Write(replaced, *SCALE),
    "*= itself": Write(squared, lambda v, c: v * v * c, lambda v, c: 2 * v * c),
    "sin_": Write(lambda v, c: v.sin_(), lambda v, c: np.sin(v), lambda v, c: np.cos(v)),
}
#: Those that act on the parts of complex numbers as on numbers.
BY_PARTS = ["*=", "mul_", "out=", "v[...] = v * c"]

CHOSEN: list[tuple[Any, bool]] = [
    (np.s_[[0, 2, -1]], False),
    (np.s_[[1, 3], [0, 5]], False),
    (np.s_[:, [4, 1]], False),
    (np.arange(SIZE).reshape(SHAPE) % 5 == 2, False),
    (np.array([True, False, False, True]), False),
    (np.s_[2, 3], True),
    (np.s_[-1, -2], True),
]


class Step(NamedTuple):
    """A save of a view, or a write: to a view, or to what a key chooses."""

    kind: str
    chain: list[View]
    name: str
    number: float
    chosen: Any
    recorded: bool


def steps(dtype: str) -> st.SearchStrategy[list[Step]]:
    names = BY_PARTS if dtype == "complex128" else list(WRITES)
    return st.lists(
        st.builds(
            Step,
            st.sampled_from(["square", "product", "square", "write", "write", "choose"]),
            views(dtype),
            st.sampled_from(names),
            st.sampled_from([-1.0, 0.5, 2.0]),
            st.sampled_from([chosen for chosen, _ in CHOSEN]),
            st.booleans(),
        ),
        min_size=2,
        max_size=9,
    )


def execute(step: Step, buffer: Any, model: Model) -> Any:
    """Runs a step on a tensor and in the model; what it adds to the loss."""
    c = step.number
    if step.kind in ("square", "product"):
        getattr(model, step.kind)(step.chain, c)
        v = seen(step.chain, buffer)
        if step.kind == "square":
            return (v * v).real.sum() * c
        v = v.real.reshape(-1)
        return (v * v[::-1]).sum() * c
    target = buffer if step.recorded else buffer.detach()
    if step.kind == "choose":
        at = parts(model.places[step.chosen])
        target[step.chosen] *= c
        model.write(at, model.values[at] * c, model.slopes[at] * c, step.recorded)
        return 0.0
    write, at = WRITES[step.name], parts(seen(step.chain, model.places))
    v = model.values[at].copy()
    slope = np.broadcast_to(write.slope(v, c), v.shape)[:, None] * model.slopes[at]
    write.tensor(seen(step.chain, target), c)
    model.write(at, write.value(v, c), slope, step.recorded)
    return 0.0


def gradient(model: Model, dtype: str) -> np.ndarray:
    if dtype != "complex128":
        return model.gradient.reshape(SHAPE).copy()
    pairs = model.gradient.reshape(*SHAPE, 2)
    return pairs[..., 0] + 1j * pairs[..., 1]


def values(model: Model, dtype: str) -> np.ndarray:
    real = np.vectorize(lambda at: model.values[int(at)])
    if dtype != "complex128":
        return real(model.places)
    return real(model.places.real) + 1j * real(model.places.imag)


def close(found: Any, expected: np.ndarray, dtype: str) -> None:
    limit = 2e-4 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(np.asarray(found), expected, limit, limit * 10)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("twice", [False, True])
def test_backward_after_any_writes(dtype: str, twice: bool) -> None:
    """Values are NumPy's, and gradients those of the values that each operation saw."""

    @settings(max_examples=80)
    @given(steps(dtype), steps(dtype))
    def check(program: list[Step], late: list[Step]) -> None:
        x = fg.tensor(start(dtype), requires_grad=True)
        buffer, model = x * 1, Model(dtype)
        loss: Any = (buffer * 0).real.sum()
        for step in program:
            loss = loss + execute(step, buffer, model)
        close(buffer.detach(), values(model, dtype), dtype)
        expected = gradient(model, dtype)
        if twice:
            loss.backward(retain_graph=True)
            close(x.grad, expected, dtype)
            x.grad = None
            for step in late:
                execute(step, buffer, model)
        loss.backward()
        close(x.grad, expected, dtype)

    check()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("compiled", [False, True])
def test_transforms_of_programs(dtype: str, compiled: bool) -> None:
    """The same inside a function that is differentiated, and compiled."""

    @settings(max_examples=20 if compiled else 60)
    @given(steps(dtype))
    def check(program: list[Step]) -> None:
        models: list[Model] = []

        def loss(x: Any) -> Any:
            buffer, model = x * 1, Model(dtype)
            models.append(model)
            total: Any = (buffer * 0).real.sum()
            for step in program:
                total = total + execute(step, buffer, model)
            return total

        f = fg.compile(fg.grad(loss)) if compiled else fg.grad(loss)
        for _ in range(2):
            found = f(start(dtype))
            # Transforms give the conjugate of `x.grad`, as JAX does.
            close(found, gradient(models[-1], dtype).conj(), dtype)

    check()


class Count(NamedTuple):
    """A save (`number` is 0) or a write of a view."""

    chain: list[View]
    number: float


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_write_copies_no_more_than_the_saved_elements_it_reaches(dtype: str) -> None:
    """None that no value saved since they were copied, and no more than it writes."""
    events = st.builds(Count, views(dtype), st.sampled_from([0.0, 0.0, 3.0]))
    unit = np.dtype(dtype).itemsize // (2 if dtype == "complex128" else 1)

    @settings(max_examples=80)
    @given(st.lists(events, min_size=2, max_size=12))
    def check(program: list[Count]) -> None:
        gc.collect()
        before = fg.live_bytes()
        x = fg.tensor(start(dtype), requires_grad=True)
        buffer = x * 1
        alias, wanted, kept = buffer.detach(), set[int](), []
        for chain, number in program:
            at = set(parts(seen(chain, places(dtype))).tolist())
            if number == 0:
                v = seen(chain, buffer)
                kept.append((v * v).real.sum())
                wanted |= at
                continue
            v = seen(chain, alias)
            least = fg.live_bytes()
            v[...] = number
            copied = fg.live_bytes() - least
            assert unit * len(at & wanted) <= copied <= unit * len(at)
            assert copied == 0 or at & wanted
            least += copied
            v[...] = number + 1
            assert fg.live_bytes() == least
            wanted -= at
        kept.clear()
        for _ in range(2):
            # Nothing is saved any more: nothing is copied, and nothing is left.
            alias[...] = 5.0
        del buffer, alias, v
        assert fg.live_bytes() - before == x.numel() * np.dtype(dtype).itemsize

    check()
