"""Memory of compiled functions: what a recording held goes back."""

import pathlib
import subprocess
import sys

import pytest

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
