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
    """Loads a module of the package, and its submodules, under another name."""

    def __init__(self, path: str) -> None:
        self.path = path

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Returns the module itself, not a copy, so that both names share attributes."""
        module = import_module(self.path)
        self.spec = module.__spec__
        for inner in iter_modules(getattr(module, "__path__", ())):
            modules[f"{spec.name}.{inner.name}"] = import_module(f"{self.path}.{inner.name}")
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restores the module's own spec; the module has already been executed."""
        module.__spec__ = self.spec


def find_module(path: str) -> ModuleSpec | None:
    """The spec of an alias of a module.

    Raises `ModuleNotFoundError` with a hint for modules of other libraries that are replaced here.
    """
    if path in ALIASES:
        return ModuleSpec(path, AliasLoader(ALIASES[path]))  # type: ignore[arg-type]
    refuse_import(path)
    return None
