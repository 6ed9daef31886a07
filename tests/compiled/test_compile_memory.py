"""Memory of compiled functions: what a recording held goes back."""

import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

PROGRAM = """
import ferrograd as fg

def resident():
    with open("/proc/self/status") as status:
        lines = [line for line in status if line.startswith("VmRSS")]
    return int(lines[0].split()[1]) / 1024

def f(x):
    for _ in range(40):
        x = fg.tanh(x)
    return x.sum()

x = fg.ones(2_000_000)
compiled = fg.compile(TRANSFORM)
before = resident()
compiled(x)
print(resident() - before)
"""


@pytest.mark.skipif(not pathlib.Path("/proc/self/status").exists(), reason="asks Linux")
@pytest.mark.parametrize("transform", ["f", "fg.grad(f)"])
def test_a_recording_gives_its_memory_back(transform: str) -> None:
    """40 results of 16 MB are computed, 640 MB; their gradient needs no more than them again."""
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("TRANSFORM", transform)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(ran.stdout) < 200


def test_results_of_loops_take_the_memory_of_operands() -> None:
    def f(x: Any, w: Any) -> Any:
        return fg.tanh(fg.tanh(x @ w) @ w + 1.0) @ w

    x, w = (np.random.default_rng(0).standard_normal((30, 30)) for _ in range(2))
    compiled = fg.compile(f)
    assert compiled(x, w).tobytes() == np.asarray(f(x, w)).tobytes()
    assert compiled.programs[0].temporary_bytes < 3 * 8 * 30 * 30


def test_operands_that_are_read_elsewhere_keep_their_memory() -> None:
    def f(x: Any, w: Any) -> Any:
        a = x @ w
        b = fg.exp(a)
        c = a.T * (b @ w)
        return c @ w, a @ b, (a + a.T) @ w

    x, w = (np.random.default_rng(1).standard_normal((9, 9)) for _ in range(2))
    compiled = fg.compile(f)
    # Of tensors: products of arrays are NumPy's, whose BLAS may add in another order.
    for got, want in zip(compiled(x, w), f(fg.tensor(x), fg.tensor(w)), strict=True):
        assert got.tobytes() == want.numpy().tobytes()
