"""Writes `optim_names.json`: the public names of `torch.optim` and its modules, with signatures.

Run it with an interpreter that has PyTorch: `python tests/golden/names/optim_names.py`.
"""

import inspect
import json
from pathlib import Path


def signature(value):
    """Parameters as [name, kind, default], where there is a default."""
    made = []
    for p in inspect.signature(value).parameters.values():
        keyword = "keyword" if p.kind is p.KEYWORD_ONLY else "position"
        made.append([p.name, keyword, *([] if p.default is p.empty else [repr(p.default)])])
    return made


def main() -> None:
    """Writes the list."""
    import torch
    from torch.optim import lr_scheduler, swa_utils

    rows = {}
    for home in (torch.optim, lr_scheduler, swa_utils):
        names = sorted(name for name in home.__all__ if not name.startswith("_"))
        rows[home.__name__.removeprefix("torch.")] = {
            name: signature(getattr(home, name))
            for name in names
            if not inspect.ismodule(getattr(home, name))
        }
    text = {"torch": torch.__version__, "names": rows}
    lines = json.dumps(text).replace('"optim', '\n"optim').replace("]], ", "]],\n ")
    Path(__file__).with_suffix(".json").write_text(lines + "\n")


if __name__ == "__main__":
    main()
