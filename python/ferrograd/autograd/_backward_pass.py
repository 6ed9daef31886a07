"""`BackwardPass` and `GradientComputer`: document 002's names for the one engine.

Invariant: gradients are added to the leaves, and only when the whole pass has succeeded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Node, Tensor, _output_of, tensor
from ferrograd._inspect.graph_entries import Operation
from ferrograd._inspect.graph_scope import Graph
from ferrograd._tensor.modes import no_grad
from ferrograd.errors import ArgumentError, ArgumentTypeError, GradientError, ShapeError

NOT_IN_GRAPH = "Tensor is not in the computational graph or graph is disabled"


class BackwardPass:
    """Reverse-mode differentiation from a loss or from any node (document 002).

    `graph` is a `Graph` to which the loss must belong, or None for any; `retain_graph` keeps the
    saved values for another pass. Both may be read, and `retain_graph` may be set.

    >>> import ferrograd as fg
    >>> x = fg.tensor(2.0, requires_grad=True)
    >>> fg.BackwardPass().run((x + 1) ** 2)
    >>> x.grad.item()
    6.0
    """

    def __init__(self, graph: Graph | None = None, retain_graph: bool = False) -> None:
        if graph is not None and not isinstance(graph, Graph):
            raise ArgumentTypeError(
                f"BackwardPass: graph is a {type(graph).__name__}; pass a Graph or None"
            )
        self._graph = graph
        self.retain_graph = bool(retain_graph)

    @property
    def graph(self) -> Graph | None:
        """The graph that losses must belong to."""
        return self._graph

    def __repr__(self) -> str:
        return f"BackwardPass(graph={self._graph!r}, retain_graph={self.retain_graph})"

    def run(self, loss: Tensor, gradient: Any = None) -> None:
        """Adds the gradients of `loss` to the leaves it depends on.

        `gradient`, of the shape of the loss, is 1 for a loss of one element and required otherwise.
        Errors: `ArgumentTypeError` if the loss is not a tensor, `GradientError` if it is not in the
        graph, was not recorded or needs a gradient, `ShapeError` for the shape of the gradient,
        `GraphFreedError` after a pass that did not retain the graph.
        """
        if not isinstance(loss, Tensor):
            raise ArgumentTypeError(
                f"BackwardPass.run: the loss is a {type(loss).__name__}; pass a tensor"
            )
        if self._graph is not None and loss not in self._graph:
            raise GradientError(
                f"BackwardPass.run: {NOT_IN_GRAPH}: the loss is no tensor of the graph of this"
                " pass; compute it inside the scope, or leave the graph out"
            )
        loss.backward(gradient, retain_graph=self.retain_graph)

    def run_from_node(self, node: Node | Operation, gradient: Any = None) -> None:
        """Adds the gradients of one operation's outputs to the leaves they depend on.

        `node` is a `grad_fn` or an operation of a `Graph`; `gradient` has the shape of its output,
        and for several outputs is a sequence with one gradient or None each. It may be left out
        for one output of one element.
        Errors: as `run`.
        """
        found = node.node if isinstance(node, Operation) else node
        if not isinstance(found, Node):
            raise self._make_node_error(node)
        if self._graph is not None and found not in self._graph:
            raise GradientError(
                f"BackwardPass.run_from_node: {NOT_IN_GRAPH}: {found!r} is no node of the graph of"
                " this pass"
            )
        if found.name() == "AccumulateGrad":
            leaf = found.variable
            if leaf is None:
                raise GradientError("BackwardPass.run_from_node: the leaf is gone; keep it alive")
            leaf.backward(gradient, retain_graph=self.retain_graph)
            return
        gradients = _check_gradients("BackwardPass.run_from_node", found, gradient)
        pairs = [(k, g) for k, g in enumerate(gradients) if g is not None]
        roots = [_output_of(found, k, g) for k, g in pairs]
        seeds = [g for _, g in pairs]
        if roots:
            _core.backward(roots, seeds, retain_graph=self.retain_graph)

    @staticmethod
    def _make_node_error(node: Any) -> Exception:
        if isinstance(node, Operation):
            why = "was freed" if node.recorded else "was not recorded"
            return GradientError(
                f"BackwardPass.run_from_node: {NOT_IN_GRAPH}: the operation {node.name} {why}; keep"
                " an output of it alive, and compute outside no_grad() from an input that requires"
                " grad"
            )
        return ArgumentTypeError(
            f"BackwardPass.run_from_node: the node is a {type(node).__name__}; pass a grad_fn or an"
            " operation of a Graph"
        )


def _check_gradients(op: str, node: Node, given: Any) -> list[Tensor | None]:
    """One gradient or None per output of a node."""
    count = node.output_count
    if count == 1 and not isinstance(given, list | tuple):
        given = [given]
        if given[0] is None:
            given = [_make_default_gradient(op, node)]
    if not isinstance(given, list | tuple):
        raise ArgumentError(
            f"{op}: {node!r} has {count} outputs; pass a sequence with one gradient or None each"
        )
    if len(given) != count:
        raise ArgumentError(
            f"{op}: {len(given)} gradients for the {count} outputs of {node!r}; pass one gradient"
            " or None each"
        )
    return [_convert_gradient(op, node, k, g) for k, g in enumerate(given)]


def _make_default_gradient(op: str, node: Node) -> Tensor:
    spec = node.output_spec(0)
    if spec is None or int(np.prod(spec[0])) != 1:
        shape = "not known" if spec is None else spec[0]
        raise GradientError(
            f"{op}: Gradient must be provided for non-scalar tensors: the shape of the output of"
            f" {node!r} is {shape}; pass gradient="
        )
    return tensor(np.ones(spec[0], spec[1]))


def _convert_gradient(op: str, node: Node, index: int, given: Any) -> Tensor | None:
    if given is None:
        return None
    spec = node.output_spec(index)
    dtype = None if spec is None else spec[1]
    gradient = given if isinstance(given, Tensor) else tensor(given, dtype=dtype)
    if gradient.dtype.kind != "f":
        gradient = gradient.astype(dtype or np.float64)
    if spec is not None and tuple(gradient.shape) != spec[0]:
        raise ShapeError(
            f"{op}: the gradient of output {index} has shape {tuple(gradient.shape)} but the output"
            f" has shape {spec[0]}; give a gradient of that shape"
        )
    return gradient if dtype is None else gradient.astype(dtype)


class GradientComputer:
    """The derivative of one operation, and numerical derivatives (document 002)."""

    @staticmethod
    def compute_gradient(grad_output: Any, input: Tensor, context: Node) -> Tensor | None:
        """The gradient of `input` from that of the output of the operation `context`.

        `context` is the operation's `grad_fn`. Where the input is used several times, its gradients
        are summed; an input that does not require grad has None. Nothing is accumulated or freed.
        Errors: `GradientError` when the operation has no such input, and those of
        `BackwardPass.run_from_node`.

        >>> import ferrograd as fg
        >>> x = fg.tensor(3.0, requires_grad=True)
        >>> fg.GradientComputer.compute_gradient(1.0, x, (x * x).grad_fn).item()
        6.0
        """
        return GradientComputer.compute_gradients(grad_output, [input], context)[0]

    @staticmethod
    def compute_gradients(
        grad_output: Any, inputs: Sequence[Tensor], context: Node
    ) -> list[Tensor | None]:
        """One gradient for each of `inputs`; a tensor may be listed once for each use.

        If the operation has several outputs, `grad_output` is a sequence, with None for a missing
        gradient.
        """
        op = "GradientComputer.compute_gradients"
        if not isinstance(context, Node):
            raise ArgumentTypeError(
                f"{op}: the context is a {type(context).__name__}; pass the grad_fn of a result"
            )
        gradients = _check_gradients(op, context, grad_output)
        recorded = _core.is_grad_enabled() and any(
            g is not None and g.requires_grad for g in gradients
        )
        found = context.vjp(gradients, create_graph=recorded)
        slots = [_find_input_positions(op, context, x) for x in inputs]
        results: list[Tensor | None] = []
        for i, x in enumerate(inputs):
            before = sum(other is x for other in inputs[:i])
            later = any(other is x for other in inputs[i + 1 :])
            mine = slots[i][before : before + 1] if later else slots[i][before:]
            parts = [g for k in mine if (g := found[k]) is not None]
            results.append(_sum_gradients(parts))
        return results

    @staticmethod
    def numerical_gradient(f: Callable[[Tensor], Any], x: Any, epsilon: float = 1e-6) -> Any:
        """The gradient of a scalar function `f(x)` by central differences in float64.

        A float32 `x` is also differentiated in float64, because in float32 a step of 1e-6 is lost
        in rounding. Shape and dtype of the result are those of `x`, which is not changed. For an
        array, `f` is also called with tensors, and the result is an array.
        Errors: `ArgumentError` if `f` returns more than one element, or epsilon is not positive.

        >>> import ferrograd as fg
        >>> g = fg.GradientComputer.numerical_gradient(lambda t: (t * t).sum(), fg.tensor([2.0]))
        >>> round(g.item(), 6)
        4.0
        """
        if not epsilon > 0:
            raise ArgumentError(f"numerical_gradient: epsilon is {epsilon}; give a positive one")
        values = x.detach().numpy() if isinstance(x, Tensor) else np.asarray(x)
        base = np.array(values, dtype=np.float64)
        slope = np.zeros(base.shape)
        for index in np.ndindex(base.shape):
            high, low = base.copy(), base.copy()
            high[index] += epsilon
            low[index] -= epsilon
            slope[index] = (_call_scalar(f, high) - _call_scalar(f, low)) / (
                high[index] - low[index]
            )
        found = slope.astype(values.dtype) if values.dtype.kind == "f" else slope
        return tensor(found) if isinstance(x, Tensor) else found


def _call_scalar(f: Callable[[Tensor], Any], x: np.ndarray) -> float:
    with no_grad():
        y = f(tensor(x))
    if np.size(y.detach().numpy() if isinstance(y, Tensor) else y) != 1:
        raise ArgumentError(
            f"numerical_gradient: the function gives {tuple(np.shape(y))}; reduce it to one element"
        )
    return float(y.item() if isinstance(y, Tensor) else y)


def _sum_gradients(parts: list[Tensor]) -> Tensor | None:
    total: Tensor | None = None
    for part in parts:
        total = part if total is None else total + part
    return total


def _find_input_positions(op: str, context: Node, x: Tensor) -> list[int]:
    """The input positions of an operation at which a tensor is used."""
    if not isinstance(x, Tensor):
        raise ArgumentTypeError(f"{op}: an input is a {type(x).__name__}; pass tensors")
    if not x.requires_grad:
        return []
    node, index = x.grad_fn, x.output_nr
    found = []
    for slot, (source, output) in enumerate(context.next_functions):
        if source is None:
            continue
        same = source.variable is x if node is None else source is node and output == index
        if same:
            found.append(slot)
    if not found:
        raise GradientError(
            f"{op}: a tensor of shape {tuple(x.shape)} is no input of {context!r}; pass the tensors"
            " that the operation was called with"
        )
    return found
