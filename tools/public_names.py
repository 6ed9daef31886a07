"""The snapshot of what is public: every name of the package, its kind and its signature.

`--write` accepts what there is now; without it the difference is printed, and the exit status is 1
when there is one. Invariant: nothing that another library's version decides is in the snapshot.
"""

import argparse
import ast
import importlib
import inspect
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ferrograd._names.missing import get_hints
from ferrograd._names.name_table import iter_names
from ferrograd._names.package import PACKAGE

ROOT = Path(__file__).resolve().parent.parent
SNAPSHOT = ROOT / "tests" / "package" / "public_names.txt"
COMMAND = "python tools/public_names.py --write"

#: The modules that programs import, by parent. Other modules only define names, and may move.
_PARENTS = {
    "": " ".join(["hips", *(name for name, group in iter_names(PACKAGE) if group.are_modules)]),
    "array_api": "linalg special",
    "autograd": "function functional graph",
    "hips": " ".join(group.names for group in PACKAGE if group.module == "hips"),
    "hips.misc": "fixed_points flatten optimizers tracers",
    "misc": "fixed_points flatten optimizers tracers",
    "nn": "functional init utils",
    "nn.utils": "parametrizations parametrize rnn",
    "numpy": "fft linalg numpy_boxes numpy_vjps random",
    "optim": "lr_scheduler swa_utils",
    "scipy": "cluster fft integrate interpolate linalg misc ndimage optimize signal sparse spatial"
    " special stats",
    "scipy.cluster": "vq",
    "scipy.sparse": "linalg",
    "scipy.spatial": "distance",
    "scipy.stats": "beta chi2 dirichlet gamma multivariate_normal norm poisson t",
    "utils": "checkpoint data",
}
MODULES = sorted(
    ".".join(filter(None, ["ferrograd", parent, name]))
    for parent, names in _PARENTS.items()
    for name in ["", *names.split()]
    if name or not parent
)

#: Where names are NumPy's: what it adds or changes is no change of ours.
NUMPY_MODULE_PATTERN = re.compile(r"ferrograd\.numpy(\.fft|\.linalg|\.random)?$")
_FOREIGN_MODULES = ("__future__", "typing", "collections.abc", "functools", "itertools", "abc")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def make_snapshot() -> str:
    """All of it: a paragraph for each module, then one for each class."""
    classes: dict[type, str] = {}
    parts = []
    for path in MODULES:
        module = importlib.import_module(path)
        rows = []
        for name in get_public_names(module):
            value = getattr(module, name)
            numpys = bool(NUMPY_MODULE_PATTERN.match(path))
            rows.append(f"{name}  {describe_value(value, numpys=numpys)}".rstrip())
            if inspect.isclass(value) and is_ours(value):
                classes.setdefault(value, f"{path}.{name}")
        parts.append("\n".join([f"[{path}]", *rows]))
    for kind, path in sorted(classes.items(), key=lambda item: item[1]):
        if rows := [*iter_members(kind, classes)]:
            parts.append("\n".join([f"[class {path}]", *rows]))
    return "\n\n".join(parts) + "\n"


def get_public_names(module: types.ModuleType) -> list[str]:
    """The names of a module without its own imports."""
    chosen = "__dir__" in vars(module) or "__all__" in vars(module)
    names = {*dir(module), *getattr(module, "__all__", ())}
    if not chosen:
        names -= get_imported_names(module)
    if NUMPY_MODULE_PATTERN.match(module.__name__):
        names = {name for name in names if is_ours(getattr(module, name))}
    return sorted(
        name
        for name in names
        if (name[0] != "_" or name.startswith("__array_"))
        and not is_foreign(getattr(module, name), name)
    )


def get_imported_names(module: types.ModuleType) -> set[str]:
    """What a module imports for itself: whatever is not `from … import name as name`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(Path(module.__file__ or "").read_text())):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for alias in node.names:
            if alias.name == "*" and isinstance(node, ast.ImportFrom):
                found |= get_imported_names(importlib.import_module(node.module or ""))
            elif alias.asname != alias.name:
                found.add(alias.asname or alias.name)
    return found


def is_foreign(value: Any, name: str) -> bool:
    """Whether it is a module that programs do not import, or a tool of Python's for annotations."""
    if isinstance(value, types.ModuleType):
        return value.__name__ not in (*MODULES, "ferrograd.array_api._fft")
    home = getattr(value, "__module__", None)
    return home in _FOREIGN_MODULES or type(value).__module__ in _FOREIGN_MODULES[:2]


