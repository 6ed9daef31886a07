"""A function of a point and of parameters, as SciPy and as the implicit function theorem see it.

Invariant: SciPy gets arrays, and a parameter that the theorem would not see is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd._core import Tensor, is_grad_enabled
from ferrograd._tensor.closures import DeferredFunction
from ferrograd._tensor.modes import no_grad
from ferrograd.errors import NotDifferentiableError
from ferrograd.hips.misc.flatten import flatten
from ferrograd.hips.tracer import getval
from ferrograd.scipy._conversions import check_closure, to_array_function, to_float_array
from ferrograd.scipy._implicit import differentiate_implicitly


class Problem:
    """`fun(x, *args)` with the parameters in a vector and `x` in the shape of `x0`.

    `x` has at least `least` axes.
    """

    def __init__(
        self, name: str, fun: Callable[..., Any], x0: Any, args: Any, least: int = 0
    ) -> None:
        self.name, self.fun = name, DeferredFunction(fun)
        self.args = args if isinstance(args, tuple) else (args,)
        start = to_float_array(x0)
        self.start = start if start.ndim >= least else start.reshape((1,) * least)
        self.shape = self.start.shape
        self.flat, self._unflatten = flatten(self.args)
        self.known = getval(self.flat)
        if is_grad_enabled():
            check_closure(name, np.asarray(self(self.start, self.known)))

    @property
    def is_recorded(self) -> bool:
        """Whether a parameter is a tensor."""
        return isinstance(self.flat, Tensor)

    def __call__(self, x: Any, flat: Any) -> Any:
        """The function of a point in its original shape."""
        return self.fun(x, *self._unflatten(flat))

    def residual(self, x: Any, flat: Any) -> Any:
        """The function with a vector as argument and result."""
        return np.ravel(np.asarray(self(np.reshape(x, self.shape), flat)))

    def to_array_function(self, function: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
        """Binds the parameters of a function of both, and wraps it for SciPy, on arrays."""
        return to_array_function(lambda x: function(x, self.known))

    def bind_derivative(self, derivative: Any) -> Any:
        """Binds the parameters of a derivative that the caller has passed."""
        if not callable(derivative):
            return derivative
        args = self._unflatten(self.known)
        return to_array_function(lambda x, *more: derivative(x, *more, *args))

    def bind_value_and_grad(
        self, function: Callable[..., Any]
    ) -> Callable[[Any], tuple[float, Any]]:
        """Binds the parameters of the caller's function that returns value and gradient."""
        args = self._unflatten(self.known)

        def value_and_grad(x: Any) -> tuple[float, Any]:
            with no_grad():
                value, slope = function(np.reshape(x, self.shape), *args)
            return float(to_float_array(value)), to_float_array(slope).ravel()

        return value_and_grad

    def attach_derivative(self, residual: Callable[[Any, Any], Any], found: Any) -> Any:
        """Makes the solution differentiable by the parameters; `residual` is zero there."""
        self.fun.end_trace()
        return differentiate_implicitly(self.flat, residual, numpy.asarray(found, dtype=float))

    def raise_not_differentiable(self, what: str, remedy: str) -> None:
        """Raises for an option that leaves no equation to differentiate."""
        raise NotDifferentiableError(
            f"{self.name}: {what} has no derivative here; {remedy}; see docs/optimisation.md"
        )
