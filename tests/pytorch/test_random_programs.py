"""Random programs give PyTorch's values and gradients, where PyTorch is installed.

Without PyTorch, `test_state_machine.py` compares with an engine of its own.
"""

import os
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from hostile import programs

PROGRAMS = int(os.environ.get("FERROGRAD_PROGRAMS", "300"))
FIRST = int(os.environ.get("FERROGRAD_PROGRAM", "0"))


def sides_with(torch: Any) -> Any:
    def sides(leaves: list[np.ndarray]) -> list[programs.Side]:
        return [
            programs.Side(torch, torch.tensor, leaves),
            programs.Side(fg, fg.tensor, leaves),
        ]

    return sides


def test_random_programs_give_pytorch_s_numbers() -> None:
    torch = pytest.importorskip("torch")
    sides = sides_with(torch)
    faults = []
    for seed in range(FIRST, FIRST + PROGRAMS):
        try:
            programs.run(seed, sides)
        except AssertionError as fault:
            faults.append(f"program {seed}: {fault}")
    assert not faults, f"{len(faults)} of {PROGRAMS} differ\n" + "\n\n".join(faults[:5])
