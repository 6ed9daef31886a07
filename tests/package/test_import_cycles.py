"""No module of the package imports another that imports it back while both are loaded.

Imports inside of functions and for type checkers do not count: nothing is half-loaded when they
run. Nor does the package of a module, whose `__init__.py` re-exports it.
"""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "python"


def name_of(file: Path) -> str:
    """The dotted name of a module."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(file): file for file in (ROOT / "ferrograd").rglob("*.py")}


def at_load(nodes: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that run as a module is loaded."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from at_load(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for field in ("body", "orelse", "finalbody", "handlers"):
                yield from at_load(getattr(node, field, []))


def imported(node: ast.Import | ast.ImportFrom, modules: dict[str, Path]) -> Iterator[str]:
    """The modules of ours that an import names."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    for name in names:
        # A name in a module, if it is no module itself.
        found = name if name in modules else name.rpartition(".")[0]
        if found in modules:
            yield found


def graph(modules: dict[str, Path]) -> dict[str, set[str]]:
    """What each module imports."""
    return {
        name: {
            found
            for node in at_load(ast.parse(file.read_text()).body)
            for found in imported(node, modules)
        }
        - {name}
        for name, file in modules.items()
    }


def test_no_module_imports_itself_through_others() -> None:
    TopologicalSorter(graph(MODULES)).prepare()


def test_imports_are_absolute() -> None:
    for name, file in MODULES.items():
        for node in ast.walk(ast.parse(file.read_text())):
            assert not (isinstance(node, ast.ImportFrom) and node.level), name


def test_a_cycle_is_found(tmp_path: Path) -> None:
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("if True:\n    from two import x\n")
    two.write_text("import one\n")
    with pytest.raises(CycleError):
        TopologicalSorter(graph({"one": one, "two": two})).prepare()
    two.write_text("def f():\n    import one\n")
    TopologicalSorter(graph({"one": one, "two": two})).prepare()
