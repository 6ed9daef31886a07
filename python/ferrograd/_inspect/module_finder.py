"""Modules that programs import under another name than that of their file.

HIPS autograd's modules are in `ferrograd.hips`; `import ferrograd.core` gives the same object.
"""

from __future__ import annotations

from importlib import import_module
from importlib.machinery import ModuleSpec
from pkgutil import iter_modules
from sys import modules
from types import ModuleType

from ferrograd._inspect.missing_name_errors import refuse_import
from ferrograd._names.name_table import iter_names
from ferrograd._names.package import PACKAGE

#: The module of each other name of a module.
ALIASES = {
    f"ferrograd.{name}": f"ferrograd.{group.module}.{name}"
    for name, group in iter_names(PACKAGE)
    if group.are_modules and group.module
}


class AliasLoader:
    """Gives a module of the package under another name, the modules inside it as well."""

    def __init__(self, path: str) -> None:
        self.path = path

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module itself, and not a copy: what a program puts into it stays."""
        module = import_module(self.path)
        self.spec = module.__spec__
        for inner in iter_modules(getattr(module, "__path__", ())):
            modules[f"{spec.name}.{inner.name}"] = import_module(f"{self.path}.{inner.name}")
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It has been executed; the import system has given it the spec of its other name."""
        module.__spec__ = self.spec


def find_module(path: str) -> ModuleSpec | None:
    """The spec of a module that no file has the name of.

    Raises `ModuleNotFoundError` for a module of another library that something here stands for.
    """
    if path in ALIASES:
        return ModuleSpec(path, AliasLoader(ALIASES[path]))  # type: ignore[arg-type]
    refuse_import(path)
    return None
