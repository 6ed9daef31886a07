"""Steps of the explicit Runge-Kutta methods, composed of operations.

The coefficients are those of SciPy's classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd.numpy as np
from ferrograd.scipy._scipy_primitives import get_scipy_function


class ExplicitRungeKutta:
    """The steps of one method for one equation."""

    def __init__(self, method: str, fun: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.table = get_scipy_function(f"integrate.{method}")
        self.fun, self.args = fun, args
        self.inside = (
            self._interpolate_dop853 if method == "DOP853" else self._interpolate_polynomial
        )

    def slope(self, t: Any, y: Any) -> Any:
        """The right-hand side as an array or a tensor."""
        return self.fun(t, y, *self.args)

    #: The derivative at the start, for the first step.
    start = slope

    def step(self, k: int, h: Any) -> Callable[..., Any]:
        """The step itself; all are one rule."""
        return self._step

    def _step(self, t: Any, y: Any, slope: Any, h: Any, at: Any) -> tuple[Any, Any, Any]:
        """The next state, its slope, and the states at parts `at` of the step."""
        table, stages = self.table, [slope]
        for weights, c in zip(table.A[1:], table.C[1:], strict=True):
            stages.append(self._compute_stage(t, y, h, stages, weights, c))
        after = y + h * _combine_stages(table.B, stages)
        last = self.slope(t + h, after)
        stages.append(last)
        inside = None if at is None else self.inside(t, y, h, stages, after, at)
        return after, last, inside

    def _compute_stage(
        self, t: Any, y: Any, h: Any, stages: list[Any], weights: Any, c: Any
    ) -> Any:
        count = len(stages)
        return self.slope(t + float(c) * h, y + h * _combine_stages(weights[:count], stages))

    def _interpolate_polynomial(
        self, t: Any, y: Any, h: Any, stages: list[Any], after: Any, at: Any
    ) -> Any:
        """The interpolant of the method: powers of the part, times mixed stages."""
        table = self.table
        rows = np.tensordot(table.P.T, np.stack(stages), 1)
        powers = np.stack([at**k for k in range(1, table.P.shape[1] + 1)], -1)
        return list(y + h * (powers @ rows))

    def _interpolate_dop853(
        self, t: Any, y: Any, h: Any, stages: list[Any], after: Any, at: Any
    ) -> Any:
        """The interpolant of order 7: nested products of the part and its rest."""
        table, stages = self.table, list(stages)
        slope, last = stages[0], stages[-1]
        for weights, c in zip(table.A_EXTRA, table.C_EXTRA, strict=True):
            stages.append(self._compute_stage(t, y, h, stages, weights, c))
        change = after - y
        rows = [change, h * slope - change, 2 * change - h * (last + slope)]
        rows.extend(h * np.tensordot(table.D, np.stack(stages), 1))
        part = at[:, None]
        found = 0.0 * part
        for i, row in enumerate(reversed(rows)):
            found = (found + row) * (part if i % 2 == 0 else 1 - part)
        return list(y + found)


def _combine_stages(weights: Any, stages: list[Any]) -> Any:
    """The weighted sum of the stages."""
    return np.tensordot(weights[: len(stages)], np.stack(stages), 1)
