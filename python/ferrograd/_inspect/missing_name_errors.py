"""The errors for names that the package does not have, with the hints of `_names/missing.py`."""

from __future__ import annotations

import opcode
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy

from ferrograd._names.missing import get_hints


def raise_missing_name(module: str, name: str) -> NoReturn:
    """Raises the error for an attribute that a module of the package does not have.

    `module` is relative to `ferrograd`. The caller must be the `__getattr__` of the module, because
    the code that asks for the attribute is looked up on the stack: an import statement gets an
    `ImportError`, other code an `AttributeError`.
    """
    full_name = f"ferrograd.{module}" if module else "ferrograd"
    hint = _get_library_hint(module, name)
    hint = f"; {hint}" if hint else _get_numpy_hint(module, name)
    caller = sys._getframe(2)
    if caller.f_code.co_code[caller.f_lasti] == opcode.opmap["IMPORT_FROM"]:
        # Python would replace the text of an AttributeError.
        raise ImportError(f"cannot import name {name!r} from {full_name!r}{hint}")
    raise AttributeError(f"module {full_name!r} has no attribute {name!r}{hint}")


def refuse_import(path: str) -> None:
    """Raises an error for the import of a module that does not exist, if there is a hint for it."""
    parent, _, name = path.rpartition(".")
    hint = _get_library_hint(parent.partition(".")[2], name)
    if not hint and hasattr(sys.modules.get(parent), name):
        hint = f"it is no module, write from {parent} import {name}"
    if hint:
        raise ModuleNotFoundError(f"No module named {path!r}; {hint}", name=path)


def make_module_getattr(module: str) -> Callable[[str], Any]:
    """Returns a `__getattr__` for a module of the package that has no lazy attributes."""

    def refuse_attribute(name: str) -> Any:
        raise_missing_name(module, name)

    return refuse_attribute


def _get_library_hint(module: str, name: str) -> str:
    """The hint for a name of another library; empty if there is none."""
    library, hint = get_hints(module).get(name, ("", ""))
    return f"{library} has it, here use {hint}" if hint else ""


def _get_numpy_hint(module: str, name: str) -> str:
    """The hint for a NumPy function that the package does not repeat; empty if there is none."""
    numpy_module = {"": numpy, "linalg": numpy.linalg}.get(module)
    path = f"{module}.{name}" if module else name
    found = getattr(numpy_module, name, None)
    if not callable(found) or isinstance(found, type):
        return ""
    return f"; use np.{path}, or ferrograd.numpy.{path}, which take tensors"
