"""Writes `programs.json`: what PyTorch computes in the programs of `ported/`.

Run it with an interpreter that has PyTorch: `python tests/golden/programs.py`.
"""

import json
from pathlib import Path
from typing import Any

import torch

from layers.layer_cases import state_value
from ported import library

HERE = Path(__file__).parent


def filled(module: Any) -> Any:
    """A module with weights that depend on their names and shapes only."""
    state = {
        name: torch.tensor(0.5 * state_value(name, tuple(tensor.shape)))
        if tensor.is_floating_point() and name in dict(module.named_parameters())
        else tensor
        for name, tensor in module.state_dict().items()
    }
    module.load_state_dict(state)
    return module


def main() -> None:
    """Writes the file."""
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    found = {name: library.run(name, torch, filled) for name in library.NAMES}
    text = json.dumps({"torch": torch.__version__, "numbers": found})
    (HERE / "programs.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
