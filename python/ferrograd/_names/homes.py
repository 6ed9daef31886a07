"""Loads names from where the table says that they are."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from ferrograd._names.rows import Rows, each


class Homes:
    """The names of one module of the package, by the rows of the table."""

    def __init__(self, rows: Iterable[Rows]) -> None:
        self.rows = dict(each(rows))
        #: What `import *` leaves out.
        self.hidden = frozenset(name for name, row in self.rows.items() if row.hidden)

    def load(self, name: str) -> Any:
        """The value of a name; a `KeyError` if it is not in the table."""
        row = self.rows[name]
        if row.modules:
            return import_module(".".join(filter(None, ["ferrograd", row.home, name])))
        return getattr(import_module(f"ferrograd.{row.home}"), name)
