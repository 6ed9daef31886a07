"""Programs over a few numbers: arithmetic without calls, pieces made in their place, loops.

Longer ones: `test_compile_passes.py`.
"""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from test_compile import draw, same_bits

ENDS = np.array([0.0, -0.0, np.inf, -np.inf, 5e-324, 1e308, -1.5, 3.0])


def arithmetic(x: Any, y: Any) -> Any:
    total = (x + y) * (x - y) - (-(y * x) + x)
    total += x
    total *= y
    total -= total * 0.5
    return total, -total


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 15, 16, 17, 33])
def test_arithmetic_has_the_bits_of_eager_calls(n: int, dtype: str) -> None:
    compiled = fg.compile(arithmetic)
    with np.errstate(all="ignore"):
        pairs = [(draw(n, seed=seed), draw(n, seed=seed + 9)) for seed in range(3)]
        pairs += [(np.resize(ENDS, n), np.resize(np.roll(ENDS, k), n)) for k in range(4)]
        for x, y in pairs:
            x, y = x.astype(dtype), y.astype(dtype)
            given = fg.tensor(x), fg.tensor(y)
            same_bits(compiled(*given), arithmetic(*given))
    assert len(compiled.programs) == 1


def test_arithmetic_of_parts_and_of_memory_outside() -> None:
    def made() -> Any:
        state = fg.tensor(np.arange(6.0))

        def f(x: Any) -> Any:
            state[1:4].add_(x[2:5])
            state.mul_(x[:1])
            return state[2:] - x[1:5], state * x[0]

        return f, state

    (eager, expected), (replayed, got) = made(), made()
    compiled = fg.compile(replayed)
    for seed in range(4):
        x = fg.tensor(draw(6, seed=seed))
        same_bits(compiled(x), eager(x))
        same_bits(got, expected)


def names(f: Any) -> list[str]:
    return [name for name, _, _ in f.programs[0].steps()]


def test_pieces_are_made_in_their_place() -> None:
    joined = fg.compile(lambda x: fg.concatenate([x[2:] * 2.0, -x[:2], fg.sin(x[1:3])]) * x[0])
    for seed in range(3):
        x = fg.tensor(draw(4, seed=seed))
        same_bits(joined(x), joined.__wrapped__(x))
    assert "copy" not in names(joined)

    # What reads the whole in between needs the pieces as they were.
    def grown(x: Any) -> Any:
        whole = fg.zeros(4)
        piece = x[:2] * 3.0
        whole[2:] = x[2:] * 2.0
        before = whole * 1.0
        whole[:2] = piece
        whole[1:3] = x[1:3] - 1.0
        return before, whole * 1.0

    compiled = fg.compile(grown)
    for seed in range(3):
        x = fg.tensor(draw(4, seed=seed))
        same_bits(compiled(x), grown(x))


def test_what_is_written_over_is_not_filled() -> None:
    def f(x: Any) -> Any:
        return fg.sum(x[::-1] * x * 2.0)

    compiled = fg.compile(fg.grad(f))
    for seed in range(3):
        x = draw(3, seed=seed)
        same_bits(compiled(x), fg.grad(f)(fg.tensor(x)).numpy())
    assert "fill" not in names(compiled)


def test_loops_of_few_numbers() -> None:
    def force(s: Any) -> Any:
        q, p = s[:2], s[2:]
        return fg.concatenate([p, -fg.sin(q) - 0.1 * q * q[::-1] - 0.01 * p])

    def step(s: Any, x: Any) -> Any:
        k = force(s)
        s = s + 0.01 * force(s + 0.005 * k) * x
        return s, s[0] * s[1]

    def end(s: Any, xs: Any) -> Any:
        last, rows = fg.scan(step, s, xs)
        return (last * last).sum() + rows.sum()

    def unrolled(s: Any, xs: Any) -> Any:
        rows = []
        for k in range(xs.shape[0]):
            s, row = step(s, xs[k])
            rows.append(row)
        return (s * s).sum() + fg.stack(rows).sum()

    slopes = fg.grad(end, argnums=(0, 1))
    compiled = fg.compile(slopes)
    for seed in range(3):
        s, xs = fg.tensor(draw(4, seed=seed)), fg.tensor(draw(7, seed=seed + 5))
        same_bits(compiled(s, xs), slopes(s, xs))
        for mine, theirs in zip(
            compiled(s, xs), fg.grad(unrolled, argnums=(0, 1))(s, xs), strict=True
        ):
            np.testing.assert_allclose(mine, theirs, rtol=1e-14)
