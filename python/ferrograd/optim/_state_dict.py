"""Saving and loading the state of optimisers: copies, and formats of other libraries.

Invariant: state that a rule of the core reads has the dtype of its parameter, and a step count is a
float64 tensor. Other state has the shape and dtype with which it was saved.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd._core import Tensor, tensor, view_as_complex
from ferrograd._tensor.pytree import flatten
from ferrograd.errors import ArgumentError

#: The state of one parameter.
State = dict[str, Any]


def copy_tensors(value: Any) -> Any:
    """The value with copies of its tensors, without their history, and of its containers."""
    leaves, tree = flatten(value)
    return tree.unflatten(
        leaf.detach().clone() if isinstance(leaf, Tensor) else leaf for leaf in leaves
    )


def load_value(value: Any) -> Any:
    """The value of a loaded entry of any kind: arrays become tensors."""
    if not hasattr(value, "shape") or isinstance(value, np.generic):
        return copy_tensors(value)
    return tensor(value if isinstance(value, Tensor) else np.asarray(value))


def load_param_value(op: str, key: str, value: Any, p: Tensor) -> Any:
    """The value of a loaded entry that a rule of the core reads, in the dtype of its parameter."""
    if not hasattr(value, "shape") or isinstance(value, np.generic):
        return value
    array = value if isinstance(value, Tensor) else np.asarray(value)
    if tuple(array.shape) == () != tuple(p.shape):
        return tensor(array)
    if p.dtype.kind == "c" and tuple(array.shape) == (*p.shape, 2):
        return view_as_complex(tensor(array, dtype=p.real.dtype))
    if tuple(array.shape) != tuple(p.shape):
        raise ArgumentError(
            f"{op}: {key} has shape {tuple(array.shape)} but its parameter {tuple(p.shape)}"
        )
    return tensor(array, dtype=p.dtype)


def share_step_counts(states: list[State], names: tuple[str, ...]) -> None:
    """Converts loaded counts to float64 tensors; equal counts share one tensor."""
    known: dict[tuple[float, ...], dict[str, Tensor]] = {}
    for state in states:
        if all(name in state for name in names):
            numbers = tuple(float(state[name]) for name in names)
            if numbers not in known:
                made = (tensor(number, dtype="float64") for number in numbers)
                known[numbers] = dict(zip(names, made, strict=True))
            state.update(known[numbers])
