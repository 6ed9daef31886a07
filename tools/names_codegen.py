"""Generates files from the table of names, `python/ferrograd/_names`; used by `tools/stubs.py`.

The files are the type stubs of modules with lazy attributes, the Rust list of tensor methods that
are written in Python, `docs/names.md` and tables in `docs/pytorch.md`.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from ferrograd._names.array_api import ARRAY_API, BINARY, ELEMENTWISE
from ferrograd._names.missing import get_hints
from ferrograd._names.name_table import SAME, NameGroup, iter_names
from ferrograd._names.nn import FUNCTIONAL, NN
from ferrograd._names.package import PACKAGE
from ferrograd._names.pytorch_differences import PYTORCH_DIFFERENCES
from ferrograd._names.tensor import TENSOR

ROOT = Path(__file__).resolve().parent.parent
PACKAGE_FOLDER = ROOT / "python" / "ferrograd"
PYTHON_METHODS = ROOT / "src" / "bindings" / "call" / "python_methods.rs"
PYTORCH_PAGE = ROOT / "docs" / "pytorch.md"
HEADER = "# Written by tools/stubs.py from ferrograd/_names; `{}` loads the same names.\n\n"
MAX_LINE_LENGTH = 100


def group_names_by_module(groups: Iterable[NameGroup]) -> list[tuple[str, list[str]]]:
    """Each module with its names; both are sorted."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, group in iter_names(groups):
        found[group.module].append(name)
    return [(module, sorted(names)) for module, names in sorted(found.items())]


def format_imports(groups: Iterable[NameGroup]) -> str:
    """The imports with which a stub re-exports the names, one statement for each module."""
    return "".join(format_import(module, names) for module, names in group_names_by_module(groups))


def format_import(module: str, names: list[str]) -> str:
    """One import statement; it takes several lines if it is long."""
    path = f"ferrograd.{module}" if module else "ferrograd"
    parts = [f"{name} as {name}" for name in names]
    line = f"from {path} import {', '.join(parts)}\n"
    if len(line) <= MAX_LINE_LENGTH:
        return line
    return f"from {path} import (\n" + "".join(f"    {part},\n" for part in parts) + ")\n"


def make_package_stub() -> str:
    """`__init__.pyi` of the package."""
    groups = [group for group in PACKAGE if group.names != "bool"]
    core = "from ferrograd._core import *\n"
    core += "from ferrograd._core import __version__ as __version__, tensor as tensor\n"
    return HEADER.format("__init__.py") + core + format_imports(groups) + "\nbool = bool_\n"


def make_namespace_stub(groups: Iterable[NameGroup], other_imports: str = "") -> str:
    """The stub of a module that contains only these names and `other_imports`."""
    return HEADER.format("__init__.py") + other_imports + format_imports(groups)


def make_elementwise_stub() -> str:
    """The stub of the element-wise functions of the array API."""
    lines = [
        HEADER.format("_elementwise.py") + "from typing import Any",
        "",
        "from ferrograd._core import Tensor",
        "",
        *(
            f"def {name}({'x1: Any, x2: Any' if group is BINARY else 'x: Any'}, /) -> Tensor: ..."
            for name, group in sorted(iter_names(ELEMENTWISE), key=lambda pair: pair[0])
        ),
        "def clip(x: Any, /, min: Any = None, max: Any = None) -> Tensor: ...",
    ]
    return "\n".join([*lines, ""])


def make_missing_properties() -> str:
    """The stubs of tensor properties that raise a hint for a name of another library."""
    return "".join(
        f"    @property\n    def {name}(self) -> NoReturn: ...\n" for name in get_hints("Tensor")
    )


def make_python_methods() -> str:
    """The Rust file that lists the methods of tensors written in Python."""
    lines = [
        "//! The methods of `Tensor` that are written in Python: the module below the package, and",
        "//! names in it. Written by `tools/stubs.py` from `python/ferrograd/_names/tensor.py`.",
        "",
        "pub(super) const PYTHON_METHODS: &[(&str, &str)] = &[",
    ]
    for module, names in group_names_by_module(TENSOR):
        start = f'    ("{module}", "'
        for joined in iter_name_lines(names, MAX_LINE_LENGTH - len(start) - len('"),')):
            lines.append(f'{start}{joined}"),')
    return "\n".join([*lines, "];", ""])


