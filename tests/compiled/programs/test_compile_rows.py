"""Reductions of rows in the chains of compiled functions: bits, and what joins.

Broadcasts without reductions are in `test_compile_broadcasts.py`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import ferrograd as fg
from test_compile import draw, replays, same_bits

LAST: Any = {"axis": -1, "keepdims": True}


def softmax(x: Any) -> Any:
    e = fg.exp(x - fg.max(x, **LAST))
    return e / fg.sum(e, **LAST)


def layer_norm(x: Any) -> Any:
    d = x - fg.mean(x, **LAST)
    return d / fg.sqrt(fg.mean(d * d, **LAST) + 1e-5) * x[0] + x[1]


def logsumexp(x: Any) -> Any:
    m = fg.max(x, **LAST)
    return fg.log(fg.sum(fg.exp(x - m), **LAST)) + m


def normalised(x: Any) -> Any:
    return x / fg.sqrt(fg.sum(x * x, **LAST))


FUNCTIONS = [softmax, layer_norm, logsumexp, normalised]
#: Rows and their lengths: of few elements, of a vector, of a piece, of leaves, too long to join.
SHAPES = [(1500, 2), (1100, 3), (700, 7), (99, 31), (65, 32), (300, 40), (41, 255), (9, 256)]
SHAPES += [(9, 257), (3, 1000), (5, 1025), (2, 4099), (3, 20_000)]


def matrix(rows: int, row: int, seed: int, dtype: str = "float64") -> Any:
    return fg.tensor(draw(rows * row, seed=seed).reshape(rows, row), dtype=dtype)


def steps(f: Any, *args: Any) -> Counter[str]:
    compiled = fg.compile(f)
    compiled(*args)
    return Counter(name for name, _, _ in compiled.programs[0].steps())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(("rows", "row"), SHAPES)
def test_rows_have_the_bits_of_eager(rows: int, row: int, function: Any, dtype: str) -> None:
    calls = [(matrix(rows, row, seed, dtype),) for seed in range(3)]
    replays(function, *calls)
    replays(fg.value_and_grad(lambda x: fg.sum(function(x) ** 2)), *calls)


@pytest.mark.parametrize("passes", ["", "rows", "dead,rows", "chain", "cse,rows,chain"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_pass_alone_and_without_it(
    function: Any, passes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FERROGRAD_COMPILE_PASSES", passes)
    gradient = fg.grad(lambda x: fg.sum(function(x) ** 2))
    x = matrix(120, 33, 0)
    replays(gradient, (x,), (matrix(120, 33, 1),))
    assert ("rows" in steps(gradient, x)) == ("rows" in passes)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_of_rows_is_one_step(function: Any) -> None:
    x = matrix(300, 40, 0)
    assert steps(function, x) == Counter(rows=1)
    compiled = fg.compile(function)
    compiled(x)
    assert "rows of 40" in compiled.explain(x)


def test_a_gradient_of_rows_is_one_step_beside_its_checks() -> None:
    gradient = fg.grad(lambda x: fg.sum(softmax(x) ** 3))
    found = steps(gradient, matrix(300, 40, 0))
    assert found["rows"] == 1
    assert found["chain"] == found["cast"] == 0


ARRANGED: Any = {
    "plain": lambda x: x,
    "transposed": lambda x: x.transpose(0, 2, 1),
    "reversed": lambda x: x[:, :, ::-1],
    "strided": lambda x: x[:, ::2],
    "one row for all": lambda x: x[:1, :1] + 0.0 * x[:, :, :1],
}
REDUCTIONS: Any = {
    "sum": fg.sum,
    "max": fg.max,
    "min": fg.min,
    "mean": fg.mean,
    "prod": fg.prod,
    "any": lambda x, **kw: fg.any(x > 0.5, **kw).astype(x.dtype),
    "count": lambda x, **kw: fg.sum(x > 0.5, **kw).astype(x.dtype),
    "norm": lambda x, **kw: fg.sqrt(fg.sum(x * x, **kw)),
    "argmax": lambda x, **kw: fg.argmax(x, **kw).astype(x.dtype),
}


@given(
    st.tuples(st.integers(1, 6), st.integers(1, 40), st.integers(1, 70)),
    st.lists(
        st.sampled_from(["exp", "mask", "write", "whole", "down", "column", "row", *REDUCTIONS]),
        min_size=1,
        max_size=10,
    ),
    st.sampled_from(list(ARRANGED)),
    st.sampled_from(["float64", "float32"]),
    st.booleans(),
    st.integers(0, 3),
)
def test_random_programs(
    shape: tuple[int, int, int],
    names: list[str],
    arranged: str,
    dtype: str,
    gradient: bool,
    seed: int,
) -> None:
    a, b, c = shape
    a *= -(-2048 // (a * b * c))  # long enough for a chain

    def f(x: Any, column: Any, row: Any) -> Any:
        y = ARRANGED[arranged](x) * 1.0
        short, total = y[:, :, :1] * 0.5, y[0, 0, 0]
        for i, name in enumerate(names):
            match name:
                case "exp":
                    y = fg.exp(-fg.abs(y - short))
                case "mask":
                    y = fg.where(y > short, y, short * 0.25)
                case "write":
                    y, short = y.clone(), short.clone()
                    y += short
                    short *= 0.5
                case "whole":
                    total = total + fg.sum(y)
                case "down":
                    y = y - 0.1 * fg.sum(y, axis=0, keepdims=True)
                case "column":
                    y = y + column[: y.shape[1]] * short
                case "row":
                    y = y * row[: y.shape[2]]
                case _:
                    axes = (-2, -1) if i % 4 == 3 and name != "argmax" else -1
                    short = REDUCTIONS[name](y * 0.9, axis=axes, keepdims=True)
                    y = y * 0.5 + short * 0.01
        return fg.sum(y * y) + fg.sum(short) + total

    def operands(seed: int) -> Any:
        shapes = ((a, b, c), (max(b, c), 1), (max(b, c),))
        return tuple(
            fg.tensor(draw(int(np.prod(s)), seed=seed + i).reshape(s), dtype=dtype)
            for i, s in enumerate(shapes)
        )

    function = fg.value_and_grad(f, (0, 1, 2)) if gradient else f
    replays(function, *(operands(seed + i) for i in range(2)))


def test_special_numbers() -> None:
    def f(x: Any) -> Any:
        return softmax(x), fg.min(x, **LAST) + x, fg.prod(x, **LAST) * x, fg.sum(x, **LAST) - x

    x, y = draw(64 * 48).reshape(64, 48), draw(64 * 48, seed=1).reshape(64, 48)
    y[3, 5], y[4, 7], y[5], y[6] = np.nan, np.inf, -np.inf, -0.0
    replays(f, (fg.tensor(x),), (fg.tensor(y),), (fg.tensor(x),))


def test_the_number_of_threads_changes_nothing() -> None:
    def f(x: Any) -> Any:
        return fg.sum(softmax(x) * layer_norm(x)), normalised(x)

    gradient = fg.compile(fg.value_and_grad(lambda x: f(x)[0] + fg.sum(f(x)[1] ** 2)))
    before = fg.get_num_threads()
    try:
        for rows, row in ((4001, 19), (700, 301), (40, 5000)):
            x = matrix(rows, row, 3)
            found = []
            for threads in (1, 2, 3):
                fg.set_num_threads(threads)
                found.append(gradient(x))
            same_bits(found[1], found[0])
            same_bits(found[2], found[0])
    finally:
        fg.set_num_threads(before)


def test_memory_outside_is_read_and_written_by_rows() -> None:
    def made() -> tuple[Any, Any]:
        state = matrix(64, 64, 3)
        scale = fg.tensor(draw(64, seed=4).reshape(64, 1))

        def f(x: Any) -> Any:
            x = fg.cumsum(x, axis=0)
            state.mul_(0.5)
            y = state - fg.max(state, **LAST)
            scale.add_(fg.sum(y, **LAST))
            state.add_(y + x * scale)
            return y * scale, fg.mean(state, **LAST)

        return f, (state, scale)

    (eager, expected), (replayed, got) = made(), made()
    compiled = fg.compile(replayed)
    for seed in range(4):
        x = matrix(64, 64, seed)
        same_bits(compiled(x), eager(x))
        same_bits(got, expected)


def test_rows_of_integers_and_masks() -> None:
    def f(n: Any, m: Any) -> Any:
        most = fg.max(n, **LAST)
        counts = fg.sum(m, **LAST)
        return (n - most) * counts, fg.where(m, n, most), fg.all(m, **LAST) | (n > 3)

    def operands(seed: int) -> Any:
        n = np.random.default_rng(seed).integers(-9, 9, (50, 60))
        return fg.tensor(n), fg.tensor(n > seed)

    replays(f, *(operands(seed) for seed in range(3)))


def test_a_decision_between_reductions_is_still_made() -> None:
    gradient = fg.compile(fg.grad(lambda x: fg.sum(softmax(x) ** 2)))
    for seed in range(4):
        x = matrix(300, 40, seed)
        if seed == 2:
            x[7, 3] = np.nan
        same_bits(gradient(x), fg.grad(lambda x: fg.sum(softmax(x) ** 2))(x))


def test_more_results_of_rows_than_there_is_room_for() -> None:
    def f(x: Any) -> Any:
        parts = [fg.sum(x * (1.0 + i), **LAST) for i in range(40)]
        y = x
        for part in parts:
            y = fg.sin(y + part) * part
        return y, parts[3] + parts[39]

    replays(f, *((matrix(90, 50, seed),) for seed in range(2)))
