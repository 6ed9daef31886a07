"""Module attributes that are loaded at their first use, as the table of names lists them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from ferrograd._inspect.missing_name_errors import raise_missing_name
from ferrograd._names.name_table import NameGroup, NameTable


def make_lazy_attributes(
    module_name: str, groups: Iterable[NameGroup]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns `__getattr__` and `__dir__` for a module whose attributes are the names of `groups`.

    `module_name` is the `__name__` of the module.
    """
    table, module = NameTable(groups), sys.modules[module_name]

    def load_attribute(name: str) -> Any:
        if name not in table.groups:
            raise_missing_name(module_name.removeprefix("ferrograd."), name)
        value = table.load(name)
        setattr(module, name, value)
        return value

    def attribute_names() -> list[str]:
        special = (name for name in vars(module) if name.startswith("__"))
        return sorted({*table.groups, *special})

    return load_attribute, attribute_names
