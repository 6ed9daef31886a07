"""The passes of `fg.compile` change no bit: random programs, long chains, every pass alone.

Owns: programs long enough for the passes. What a compiled function does is in `test_compile.py`.
"""

from typing import Any

import pytest
from hypothesis import given, strategies as st

import ferrograd as fg
from test_compile import draw, replays


@given(
    st.lists(
        st.sampled_from(["sin", "square", "cumsum", "roll", "double", "view", "write"]), max_size=8
    ),
    st.integers(0, 5),
    st.sampled_from([6, 2999, 5000]),
)
def test_random_programs(names: list[str], seed: int, n: int) -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        for name in names:
            match name:
                case "sin" | "square" | "cumsum":
                    y = getattr(fg, name)(y)
                case "roll":
                    y = fg.roll(y, 2)
                case "double":
                    y += y
                case "view":
                    y[1:3] *= 0.5
                case "write":
                    y[::2] = y[1]
        return fg.sum(y * fg.arange(float(n)))

    g = fg.value_and_grad(f)
    replays(g, *((draw(n, seed=seed + i),) for i in range(3)))


def long_chain(x: Any, w: Any) -> Any:
    """More element-wise steps, numbers and lasting values than a chain has room for."""
    y = x
    for i in range(20):
        y = fg.sin(y * (0.5 + i)) + w * float(i) if i % 3 else y - 2.0 * x
    z = y.clone()
    z[1:] += y[:-1]
    z *= z
    return fg.sum(z * y) + fg.sum(fg.where(z > 1.0, z, w))


@pytest.mark.parametrize("passes", [None, "", "dead", "copy", "chain", "dead,copy,chain"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_passes_change_no_bit(
    passes: str | None, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if passes is not None:
        monkeypatch.setenv("FERROGRAD_COMPILE_PASSES", passes)
    f = fg.value_and_grad(long_chain, (0, 1))
    for n in (5, 2048, 70_001):
        calls = [
            tuple(fg.tensor(draw(n, seed=seed + i), dtype=dtype) for i in range(2))
            for seed in (0, 10, 20)
        ]
        replays(f, *calls)
