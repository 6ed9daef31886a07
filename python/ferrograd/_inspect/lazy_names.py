"""Modules whose names are loaded, from where the table of names says, when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from ferrograd._inspect.missing_names import missing
from ferrograd._names.rows import Homes, Rows


def lazy(path: str, rows: Iterable[Rows]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module of the package that has the names of these rows."""
    homes, module = Homes(rows), sys.modules[path]

    def find(name: str) -> Any:
        if name not in homes.rows:
            missing(path.removeprefix("ferrograd."), name)
        value = homes.load(name)
        setattr(module, name, value)
        return value

    def names() -> list[str]:
        return sorted({*homes.rows, *(name for name in vars(module) if name.startswith("__"))})

    return find, names
