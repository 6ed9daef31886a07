"""`pure_callback`: a Python function that a compiled function calls.

Invariant: the results have the declared shapes and dtypes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ferrograd import _core
from ferrograd._compile.host_call import current_argument, record_argument
from ferrograd._core import Tensor
from ferrograd._tensor.creation import parse_shape
from ferrograd._tensor.pytree import Tree, flatten
from ferrograd.errors import (
    ArgumentTypeError,
    DTypeError,
    NotDifferentiableError,
    ShapeError,
)

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class ShapeDtypeStruct:
    """A shape and a dtype without elements: the declaration of a result of `pure_callback`.

    >>> import ferrograd as fg
    >>> fg.ShapeDtypeStruct((2, 3), "float64")
    ShapeDtypeStruct(shape=(2, 3), dtype=float64)
    """

    def __init__(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> None:
        self.shape = parse_shape("ShapeDtypeStruct", (shape,))
        self.dtype = np.dtype(dtype)

    def __repr__(self) -> str:
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype})"


class _ResultSpec(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def pure_callback(
    callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, **kwargs: Any
) -> Any:
    """Calls `callback(*args, **kwargs)` with arrays in place of tensors.

    Outside compiled functions it is called at once. A compiled function calls it in every call,
    with the values of that call. Use it for NumPy, SciPy and other code that reads values. The
    callback should depend only on its arguments and have no side effects, because it may be called
    again when a call is repeated.

    Shapes and dtypes: `result_shape_dtypes` is a tree of tensors, arrays or `ShapeDtypeStruct`s;
    the callback returns such a tree of arrays or numbers, and the results are tensors.
    Errors: `ShapeError` and `DTypeError` for results that differ from the declaration;
    `NotDifferentiableError` if a derivative is needed: write a `fg.Function`.

    >>> import numpy as np
    >>> import ferrograd as fg
    >>> def middle(x):
    ...     return fg.pure_callback(np.median, fg.ShapeDtypeStruct((), "float64"), x) * 2.0
    >>> fg.compile(middle)(np.array([1.0, 5.0, 3.0]))
    np.float64(6.0)
    """
    if not callable(callback):
        raise ArgumentTypeError(
            f"pure_callback: callback is a {type(callback).__name__}; pass a function"
        )
    declared, results = flatten(result_shape_dtypes)
    call = _CallbackCall(
        callback, args, kwargs, results, [_parse_result_spec(leaf) for leaf in declared]
    )
    tensors = [leaf for leaf in call.leaves if isinstance(leaf, Tensor)]
    if _core.is_grad_enabled() and any(t.requires_grad for t in tensors):
        raise NotDifferentiableError(
            "pure_callback: an argument requires grad, and Python code has no derivative; pass"
            " x.detach(), or write a fg.Function with a backward"
        )
    call.drop_tensors()
    return results.unflatten(_core._call_foreign("pure_callback", call, tensors))


def _parse_result_spec(leaf: Any) -> _ResultSpec:
    try:
        return _ResultSpec(tuple(leaf.shape), np.dtype(leaf.dtype))
    except (AttributeError, TypeError):
        raise ArgumentTypeError(
            f"pure_callback: result_shape_dtypes holds a {type(leaf).__name__}; give a"
            " fg.ShapeDtypeStruct(shape, dtype) for each result"
        ) from None


class _CallbackCall:
    """A callback that is called with new tensors each time."""

    def __init__(
        self,
        callback: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        results: Tree,
        declared: list[_ResultSpec],
    ) -> None:
        self._callback = callback
        self.leaves, self._tree = flatten((args, kwargs))
        self._results = results
        self._declared = declared

    def drop_tensors(self) -> None:
        """Replaces tensors among the arguments by placeholders."""
        self._tree = self._tree.without_items()
        self.leaves = [
            Tensor if isinstance(leaf, Tensor) else record_argument(leaf) for leaf in self.leaves
        ]

    def __call__(self, _shared: dict[Any, Any], *tensors: Tensor) -> list[Tensor]:
        arrays = (each.numpy(writable=True) for each in tensors)
        leaves = [
            next(arrays) if leaf is Tensor else current_argument(leaf) for leaf in self.leaves
        ]
        args, kwargs = self._tree.unflatten(leaves)
        found, tree = flatten(self._callback(*args, **kwargs))
        if tree != self._results:
            raise ShapeError(
                f"pure_callback: the callback gave {len(found)} results in the structure {tree},"
                f" and {len(self._declared)} were declared in the structure {self._results};"
                " return what result_shape_dtypes says"
            )
        return [self._check_result(*each) for each in enumerate(found)]

    def _check_result(self, number: int, found: Any) -> Tensor:
        shape, dtype = self._declared[number]
        values = found.detach().numpy() if isinstance(found, Tensor) else np.asarray(found)
        if values.shape != shape:
            raise ShapeError(
                f"pure_callback: result {number} has shape {values.shape}, and {shape} was"
                " declared; return what result_shape_dtypes says"
            )
        if not isinstance(found, int | float) and values.dtype != dtype:
            raise DTypeError(
                f"pure_callback: result {number} is {values.dtype}, and {dtype} was declared;"
                " return what result_shape_dtypes says, or convert it with astype"
            )
        return _core.tensor(values, dtype=dtype)
