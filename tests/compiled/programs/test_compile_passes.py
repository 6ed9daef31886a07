"""The passes of `fg.compile` change no bit: random programs, long chains, every pass alone."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, strategies as st

import ferrograd as fg
from test_compile import draw, replays, same_bits


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


PASSES = ["dead", "copy", "fold", "cse", "rows", "chain", "spread"]
SWITCHES = [None, "", *PASSES, *(",".join(p for p in PASSES if p != off) for off in PASSES)]


def matrix_program(x: Any, w: Any) -> Any:
    """Rows, broadcasts, constants, padding and equal subexpressions."""
    table = fg.arange(6.0).reshape(2, 3) * 0.5 + fg.ones(3)
    padded = fg.zeros(4, 5, dtype=x.dtype)
    padded[1:3, 1:4] = x[:2, :3] * table.to(x.dtype)
    rows = fg.sum(x * x, axis=1, keepdims=True)
    y = fg.tanh(x) / (1.0 + rows) - 2.0 * x.T.clone().T
    z = fg.where(y > 0.0, y * w, fg.tanh(x) / (1.0 + rows))
    flat = fg.concatenate([z.reshape(-1), padded.reshape(-1), w * 0.5])
    flat[::3] *= flat[0]
    return fg.sum(flat * flat) + fg.max(z) + fg.mean(padded @ padded.T)


#: Programs of two arguments, and the shapes of those.
PROGRAMS = {
    "chain": (long_chain, [((n,), (n,)) for n in (5, 2048, 70_001)]),
    "matrices": (
        matrix_program,
        [((rows, columns), (columns,)) for rows, columns in ((3, 5), (70, 9), (50, 301))],
    ),
}


@pytest.mark.parametrize("passes", SWITCHES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_passes_change_no_bit(
    passes: str | None, dtype: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if passes is not None:
        monkeypatch.setenv("FERROGRAD_COMPILE_PASSES", passes)
    program, shapes = PROGRAMS[name]
    f = fg.value_and_grad(program, (0, 1))
    for both in shapes:
        calls = [
            tuple(
                fg.tensor(draw(*shape, seed=seed + i), dtype=dtype) for i, shape in enumerate(both)
            )
            for seed in (0, 10, 20)
        ]
        replays(f, *calls)


@pytest.mark.parametrize("n", [1, 7, 1024, 1025, 65_536, 65_537, 200_001])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_reductions_in_chains_have_the_leaves_of_others(n: int, dtype: str) -> None:
    def f(x: Any) -> Any:
        y = x * 1.5 + 0.25
        z = fg.sin(y)
        return fg.sum(y), fg.max(y * z), fg.min(z), fg.mean(z), fg.prod(1.0 + 1e-6 * z), z

    replays(f, *((fg.tensor(draw(n, seed=s), dtype=dtype),) for s in range(3)))
    replays(fg.value_and_grad(lambda x: fg.mean(f(x)[5] ** 2)), (draw(n),), (draw(n, seed=1),))


def names(f: Any, *args: Any) -> Counter[str]:
    program = fg.compile(f)
    program(*args)
    return Counter(name for name, _, _ in program.programs[0].steps())


def test_what_is_the_same_in_every_run_is_computed_once() -> None:
    constant = names(lambda x: x * (fg.arange(5.0) * 2.0 + fg.ones(5)), fg.tensor(draw(5)))
    assert constant == Counter(map=1)


def test_a_constant_that_is_changed_afterwards_is_made_by_every_run() -> None:
    def f(x: Any) -> Any:
        y = fg.ones(5) * 2.0
        z = y * 3.0
        y[2:] = x[2:]
        return y * z

    replays(f, *((fg.tensor(draw(5, seed=s)),) for s in range(3)))


def test_equal_steps_are_one() -> None:
    def f(x: Any) -> Any:
        return fg.sin(x) * 2.0 + fg.sin(x) * 2.0

    assert names(f, fg.tensor(draw(5))) == Counter(map=3)

    def changed(x: Any) -> Any:
        y = x * 1.0
        a = fg.sin(y)
        y += 1.0
        return a + fg.sin(y)

    replays(changed, *((fg.tensor(draw(5, seed=s)),) for s in range(3)))


def test_a_loss_and_its_gradient_are_one_chain() -> None:
    f = fg.value_and_grad(lambda x: fg.sum(fg.tanh(x * 1.5 + 0.5) * fg.exp(-x * x) + 3.0 * x))
    assert names(f, draw(5000)) == Counter(chain=1)
    mean = fg.value_and_grad(lambda x: fg.mean(fg.tanh(x) * x))
    assert names(mean, draw(5000))["chain"] == 1


def test_padding_is_made_in_its_place() -> None:
    f = fg.grad(lambda x: fg.sum(fg.exp(x[1:])))
    assert names(f, draw(6))["copy"] == 0


def test_memory_outside_is_written_once_by_a_chain() -> None:
    def made(n: int) -> Any:
        state = fg.tensor(draw(n, seed=7)), fg.tensor(draw(n, seed=8)), fg.tensor(draw(n, seed=9))

        def step(g: Any) -> Any:
            a, b, c = state
            # Where an argument lies is not known: a chain that reads one writes no memory outside.
            g = fg.cumsum(g)
            a.mul_(0.9).add_(g * 0.1)
            b.mul_(0.99).add_(g * g * 0.01)
            c.copy_(fg.sqrt(fg.abs(b)))
            c.add_(1e-8)
            a.sub_(c * 0.5)
            return fg.sum(a * c)

        return step, state

    for n in (5, 2048, 5000, 70_001):
        (eager, expected), (replayed, got) = made(n), made(n)
        compiled = fg.compile(replayed)
        for seed in range(4):
            g = fg.tensor(draw(n, seed=seed))
            same_bits(compiled(g), eager(g))
            same_bits(got, expected)
    assert Counter(name for name, _, _ in compiled.programs[0].steps()) == Counter(scan=1, chain=1)


def test_memory_outside_that_overlaps_is_read_as_it_was() -> None:
    def made(n: int) -> Any:
        memory = draw(n + 1, seed=3)
        low, high = fg.from_numpy(memory[:-1]), fg.from_numpy(memory[1:])

        def step(g: Any) -> Any:
            kept = low.clone() * 2.0
            high.mul_(0.5).add_(g)
            low.add_(g * 0.25)
            return kept + high - low * 3.0

        return step, memory

    for n in (5, 5000):
        (eager, expected), (replayed, got) = made(n), made(n)
        compiled = fg.compile(replayed)
        for seed in range(4):
            g = fg.tensor(draw(n, seed=seed))
            same_bits(compiled(g), eager(g))
            same_bits(got, expected)


def test_a_step_moves_past_a_chain_only_where_it_may() -> None:
    scale = fg.tensor(1.0)
    total = fg.tensor(0.0)

    def step(x: Any) -> Any:
        y = fg.sin(x) * scale
        few = x[:3] * 2.0
        y = y * 3.0 + scale
        total.add_(1.0)
        z = y * y + few[0]
        few += 1.0
        scale.mul_(1.5)
        return fg.sum(z * scale), few, z + few[1] * total

    compiled = fg.compile(step)
    for n in (4, 4000):
        for seed in range(4):
            x = fg.tensor(draw(n, seed=seed))
            start = scale.clone(), total.clone()
            got = compiled(x)
            after = scale.clone(), total.clone()
            scale.copy_(start[0])
            total.copy_(start[1])
            same_bits(got, step(x))
            same_bits(after, (scale.clone(), total.clone()))


def test_passes_work_when_a_program_runs_for_the_first_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = []
    for passes in ("all", "none"):
        compiled = fg.compile(lambda x: (x * 2.0 + 1.0).sum() + (x * 2.0 + 1.0).sum())
        compiled(fg.ones(3))
        if passes == "none":
            monkeypatch.setenv("FERROGRAD_COMPILE_PASSES", passes)
        assert compiled(fg.ones(3)).item() == 18.0
        counts.append(len(compiled.programs[0].steps()))
    assert counts[0] < counts[1]
