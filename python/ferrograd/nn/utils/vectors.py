"""Parameters as one vector, and back.

Invariant: the order is that of the parameters, each in C order.
"""

from __future__ import annotations

from collections.abc import Iterable

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd.errors import ArgumentTypeError, ShapeError
from ferrograd.nn.utils.clipping import list_tensors


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements one after another, with the history of the parameters.

    >>> import ferrograd as fg
    >>> layer = fg.nn.Linear(2, 3)
    >>> fg.nn.utils.parameters_to_vector(layer.parameters()).shape
    (9,)
    """
    return _core.concatenate(
        [p.reshape(-1) for p in list_tensors("parameters_to_vector", parameters)]
    )


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Copies the parts of a vector into the parameters, in place.

    Errors: `ShapeError` for another number of elements; then nothing is changed.

    >>> import ferrograd as fg
    >>> layer = fg.nn.Linear(2, 1)
    >>> fg.nn.utils.vector_to_parameters(fg.arange(3.0), layer.parameters())
    >>> layer.bias.tolist()
    [2.0]
    """
    if not isinstance(vec, Tensor):
        raise ArgumentTypeError(
            f"vector_to_parameters: the vector is a {type(vec).__name__}; pass a tensor"
        )
    given = list_tensors("vector_to_parameters", parameters)
    total = sum(int(p.size) for p in given)
    if tuple(vec.shape) != (total,):
        raise ShapeError(
            f"vector_to_parameters: a vector of shape {tuple(vec.shape)} for {total} elements;"
            f" give ({total},)"
        )
    start = 0
    for p in given:
        size = int(p.size)
        p.data = vec.detach()[start : start + size].reshape(p.shape).astype(p.dtype)
        start += size
