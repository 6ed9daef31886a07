"""The derivatives of element-wise operations at special points, as the table in `docs/accuracy.md`.

`python tests/cases/convention_cases.py` rewrites the table; `tests/golden/conventions.py` records
what PyTorch and JAX give.
"""

import json
import math
from pathlib import Path
from typing import Any

import ferrograd as fg
from golden.conventions import FILE, PAIRS, POINTS, write
from op_support import ROWS, plain

PAGE = Path(__file__).parents[2] / "docs" / "accuracy.md"
BEGIN, END = "<!-- conventions -->\n", "<!-- end of conventions -->\n"
CASES = {case.key: case for case in ROWS if case.operands and case.order}
#: Points shown for every function of one operand; others where value or derivative is not finite.
ALWAYS = 4


def slopes(name: str, at: tuple[float, ...]) -> list[float]:
    """Our derivatives at a point."""
    leaves = [fg.tensor(x, requires_grad=True) for x in at]
    result = plain(CASES[name])(*leaves)
    if result.requires_grad:
        result.backward()
    return [0.0 if leaf.grad is None else leaf.grad.item() for leaf in leaves]


def value(name: str, at: tuple[float, ...]) -> float:
    return float(plain(CASES[name])(*map(fg.tensor, at)))


def text(x: Any) -> str:
    """A number, or some in brackets."""
    if not isinstance(x, list | tuple):
        return "0" if x == 0 else f"{x:.4g}"
    return text(x[0]) if len(x) == 1 else f"({', '.join(map(text, x))})"


def points(name: str) -> list[tuple[float, ...]]:
    """Where the derivatives are shown."""
    if CASES[name].operands == 2:
        return list(PAIRS)
    places = [(x,) for x in POINTS]
    special = [
        at
        for at in places[ALWAYS:]
        if not all(map(math.isfinite, [value(name, at), *slopes(name, at)]))
        or any(at[0] == args[0] for args, _ in CASES[name].kinks)
    ]
    return [*places[:ALWAYS], *special]


def differing(ours: list[float], theirs: list[float]) -> bool:
    return any(
        not (math.isnan(a) and math.isnan(b)) and not math.isclose(a, b, rel_tol=1e-6)
        for a, b in zip(ours, theirs, strict=True)
    )


def cell(known: dict[str, Any], name: str, at: tuple[float, ...]) -> str:
    """Our derivative, and those of the others where they are not the same."""
    ours = slopes(name, at)
    others = {
        library: known[library][name][repr(at)]
        for library in ("PyTorch", "JAX")
        if name in known[library]
    }
    apart = [f"{k} {text(v)}" for k, v in others.items() if differing(ours, v)]
    return text(ours) + (f" [{'; '.join(apart)}]" if apart else "")


def lines() -> list[str]:
    """The two tables."""
    known = json.loads(FILE.read_text())
    out = ["| f | f'(0) | f'(inf) | f'(-inf) | f'(nan) | elsewhere |", "|---|---|---|---|---|---|"]
    for name, case in CASES.items():
        if case.operands == 1:
            at = points(name)
            cells = [cell(known, name, x) for x in at]
            rest = [f"{text(x)}: {c}" for x, c in zip(at[ALWAYS:], cells[ALWAYS:], strict=True)]
            out.append(f"| `{name}` | {' | '.join(cells[:ALWAYS])} | {', '.join(rest)} |")
    out += ["", f"| f(a, b) | {' | '.join(map(text, PAIRS))} |", "|---" * (len(PAIRS) + 1) + "|"]
    for name, case in CASES.items():
        if case.operands == 2:
            out.append(f"| `{name}` | {' | '.join(cell(known, name, at) for at in PAIRS)} |")
    return out


def section() -> str:
    return BEGIN + "\n".join(lines()) + "\n" + END


def split(page: str) -> tuple[str, str, str]:
    """The page before the tables, the tables with their marks, and the rest."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return before, page[len(before) : len(page) - len(after)], after


if __name__ == "__main__":
    operations = {name: case.operands for name, case in CASES.items()}
    known = json.loads(FILE.read_text()) if FILE.exists() else {"PyTorch": {}, "JAX": {}}
    write({**known, "operations": operations})
    before, _, after = split(PAGE.read_text())
    PAGE.write_text(before + section() + after)
