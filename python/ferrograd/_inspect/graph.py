"""The graph of a tensor: pictures, a summary, and its memory.

Invariant: a buffer that several operations have saved is counted once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ferrograd._core import Tensor, _graph_facts
from ferrograd._inspect.graph_scope import Graph
from ferrograd.errors import ArgumentTypeError, GradientError


def to_dot(tensor: Tensor) -> str:
    """The recorded graph of a tensor as a Graphviz file."""
    return Graph.of(_check_recorded("to_dot", tensor)).to_dot()


def to_mermaid(tensor: Tensor) -> str:
    """The recorded graph of a tensor as a Mermaid flow chart."""
    return Graph.of(_check_recorded("to_mermaid", tensor)).to_mermaid()


@dataclass(frozen=True)
class OperationShare:
    """The part of one operation in a graph: its nodes, and the bytes they keep for backward."""

    name: str
    nodes: int
    saved_bytes: int


@dataclass(frozen=True)
class GraphMemory:
    """The bytes that a graph keeps alive.

    `saved_bytes` are the buffers saved for backward. Buffers that other tensors also use, such as
    parameters, are not freed with the graph. `node_bytes` are the nodes themselves.
    """

    node_bytes: int
    saved_bytes: int
    by_operation: tuple[OperationShare, ...]

    @property
    def total_bytes(self) -> int:
        """Both together."""
        return self.node_bytes + self.saved_bytes

    def __str__(self) -> str:
        lines = [
            f"graph memory: {_format_bytes(self.total_bytes)}",
            f"  saved for backward  {_format_bytes(self.saved_bytes):>10}",
            f"  nodes               {_format_bytes(self.node_bytes):>10}",
        ]
        return "\n".join([*lines, *_format_table(self.by_operation)])


@dataclass(frozen=True, repr=False)
class GraphSummary:
    """Statistics of a graph; `depth` is the length of the longest path to a leaf."""

    operations: int
    leaves: int
    edges: int
    depth: int
    memory: GraphMemory

    def __str__(self) -> str:
        head = (
            f"graph: {self.operations} operations,"
            f" {self.leaves} {'leaf' if self.leaves == 1 else 'leaves'}, {self.edges} edges,"
            f" depth {self.depth}, {_format_bytes(self.memory.saved_bytes)} saved"
        )
        return "\n".join([head, *_format_table(self.memory.by_operation)])

    __repr__ = __str__


def summary(tensor: Tensor) -> GraphSummary:
    """A summary of the graph of a tensor, to be printed.

    >>> import ferrograd as fg
    >>> x = fg.tensor([1.0, 2.0], requires_grad=True)
    >>> found = fg.graph.summary((x * x).exp().sum())
    >>> found.operations, found.leaves, found.depth
    (3, 1, 3)
    """
    facts = _graph_facts(_check_recorded("summary", tensor))
    return GraphSummary(
        facts["operations"],
        facts["leaves"],
        facts["edges"],
        facts["depth"],
        _make_graph_memory(facts),
    )


def memory(tensor: Tensor) -> GraphMemory:
    """The bytes that the graph of a tensor keeps alive until backward, to be printed.

    >>> import ferrograd as fg
    >>> x = fg.ones(1000, requires_grad=True)
    >>> fg.graph.memory(x.exp().sin().sum()).saved_bytes
    8000
    """
    return _make_graph_memory(_graph_facts(_check_recorded("memory", tensor)))


def _make_graph_memory(facts: dict[str, Any]) -> GraphMemory:
    shares = tuple(OperationShare(*share) for share in facts["shares"])
    return GraphMemory(facts["node_bytes"], facts["saved_bytes"], shares)


def _check_recorded(op: str, tensor: Tensor) -> Tensor:
    if not isinstance(tensor, Tensor):
        raise ArgumentTypeError(f"{op}: the argument is a {type(tensor).__name__}; pass a tensor")
    if not tensor.requires_grad:
        raise GradientError(
            f"{op}: the tensor has no recorded graph; fg.explain_no_grad(tensor) says why"
        )
    return tensor


def _format_table(shares: tuple[OperationShare, ...]) -> list[str]:
    width = max((len(share.name) for share in shares), default=0)
    return [
        f"  {share.name:<{width}}  {share.nodes:>8} nodes  {_format_bytes(share.saved_bytes):>10}"
        for share in shares
    ]


def _format_bytes(count: int) -> str:
    size, unit = float(count), "B"
    for bigger in ("KiB", "MiB", "GiB"):
        if size < 1024:
            break
        size, unit = size / 1024, bigger
    return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"
