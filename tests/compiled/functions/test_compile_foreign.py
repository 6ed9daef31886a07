"""Foreign steps: Python code in the middle of a compiled function, by `fg.pure_callback`.

Random numbers are in `test_compile_random.py`, custom functions in `test_compile_functions.py`.
"""

import gc
import traceback
import weakref
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import ferrograd as fg
from ferrograd.errors import (
    ArgumentTypeError,
    CompileError,
    DTypeError,
    NotDifferentiableError,
    ShapeError,
)
from test_compile import draw, same_bits, side_by_side

FLOAT = fg.ShapeDtypeStruct((), "float64")


def test_python_runs_in_the_middle_of_every_call() -> None:
    seen: list[Any] = []

    def middle(x: np.ndarray, y: np.ndarray, text: str, *, scale: float) -> Any:
        assert type(x) is type(y) is np.ndarray
        assert (text, scale) == ("t", 2.0)
        seen.append(x.copy())
        x += 1.0  # a copy: nobody else sees it
        return {"m": np.median(x) * scale, "n": (np.sort(y, axis=0), np.array([True]))}

    like = {
        "m": FLOAT,
        "n": (fg.ShapeDtypeStruct((4, 2), "float32"), fg.ShapeDtypeStruct(1, bool)),
    }

    def f(x: Any, y: Any) -> Any:
        double = x * 2.0
        found = fg.pure_callback(middle, like, double, y.T, "t", scale=2.0)
        return found["m"] * double, found["n"][0][::-1], found["n"][1], double

    compiled = fg.compile(f)
    for seed in range(4):
        x, y = fg.tensor(draw(5, seed=seed)), fg.tensor(draw(2, 4, seed=seed), dtype="float32")
        same_bits(compiled(x, y), f(x, y))
    assert len(compiled.programs) == 1
    assert len(seen) == 8
    assert "pure_callback(" in compiled.explain(x, y)


def test_order_of_callbacks_and_changes_of_outside_memory() -> None:
    def run(wrap: Any) -> Any:
        log: list[float] = []
        state = fg.zeros(2)

        def note(x: Any) -> Any:
            log.append(float(x.sum()) + float(state.sum()))
            state.add_(1.0)
            return ()

        def f(x: Any) -> Any:
            before = state.clone()
            fg.pure_callback(note, (), x)
            with fg.no_grad():
                state.mul_(2.0)
            fg.pure_callback(note, (), x * 3.0)
            return before + state

        g = wrap(f)
        found = [g(fg.tensor([i, 1.0])).tolist() for i in range(4)]
        return found, log, state.tolist()

    assert run(fg.compile) == run(lambda f: f)


def test_results_nobody_reads_are_computed_all_the_same() -> None:
    calls: list[int] = []

    def f(x: Any) -> Any:
        fg.pure_callback(lambda v: calls.append(1) or v.sum(), FLOAT, x)
        return x * 2.0

    compiled = fg.compile(f)
    for _ in range(3):
        compiled(fg.ones(2))
    assert len(calls) == 3


def test_exceptions_reach_the_caller_as_they_are() -> None:
    class TroubleError(Exception):
        pass

    def strict(x: np.ndarray) -> Any:
        if x[0] < 0:
            raise TroubleError("negative")
        return x.sum()

    state = fg.zeros(1)

    def f(x: Any) -> Any:
        y = fg.pure_callback(strict, FLOAT, x)
        with fg.no_grad():
            state.add_(1.0)
        return y

    compiled = fg.compile(f)
    with pytest.raises(TroubleError):
        compiled(fg.tensor([-1.0]))  # while it is recorded
    assert state.tolist() == [0.0]
    compiled(fg.tensor([1.0]))
    with pytest.raises(TroubleError, match="negative") as caught:
        compiled(fg.tensor([-1.0]))
    assert "strict" in "".join(traceback.format_tb(caught.value.__traceback__))
    assert not getattr(caught.value, "__notes__", [])
    assert state.tolist() == [1.0]
    same_bits(compiled(fg.tensor([4.0])), fg.tensor(4.0))


@pytest.mark.parametrize(
    ("gives", "error", "match"),
    [
        (lambda x: np.zeros(3), ShapeError, r"\(3,\), and \(\)"),
        (lambda x: np.float32(0), DTypeError, "float32, and float64"),
        (lambda x: (0.0, 0.0), ShapeError, "structure"),
        (lambda x: None, ShapeError, "structure"),
    ],
)
def test_results_unlike_those_declared(gives: Any, error: Any, match: str) -> None:
    wrong = [False]
    f = fg.compile(
        lambda x: fg.pure_callback(lambda v: gives(v) if wrong[0] else v.sum(), FLOAT, x)
    )
    f(fg.ones(2))
    wrong[0] = True
    with pytest.raises(error, match=match):
        f(fg.ones(2))
    with pytest.raises(error, match=match):
        f.__wrapped__(fg.ones(2))


def test_bad_input() -> None:
    with pytest.raises(ArgumentTypeError, match="pass a function"):
        fg.pure_callback(3, FLOAT)
    with pytest.raises(ArgumentTypeError, match="ShapeDtypeStruct"):
        fg.pure_callback(abs, 3.0, fg.ones(2))
    x = fg.ones(2, requires_grad=True)
    with pytest.raises(NotDifferentiableError, match="detach"):
        fg.pure_callback(np.sum, FLOAT, x)
    with pytest.raises(NotDifferentiableError, match="Function"):
        fg.compile(fg.grad(lambda x: fg.pure_callback(np.sum, FLOAT, x)))(np.ones(2))


