"""Solutions of equations: the implicit function theorem.

Invariant: the rule consists of differentiable functions of the solution and of the parameters, so
derivatives of every order exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd import _core
from ferrograd.extend import defvjp, primitive
from ferrograd.scipy._wrappers import wrap_operation
from ferrograd.transforms import jacobian, make_vjp

_solve = wrap_operation(_core._namespaces["linalg"]["solve"], "solve")


@primitive
def differentiate_implicitly(
    parameters: Any, residual: Callable[[Any, Any], Any], found: Any
) -> Any:
    """Makes `found`, the solution `x` of `residual(x, parameters) = 0`, differentiable.

    Derivative by the parameters: `dx/dp = -(∂r/∂x)⁻¹ ∂r/∂p`. Source: the implicit function theorem.
    """
    return found


def _parameters_vjp(ans: Any, parameters: Any, residual: Any, found: Any) -> Callable[[Any], Any]:
    def pull(g: Any) -> Any:
        slopes = jacobian(lambda x: residual(x, parameters))(ans)
        weight = _solve(slopes.T, g)
        by_parameters, _ = make_vjp(lambda p: residual(ans, p))(parameters)
        return -by_parameters(weight)

    return pull


defvjp(differentiate_implicitly, _parameters_vjp)