def is_ours(value: Any) -> bool:
    """Whether a function or class is written here; faces of NumPy's functions are."""
    home = getattr(getattr(value, "__code__", value), "co_filename", None)
    return "ferrograd" in (home or getattr(value, "__module__", None) or "")


def describe_value(value: Any, *, numpys: bool = False) -> str:
    """The kind of a value, with the signature of what can be called."""
    if isinstance(value, types.ModuleType):
        return "module"
    if inspect.isclass(value):
        bare = issubclass(value, BaseException) or not is_ours(value)
        return "class" if bare else f"class {format_signature(value)}"
    if not callable(value):
        return f"constant {type(value).__name__}"
    if numpys:
        return "function"
    return f"{'function' if inspect.isroutine(value) else 'callable'} {format_signature(value)}"


def format_signature(value: Any) -> str:
    """The parameters with their defaults; annotations are for the type checker to hold."""
    try:
        found = inspect.signature(value)
    except (ValueError, TypeError):
        return ""
    bare = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in found.parameters.values()
    ]
    text = str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    return _ADDRESS.sub("", text)


def iter_members(kind: type, listed: dict[type, str]) -> Iterator[str]:
    """The public members of a class that it does not have from a class of the snapshot."""
    for name in dir(kind):
        if name.startswith("_") or (kind.__name__ == "Tensor" and name in get_hints("Tensor")):
            continue  # What has a hint is no attribute.
        home = next((base for base in kind.__mro__ if name in vars(base)), kind)
        bases = [base for base in kind.__mro__[1:] if base in listed]
        if not is_ours(home) or any(home in base.__mro__ for base in bases):
            continue
        value = inspect.getattr_static(kind, name)
        if isinstance(value, property | types.GetSetDescriptorType | types.MemberDescriptorType):
            yield f"{name}  property"
        else:
            yield f"{name}  {describe_value(getattr(kind, name))}".rstrip()


def split_sections(text: str) -> dict[str, list[str]]:
    """The lines by the module or class that they stand under."""
    parts = re.split(r"^(\[.*\])$", text, flags=re.MULTILINE)
    return {head: body.split("\n") for head, body in zip(parts[1::2], parts[2::2], strict=True)}


def find_differences() -> list[str]:
    """The difference to the snapshot, each line under the module or class that it stands in."""
    old, new = split_sections(SNAPSHOT.read_text()), split_sections(make_snapshot())
    found = []
    for head in sorted({*old, *new}):
        before, after = {*old.get(head, [])}, {*new.get(head, [])}
        lines = [
            f"    {'-' if line in before else '+'} {line}"
            for line in sorted(filter(None, before ^ after))
            if not is_numpy_dependent(head, line.split()[0], there=line in after)
        ]
        found += [f"  {head}", *lines] if lines else []
    return found


def is_numpy_dependent(head: str, name: str, *, there: bool) -> bool:
    """Whether a function of NumPy's is there, or not there, because the installed NumPy says so."""
    path = head.strip("[]")
    if not NUMPY_MODULE_PATTERN.match(path):
        return False
    return hasattr(importlib.import_module(path.removeprefix("ferrograd.")), name) == there


def main() -> None:
    """Compares with the snapshot, or with --write accepts what there is."""
    parser = argparse.ArgumentParser(description="compare what is public with the snapshot")
    parser.add_argument("--write", action="store_true", help="accept what there is now")
    if parser.parse_args().write:
        SNAPSHOT.write_text(make_snapshot())
    elif changed := find_differences():
        shown = "\n".join(changed)
        sys.exit(f"what is public has changed (- is gone, + is new):\n{shown}\naccept: {COMMAND}")


if __name__ == "__main__":
    main()
