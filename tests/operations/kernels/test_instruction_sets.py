"""Results and gradients have the same bits on AVX2 and on AVX-512, but for what is named here."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from op_support import REGISTRY

SCRIPT = Path(__file__).resolve().parents[2] / "support" / "result_bits.py"
#: Families whose libraries and tiles add products in an order that depends on the width of vectors.
#: The documentation has the same list.
PRODUCTS = {
    "matmul",
    "products",
    "convolution",
    "linear algebra",
    "fourier transforms",
    "cosine and sine transforms",
}
#: Operations of other families that are products.
MORE = {"convolve"}


def differs(name: str) -> bool:
    """Whether the bits of an operation may depend on the instruction set."""
    return REGISTRY[name]["family"] in PRODUCTS or name in MORE


def digests(size: str) -> list[dict[str, Any]]:
    """What two processes compute, one on AVX2 and one on AVX-512."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), size], env={**env, "FERROGRAD_ISA": level}, **pipes
        )
        for level in ("avx2", "avx512")
    ]
    said = [process.communicate() for process in running]
    assert not any(process.returncode for process in running), [errors for _, errors in said]
    return [json.loads(out) for out, _ in said]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("size", ["small", "large"])
def test_bits_do_not_depend_on_the_instruction_set(size: str) -> None:
    narrow, wide = digests(size)
    if wide["level"] != "avx512":
        pytest.skip("this CPU has no AVX-512")
    assert narrow["level"] == "avx2"
    assert narrow["digests"].keys() == wide["digests"].keys()
    unequal = {
        (name, call)
        for name, calls in narrow["digests"].items()
        for call, found in calls.items()
        if found != wide["digests"][name][call] and not differs(name)
    }
    assert not unequal


def test_the_documentation_names_the_exceptions() -> None:
    text = (SCRIPT.parents[2] / "docs" / "accuracy.md").read_text()
    families = {row["family"] for row in REGISTRY.values()}
    assert families >= PRODUCTS
    for name in (*PRODUCTS, *MORE):
        assert name in text.lower(), name
