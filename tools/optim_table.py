"""Writes the tables of docs/optim.md: the names of `torch.optim` beside those of `fg.optim`.

The names and signatures of PyTorch are those of `tests/golden/names/optim_names.json`. With
`--check` it prints what the page has otherwise, and names that are neither here nor explained.
"""

import importlib
import inspect
import json
import sys
from pathlib import Path

from ferrograd._names.missing import get_hints

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "optim.md"
GOLDEN = json.loads((ROOT / "tests" / "golden" / "names" / "optim_names.json").read_text())
BEGIN, END = "<!-- table of {} -->\n", "<!-- end of {} -->\n"

#: Where arguments differ, and why.
DIFFERENCES = {
    "AveragedModel": "`device` may only be None: tensors live in main memory",
    "update_bn": "`device` may only be None",
    "Optimizer": "a step of your own is `_update(parameter, gradient, state, group)`",
}


def get_parameters(value: object) -> list[tuple[str, bool, object]]:
    """Names, whether they go by position, and defaults."""
    parameters = inspect.signature(value).parameters.values()  # type: ignore[arg-type]
    return [(p.name, p.kind is not p.KEYWORD_ONLY, p.default) for p in parameters]


def parse_pytorch_parameters(rows: list[list[str]]) -> list[tuple[str, bool, object]]:
    """The same of PyTorch's. A default that is no literal is its text."""
    made = []
    for name, kind, *text in rows:
        value: object = inspect.Parameter.empty
        if text:
            value = eval(text[0], {"__builtins__": {}})
        made.append((name, kind == "position", value))
    return made


def find_problem(name: str, home: object, rows: list[list[str]]) -> str | None:
    """What is wrong with a name that is here: other arguments, or another order by position."""
    ours, wanted = get_parameters(getattr(home, name)), parse_pytorch_parameters(rows)
    by_position = [a for a in ours if a[1]], [a for a in wanted if a[1]]
    by_name = ({a for a in side if not a[1]} for side in (ours, wanted))
    left, right = by_name
    if by_position[0] == by_position[1] and left == right:
        return None
    return f"{name}: {ours} instead of {wanted}"


def make_tables() -> tuple[dict[str, str], list[str]]:
    """The tables by module, and what is wrong."""
    made, problems = {}, []
    for module, names in GOLDEN["names"].items():
        home = importlib.import_module(f"ferrograd.{module}")
        missing = get_hints(module)
        lines = ["| name | here | |", "|---|---|---|"]
        for name, rows in names.items():
            here = hasattr(home, name)
            note = DIFFERENCES.get(name, "") if here else f"use {missing.get(name, (0, 0))[1]}"
            lines.append(f"| `{name}` | {'yes' if here else 'no'} | {note} |")
            if not here and name not in missing:
                problems.append(f"{module}.{name}: not here, and not explained")
            elif here and name in missing:
                problems.append(f"{module}.{name}: here, and said to be left out")
            elif here and name not in ("Optimizer", "LRScheduler"):
                wrong = find_problem(name, home, rows)
                problems += [f"{module}.{wrong}"] if wrong else []
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
