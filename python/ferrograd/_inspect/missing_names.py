"""The errors of names that modules of the package do not have."""

from __future__ import annotations

import opcode
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy

from ferrograd._names.absent import hints


def missing(module: str, name: str) -> NoReturn:
    """Raises the error of a name that a module of the package does not have."""
    home = f"ferrograd.{module}" if module else "ferrograd"
    said = _hint(module, name)
    said = f"; {said}" if said else _of_numpy(module, name)
    caller = sys._getframe(2)
    if caller.f_code.co_code[caller.f_lasti] == opcode.opmap["IMPORT_FROM"]:
        # Python would replace the text of an AttributeError.
        raise ImportError(f"cannot import name {name!r} from {home!r}{said}")
    raise AttributeError(f"module {home!r} has no attribute {name!r}{said}")


def refuse_import(path: str) -> None:
    """Raises an error with a hint for a module that the package does not have."""
    home, _, name = path.rpartition(".")
    said = _hint(home.partition(".")[2], name)
    if not said and hasattr(sys.modules.get(home), name):
        said = f"it is no module, write from {home} import {name}"
    if said:
        raise ModuleNotFoundError(f"No module named {path!r}; {said}", name=path)


def _hint(module: str, name: str) -> str:
    library, hint = hints(module).get(name, ("", ""))
    return f"{library} has it, here use {hint}" if hint else ""


def _of_numpy(module: str, name: str) -> str:
    """The hint for a function of NumPy's that is not repeated here."""
    home = {"": numpy, "linalg": numpy.linalg}.get(module)
    path = f"{module}.{name}" if module else name
    found = getattr(home, name, None)
    if not callable(found) or isinstance(found, type):
        return ""
    return f"; use np.{path}, or ferrograd.numpy.{path}, which take tensors"


def getter(module: str) -> Callable[[str], Any]:
    """`__getattr__` of a module of the package."""

    def find(name: str) -> Any:
        missing(module, name)

    return find
