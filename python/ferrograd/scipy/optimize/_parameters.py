"""A function of a point and of parameters, as SciPy and as the implicit function theorem see it.

Invariant: SciPy gets arrays, and a parameter that the theorem would not see is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd._core import Tensor, is_grad_enabled
from ferrograd._tensor.closures import LaterFunction
from ferrograd._tensor.modes import no_grad
from ferrograd.errors import NotDifferentiableError
from ferrograd.hips.misc.flatten import flatten
from ferrograd.hips.tracer import getval
from ferrograd.scipy._closed_over import on_arrays, plain, refuse_closure
from ferrograd.scipy._implicit import solution


class Problem:
    """`fun(x, *args)` with the parameters in a vector and `x` in the shape of `x0`.

    `x` has at least `least` axes.
    """

    def __init__(
        self, name: str, fun: Callable[..., Any], x0: Any, args: Any, least: int = 0
    ) -> None:
        self.name, self.fun = name, LaterFunction(fun)
        self.args = args if isinstance(args, tuple) else (args,)
        start = plain(x0)
        self.start = start if start.ndim >= least else start.reshape((1,) * least)
        self.shape = self.start.shape
        self.flat, self._unflatten = flatten(self.args)
        self.known = getval(self.flat)
        if is_grad_enabled():
            refuse_closure(name, np.asarray(self(self.start, self.known)))

    @property
    def recorded(self) -> bool:
        """Whether a parameter is a tensor."""
        return isinstance(self.flat, Tensor)

    def __call__(self, x: Any, flat: Any) -> Any:
        """The function of a point in its original shape."""
        return self.fun(x, *self._unflatten(flat))

    def residual(self, x: Any, flat: Any) -> Any:
        """The function as a vector of a vector."""
        return np.ravel(np.asarray(self(np.reshape(x, self.shape), flat)))

    def on_arrays(self, function: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
        """A function of the point and the vector, at the known parameters, for SciPy."""
        return on_arrays(lambda x: function(x, self.known))

    def given(self, derivative: Any) -> Any:
        """A derivative passed by the caller, with the parameters bound."""
        if not callable(derivative):
            return derivative
        args = self._unflatten(self.known)
        return on_arrays(lambda x, *more: derivative(x, *more, *args))

    def pair(self, function: Callable[..., Any]) -> Callable[[Any], tuple[float, Any]]:
        """The caller's function of a value and a gradient, with the parameters bound."""
        args = self._unflatten(self.known)

        def both(x: Any) -> tuple[float, Any]:
            with no_grad():
                value, slope = function(np.reshape(x, self.shape), *args)
            return float(plain(value)), plain(slope).ravel()

        return both

    def solved(self, residual: Callable[[Any, Any], Any], found: Any) -> Any:
        """The solution as a function of the parameters: a vector equation of a vector."""
        self.fun.recorded()
        return solution(self.flat, residual, numpy.asarray(found, dtype=float))

    def refuse(self, what: str, remedy: str) -> None:
        """Refuses an option that leaves no equation to differentiate."""
        raise NotDifferentiableError(
            f"{self.name}: {what} has no derivative here; {remedy}; see docs/optimisation.md"
        )
