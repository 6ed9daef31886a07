"""The nodes that a result was computed by.

Invariant: each node comes once, and lives until the walk ends, so that its `id` stays its own.
"""

from collections.abc import Iterable, Iterator

from ferrograd._core import Node

__all__ = ["reachable"]


def reachable(roots: Iterable[Node]) -> Iterator[tuple[Node, list[Node]]]:
    """Every node that `roots` lead to, themselves included, with the nodes it leads to next."""
    pending, seen = list(roots), dict[int, Node]()
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen[id(node)] = node
        sources = [source for source, _ in node.next_functions if source is not None]
        yield node, sources
        pending.extend(sources)