def iter_name_lines(names: list[str], width: int) -> Iterator[str]:
    """Yields the names joined by spaces, in texts of at most `width` characters."""
    line = names[0]
    for name in names[1:]:
        if len(line) + 1 + len(name) > width:
            yield line
            line = name
        else:
            line += f" {name}"
    yield line


def make_names_page() -> str:
    """`docs/names.md`: the names of the package that are not operations."""
    lines = [
        "# Names",
        "",
        "Written by `make stubs` from `python/ferrograd/_names`: the names of the package that are",
        "not [operations](operations.md), their modules, and what other libraries call them.",
        "Names with ⚠ are experimental: their arguments may change in a minor version.",
        "",
        "| names | module | NumPy | PyTorch | array API | HIPS autograd |",
        "|---|---|---|---|---|---|",
    ]
    for group in PACKAGE:
        mark = " ⚠" if group.experimental else ""
        names = " ".join(f"`{name}`" for name in group.names.split())
        module = "." if group.are_modules and not group.module else group.module
        patterns = (group.numpy, group.torch, group.array_api, group.hips)
        others = " | ".join(format_names_elsewhere(group.names, pattern) for pattern in patterns)
        lines.append(f"| {names}{mark} | `{module}` | {others} |".replace("|  ", "| "))
    return "\n".join([*lines, ""])


def format_names_elsewhere(names: str, pattern: str) -> str:
    """The names in another library, or "same"; empty if it does not have them."""
    if pattern == SAME:
        return "same"
    return " ".join(f"`{pattern.replace('*', name)}`" for name in names.split()) if pattern else ""


def make_pytorch_page() -> str:
    """`docs/pytorch.md` with new contents of its generated tables."""
    rows = [
        f"| {entry.pytorch} | {entry.ferrograd} | {entry.why} |".replace("|  |", "| |")
        for entry in PYTORCH_DIFFERENCES
    ]
    page = replace_table(PYTORCH_PAGE.read_text(), "| PyTorch | here | why |\n|---|---|---|", rows)
    by_subject: dict[str, list[str]] = defaultdict(list)
    for name, group in [*iter_names(PACKAGE), *iter_names(TENSOR)]:
        if group.subject:
            note = f" ({group.differs})" if group.differs else ""
            by_subject[group.subject].append(f"`{name}`{note}")
    rows = [
        f"| {subject} | {', '.join(dict.fromkeys(names))} |"
        for subject, names in by_subject.items()
    ]
    return replace_table(page, "| subject | names |\n|---|---|", rows)


def replace_table(page: str, head: str, rows: list[str]) -> str:
    """The page with other rows in the table that has this head."""
    table = "\n".join([head, *rows, ""])
    replaced, count = re.subn(re.escape(head) + r"\n(\|.*\n)*", lambda _: table, page)
    if count != 1:
        raise ValueError(f"{PYTORCH_PAGE.name} must contain this table once:\n{head}")
    return replaced


def make_outputs() -> dict[Path, str]:
    """The contents of every generated file."""
    operations = "from ferrograd.nn._operations import *\n"
    return {
        PACKAGE_FOLDER / "__init__.pyi": make_package_stub(),
        PACKAGE_FOLDER / "nn" / "__init__.pyi": make_namespace_stub(NN),
        PACKAGE_FOLDER / "nn" / "functional" / "__init__.pyi": make_namespace_stub(
            FUNCTIONAL, operations
        ),
        PACKAGE_FOLDER / "array_api" / "__init__.pyi": make_namespace_stub(
            ARRAY_API,
            "from ferrograd.array_api import special as special\n"
            "from ferrograd.array_api._info import (\n"
            "    __array_api_version__ as __array_api_version__,\n"
            "    __array_namespace_info__ as __array_namespace_info__,\n"
            ")\n"
            "from ferrograd.array_api._dtype_names import *\n",
        ),
        PACKAGE_FOLDER / "array_api" / "_elementwise.pyi": make_elementwise_stub(),
        PYTHON_METHODS: make_python_methods(),
        ROOT / "docs" / "names.md": make_names_page(),
        PYTORCH_PAGE: make_pytorch_page(),
    }
