"""Steps of Radau IIA of order 5; each is an implicit function of its start.

Invariant: the stages solve their equation to rounding, so the implicit function theorem holds for
them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd._tensor.closures import snapshot_closure
from ferrograd.hips.misc.flatten import flatten
from ferrograd.hips.tracer import getval
from ferrograd.scipy._conversions import to_array_function
from ferrograd.scipy._implicit import differentiate_implicitly
from ferrograd.transforms import jacobian

_S6 = 6**0.5
#: Places, weights and powers of the polynomial; Hairer and Wanner, Solving Ordinary Differential
#: Equations II, IV.8.
_C = numpy.array([(4 - _S6) / 10, (4 + _S6) / 10, 1.0])
_A = numpy.array(
    [
        [(88 - 7 * _S6) / 360, (296 - 169 * _S6) / 1800, (-2 + 3 * _S6) / 225],
        [(296 + 169 * _S6) / 1800, (88 + 7 * _S6) / 360, (-2 - 3 * _S6) / 225],
        [(16 - _S6) / 36, (16 + _S6) / 36, 1 / 9],
    ]
)
_POWERS = numpy.linalg.inv(_C[:, None] ** numpy.arange(1, 4))

#: Newton's iterations at most; it starts where SciPy's has ended.
_MAX_NEWTON_ITERATIONS = 10


class Radau:
    """The steps for one equation; `sol` is SciPy's solution."""

    def __init__(self, fun: Callable[..., Any], args: tuple[Any, ...], sol: Any) -> None:
        self.fun, self.sol = fun, sol
        self.later = snapshot_closure(fun)
        self.flat, self.unflatten = flatten(args)

    def start(self, t: Any, y: Any) -> Any:
        """The first step needs only the state."""
        return None

    def step(self, k: int, h: Any) -> Callable[..., Any]:
        """The step of this number, which starts from SciPy's stages."""
        known = self.sol.interpolants[k]

        def step(t: Any, y: Any, slope: Any, h: Any, at: Any) -> tuple[Any, Any, Any]:
            return self._step(known, t, y, h, at)

        return step

    def _residual(self, stages: Any, given: Any, fun: Callable[..., Any]) -> Any:
        """`Z - h A F(t + c h, y + Z)` for the stages one after the other."""
        count = np.shape(stages)[0] // 3
        t, h, y = given[0], given[1], given[2 : 2 + count]
        args = self.unflatten(given[2 + count :])
        rows = np.reshape(stages, (3, count))
        slopes = np.stack([fun(t + _C[k] * h, y + rows[k], *args) for k in range(3)])
        return np.ravel(rows - h * (_A @ slopes))

    def _step(self, known: Any, t: Any, y: Any, h: Any, at: Any) -> tuple[Any, Any, Any]:
        """The next state and the states at parts `at` of the step."""
        ends = [np.reshape(np.asarray(v, dtype=float), (1,)) for v in (t, h)]
        given = np.concatenate([*ends, y, self.flat])
        residual = functools.partial(self._residual, fun=self.later)
        found = differentiate_implicitly(
            given, residual, self._solve_stages(known, getval(given), len(y))
        )
        stages = np.reshape(found, (3, -1))
        inside = None
        if at is not None:
            powers = np.stack([at, at**2, at**3], -1)
            inside = list(y + powers @ (_POWERS @ stages))
        return y + stages[-1], None, inside

    def _solve_stages(self, known: Any, given: Any, count: int) -> Any:
        t, h, y = given[0], given[1], given[2 : 2 + count]
        found = numpy.ravel(known(t + _C * h).T - y)

        def equations(z: Any) -> Any:
            return self._residual(z, given, self.fun)

        residual, slopes = to_array_function(equations), to_array_function(jacobian(equations))
        scale = numpy.finfo(float).eps * (1.0 + numpy.abs(y).max(initial=0.0))
        for _ in range(_MAX_NEWTON_ITERATIONS):
            change = numpy.linalg.solve(slopes(found), residual(found))
            found = found - change
            if numpy.abs(change).max(initial=0.0) <= 4 * scale:
                break
        return found
