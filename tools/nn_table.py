"""Writes the tables of docs/nn.md: the names of `torch.nn` beside those of `fg.nn`.

The names and arguments of PyTorch are those of `tests/golden/names/nn_names.json`. With `--check`
it prints what the page has otherwise, names that are neither here nor explained, and arguments that
differ without being listed here.
"""

import importlib
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

from ferrograd._names.missing import get_hints
from ferrograd._names.nn import NN_DIFFERENCES

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "nn.md"
GOLDEN = json.loads((ROOT / "tests" / "golden" / "names" / "nn_names.json").read_text())
BEGIN, END = "<!-- table of {} -->\n", "<!-- end of {} -->\n"

#: What is not here, by a pattern of the name, and why; for others: `_names/missing.py`.
OMITTED_NAMES = {
    r"\w+_with_indices": "`return_indices=True` of the function",
    r"LinearCrossEntropy\w+|linear_cross_entropy": "`linear`, then `cross_entropy`",
    r"RNNCellBase": "what layers share has no public name",
    r"(scaled_|scaled_grouped_|grouped_)mm": "kernels of accelerators",
    r"(uniform|normal|constant|eye|dirac|xavier_\w+|kaiming_\w+|orthogonal|sparse|clip_grad_norm)":
        "deprecated in PyTorch: the name with an underscore",
    r"convert_conv\dd_weight_memory_format": "layouts of accelerators",
    r"skip_init": "layers are cheap to fill",
    r"invert_permutation": "`fg.argsort`",
    r"transfer_parametrizations_and_params": "`register_parametrization` of the other module",
}  # fmt: skip
#: Options of PyTorch that no function or class has here, but `inplace`, which layers have.
OMITTED_PARAMETERS = {
    "device",
    "size_average",
    "reduce",
    "inplace",
    "_stacklevel",
    "_freeze",
    "out",
} | {
    "min_value",
    "max_value",
}
#: Operations of the core have shorter names for the same argument.
RENAMED_PARAMETERS = {"x": "input", "axis": "dim"}


def get_parameters(value: Any) -> list[list[str]] | None:
    """Names, whether they go by position, and defaults as text."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return None
    rows = []
    for p in parameters:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            return None
        row = [
            RENAMED_PARAMETERS.get(p.name, p.name),
            "name" if p.kind is p.KEYWORD_ONLY else "position",
        ]
        rows.append(row if p.default is p.empty else [*row, repr(p.default)])
    return rows


def parse_number(text: str) -> Any:
    """A default as a value, so that 1 and 1.0 are the same."""
    try:
        return float(text)
    except ValueError:
        return text


def find_problem(ours: list[list[str]] | None, theirs: list[list[str]] | None) -> str | None:
    """Arguments of theirs that we lack, have elsewhere, or with another default."""
    if ours is None or theirs is None:
        return None
    known = {row[0]: row[2:] for row in ours}
    names = [
        row[0]
        for row in theirs
        if row[0] not in OMITTED_PARAMETERS and row[0] not in ("dtype", "name")
    ]
    for row in theirs:
        if row[0] in names and row[0] not in known:
            return f"{row[0]} is missing"
        if row[0] in names and [parse_number(t) for t in known[row[0]]] != [
            parse_number(t) for t in row[2:]
        ]:
            return f"{row[0]} has the default {known[row[0]]} instead of {row[2:]}"
    kinds = {row[0]: row[1] for row in theirs}
    order = [row[0] for row in ours if row[0] in names and kinds[row[0]] == "position"]
    want = [name for name in names if kinds[name] == "position"]
    return None if order == want else f"the order is {order} instead of {want}"


def find_reason(module: str, name: str) -> str | None:
    """Why a name is left out, or what stands for it."""
    _, hint = get_hints(module).get(name, ("", ""))
    found = (why for text, why in OMITTED_NAMES.items() if re.fullmatch(text, name))
    return next(found, f"use {hint}" if hint else None)


def make_tables() -> tuple[dict[str, str], list[str]]:
    """The tables by module, and what is wrong."""
    made, problems = {}, []
    for module, names in GOLDEN["names"].items():
        home = importlib.import_module(f"ferrograd.{module}")
        lines = ["| name | here | |", "|---|---|---|"]
        for name, theirs in names.items():
            here = hasattr(home, name)
            note = NN_DIFFERENCES.get(name, "") if here else find_reason(module, name)
            lines.append(f"| `{name}` | {'yes' if here else 'no'} | {note or ''} |")
            if not here and note is None:
                problems.append(f"{module}.{name}: not here, and not explained")
            elif here and name not in NN_DIFFERENCES:
                wrong = find_problem(get_parameters(getattr(home, name)), theirs)
                problems += [f"{module}.{name}: {wrong}"] if wrong else []
        made[module] = "\n".join(lines) + "\n"
    return made, problems


def main() -> int:
    """Writes the page, or says what is wrong."""
    made, problems = make_tables()
    text = PAGE.read_text()
    for module, table in made.items():
        begin, end = BEGIN.format(module), END.format(module)
        before, rest = text.split(begin)
        old, after = rest.split(end)
        if old != table:
            problems += [f"{module}: the page has another table"] if "--check" in sys.argv else []
        text = before + begin + table + end + after
    if "--check" in sys.argv:
        print("\n".join(problems) or "the page holds")
        return 1 if problems else 0
    PAGE.write_text(text)
    print("\n".join(problems))
    return 0


if __name__ == "__main__":
    sys.exit(main())
