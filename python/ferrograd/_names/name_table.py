"""The entries of the table of names, and the lookup of names in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

#: In place of a pattern: the other library uses our name.
SAME = "*"


class NameGroup:
    """Names that live in one module and share the same facts.

    `module` is the module that defines the names, relative to `ferrograd`. If `are_modules` is
    true, the names are modules themselves, and `module` is the package that contains them. `names`
    are separated by spaces.

    `torch`, `numpy`, `array_api` and `hips` give the names in other libraries, as a pattern in
    which `*` stands for our name. An empty pattern means that the library has no such name, or that
    its name means something else.

    `differs` says how our function differs from the PyTorch function of the same name. `subject` is
    the row of the table in `docs/pytorch.md` that lists the names. `hidden` names are not exported
    by `import *`, because they are names of other packages or too general. The arguments of
    `experimental` names may change in a minor version.
    """

    # A plain class: creating a named tuple class takes longer than creating all groups.
    __slots__ = (
        *("are_modules", "array_api", "differs", "experimental", "hidden", "hips", "module"),
        *("names", "numpy", "subject", "torch"),
    )

    def __init__(
        self,
        module: str,
        names: str,
        *,
        torch: str = "",
        numpy: str = "",
        array_api: str = "",
        hips: str = "",
        differs: str = "",
        subject: str = "",
        are_modules: bool = False,
        hidden: bool = False,
        experimental: bool = False,
    ) -> None:
        self.module = module
        self.names = names
        self.torch = torch
        self.numpy = numpy
        self.array_api = array_api
        self.hips = hips
        self.differs = differs
        self.subject = subject
        self.are_modules = are_modules
        self.hidden = hidden
        self.experimental = experimental


def iter_names(groups: Iterable[NameGroup]) -> Iterator[tuple[str, NameGroup]]:
    """Yields each name with its group."""
    for group in groups:
        for name in group.names.split():
            yield name, group


class NameTable:
    """The names of one namespace of the package; loads their values on demand."""

    def __init__(self, groups: Iterable[NameGroup]) -> None:
        #: The group of each name.
        self.groups = dict(iter_names(groups))
        #: The names that `import *` does not export.
        self.hidden = frozenset(name for name, group in self.groups.items() if group.hidden)

    def load(self, name: str) -> Any:
        """Returns the value of a name; raises `KeyError` if the table does not contain it."""
        group = self.groups[name]
        if group.are_modules:
            return import_module(".".join(filter(None, ["ferrograd", group.module, name])))
        return getattr(import_module(f"ferrograd.{group.module}"), name)

    def load_all(self) -> dict[str, Any]:
        """Returns the values of all names, by name."""
        return {name: self.load(name) for name in self.groups}
