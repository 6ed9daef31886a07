"""`fg.Graph`: the list of the operations called in a scope, or reached from a tensor.

Invariant: a scope lists what its thread calls between entering and leaving, in order; an operation
outside recording is listed without a node.
"""

from __future__ import annotations

from typing import Any, Self

from ferrograd._core import Node, Tensor, _observe, _unobserve, _WeakNode
from ferrograd._inspect import render
from ferrograd._inspect.graph_entries import (
    Operation,
    Value,
    abbreviate_attribute,
    convert_attributes,
    make_weak_node,
)
from ferrograd._tensor.pytree import find_tensors
from ferrograd.errors import ArgumentTypeError, GradientError


class Graph:
    """The operations called inside `with fg.Graph() as graph:`, on this thread.

    Every operation of a tensor is listed: functions, methods, operators, functors, custom functions
    and what their forward calls (marked `inside`), also under `no_grad`. Backward passes are not
    listed. Scopes nest, and an outer scope also lists the calls of an inner one. The list remains
    after the scope.

    >>> import ferrograd as fg
    >>> x = fg.tensor([1.0, 2.0], requires_grad=True, name="x")
    >>> with fg.Graph() as graph:
    ...     z = fg.functors.add(2.0, x, 3.0, x, "z")
    >>> [op.name for op in graph.ops], graph.get_tensor("z") is z, graph.ops[0].node is z.grad_fn
    (['add'], True, True)
    """

    def __init__(self) -> None:
        self._operations: list[Operation] = []
        self._values: dict[int, Value] = {}
        self._order: list[Value] = []
        self._observers: list[Any] = []

    @staticmethod
    def of(tensor: Tensor) -> Graph:
        """The recorded graph of a tensor; it keeps the tensor alive."""
        return TensorGraph(tensor)

    def __enter__(self) -> Self:
        observer = self._record_call
        self._observers.append(observer)
        _observe(observer)
        return self

    def __exit__(self, *exception: object) -> None:
        _unobserve(self._observers.pop())

    def _record_call(
        self, name: str, arguments: Any, given: Any, result: Any, inside: bool
    ) -> None:
        """Lists one operation; the core calls this after each."""
        inputs: list[Tensor] = []
        attrs: dict[str, Any] = {}
        for i, argument in enumerate(arguments):
            if not _collect_tensors(argument, inputs):
                attrs[f"arg{i}"] = abbreviate_attribute(argument)
        for key, value in convert_attributes(given).items():
            if not _collect_tensors(value, inputs):
                attrs[key] = abbreviate_attribute(value)
        outputs: list[Tensor] = []
        _collect_tensors(result, outputs)
        self._operations.append(
            Operation(
                len(self._operations),
                name,
                attrs,
                tuple(self._get_value(x) for x in inputs),
                tuple(self._get_value(y, produced=True) for y in outputs),
                make_weak_node(outputs),
                inside,
            )
        )

    def _get_value(self, tensor: Tensor, *, produced: bool = False) -> Value:
        known = self._values.get(id(tensor))
        if known is None or known.tensor is not tensor:
            known = self._values[id(tensor)] = Value(len(self._order), tensor)
            known.produced = produced
            self._order.append(known)
        return known

    @property
    def ops(self) -> list[Operation]:
        """The operations, in the order of their calls."""
        return list(self._operations)

    @property
    def nodes(self) -> list[Node]:
        """The recorded nodes of the operations that still live, each once."""
        found = {id(node): node for op in self.ops if (node := op.node) is not None}
        return list(found.values())

    @property
    def leaves(self) -> list[Tensor]:
        """The living tensors that operations here use and none produced."""
        tensors = (value.tensor for value in self._leaf_values())
        return [tensor for tensor in tensors if tensor is not None]

    def _leaf_values(self) -> list[Value]:
        return [value for value in self._order if not value.produced]

    def get_tensor(self, name: str) -> Tensor | None:
        """The latest living tensor of this name, or None."""
        self._refresh()
        for value in reversed(self._order):
            if value.name == name and value.tensor is not None:
                return value.tensor
        return None

    def _refresh(self) -> None:
        """Brings the list up to date."""

    def __contains__(self, item: object) -> bool:
        """Whether a tensor, a node or an operation belongs to this graph."""
        self._refresh()
        if isinstance(item, Tensor):
            value = self._values.get(id(item))
            if value is not None and value.tensor is item:
                return True
            return item.grad_fn is not None and item.grad_fn in self
        if isinstance(item, Node):
            return any(item is node for node in self.nodes)
        return any(item is operation for operation in self._operations)

    def __len__(self) -> int:
        return len(self.ops)

    def __bool__(self) -> bool:
        return True

    def clear(self) -> None:
        """Clears the list; tensors and their recorded nodes do not change."""
        self._operations.clear()
        self._values.clear()
        self._order.clear()

    def to_string(self) -> str:
        """One line for each leaf and each operation."""
        return render.to_string(self.ops, self._leaf_values())

    def to_mermaid(self) -> str:
        """The graph as a Mermaid flow chart."""
        return render.to_mermaid(self.ops, self._leaf_values())

    def to_dot(self) -> str:
        """The graph in Graphviz's language."""
        return render.to_dot(self.ops, self._leaf_values())

    def __str__(self) -> str:
        return self.to_string()

    def __repr__(self) -> str:
        return f"<Graph of {len(self)} operations>"


