"""Common options of the functions of `scipy.linalg`."""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.errors import ArgumentError, NotDifferentiableError
from ferrograd.scipy._conversions import detach

_IGNORED_OPTIONS = {
    "overwrite_a",
    "overwrite_b",
    "overwrite_ab",
    "lapack_driver",
    "driver",
    "lwork",
}


def check_options(name: str, options: dict[str, Any], *arrays: Any) -> None:
    """Raises for unsupported options; those about memory and drivers are ignored.

    `check_finite=True` checks the arrays. Unlike in SciPy, it is off by default: a factorisation
    refuses infinities and NaN itself.
    """
    for key, value in options.items():
        if key == "check_finite":
            if value:
                _check_finite(name, arrays)
        elif key not in _IGNORED_OPTIONS and value is not None and value is not False:
            raise NotDifferentiableError(
                f"scipy.linalg.{name}: {key}={value!r} has no derivative here; leave it out"
            )


def _check_finite(name: str, arrays: tuple[Any, ...]) -> None:
    for k, a in enumerate(arrays):
        if a is not None and not numpy.isfinite(numpy.asarray(detach(a))).all():
            raise ArgumentError(
                f"scipy.linalg.{name}: array {k} holds infinities or NaN, and check_finite is"
                " True; check where the values come from"
            )


def select_eigenvalues(values: Any, vectors: Any, index: Any, value: Any) -> Any:
    """The eigenvalues of a constant subset, and their eigenvectors if computed."""
    if index is not None and value is not None:
        raise ArgumentError("eigh: a subset by index and one by value were given; give one of them")
    if index is not None:
        first, last = map(int, index)
        size = np.shape(values)[-1]
        if not 0 <= first <= last < size:
            raise ArgumentError(
                f"eigh: the subset from {first} to {last} of {size} eigenvalues; give two numbers"
                f" from 0 to {size - 1} in ascending order"
            )
        kept: Any = slice(first, last + 1)
    elif value is not None:
        low, high = value
        known = numpy.asarray(detach(values))
        kept = (known > low) & (known <= high)
    else:
        kept = slice(None)
    return values[..., kept] if vectors is None else (values[..., kept], vectors[..., kept])


def compute_rank(name: str, a: Any, atol: Any, rtol: Any) -> tuple[int, float]:
    """The number of singular values above `atol + rtol * s[0]`, and that bound over `s[0]`."""
    known = numpy.asarray(detach(np.asarray(a)))
    if known.ndim != 2:
        raise ArgumentError(
            f"scipy.linalg.{name}: atol or return_rank with an array of {known.ndim} dimensions;"
            " give one matrix"
        )
    values = numpy.linalg.svdvals(known)
    if rtol is None:
        eps = numpy.finfo(values.dtype).eps
        rtol = 0.0 if atol is not None else max(known.shape[-2:]) * float(eps)
    top = float(values[0]) if len(values) else 0.0
    least = rtol + (atol / top if atol and top else 0.0)
    return int((values > least * top).sum()), least
