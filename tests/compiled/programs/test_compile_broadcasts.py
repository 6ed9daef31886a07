"""Rows and columns that are broadcast in the chains of compiled functions: bits, and what joins.

Other passes are in `test_compile_passes.py`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import ferrograd as fg
from test_compile import draw, replays, same_bits


def steps(f: Any, *args: Any) -> Counter[str]:
    compiled = fg.compile(f)
    compiled(*args)
    return Counter(name for name, _, _ in compiled.programs[0].steps())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("dims", "small"),
    [
        ((64, 64), (64,)),
        ((64, 64), (64, 1)),
        ((1500, 2), (2,)),
        ((1500, 2), (1500, 1)),
        ((3, 1000), (1000,)),
        ((3, 1000), (3, 1)),
        ((37, 255), (1, 255)),
        ((7, 5, 11, 13), (5, 1, 1)),
        ((7, 5, 11, 13), (5, 11, 1)),
        ((7, 5, 11, 13), (11, 13)),
        ((7, 5, 11, 13), (7, 5, 1, 1)),
        ((7, 5, 11, 13), (7, 1, 11, 1)),
        ((2, 20_000), (2, 1)),
        ((20_000, 2), (2,)),
    ],
)
def test_a_small_operand_joins(dims: tuple[int, ...], small: tuple[int, ...], dtype: str) -> None:
    def f(x: Any, w: Any) -> Any:
        return fg.exp(fg.tanh(x * 0.5 + w) - w) * x

    def operands(seed: int) -> Any:
        size, few = int(np.prod(dims)), int(np.prod(small))
        return (
            fg.tensor(draw(size, seed=seed).reshape(dims), dtype=dtype),
            fg.tensor(draw(few, seed=seed + 9).reshape(small), dtype=dtype),
        )

    replays(f, *(operands(seed) for seed in range(3)))
    both = 7 in dims and small == (7, 1, 11, 1)  # more than one axis between broadcast ones
    if not both:
        assert steps(f, *operands(0)) == Counter(chain=1)


@given(
    st.integers(1, 9),
    st.integers(1, 40),
    st.integers(1, 40),
    st.lists(st.sampled_from(["row", "column", "middle", "number", "self"]), max_size=6),
    st.integers(0, 3),
)
def test_random_broadcasts(a: int, b: int, c: int, names: list[str], seed: int) -> None:
    a *= -(-2048 // (a * b * c))  # long enough for a chain

    def f(x: Any, row: Any, column: Any, middle: Any) -> Any:
        y = x
        small = {"row": row, "column": column, "middle": middle, "number": 0.5, "self": x[0]}
        for name in names:
            y = fg.sin(y + small[name]) * small[name]
        return y, fg.where(y > row, y, column), fg.sum(y)

    def operands(seed: int) -> Any:
        shapes = ((a, b, c), (c,), (a, b, 1), (b, 1))
        return tuple(
            fg.tensor(draw(int(np.prod(s)), seed=seed + i).reshape(s)) for i, s in enumerate(shapes)
        )

    replays(f, *(operands(seed + i) for i in range(2)))


def test_layers_and_their_gradients() -> None:
    def layer(x: Any, w: Any, b: Any) -> Any:
        y = fg.relu(x + b)
        mean = y.mean(axis=-1, keepdims=True)
        return fg.sum(((y - mean) * w) ** 2)

    f = fg.value_and_grad(layer, argnums=(0, 1, 2))
    matrices = [draw(64 * 96, seed=s).reshape(64, 96) for s in (0, 5)]
    rows = [(x, draw(96, seed=1), draw(96)) for x in matrices]
    replays(f, *rows)
    softmax = lambda x: (  # noqa: E731
        fg.exp(x - fg.max(x, axis=-1, keepdims=True))
        / fg.sum(fg.exp(x - fg.max(x, axis=-1, keepdims=True)), axis=-1, keepdims=True)
    )
    replays(softmax, *((fg.tensor(r[0]),) for r in rows))


def test_a_row_of_memory_that_the_chain_writes() -> None:
    def made() -> tuple[Any, Any]:
        state = fg.tensor(draw(64 * 64, seed=3).reshape(64, 64))

        def f(x: Any) -> Any:
            state.mul_(0.5)
            y = state + state[3]
            state.add_(y + x)
            z = state * state[:, 2:3]
            state.sub_(state[0].clone())
            return y + z + state

        return f, state

    (eager, expected), (replayed, got) = made(), made()
    compiled = fg.compile(replayed)
    for seed in range(4):
        x = fg.tensor(draw(64, seed=seed))
        same_bits(compiled(x), eager(x))
        same_bits([got], [expected])


def test_masks_and_integers() -> None:
    def f(x: Any, n: Any, m: Any) -> Any:
        return fg.where(m, x + n, x - n) * 2, (x > n) & m, n * n + fg.floor(x).astype("int64")

    shape = (50, 60)
    for seed in range(2):
        x = fg.tensor(draw(3000, seed=seed).reshape(shape))
        n = fg.tensor(np.arange(60) - seed)
        m = fg.tensor((np.arange(50) % (2 + seed) == 0).reshape(50, 1))
        same_bits(fg.compile(f)(x, n, m), f(x, n, m))
    replays(f, (x, n, m), (x * 2.0, n + 1, m))


def test_more_small_operands_than_there_is_room_for() -> None:
    def f(x: Any, w: Any) -> Any:
        y = x
        for i in range(30):
            y = y * 0.9 + w[i]
        return y

    replays(
        f, *((draw(64 * 64, seed=s).reshape(64, 64), draw(30 * 64).reshape(30, 64)) for s in (0, 1))
    )
