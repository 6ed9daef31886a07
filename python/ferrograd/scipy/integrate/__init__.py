"""`scipy.integrate`: sums over samples, quadrature and differential equations, differentiable."""

from ferrograd.scipy._scipy_primitives import make_scipy_getattr as _make_scipy_getattr
from ferrograd.scipy.integrate._odeint import odeint as odeint
from ferrograd.scipy.integrate._quadrature import fixed_quad as fixed_quad, quad as quad
from ferrograd.scipy.integrate._samples import (
    cumulative_trapezoid as cumulative_trapezoid,
    simpson as simpson,
    trapezoid as trapezoid,
)
from ferrograd.scipy.integrate._solve_ivp import solve_ivp as solve_ivp

__getattr__ = _make_scipy_getattr("integrate")
