"""The row of the table of names, and the names of a module by its rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

#: Another library's name that is ours.
SAME = "*"


class Rows:
    """Names that are implemented in one module and for which the same holds.

    `home` is the module below the package; of names that are `modules`, the one that they are in.
    `names` are separated by spaces. In the name that another library has, `*` stands for ours; ""
    says that it has none, or another function under this name. `differs` says what PyTorch's means
    otherwise where it is called with the same words, `subject` is the line in `docs/pytorch.md`.
    `hidden` names are left out by `import *`: other packages' names, or too general ones. The
    arguments of `experimental` ones may change in a minor version.
    """

    # A plain class: a named tuple takes longer to make than all rows.
    __slots__ = (
        *("array_api", "differs", "experimental", "hidden", "hips", "home", "modules", "names"),
        *("numpy", "subject", "torch"),
    )

    def __init__(
        self,
        home: str,
        names: str,
        *,
        torch: str = "",
        numpy: str = "",
        array_api: str = "",
        hips: str = "",
        differs: str = "",
        subject: str = "",
        modules: bool = False,
        hidden: bool = False,
        experimental: bool = False,
    ) -> None:
        self.home = home
        self.names = names
        self.torch = torch
        self.numpy = numpy
        self.array_api = array_api
        self.hips = hips
        self.differs = differs
        self.subject = subject
        self.modules = modules
        self.hidden = hidden
        self.experimental = experimental


def each(rows: Iterable[Rows]) -> Iterator[tuple[str, Rows]]:
    """Every name with its row."""
    for row in rows:
        for name in row.names.split():
            yield name, row


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

    def load_all(self) -> dict[str, Any]:
        """The values of all names."""
        return {name: self.load(name) for name in self.rows}