def _collect_tensors(value: Any, tensors: list[Tensor]) -> bool:
    """Adds the tensors in a value; false when there are none."""
    before = len(tensors)
    tensors += find_tensors(value)
    return len(tensors) > before


class TensorGraph(Graph):
    """The recorded graph of one tensor, read when it is needed; it keeps the tensor alive."""

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise ArgumentTypeError(
                f"Graph.of: the argument is a {type(tensor).__name__}; pass a tensor"
            )
        if not tensor.requires_grad:
            raise GradientError(
                "Graph.of: Tensor is not in the computational graph or graph is disabled; set"
                " requires_grad=True on an input and compute outside no_grad()"
            )
        super().__init__()
        self._root = tensor
        self._outputs: dict[tuple[int, int], Value] = {}

    def __enter__(self) -> Self:
        raise GradientError("Graph.of: this graph is read from a tensor; use fg.Graph() as a scope")

    def _refresh(self) -> None:
        self.clear()
        self._outputs.clear()
        root = self._root.grad_fn
        if root is None:
            self._get_value(self._root)
            return
        for node in _sort_topologically(root):
            self._add_node(node)
        self._set_root_output(root, self._root)

    def _add_node(self, node: Node) -> None:
        leaf = node.name() == "AccumulateGrad"
        outputs = []
        for k in range(node.output_count):
            tensor = node.variable if leaf else None
            value = Value(len(self._order), tensor)
            value.produced = not leaf
            self._outputs[id(node), k] = value
            self._order.append(value)
            if tensor is not None:
                self._values[id(tensor)] = value
            outputs.append(value)
        if leaf:
            return
        inputs = tuple(self._outputs[id(n), k] for n, k in node.next_functions if n is not None)
        index = len(self._operations)
        attrs = convert_attributes(node.attrs)
        self._operations.append(
            Operation(index, node.op_name, attrs, inputs, tuple(outputs), _WeakNode.of(node))
        )

    def _set_root_output(self, root: Node, tensor: Tensor) -> None:
        """Sets the output of the root to the given tensor."""
        value = self._outputs[id(root), tensor.output_nr]
        full = Value(value.index, tensor)
        full.produced = True
        self._order[value.index] = full
        self._values[id(tensor)] = full
        last = self._operations[-1]
        last.outputs = tuple(full if v is value else v for v in last.outputs)

    @property
    def ops(self) -> list[Operation]:
        """The recorded operations, inputs first."""
        self._refresh()
        return list(self._operations)

    @property
    def leaves(self) -> list[Tensor]:
        """The living leaves that the tensor depends on."""
        self._refresh()
        return super().leaves


def _sort_topologically(root: Node) -> list[Node]:
    """The nodes below a node in topological order, inputs first; without recursion."""
    order: list[Node] = []
    done: dict[int, Node] = {}
    pending: list[tuple[Node, bool]] = [(root, False)]
    while pending:
        node, ready = pending.pop()
        if ready:
            order.append(node)
        elif id(node) not in done:
            done[id(node)] = node
            pending.append((node, True))
            sources = reversed(node.next_functions)
            pending.extend((n, False) for n, _ in sources if n is not None)
    return order
