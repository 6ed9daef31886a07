"""The copy protocols of Python and NumPy for tensors.

Invariant: a tensor that is being differentiated is copied to a tensor with the same history, any
other leaf to a leaf, and a value to a value.
"""

from __future__ import annotations

import copy
from typing import Any

from ferrograd import _core
from ferrograd._core import Tensor, _has_history, _is_recording_program
from ferrograd._tensor import creation
from ferrograd._tensor.array_recording import is_repetition


def __copy__(self: Tensor) -> Tensor:  # noqa: N807
    """`copy.copy(t)`: copies the elements, and keeps the attributes of a subclass."""
    return self.clone() if _is_copied_by_clone(self) else _copy_leaf(self, None)


def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:  # noqa: N807
    """`copy.deepcopy(t)`: the same, with copies of the attributes."""
    return self.clone() if _is_copied_by_clone(self) else _copy_leaf(self, memo)


def _is_copied_by_clone(tensor: Tensor) -> bool:
    """Whether a clone is the copy: in the graph, in a recorded program, and of a plain number.

    A clone of something without axes is a value or memory as its source is.
    """
    if _has_history(tensor) or (tensor.requires_grad and is_repetition()):
        return True
    number = tensor.ndim == 0 and not tensor.requires_grad and tensor.name is None
    return type(tensor) is Tensor and (number or _is_recording_program())


def _copy_leaf(tensor: Tensor, memo: dict[int, Any] | None) -> Tensor:
    """A leaf with the same elements, state and attributes; with a memo, attributes are copied."""
    reduced: Any = tensor.__reduce_ex__(4)
    rebuild, parts, *rest = reduced
    made: Tensor = rebuild(*parts)
    state = rest[0] if rest else None
    if memo is not None:
        memo[id(tensor)] = made
        state = copy.deepcopy(state, memo)
    if state is not None:
        _set_state(made, state)
    return made


def _set_state(made: Any, state: Any) -> None:
    """Sets the state of an object, as `pickle` does."""
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
        return
    members, slots = state if isinstance(state, tuple) else (state, None)
    vars(made).update(members or {})
    for name, value in (slots or {}).items():
        setattr(made, name, value)


def full_like(self: Tensor, fill_value: Any, dtype: Any = None, **options: Any) -> Any:
    """One repeated number, or values that broadcast, in the shape and dtype of this tensor."""
    if options:
        return _core._full_like(self, fill_value, dtype, **options)
    return creation.full_like(self, fill_value, dtype=dtype)
