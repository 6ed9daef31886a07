"""The nodes of the graph of a result.

Invariant: each node occurs once, and lives until the walk ends, so that its `id` is unique.
"""

from collections.abc import Iterable, Iterator

from ferrograd._core import Node

__all__ = ["iter_reachable_nodes"]


def iter_reachable_nodes(roots: Iterable[Node]) -> Iterator[tuple[Node, list[Node]]]:
    """Every node that is reachable from `roots`, including them, with its next nodes."""
    pending, seen = list(roots), dict[int, Node]()
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen[id(node)] = node
        sources = [source for source, _ in node.next_functions if source is not None]
        yield node, sources
        pending.extend(sources)
