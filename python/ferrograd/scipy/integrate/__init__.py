"""`scipy.integrate`: sums over samples, quadrature and differential equations, differentiable."""

from ferrograd.scipy._computed_by_scipy import rest_of as _rest_of
from ferrograd.scipy.integrate._odeint import odeint as odeint
from ferrograd.scipy.integrate._quadrature import fixed_quad as fixed_quad, quad as quad
from ferrograd.scipy.integrate._samples import (
    cumulative_trapezoid as cumulative_trapezoid,
    simpson as simpson,
    trapezoid as trapezoid,
)
from ferrograd.scipy.integrate._solve_ivp import solve_ivp as solve_ivp

__getattr__ = _rest_of("integrate")
