"""Queries about values under differentiation, and traces of the operations of a function.

Invariant: a trace lists the operations of a function in the order of their calls, without those of
backward passes.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from ferrograd._core import Tensor, _observe, _unobserve, is_grad_enabled, tensor
from ferrograd._dispatch.detach import detach_tensors
from ferrograd._inspect.graph_entries import convert_attributes
from ferrograd._inspect.warn import warn_user
from ferrograd.extend import (
    Box as Box,
    notrace_primitive as notrace_primitive,
    primitive as primitive,
    register_notrace as register_notrace,
)


def isbox(x: Any) -> bool:
    """Whether operations on this value are recorded."""
    return isinstance(x, Tensor) and bool(x.requires_grad) and is_grad_enabled()


def getval(x: Any) -> Any:
    """The value without its history: an array, or a float without axes."""
    if not isinstance(x, Tensor):
        return x
    found = x.detach().numpy()
    return found if found.ndim else found[()]


class Node:
    """One operation of a trace; derive a class that keeps the needed data.

    Its `__init__` takes the value, the operation (`__name__` is its name), its arguments and
    keywords as values, the positions of arguments from other nodes, and these nodes. The members of
    a list of tensors are separate arguments. `initialize_root` takes the arguments of `new_root`.
    """

    __slots__ = ()

    def __init__(
        self,
        value: Any,
        fun: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        parent_argnums: tuple[int, ...],
        parents: tuple[Any, ...],
    ) -> None:
        raise NotImplementedError("Node: define __init__ in a class of your own")

    def initialize_root(self, *args: Any, **kwargs: Any) -> None:
        """Sets the attributes of the root node."""
        raise NotImplementedError("Node: define initialize_root in a class of your own")

    @classmethod
    def new_root(cls, *args: Any, **kwargs: Any) -> Self:
        """The node of the input."""
        root = cls.__new__(cls)
        root.initialize_root(*args, **kwargs)
        return root


def trace(start_node: Any, fun: Callable[[Any], Any], x: Any) -> tuple[Any, Any]:
    """`(value, node)` of a function of one array, with a node of the class of `start_node` for
    every operation that depends on `x`; the node is None where the result does not.

    >>> from ferrograd.tracer import Node, trace
    >>> class Named(Node):
    ...     def __init__(self, value, fun, args, kwargs, parent_argnums, parents):
    ...         self.text = f"{fun.__name__}({', '.join(p.text for p in parents)})"
    ...     def initialize_root(self):
    ...         self.text = "x"
    >>> trace(Named.new_root(), lambda x: (x * x).sum(), [1.0, 2.0])[1].text
    'sum(multiply(x, x))'
    """
    start = tensor(np.asarray(getval(x)))
    start.requires_grad = start.dtype.kind == "f"
    #: Tensors are kept until the end, so that no two share an identity.
    nodes: dict[int, tuple[Tensor, Any]] = {id(start): (start, start_node)}

    def observe_call(name: str, arguments: Any, given: Any, result: Any, inside: bool) -> None:
        values: list[Any] = []
        for value in (*arguments, *convert_attributes(given).values()):
            several = isinstance(value, list | tuple) and any(id(v) in nodes for v in value)
            values.extend(value if several else [value])
        found = [(k, nodes[id(a)][1]) for k, a in enumerate(values) if id(a) in nodes]
        for part in result if isinstance(result, tuple | list) else (result,):
            if found and not inside and isinstance(part, Tensor):
                argnums, parents = zip(*found, strict=True)
                operation = SimpleNamespace(__name__=name)
                args = tuple(getval(value) for value in detach_tensors(values))
                node = type(start_node)(getval(part), operation, args, {}, argnums, parents)
                nodes[id(part)] = (part, node)

    _observe(observe_call)
    try:
        out = fun(start)
    finally:
        _unobserve(observe_call)
    if id(out) not in nodes:
        warn_user("trace: the result does not depend on the input", UserWarning)
        return getval(out), None
    return getval(out), nodes[id(out)][1]
