"""What is public is documented, and the type stubs say what the binary does."""

import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ferrograd as fg
from op_support import REGISTRY

ROOT = Path(__file__).resolve().parents[2]
SPACES = (
    "",
    "fft",
    "linalg",
    "nn",
    "nn.functional",
    "autograd",
    "errors",
    "functors",
    "optim",
    "extend",
    "func",
    "utils.data",
)


def public(space: str) -> Iterator[tuple[str, Any]]:
    """The functions and classes of ours in a namespace."""
    home = importlib.import_module(f"ferrograd.{space}" if space else "ferrograd")
    for name in dir(home):
        value = getattr(home, name)
        module = str(getattr(value, "__module__", "") or "ferrograd")
        documented = inspect.isroutine(value) or inspect.isclass(value)
        if not name.startswith("_") and documented and module.startswith(("ferrograd", "_core")):
            yield name, value


@pytest.mark.parametrize("space", SPACES)
def test_every_public_name_is_documented(space: str) -> None:
    names = dict(public(space))
    assert names
    silent = [name for name, value in names.items() if not (value.__doc__ or "").strip()]
    assert not silent, f"without a docstring: {silent}"


def test_every_method_of_a_tensor_is_documented() -> None:
    silent = [
        name
        for name in dir(fg.Tensor)
        if not name.startswith("_") and not (getattr(fg.Tensor, name).__doc__ or "").strip()
    ]
    assert not silent, f"without a docstring: {silent}"


def test_every_operation_is_in_the_documentation() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    missing = [key for key in REGISTRY if f"| `{key}(" not in page]
    assert not missing
    for key, row in REGISTRY.items():
        line = next(line for line in page.splitlines() if line.startswith(f"| `{key}("))
        assert all(f"`{alias}`" in line for alias in row["aliases"]), key
        assert not row["differentiable"] or "∂" in line, key


def test_stub_matches_the_registry() -> None:
    command = [sys.executable, str(ROOT / "tools" / "stubs.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_stub_matches_the_binary() -> None:
    modules = ["ferrograd._core", "ferrograd.linalg", "ferrograd.nn._operations"]
    command = [sys.executable, "-m", "mypy.stubtest", "--concise", *modules]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
