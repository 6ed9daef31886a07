"""`Parameter` and `Buffer`: tensors that a module registers automatically.

Invariant: a parameter is a leaf of a float or complex dtype.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ferrograd._core import Tensor, get_default_dtype
from ferrograd.errors import ArgumentTypeError, DTypeError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class Parameter(Tensor):
    """A leaf that requires grad; an assignment to an attribute of a module registers it.

    `data` (a tensor, an array or nested sequences) is copied; integers become the default float.
    Errors: `DTypeError` for a dtype that is neither float nor complex, `ArgumentTypeError` for
    None.

    >>> import ferrograd as fg
    >>> w = fg.nn.Parameter([[1.0, 2.0]])
    >>> w.is_leaf, w.requires_grad, w.shape
    (True, True, (1, 2))
    """

    #: The layout of the fans, "in_out" or "out_in", if the layer defines it; see `init`.
    fan_layout: str | None = None
    #: The `init` function that initialised it in its layer, with its arguments.
    start: tuple[str, tuple[float, ...]] | None = None

    def __new__(
        cls,
        data: Any,
        requires_grad: bool = True,
        *,
        dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> Self:
        """Copies the data and remembers this object as the leaf's."""
        if data is None:
            raise ArgumentTypeError(f"{cls.__name__}: the data is None; pass a tensor or an array")
        if dtype is None:
            # The dtype of another library's tensor is not a NumPy dtype.
            own = data.dtype if isinstance(data, (Tensor, np.ndarray)) else np.asarray(data).dtype
            if own.kind not in "fc":
                dtype = get_default_dtype()
        elif np.dtype(dtype).kind not in "fc":
            raise DTypeError(
                f"{cls.__name__}: dtype {np.dtype(dtype)} is not supported; use a float dtype, or a"
                " complex one"
            )
        self = super().__new__(cls, data, dtype=dtype, name=name)
        self.requires_grad_(requires_grad)
        return self

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


class Buffer(Tensor):
    """A tensor that is not a parameter; an assignment to an attribute of a module registers it.

    `data` is copied. With `persistent=False` it is left out of `state_dict`.

    >>> import ferrograd as fg
    >>> class Counted(fg.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.calls = fg.nn.Buffer(fg.zeros(1))
    >>> [name for name, _ in Counted().named_buffers()]
    ['calls']
    """

    persistent: bool

    def __new__(
        cls,
        data: Any,
        *,
        persistent: bool = True,
        dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> Self:
        """Copies the data."""
        if data is None:
            raise ArgumentTypeError(f"{cls.__name__}: the data is None; pass a tensor or an array")
        self = super().__new__(cls, data, dtype=dtype, name=name)
        self.persistent = persistent
        return self


def describe_object(value: Any) -> str:
    """A description for messages of an object that is not a parameter."""
    if value is None:
        return "None"
    if isinstance(value, Tensor):
        return "a tensor with history" if not value.is_leaf else "a tensor without requires_grad"
    return f"a {type(value).__name__}"
