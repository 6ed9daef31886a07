"""Polynomials from their roots: coefficients, and second-order sections."""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as _ferrograd_numpy
from ferrograd.numpy._tensor_arguments import holds_tensor
from ferrograd.scipy._conversions import detach
from ferrograd.scipy._scipy_primitives import get_scipy_function

np: Any = _ferrograd_numpy


def compute_coefficients(roots: Any) -> Any:
    """The real polynomial with roots that are real or conjugate pairs, highest power first."""
    found = numpy.ones(1)
    for k in range(np.shape(roots)[0]):
        found = np.concatenate([found, [0.0]]) - roots[k] * np.concatenate([[0.0], found])
    return np.real(found)


def sort_roots(roots: Any, wanted: Any) -> Any:
    """The roots in the order of the given values; conjugates are ordered by signed zeros."""
    return roots[numpy.array(_match_roots(_to_numbers(roots), wanted, set()), int)]


def make_sections(z: Any, p: Any, k: Any, analog: bool) -> Any:
    """The second-order sections of zeros, poles and a gain, as SciPy pairs them."""
    z, p = _pad_roots(z, p, analog)
    known = [numpy.asarray(_to_numbers(v)) for v in (z, p, k)]
    table = get_scipy_function("signal.zpk2sos")(*known, analog=analog)
    sides = [
        [_make_section_polynomial(side, rows) for rows in _assign_roots(numbers, table[:, cut])]
        for side, numbers, cut in ((z, known[0], slice(0, 3)), (p, known[1], slice(3, 6)))
    ]
    rows = [np.concatenate([b, a]) for b, a in zip(*sides, strict=True)]
    gain = np.concatenate([k * numpy.ones(3), numpy.ones(3)])
    return np.stack([rows[0] * gain, *rows[1:]])


def _to_numbers(value: Any) -> Any:
    value = detach(value)
    return value.numpy() if holds_tensor([value]) else value


def _pad_roots(z: Any, p: Any, analog: bool) -> tuple[Any, Any]:
    """Pads zeros and poles of a digital filter with 0 to equal, even numbers."""
    if analog:
        return z, p
    most = max(len(z), len(p))
    most += most % 2
    return tuple(np.concatenate([v, numpy.zeros(most - len(v))]) for v in (z, p))


def _assign_roots(roots: Any, table: Any) -> list[list[int]]:
    """Assigns to each polynomial of a table its roots; each root is used once."""
    used: set[int] = set()
    return [_match_roots(roots, numpy.roots(row), used) for row in table]


def _match_roots(roots: Any, wanted: Any, used: set[int]) -> list[int]:
    """The indices of the roots nearest to the given values, each used once."""
    own = []
    for root in wanted:
        left = (k for k in range(len(roots)) if k not in used)
        own.append(min(left, key=lambda k: abs(roots[k] - root)))
        used.add(own[-1])
    return own


def _make_section_polynomial(roots: Any, own: list[int]) -> Any:
    found = compute_coefficients(roots[numpy.array(own, int)])
    return np.concatenate([numpy.zeros(3 - len(own) - 1), found])
