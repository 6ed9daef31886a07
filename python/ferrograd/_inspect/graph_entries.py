"""The entries of a graph: operations and the tensors between them.

Invariant: a tensor has one `Value` in a graph, even if it is used several times.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ferrograd._core import Node, Tensor, _WeakNode


class Value:
    """A tensor in a graph: an input or an output of operations."""

    __slots__ = ("_label", "_tensor", "dtype", "index", "produced", "requires_grad", "shape")

    def __init__(self, index: int, tensor: Tensor | None, label: str | None = None) -> None:
        self.index = index
        self.produced = False
        self._label = label
        self._tensor = None if tensor is None else weakref.ref(tensor)
        self.shape = None if tensor is None else tuple(tensor.shape)
        self.dtype = None if tensor is None else tensor.dtype
        self.requires_grad = True if tensor is None else tensor.requires_grad
        if tensor is not None and label is None:
            self._label = tensor.name

    @property
    def tensor(self) -> Tensor | None:
        """The tensor, while its object lives."""
        return None if self._tensor is None else self._tensor()

    @property
    def name(self) -> str | None:
        """The tensor's name, or the last one known."""
        tensor = self.tensor
        if tensor is not None and tensor.name is not None:
            self._label = tensor.name
        return self._label

    def __str__(self) -> str:
        parts = [f"%{self.index}"]
        if self.name:
            parts.append(self.name)
        if self.shape is not None:
            parts.append(f"{self.shape} {self.dtype}")
        return " ".join(parts)

    def __repr__(self) -> str:
        return f"<Value {self}>"


class Operation:
    """One operation of a graph.

    `name`, `attrs` (a dict), `inputs` and `outputs` (tuples of `Value`), `recorded` (whether it
    made a node), `inside` (whether the forward of a custom function called it), `node`.
    """

    __slots__ = ("_node", "attrs", "index", "inputs", "inside", "name", "outputs", "recorded")

    def __init__(
        self,
        index: int,
        name: str,
        attrs: dict[str, Any],
        inputs: tuple[Value, ...],
        outputs: tuple[Value, ...],
        node: Callable[[], Node | None] | None,
        inside: bool = False,
    ) -> None:
        self.index = index
        self.name = name
        self.attrs = attrs
        self.inputs = inputs
        self.outputs = outputs
        self.inside = inside
        self.recorded = node is not None
        self._node = node

    @property
    def node(self) -> Node | None:
        """The recorded node, while something keeps it alive."""
        return None if self._node is None else self._node()

    def __str__(self) -> str:
        attrs = ", ".join(f"{key}={value}" for key, value in self.attrs.items())
        inputs = ", ".join(f"%{value.index}" for value in self.inputs)
        outputs = ", ".join(str(value) for value in self.outputs) or "()"
        marks = "" if self.recorded else "  (not recorded)"
        arguments = f"{inputs}; {attrs}" if attrs else inputs
        return f"{outputs} = {self.name}({arguments}){marks}"

    def __repr__(self) -> str:
        return f"<Operation {self}>"


def convert_attributes(given: Any) -> dict[str, Any]:
    """Attributes of any form as a dict."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return dict(given)
    if hasattr(given, "_asdict"):
        return dict(given._asdict())
    if hasattr(given, "__dataclass_fields__"):
        return {key: getattr(given, key) for key in given.__dataclass_fields__}
    if hasattr(given, "__dict__"):
        return dict(vars(given))
    return {"attrs": given}


def abbreviate_attribute(value: Any) -> Any:
    """A short form of an attribute, with the shape in place of an array."""
    if isinstance(value, np.ndarray):
        return f"array{value.shape}"
    return value


def make_weak_node(outputs: list[Tensor]) -> Callable[[], Node | None] | None:
    """A weak reference to the node that made the first recorded output."""
    for tensor in outputs:
        if tensor.grad_fn is not None:
            return _WeakNode(tensor)
    return None
