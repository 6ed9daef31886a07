"""The examples do what the README says of them."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def digits(out: Path, threads: int, *more: str) -> str:
    command = [sys.executable, str(ROOT / "examples" / "digits.py"), "--out", str(out)]
    command += ["--threads", str(threads), *more]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def number(name: str, output: str) -> str:
    found = re.search(rf"{name}: ([\d.]+)", output)
    assert found, output
    return found[1]


@pytest.mark.slow
def test_digits_reach_97_percent_in_20_seconds(tmp_path):
    begin = time.perf_counter()
    output = digits(tmp_path, 2)
    assert time.perf_counter() - begin < 20
    assert float(number("test accuracy", output)) >= 97
    for name in ("loss.png", "confusion.png", "predictions.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_digits_give_the_same_numbers_at_any_thread_count(tmp_path):
    outputs = [digits(tmp_path, threads, "--epochs", "2") for threads in (1, 2, 4, 8)]
    assert len({number("final loss", output) for output in outputs}) == 1
    assert len({number("test accuracy", output) for output in outputs}) == 1
