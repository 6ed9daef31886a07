"""Functions of single elements: `vectorize` and `ndenumerate` for tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ferrograd._core import Tensor, asarray, broadcast_to, stack
from ferrograd._dispatch.c_function_hints import NDITER_REMEDY
from ferrograd.errors import ArgumentError, NotDifferentiableError
from ferrograd.numpy._tensor_arguments import holds_tensor


class vectorize(np.vectorize):  # noqa: N801
    """NumPy's class, also for tensors: the function is then called with tensors of one element."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function of every element of the broadcast arguments."""
        if not holds_tensor([*args, *kwargs.values()]):
            return super().__call__(*args, **kwargs)
        if getattr(self, "signature", None) is not None:
            raise ArgumentError(
                "vectorize: signature= cannot be used with tensors; call the function on slices"
            )
        excluded: set[Any] = getattr(self, "excluded", set())
        places = [k for k in range(len(args)) if k not in excluded]
        names = [k for k in kwargs if k not in excluded]
        varied = [asarray(args[k]) for k in places] + [asarray(kwargs[k]) for k in names]
        shape = np.broadcast_shapes(*(tuple(v.shape) for v in varied))
        columns = [broadcast_to(v, shape).reshape(-1) for v in varied]
        results = []
        for row in zip(*columns, strict=True):
            given, named = list(args), dict(kwargs)
            for k, value in zip(places, row[: len(places)], strict=True):
                given[k] = value
            named.update(zip(names, row[len(places) :], strict=True))
            results.append(self.pyfunc(*given, **named))
        return _stack_results(results, shape)


def _stack_results(results: list[Any], shape: tuple[int, ...]) -> Any:
    """The results in the shape of the arguments, one tensor for each output."""
    if not results:
        raise ValueError("vectorize: no elements; pass arrays that are not empty")
    if isinstance(results[0], tuple):
        return tuple(_stack_results(list(column), shape) for column in zip(*results, strict=True))
    return stack([asarray(value) for value in results]).reshape(shape)


class ndenumerate:  # noqa: N801
    """Pairs of an index and the element there, as NumPy's."""

    def __new__(cls, arr: Any) -> Any:
        """An iterator."""
        return _iter_pairs(arr) if isinstance(arr, Tensor) else np.ndenumerate(arr)


def _iter_pairs(arr: Tensor) -> Iterator[tuple[tuple[int, ...], Any]]:
    for index in np.ndindex(*arr.shape):
        yield index, arr[index]


class nditer:  # noqa: N801
    """NumPy's iterator over arrays; tensors are refused, and the error says what to write."""

    def __new__(cls, op: Any, *args: Any, **kwargs: Any) -> Any:
        """An iterator of NumPy's."""
        if holds_tensor(op):
            raise NotDifferentiableError(f"numpy.nditer: it reads no tensors; {NDITER_REMEDY}")
        return np.nditer(op, *args, **kwargs)
