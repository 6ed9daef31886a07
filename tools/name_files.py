"""What derives from the table of names in `python/ferrograd/_names`, for `tools/stubs.py`.

Stubs of modules whose names are loaded when they are first used, the methods of tensors that the
bindings find in Python, and the names in `docs/pytorch.md`.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from ferrograd._names.array_api import ARRAY_API, BINARY, ELEMENTWISE
from ferrograd._names.networks import FUNCTIONAL, NN
from ferrograd._names.package import PACKAGE
from ferrograd._names.pytorch import DIFFERENT
from ferrograd._names.rows import SAME, Rows, each
from ferrograd._names.tensor import TENSOR

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / "python" / "ferrograd"
METHODS = ROOT / "src" / "bindings" / "call" / "python_methods.rs"
PAGE = ROOT / "docs" / "pytorch.md"
HEADER = "# Written by tools/stubs.py from ferrograd/_names; `{}` loads the same names.\n\n"
WIDTH = 100


def imports(rows: Iterable[Rows]) -> str:
    """The names as a stub re-exports them: a statement for each module."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, row in each(rows):
        found[row.home].append(name)
    return "".join(statement(home, sorted(names)) for home, names in sorted(found.items()))


def statement(home: str, names: list[str]) -> str:
    """One import; over several lines where it is long."""
    path = f"ferrograd.{home}" if home else "ferrograd"
    parts = [f"{name} as {name}" for name in names]
    line = f"from {path} import {', '.join(parts)}\n"
    if len(line) <= WIDTH:
        return line
    return f"from {path} import (\n" + "".join(f"    {part},\n" for part in parts) + ")\n"


def package_stub() -> str:
    """`__init__.pyi` of the package."""
    rows = [row for row in PACKAGE if row.names != "bool"]
    core = "from ferrograd._core import *\n"
    core += "from ferrograd._core import __version__ as __version__, tensor as tensor\n"
    return HEADER.format("__init__.py") + core + imports(rows) + "\nbool = bool_\n"


def namespace_stub(rows: Iterable[Rows], more: str = "") -> str:
    """The stub of a module that has nothing but these names, and what `more` says."""
    return HEADER.format("__init__.py") + more + imports(rows)


def elementwise_stub() -> str:
    """The stub of the element-wise functions of the array API."""
    lines = [
        HEADER.format("_elementwise.py") + "from typing import Any",
        "",
        "from ferrograd._core import Tensor",
        "",
        *(
            f"def {name}({'x1: Any, x2: Any' if row is BINARY else 'x: Any'}, /) -> Tensor: ..."
            for name, row in sorted(each(ELEMENTWISE), key=lambda pair: pair[0])
        ),
        "def clip(x: Any, /, min: Any = None, max: Any = None) -> Tensor: ...",
    ]
    return "\n".join([*lines, ""])


def methods() -> str:
    """The Rust table of methods that are written in Python."""
    lines = [
        "//! The methods of `Tensor` that are written in Python: the module below the package, and",
        "//! names in it. Written by `tools/stubs.py` from `python/ferrograd/_names/tensor.py`.",
        "",
        "pub(super) const PYTHON_METHODS: &[(&str, &str)] = &[",
    ]
    found: dict[str, list[str]] = defaultdict(list)
    for name, row in each(TENSOR):
        found[row.home].append(name)
    for home, names in sorted(found.items()):
        start = f'    ("{home}", "'
        for part in chunks(sorted(names), WIDTH - len(start) - len('"),')):
            lines.append(f'{start}{part}"),')
    return "\n".join([*lines, "];", ""])


def chunks(names: list[str], width: int) -> Iterable[str]:
    """The names joined into texts of at most this width."""
    line = names[0]
    for name in names[1:]:
        if len(line) + 1 + len(name) > width:
            yield line
            line = name
        else:
            line += f" {name}"
    yield line


def names_page() -> str:
    """`docs/names.md`: the names of the package that are no operations."""
    lines = [
        "# Names",
        "",
        "Written by `make stubs` from `python/ferrograd/_names`: the names of the package that are",
        "no [operations](operations.md), where they are, and what other libraries call them.",
        "Names with ⚠ are experimental: their arguments may change in a minor version.",
        "",
        "| names | module | NumPy | PyTorch | array API | HIPS autograd |",
        "|---|---|---|---|---|---|",
    ]
    for row in PACKAGE:
        mark = " ⚠" if row.experimental else ""
        names = " ".join(f"`{name}`" for name in row.names.split())
        home = "." if row.modules and not row.home else row.home
        theirs = [
            called(row.names, other) for other in (row.numpy, row.torch, row.array_api, row.hips)
        ]
        lines.append(f"| {names}{mark} | `{home}` | {' | '.join(theirs)} |".replace("|  ", "| "))
    return "\n".join([*lines, ""])


def called(names: str, pattern: str) -> str:
    """What another library calls the names; "same" where it is the same."""
    if pattern == SAME:
        return "same"
    return " ".join(f"`{pattern.replace('*', name)}`" for name in names.split()) if pattern else ""


def pytorch_page() -> str:
    """`docs/pytorch.md` with its tables written anew."""
    rows = [
        f"| {row.program} | {row.here} | {row.why} |".replace("|  |", "| |") for row in DIFFERENT
    ]
    page = with_table(PAGE.read_text(), "| PyTorch | here | why |\n|---|---|---|", rows)
    found: dict[str, list[str]] = defaultdict(list)
    for name, row in [*each(PACKAGE), *each(TENSOR)]:
        if row.subject:
            note = f" ({row.differs})" if row.differs else ""
            found[row.subject].append(f"`{name}`{note}")
    lines = [f"| {key} | {', '.join(dict.fromkeys(names))} |" for key, names in found.items()]
    return with_table(page, "| subject | names |\n|---|---|", lines)


def with_table(page: str, head: str, lines: list[str]) -> str:
    """The page with other lines below the head of a table."""
    table = "\n".join([head, *lines, ""])
    made, count = re.subn(re.escape(head) + r"\n(\|.*\n)*", lambda _: table, page)
    if count != 1:
        raise ValueError(f"{PAGE.name} must contain this table once:\n{head}")
    return made


def outputs() -> dict[Path, str]:
    """What each file must contain."""
    operations = "from ferrograd.nn._operations import *\n"
    return {
        PYTHON / "__init__.pyi": package_stub(),
        PYTHON / "nn" / "__init__.pyi": namespace_stub(NN),
        PYTHON / "nn" / "functional" / "__init__.pyi": namespace_stub(FUNCTIONAL, operations),
        PYTHON / "array_api" / "__init__.pyi": namespace_stub(
            ARRAY_API,
            "from ferrograd.array_api import special as special\n"
            "from ferrograd.array_api._info import (\n"
            "    __array_api_version__ as __array_api_version__,\n"
            "    __array_namespace_info__ as __array_namespace_info__,\n"
            ")\n"
            "from ferrograd.array_api._dtype_names import *\n",
        ),
        PYTHON / "array_api" / "_elementwise.pyi": elementwise_stub(),
        METHODS: methods(),
        ROOT / "docs" / "names.md": names_page(),
        PAGE: pytorch_page(),
    }