def closes_over_argument(x: Any) -> Any:
    return fg.pure_callback(lambda: x.numpy().sum(), FLOAT)


def closes_over_value(x: Any) -> Any:
    y = x * 2.0
    return fg.pure_callback(lambda: float(fg.sum(y + 1.0)), FLOAT)


def closes_over_what_changes_later(x: Any) -> Any:
    c = fg.zeros(2)
    found = fg.pure_callback(lambda: c.numpy().sum(), FLOAT)
    return found + c.add_(x)


def hands_out_a_tensor(x: Any) -> Any:
    made: list[Any] = []
    fg.pure_callback(lambda v: made.append(fg.tensor(v)), None, x)
    return made[0] + 1.0


def hands_out_a_number(x: Any) -> Any:
    made: list[Any] = []
    fg.pure_callback(lambda v: made.append(fg.tensor(v)), None, x)
    return x * float(made[0].sum())


@pytest.mark.parametrize(
    "f",
    [
        closes_over_argument,
        closes_over_value,
        closes_over_what_changes_later,
        hands_out_a_tensor,
        hands_out_a_number,
    ],
)
def test_only_arguments_and_results_cross(f: Any) -> None:
    f(fg.ones(2))
    for _ in range(2):
        with pytest.raises(CompileError):
            fg.compile(f)(fg.ones(2))


def test_closures_over_memory_outside_and_constants() -> None:
    w = fg.tensor([1.0, 2.0])

    def f(x: Any) -> Any:
        c = fg.tensor([1.0, 3.0])
        return fg.pure_callback(lambda v: (v * w.numpy() * c.numpy()).sum(), FLOAT, x)

    compiled = fg.compile(f)
    for i in range(3):
        w.fill_(float(i))
        same_bits(compiled(fg.ones(2)), f(fg.ones(2)))
    assert len(compiled.programs) == 1


def test_a_callback_may_call_compiled_functions() -> None:
    def chain(run: Any) -> list[Any]:
        inner = run(lambda x: fg.sin(x) * 2.0)
        levels: list[Any] = []

        def middle(x: np.ndarray, depth: int) -> Any:
            y = inner(fg.tensor(x))
            return levels[depth - 1](y) if depth else y

        def level(depth: int) -> Any:
            shape = fg.ShapeDtypeStruct((3,), "float64")
            return lambda x: fg.pure_callback(middle, shape, x + 1.0, depth) * 3.0

        levels += [run(level(depth)) for depth in range(3)]
        return [levels[-1](fg.tensor(draw(3, seed=s))) for s in range(4)]

    same_bits(chain(fg.compile), chain(lambda f: f))


def test_a_callback_may_call_its_own_function() -> None:
    def f(x: Any, depth: int) -> Any:
        def deeper(v: np.ndarray) -> Any:
            return run(fg.tensor(v), depth - 1) if depth else v

        return fg.pure_callback(deeper, x, x * 2.0) + x

    run: Any = fg.compile(f)
    replayed = [run(fg.tensor(draw(3, seed=s)), 3) for s in range(3)]
    run = f
    same_bits(replayed, [run(fg.tensor(draw(3, seed=s)), 3) for s in range(3)])


def test_a_solver_of_scipy_in_the_middle() -> None:
    def root(c: np.ndarray) -> Any:
        return scipy.optimize.brentq(lambda x: x**3 - c.sum(), 0.0, 10.0)

    f = fg.compile(lambda c: fg.pure_callback(root, FLOAT, c) ** 3)
    for total in (1.0, 8.0, 27.0):
        assert abs(f(np.array([total, 0.0])) - total) < 1e-8


def test_threads_call_back_side_by_side() -> None:
    f = fg.compile(
        lambda x: fg.pure_callback(np.sort, fg.ShapeDtypeStruct((5000,), "float64"), x * 2.0) + x
    )
    f(draw(5000))
    wrong = []

    def work(seed: int) -> None:
        for i in range(20):
            x = draw(5000, seed=100 * seed + i)
            if f(x).tobytes() != (np.sort(x * 2.0) + x).tobytes():
                wrong.append(seed)

    side_by_side(work, 4)
    assert wrong == []


def test_programs_that_call_back_die_with_their_function() -> None:
    class Model:
        def __init__(self) -> None:
            self.w = fg.ones(3)
            self.step = fg.compile(lambda x: {"y": self.inner(x)})

        def inner(self, x: Any) -> Any:
            return fg.pure_callback(self.outside, fg.ShapeDtypeStruct((3,), "float64"), x)

        def outside(self, x: Any) -> Any:
            return x * self.w.numpy()

    gc.collect()
    before = fg.live_bytes()
    model = Model()
    for _ in range(3):
        model.step(fg.ones(3))
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
    assert fg.live_bytes() == before


def test_what_a_run_shares_ends_with_it() -> None:
    made: list[Any] = []

    class Big:
        pass

    def f(x: Any) -> Any:
        def keep(shared: Any, v: Any) -> Any:
            shared["big"] = Big()
            made.append(weakref.ref(shared["big"]))
            return [v]

        return fg._core._call_foreign("keep", keep, [x])[0]

    compiled = fg.compile(f)
    for _ in range(3):
        compiled(fg.ones(2))
    gc.collect()
    assert [each() for each in made] == [None] * 3
