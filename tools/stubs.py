"""Writes what derives from the operation registry and from the table of names.

The class part of the stub is written by hand in `tools/_core_classes.pyi`; the methods go where its
marker stands. `--check` compares instead of writing. Invariant: the same registry gives the same
bytes.
"""

import argparse
import difflib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import names_codegen
from ferrograd._names.linalg import LINALG

ROOT = Path(__file__).resolve().parent.parent
CLASSES = ROOT / "tools" / "_core_classes.pyi"
STUB = ROOT / "python" / "ferrograd" / "_core.pyi"
TABLE = ROOT / "docs" / "operations.md"
NAMESPACE_STUBS = {
    "linalg": ROOT / "python" / "ferrograd" / "linalg.pyi",
    "fft": ROOT / "python" / "ferrograd" / "fft" / "_operations.pyi",
    "functors": ROOT / "python" / "ferrograd" / "functors" / "_operations.pyi",
    "nn.functional": ROOT / "python" / "ferrograd" / "nn" / "_operations.pyi",
}
MARKER = "    # operations: written here by tools/stubs.py\n"
HEADER = (
    "# Written by tools/stubs.py from the registry and tools/_core_classes.pyi; edit those.\n\n"
)
IMPORTS = """\
from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any

from numpy.typing import DTypeLike

from ferrograd._core import Tensor, _Axes, _Shape, _TensorLike

"""

# What a parameter of each kind takes. In the class, `int` and the like are methods: hence `_int`.
TYPES = {
    "Tensor": "_TensorLike",
    "Operand": "_TensorLike",
    "Tensors": "Sequence[_TensorLike]",
    "Variadic": "_TensorLike",
    "Condition": "_TensorLike",
    "Int": "_int",
    "Axes": "_Axes",
    "Ints": "_Shape",
    "Bool": "_bool",
    "Float": "_float",
    "Str": "str",
    "Order": "_float | str",
    "DType": "DTypeLike",
    "Index": "Any",
    "Padding": "_Shape | str",
    "ShapeOrDType": "_Shape | DTypeLike",
    "Nested": "_int | Sequence[_int | Sequence[_int]]",
}

RETURNS = {
    "Tensor": "Tensor",
    "Pair": "tuple[Tensor, Tensor]",
    "Triple": "tuple[Tensor, Tensor, Tensor]",
    "List": "list[Tensor]",
    "OneOrTuple": "Any",
    "Bool": "_bool",
}

Row = dict[str, Any]


def get_names(row: Row) -> list[str]:
    """The operation's name and its aliases."""
    return [row["name"], *row["aliases"]]


def format_default(param: Row) -> str | None:
    """The default as Python spells it; an optional parameter has None."""
    if param["default"] is None:
        return "None" if param["optional"] else None
    return str(param["default"])


def format_parameter(param: Row, *, last: bool = False) -> str:
    """A parameter of the stub: name, type, default; a last one may take several tensors."""
    if last and param["kind"] == "Tensors":
        return f"{param['name']}: _TensorLike | Sequence[_TensorLike]"
    kind, default = TYPES[param["kind"]], format_default(param)
    if (param["optional"] or default == "None") and kind not in ("_Axes", "Any"):
        kind += " | None"
    star = "*" if param["kind"] == "Variadic" else ""
    return f"{star}{param['name']}: {kind}" + ("" if default is None else f" = {default}")


def format_signature(row: Row, *, method: bool, changing: bool = False) -> str:
    """The parameters and the result; as a method, the first parameter is the receiver."""
    params = row["params"]
    parts = [
        format_parameter(param, last=param is params[-1] and i > 0)
        for i, param in enumerate(params)
    ]
    if method:
        parts[0] = "self"
    if params[row["positional"] :]:
        parts.insert(row["positional"], "*")
    if not changing and row["returns"] != "Bool":
        name, marked = ["name: str | None = None"], "*" in parts or params[0]["kind"] == "Variadic"
        parts += name if row["named"] else []
        parts += [] if marked else ["*"]
        parts += ["out: Any = None", *([] if row["named"] else name)]
    return f"({', '.join(parts)}) -> {format_result_type(row)}"


def format_result_type(row: Row) -> str:
    """The type of the results: that of a named tuple where there are always several."""
    always = row["fields"] and row["returns"] != "OneOrTuple"
    return f"_{row['name'].capitalize()}" if always else RETURNS[row["returns"]]


def make_named_tuples(registry: Iterable[Row]) -> str:
    """The classes of named tuples."""
    return "".join(
        f"class {format_result_type(row)}(NamedTuple):\n"
        + "".join(f"    {field}: Tensor\n" for field in row["fields"].split())
        for row in registry
        if format_result_type(row).startswith("_") and row["fields"]
    )


def is_in_namespace(row: Row, space: str) -> bool:
    """Whether the function lives in this namespace; "" is the package itself."""
    return space in (row["namespaces"] or [""])


def make_definitions(registry: Iterable[Row], *, method: bool) -> str:
    """One line for each name of these operations."""
    indent = "    " if method else ""
    return "".join(
        f'{indent}def {name}{format_signature(row, method=method)}: """{get_summary(row)}"""\n'
        for row in registry
        for name in ([row["function"], *row["aliases"]] if not method else get_names(row))
    )


