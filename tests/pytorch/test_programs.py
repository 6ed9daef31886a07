"""Programs for PyTorch, run with this library from the same weights: the same losses.

Programs: `golden/ported/`; numbers: `golden/programs.py`.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from golden.ported import library
from golden_support import state_value, turned

GOLDEN = Path(__file__).parents[1] / "golden"
NUMBERS = json.loads((GOLDEN / "programs.json").read_text())["numbers"]


def filled(module: Any) -> Any:
    """A module with weights that depend on their names and shapes only."""
    flipped, own = turned(module), dict(module.named_parameters())
    state = {}
    for name, tensor in module.state_dict().items():
        shape = tuple(tensor.shape)[::-1] if name in flipped else tuple(tensor.shape)
        state[name] = 0.5 * state_value(name, shape) if name in own else tensor
    module.load_state_dict(state, layout="torch")
    return module


def test_every_program_has_numbers() -> None:
    assert sorted(NUMBERS) == library.NAMES


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", library.NAMES)
def test_a_program_computes_what_pytorch_does(name: str) -> None:
    found = library.run(name, fg, filled)
    np.testing.assert_allclose(found, NUMBERS[name], rtol=1e-9, atol=1e-12)
