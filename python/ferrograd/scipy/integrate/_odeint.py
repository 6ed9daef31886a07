"""`scipy.integrate.odeint`: the solution of a differential equation, differentiable.

SciPy integrates, forward and backward; the derivative is that of the solution (`_adjoint`), as
exact as `rtol` and `atol` say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd.numpy as np
from ferrograd._core import is_grad_enabled
from ferrograd.hips.misc.flatten import flatten
from ferrograd.hips.tracer import getval
from ferrograd.scipy._conversions import check_closure
from ferrograd.scipy._scipy_primitives import get_scipy_function
from ferrograd.scipy.integrate._adjoint import integrate_states


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: Any = (),
    *,
    tfirst: bool = False,
    **options: Any,
) -> Any:
    """The states at times `t` of the system `dy/dt = func(y, t, *args)` that starts at `y0`.

    With `tfirst`, `func` takes the time first. It returns a vector or a list, or a number where
    `y0` has one element.

    Differentiable to any order by `y0`, by `t` and by `args`, which may be floats, arrays and
    containers of them. Errors: `NotDifferentiableError` where `func` closes over a value that
    requires grad, which belongs into `args`. `options` are SciPy's.

    >>> from ferrograd.scipy import integrate
    >>> integrate.odeint(lambda y, t: -y, [2.0], [0.0, 1.0])[:, 0].round(4).tolist()
    [2.0, 0.7358]
    """
    args = args if isinstance(args, tuple) else (args,)
    flat, unflatten = flatten(args)

    def evaluate_rhs(y: Any, time: Any, values: Any) -> Any:
        given = (time, y) if tfirst else (y, time)
        slope = np.asarray(func(*given, *unflatten(values)))
        return slope if np.shape(slope) == np.shape(y) else np.reshape(slope, np.shape(y))

    y0, t = np.atleast_1d(np.asarray(y0)), np.asarray(t, dtype=float)
    if is_grad_enabled():
        check_closure("odeint", evaluate_rhs(getval(y0), getval(t[0]), getval(flat)))

    def solve(slope: Any, y0: Any, t: Any) -> Any:
        return get_scipy_function("integrate.odeint")(slope, y0, t, **options)

    return integrate_states(y0, t, flat, evaluate_rhs, solve)