def get_in_place_names(row: Row) -> list[str]:
    """The names of the methods that change their tensor in place."""
    return [*(f"{name}_" for name in get_names(row)), *row["in_place_aliases"]]


def make_in_place_definitions(registry: Iterable[Row]) -> str:
    """One line for each name of the methods that change their tensor in place."""
    rows = [row for row in registry if row["in_place"]]
    return "".join(
        f"    def {name}{format_signature(row, method=True, changing=True)}:"
        f' """`{row["name"]}` in place."""\n'
        for row in rows
        for name in get_in_place_names(row)
    ).replace(" -> Tensor:", " -> Self:")


def make_exports(public: Iterable[str]) -> str:
    """The list of public names."""
    return "\n__all__ = [\n" + "".join(f'    "{name}",\n' for name in sorted(public)) + "]\n"


def make_namespace_stub(registry: Iterable[Row], space: str) -> str:
    """The stub of one namespace."""
    rows = [row for row in registry if is_in_namespace(row, space)]
    public = [name for row in rows for name in get_names(row)]
    kinds = make_named_tuples(rows)
    imports = IMPORTS.replace("import Any\n", "import Any, NamedTuple\n") if kinds else IMPORTS
    imports += names_codegen.format_imports(LINALG) + "\n" if space == "linalg" else ""
    return HEADER + imports + kinds + make_definitions(rows, method=False) + make_exports(public)


def make_core_stub(registry: list[Row], classes: str, public: Iterable[str]) -> str:
    """The whole `_core.pyi`."""
    own = (row for row in registry if row["method"])
    methods = make_definitions(own, method=True)
    methods += make_in_place_definitions(registry) + names_codegen.make_missing_properties()
    functions = make_definitions(
        (row for row in registry if is_in_namespace(row, "")), method=False
    )
    if classes.count(MARKER) != 1:
        raise ValueError(f"{CLASSES.name} must contain this line once:\n{MARKER}")
    body = classes.replace(MARKER, methods).rstrip("\n") + "\n\n"
    body += make_named_tuples(row for row in registry if is_in_namespace(row, ""))
    return HEADER + body + functions + make_exports(public)


def get_summary(row: Row) -> str:
    """The documentation on one line."""
    return " ".join(row["doc"].split()).replace("\\", "\\\\")


def make_table(registry: Iterable[Row]) -> str:
    """`docs/operations.md`: a table for each family."""
    lines = [
        "# Operations",
        "",
        "Written by `make stubs` from the registry. ∂ marks the operations that have a derivative;",
        "each of those has one of every order. ✎ marks those that are also methods which change",
        "their tensor in place, each name with an underscore behind it (`x.exp_()`, `x.add_(y)`).",
    ]
    family = None
    for row in registry:
        if row["family"] != family:
            family = row["family"]
            lines += ["", f"## {family}", "", "| call | ∂ | NumPy | what it computes |"]
            lines.append("|---|---|---|---|")
        lines.append(format_table_row(row))
    return "\n".join(lines) + "\n"


def format_table_row(row: Row) -> str:
    """One line of the documentation table."""
    defaults = [(param["name"], format_default(param)) for param in row["params"]]
    bare = ", ".join(name if value is None else f"{name}={value}" for name, value in defaults)
    space = "" if is_in_namespace(row, "") else row["namespaces"][0] + "."
    call = f"`{space}{row['name']}({bare})`"
    if row["aliases"]:
        call += " also " + " ".join(f"`{alias}`" for alias in row["aliases"])
    mark = ("∂" if row["differentiable"] else "") + (" ✎" if row["in_place"] else "")
    numpy = " ".join(f"`{name}`" for name in row["numpy"])
    return f"| {call} | {mark.strip()} | {numpy} | {escape_bars(' '.join(row['doc'].split()))} |"


def escape_bars(text: str) -> str:
    """The text with the bars that would end a cell escaped."""
    return text.replace("|", "\\|")


def make_outputs() -> dict[Path, str]:
    """What each generated file must contain."""
    from ferrograd import _core

    registry = sorted(_core._registry(), key=lambda row: (row["family"], row["name"]))
    spaces = {path: make_namespace_stub(registry, space) for space, path in NAMESPACE_STUBS.items()}
    core = make_core_stub(registry, CLASSES.read_text(), _core.__all__)
    return {STUB: core, **spaces, TABLE: make_table(registry), **names_codegen.make_outputs()}


def find_stale() -> list[str]:
    """The differences between the files and what they should contain."""
    found: list[str] = []
    for path, want in make_outputs().items():
        have = path.read_text() if path.exists() else ""
        name = str(path.relative_to(ROOT))
        lines = have.splitlines(), want.splitlines()
        found += difflib.unified_diff(*lines, name, "fresh", lineterm="")
    return found


def main() -> None:
    """Writes the files, or with --check compares them."""
    parser = argparse.ArgumentParser(
        description="write the operation part of the stub and the docs"
    )
    parser.add_argument("--check", action="store_true", help="compare; exit 1 when a file is stale")
    if parser.parse_args().check:
        if differences := find_stale():
            sys.exit("\n".join([*differences[:60], "", "stale; run `make stubs`"]))
        return
    for path, text in make_outputs().items():
        path.write_text(text)


if __name__ == "__main__":
    main()
