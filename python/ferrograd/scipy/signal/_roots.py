"""Polynomials from their roots: coefficients, and second-order sections."""

from __future__ import annotations

from typing import Any

import numpy

import ferrograd.numpy as _face
from ferrograd.numpy._tensor_arguments import holds_tensor
from ferrograd.scipy._closed_over import fixed
from ferrograd.scipy._computed_by_scipy import library

np: Any = _face


def coefficients(roots: Any) -> Any:
    """The real polynomial with roots that are real or conjugate pairs, highest power first."""
    found = numpy.ones(1)
    for k in range(np.shape(roots)[0]):
        found = np.concatenate([found, [0.0]]) - roots[k] * np.concatenate([[0.0], found])
    return np.real(found)


def arranged(roots: Any, wanted: Any) -> Any:
    """The roots in the order of the given values; conjugates are ordered by signed zeros."""
    return roots[numpy.array(_taken(_numbers(roots), wanted, set()), int)]


def sections(z: Any, p: Any, k: Any, analog: bool) -> Any:
    """The second-order sections of zeros, poles and a gain, as SciPy pairs them."""
    z, p = _padded(z, p, analog)
    known = [numpy.asarray(_numbers(v)) for v in (z, p, k)]
    table = library("signal.zpk2sos")(*known, analog=analog)
    sides = [
        [_chosen(side, rows) for rows in _owners(numbers, table[:, cut])]
        for side, numbers, cut in ((z, known[0], slice(0, 3)), (p, known[1], slice(3, 6)))
    ]
    rows = [np.concatenate([b, a]) for b, a in zip(*sides, strict=True)]
    gain = np.concatenate([k * numpy.ones(3), numpy.ones(3)])
    return np.stack([rows[0] * gain, *rows[1:]])


def _numbers(value: Any) -> Any:
    value = fixed(value)
    return value.numpy() if holds_tensor([value]) else value


def _padded(z: Any, p: Any, analog: bool) -> tuple[Any, Any]:
    """As many zeros as poles and an even number of them, where they may be added at 0."""
    if analog:
        return z, p
    most = max(len(z), len(p))
    most += most % 2
    return tuple(np.concatenate([v, numpy.zeros(most - len(v))]) for v in (z, p))


def _owners(roots: Any, table: Any) -> list[list[int]]:
    """For each polynomial of a table the roots that it has, each used once."""
    used: set[int] = set()
    return [_taken(roots, numpy.roots(row), used) for row in table]


def _taken(roots: Any, wanted: Any, used: set[int]) -> list[int]:
    """The indices of the roots nearest to the given values, each used once."""
    own = []
    for root in wanted:
        left = (k for k in range(len(roots)) if k not in used)
        own.append(min(left, key=lambda k: abs(roots[k] - root)))
        used.add(own[-1])
    return own


def _chosen(roots: Any, own: list[int]) -> Any:
    found = coefficients(roots[numpy.array(own, int)])
    return np.concatenate([numpy.zeros(3 - len(own) - 1), found])
