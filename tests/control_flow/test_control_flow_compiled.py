"""Loops and branches in compiled functions: derivatives of any order, bounds that depend on values,
signals.

Values and gradients of loops: `test_control_flow`.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import ArgumentTypeError, CompileError, InPlaceError

POINT = np.array([0.3, -0.7, 1.1])


def two(x: Any) -> Any:
    return fg.cond(x.sum() > 0, lambda x: (x**3).sum(), lambda x: (x**2 * fg.sin(x)).sum(), x)


def chosen(x: Any) -> Any:
    index = (x.sum() > 0).astype("int64")
    branches = [lambda x: (x**3).sum(), lambda x: fg.exp(x[0] * x[1]) * x[2]]
    return fg.switch(index, branches, x)


def nested(x: Any) -> Any:
    def inner(x: Any) -> Any:
        return fg.cond(x[1] > 0, lambda x: (x**4).sum(), fg.prod, x)

    return fg.cond(x[0] > 0, inner, lambda x: fg.sin(x).sum(), x)


def looped(x: Any) -> Any:
    def step(c: Any, v: Any) -> Any:
        return fg.cond(c > 0, lambda c, v: c * v * c, lambda c, v: c - v * v, c, v), c * v

    return fg.scan(step, 1.0, x)[0]


def thrice(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def second(x: Any) -> Any:
        return fg.grad(lambda x: fg.grad(f)(x).sum())(x).sum()

    return fg.grad(second)


def parts(found: Any) -> Any:
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("transform", [fg.value_and_grad, fg.hessian, thrice])
@pytest.mark.parametrize("f", [two, chosen, nested, looped])
def test_derivatives_of_branches_choose_anew(f: Any, transform: Any) -> None:
    compiled = fg.compile(transform(f))
    for x in (POINT, -POINT, POINT[::-1].copy(), 2 * POINT):
        want, got = transform(f)(x), compiled(x)
        for a, b in zip(parts(want), parts(got), strict=True):
            np.testing.assert_array_equal(a, b)
    assert len(compiled.programs) == 1


def test_branches_that_close_over_parameters() -> None:
    weight = fg.tensor([1.0, 2.0, 3.0], requires_grad=True)

    def f(x: Any) -> Any:
        return fg.cond(x.sum() > 0, lambda x: (x * weight).sum(), lambda x: (x - weight).sum(), x)

    compiled = fg.compile(fg.value_and_grad(f))
    for x in (np.ones(3), -np.ones(3)):
        for a, b in zip(compiled(x), fg.value_and_grad(f)(x), strict=True):
            np.testing.assert_array_equal(a, b)


def test_second_derivatives_of_loops_of_unknown_length_are_refused() -> None:
    def f(x: Any) -> Any:
        return fg.while_loop(lambda v: v.sum() < 10.0, lambda v: v * 2.0, x).sum()

    with pytest.raises(CompileError, match=r"while_loop: the derivative.*use scan or fori_loop"):
        fg.compile(fg.hessian(f))(np.ones(3))


def test_bounds_that_depend_on_values() -> None:
    def power(x: Any, n: Any) -> Any:
        return fg.fori_loop(0, n, lambda i, v: v * x + i, fg.ones(2))

    compiled = fg.compile(power)
    x = fg.tensor([1.5, -0.5])
    for n in (0, 3, 7):
        count = fg.tensor(n)
        np.testing.assert_array_equal(compiled(x, count).numpy(), power(x, count).numpy())
    assert len(compiled.programs) == 1
    with pytest.raises(ArgumentTypeError, match=r"upper is float64\[\]; give a whole number"):
        power(x, fg.tensor(2.0))


def test_empty_scans_without_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> tuple[Any, Any]:
        return fg.scan(lambda c, v: (c + v, {"both": fg.stack([c, v])}), 1.0, fg.zeros(0))

    native, found = run()
    monkeypatch.setenv("FERROGRAD_COMPILE", "0")
    plain, given = run()
    assert native.item() == plain.item() == 1.0
    assert found["both"].shape == given["both"].shape == (0, 2)


ENDLESS = """
import signal

import ferrograd as fg
from ferrograd.errors import ArgumentTypeError, CompileError, InPlaceError
# A suite that runs in the background hands down that interrupts are ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
print("begins", flush=True)
fg.while_loop(lambda x: x > 0.0, lambda x: x * 1.0, 1.0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")
def test_an_endless_loop_ends_with_an_interrupt() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begins\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in error


def test_other_threads_run_beside_a_long_loop() -> None:
    stop = fg.zeros(())
    thread = threading.Timer(0.1, lambda: stop.fill_(1.0))
    thread.start()
    count = fg.while_loop(lambda _: stop < 0.5, lambda x: x + 1.0, 0.0)
    thread.join()
    assert count.item() > 0


def test_memory_may_change_before_backward() -> None:
    offset, factor, rows = fg.ones(2), fg.ones(2), fg.ones(3, 2)

    def run(changed: fg.Tensor, mode: Any = contextlib.nullcontext) -> Any:
        x = fg.tensor([1.0, 2.0], requires_grad=True)
        last = fg.scan(lambda c, row: (c * factor + offset + row, None), x, rows)[0]
        chosen = fg.compile(
            lambda x: fg.cond(x.sum() > 0, lambda x: x * factor + offset, fg.sin, x)
        )
        out = (last + chosen(x)).sum()
        with mode():
            changed.mul_(2.0)
        return fg.autograd.grad(out, [x])[0].tolist()

    refused = fg.autograd.graph.disallow_mutation_on_saved_tensors
    assert run(offset) == run(rows) == run(offset, refused) == run(rows, refused) == [2.0, 2.0]
    # What it does read is as it was in the call.
    assert run(factor) == [2.0, 2.0]
    factor.fill_(1.0)
    with pytest.raises(InPlaceError, match="changed"):
        run(factor, refused)


@pytest.mark.parametrize("kind", ["scan", "cond"])
def test_a_body_that_differentiates_a_loop_or_branch_outside_of_it(kind: str) -> None:
    """What that loop left is not part of the body; this panicked."""

    def inner(x: Any) -> Any:
        if kind == "scan":
            return fg.scan(lambda c, t: (c * 0.5 + t, c * t), 0.0, x)[1]
        return fg.cond(x[0] > 0, lambda x: x * x, lambda x: 2 * x, x)

    def f(x: Any) -> Any:
        y, pull = fg.vjp(inner, x)
        return fg.scan(lambda c, k: (c, pull(k * y)[0]), 0.0, np.arange(3.0))[1]

    compiled, x = fg.compile(f), np.arange(1.0, 5.0)
    for k in (0.0, 1.0, -9.0, 2.0):
        y, pull = fg.vjp(inner, x + k)
        expected = np.stack([pull(i * y)[0] for i in range(3)])
        for found in (f(x + k), compiled(x + k)):
            np.testing.assert_allclose(found, expected, 1e-14)
