"""Writes `torch_utils_data.json`: names of `torch.utils.data` with those of their parameters.

Run it with PyTorch installed: `python tests/golden/names/torch_utils_data.py`.
"""

import inspect
import json
from pathlib import Path

import torch
from torch.utils import data


def parameters(name: str) -> list[str]:
    """The names of the parameters of a function, or of those that make an object."""
    value = getattr(data, name)
    try:
        return list(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return []


if __name__ == "__main__":
    names = {name: parameters(name) for name in sorted(data.__all__) if name[0] != "_"}
    made = {"version": torch.__version__.partition("+")[0], "names": names}
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(made, indent=1) + "\n")
