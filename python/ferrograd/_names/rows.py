"""The row of the table of names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

#: Another library's name that is ours.
SAME = "*"


class Rows(NamedTuple):
    """Names that are implemented in one module and for which the same holds.

    In the name that another library has, `*` stands for ours; "" says that it has none, or another
    function under this name.
    """

    #: The module below the package. Of names that are modules, the one that they are in.
    home: str
    #: Separated by spaces.
    names: str
    torch: str = ""
    numpy: str = ""
    array_api: str = ""
    hips: str = ""
    #: What PyTorch's means otherwise, where it is called with the same words.
    differs: str = ""
    #: The line in the table of `docs/pytorch.md`.
    subject: str = ""
    #: Whether they are modules.
    modules: bool = False
    #: Whether `import *` leaves them out: other packages' names, or too general ones.
    hidden: bool = False
    #: Whether calls may change in a minor version.
    experimental: bool = False


def each(rows: Iterable[Rows]) -> Iterator[tuple[str, Rows]]:
    """Every name with its row."""
    for row in rows:
        for name in row.names.split():
            yield name, row
