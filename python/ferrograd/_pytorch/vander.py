"""Matrices of powers under the name of `torch.linalg`."""

from __future__ import annotations

from typing import Any

from ferrograd._core import Tensor, asarray
from ferrograd._dispatch.composed.polynomials import compute_powers
from ferrograd._pytorch.validate import check_integer
from ferrograd.errors import ShapeError


def vander(x: Any, *, N: int | None = None) -> Tensor:
    """The powers 0 to N - 1 of each element in a further axis: (…, n) to (…, n, N).

    >>> import ferrograd as fg
    >>> fg.linalg.vander([2.0, 3.0], N=3).tolist()
    [[1.0, 2.0, 4.0], [1.0, 3.0, 9.0]]
    """
    x = asarray(x)
    if x.ndim == 0:
        raise ShapeError("vander: x is a number; give vectors (…, n)")
    return compute_powers(x, x.shape[-1] if N is None else check_integer("vander", "N", N))
