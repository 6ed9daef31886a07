"""Jacobians of functions with more results than arguments are taken column by column."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from case_model import Case
from ferrograd import _core
from ferrograd.transforms import _matrix
from op_support import ROWS, function, parts, tensors, with_arrays

SMALL = 80
T = np.linspace(0.0, 1.0, 10_000)
P = np.array([1.0, 2.0, 0.5, 3.0, 0.1])


def model(p: Any) -> Any:
    return p[0] * np.exp(-p[1] * T) + p[2] * np.sin(p[3] * T) + p[4]


@pytest.mark.parametrize("case", [c for c in ROWS if c.order], ids=lambda case: case.key)
def test_columns_are_rows(case: Case) -> None:
    for call in with_arrays(case):
        arrays = call.arrays()
        if sum(a.size for a in arrays) > SMALL:
            continue
        inputs = tensors(arrays, grad=True)
        for out in parts(call.apply(function(case), inputs)):
            kinds = {x.dtype.kind for x in (out, *inputs)}
            if not out.requires_grad or not 0 < out.numel() <= SMALL or len(kinds) > 1:
                continue
            rows = _core._jacobian(out, inputs, False)
            for row, column in zip(rows, _matrix._compute_columns(out, inputs, False), strict=True):
                if row is None or column is None:
                    assert row is None or not row.numpy().any()
                    continue
                a, b = row.numpy(), column.numpy()
                assert a.shape == b.shape
                scale = np.max(np.abs(a[np.isfinite(a)]), initial=1.0)
                # NaN of 0 · ∞ may stand in whole rows of one way and not of the other.
                good = np.isfinite(a) & np.isfinite(b)
                np.testing.assert_allclose(b[good], a[good], 1e-9, 1e-10 * scale, err_msg=str(call))


def visited(f: Any, x: Any) -> int:
    before = _core._discovered_nodes()
    fg.jacobian(f)(x)
    return _core._discovered_nodes() - before


def test_the_work_depends_on_the_arguments_and_not_on_the_results() -> None:
    def of(size: int) -> int:
        times = np.linspace(0.0, 1.0, size)
        return visited(lambda p: p[0] * np.exp(-p[1] * times), P[:2])

    assert of(20_000) == of(200)


def test_the_numbers_of_a_model() -> None:
    expected = np.stack(
        [
            np.exp(-P[1] * T),
            -P[0] * T * np.exp(-P[1] * T),
            np.sin(P[3] * T),
            P[2] * T * np.cos(P[3] * T),
            np.ones_like(T),
        ],
        1,
    )
    np.testing.assert_allclose(fg.jacobian(model)(P), expected, 1e-13, 1e-15)
    compiled = fg.compile(fg.jacobian(model))
    for _ in range(3):
        assert np.array_equal(compiled(P), fg.jacobian(model)(P))


def test_structures_constants_and_order() -> None:
    f = lambda d, s: {"a": np.outer(T[:100], d["w"]) * s, "b": np.ones(90)}  # noqa: E731
    found = fg.jacobian(f, (0, 1))({"w": np.array([1.0, 2.0])}, 3.0)
    w, s = found["a"][0]["w"], found["a"][1]
    np.testing.assert_allclose(w, np.einsum("i,jk->ijk", T[:100] * 3.0, np.eye(2)))
    np.testing.assert_allclose(s, np.outer(T[:100], [1.0, 2.0]))
    assert not np.any(found["b"][0]["w"])
    assert found["b"][0]["w"].shape == (90, 2)
    # A Hessian of a tall function, and a gradient through a tall Jacobian.
    g = lambda x: np.sin(T[:200] * x[0]) * x[1]  # noqa: E731
    second = fg.hessian(g)(np.array([2.0, 3.0]))
    np.testing.assert_allclose(
        second[:, 0, 0], -(T[:200] ** 2) * np.sin(T[:200] * 2) * 3, atol=1e-14
    )
    slope = fg.grad(lambda x: np.sum(fg.jacobian(g)(x) ** 2))(np.array([2.0, 3.0]))
    h = 1e-6
    for k in range(2):
        step = np.eye(2)[k] * h
        high, low = (np.sum(fg.jacobian(g)(np.array([2.0, 3.0]) + d) ** 2) for d in (step, -step))
        assert slope[k] == pytest.approx((high - low) / (2 * h), rel=1e-6)


def test_complex_numbers() -> None:
    z = np.array([1.0 + 2.0j, -0.5j])
    found = fg.jacobian(lambda z: np.outer(T[:100], z**2).ravel(), holomorphic=True)(z)
    expected = np.einsum("i,jk->ijk", T[:100], np.diag(2 * z)).reshape(-1, 2)
    np.testing.assert_allclose(found, expected)
    found = fg.jacobian(lambda x: np.exp(1j * T[:100] * x))(0.7)
    np.testing.assert_allclose(found, 1j * T[:100] * np.exp(0.7j * T[:100]))


def test_hooks_and_custom_functions_see_rows() -> None:
    seen: list[tuple[int, ...]] = []

    class Twice(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return 2 * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(tuple(g.shape))
            return 2 * g.detach()

    wide = np.ones((100, 2))
    np.testing.assert_allclose(fg.jacobian(lambda x: wide @ Twice.apply(x))(P[:2]), 2 * wide)
    assert seen == [(2,)] * 100

    def hooked(x: Any) -> Any:
        y = x * 1.0
        y.register_hook(lambda g: 3 * g.detach())
        return wide @ y

    np.testing.assert_allclose(fg.jacobian(hooked)(P[:2]), 3 * wide)


LOOPS = {
    "elements": lambda x: np.sin(x) * x + np.exp(-x),
    "product": lambda x: np.outer(x, x)[:4] @ np.tanh(x),
    "order": lambda x: np.cumsum(x**2) * np.sort(x),
    "pieces": lambda x: (x[[0, 3, 3, 1]] * x[:4], np.convolve(x, x[:3])),
    "constant": lambda x: np.concatenate([x * 2, np.ones(5)]),
    "scan": lambda x: fg.scan(lambda c, t: (c * 0.5 + t, c * t), 0.0, x)[1],
}


@pytest.mark.parametrize("name", LOOPS)
def test_large_ones_are_loops_in_programs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f, x = LOOPS[name], np.random.default_rng(0).standard_normal(12)
    expected = fg.jacobian(f)(x)
    monkeypatch.setattr(_matrix, "_MAX_BLOCK_SIZE", 1)
    for rows in (1, 5):
        monkeypatch.setattr(_matrix, "_rows_of_pass", lambda out, inputs, rows=rows: rows)
        compiled = fg.compile(fg.jacobian(f))
        for _ in range(3):
            for a, b in zip(parts(compiled(x)), parts(expected), strict=True):
                np.testing.assert_allclose(a, b, 1e-13, 1e-14)
        assert len(compiled.programs) == 1


MEMORY = """
import resource
import numpy as np
import ferrograd as fg
limit = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (400 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

def tall(p, t=np.linspace(0.0, 1.0, 10_000)):
    return p[0] * np.exp(-p[1] * t) + p[2] * np.sin(p[3] * t) + p[4]

def square(x):
    for _ in range(10):
        x = np.sin(x) * 1.1 + x**2
    return np.tanh(x) * np.exp(-x)

for f, x in ((tall, np.ones(5)), (square, np.linspace(0.0, 0.1, 1_500))):
    compiled = fg.compile(fg.jacobian(f))
    for _ in range(2):
        assert np.array_equal(compiled(x), fg.jacobian(f)(x))
"""


def test_memory_is_bounded_while_a_program_is_recorded() -> None:
    subprocess.run([sys.executable, "-c", MEMORY], check=True, timeout=300)
