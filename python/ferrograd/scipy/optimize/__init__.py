"""`scipy.optimize`: roots and minima as functions of their parameters."""

from ferrograd.scipy._scipy_primitives import make_scipy_getattr as _make_scipy_getattr
from ferrograd.scipy.optimize._minimum import (
    curve_fit as curve_fit,
    least_squares as least_squares,
    minimize as minimize,
)
from ferrograd.scipy.optimize._root import (
    bisect as bisect,
    brenth as brenth,
    brentq as brentq,
    fsolve as fsolve,
    newton as newton,
    ridder as ridder,
    root as root,
    root_scalar as root_scalar,
)
from ferrograd.scipy.optimize._rosen import (
    rosen as rosen,
    rosen_der as rosen_der,
    rosen_hess as rosen_hess,
    rosen_hess_prod as rosen_hess_prod,
)

__getattr__ = _make_scipy_getattr("optimize")
