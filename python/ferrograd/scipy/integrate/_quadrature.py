"""Integrals of functions that can be called.

SciPy integrates; nothing is recorded for the points that it visits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd._core import is_grad_enabled
from ferrograd._tensor.closures import DeferredFunction
from ferrograd.errors import ArgumentError, NotDifferentiableError
from ferrograd.extend import defvjp, primitive
from ferrograd.hips.misc.flatten import flatten
from ferrograd.hips.tracer import getval
from ferrograd.numpy._tensor_arguments import holds_tensor
from ferrograd.scipy._conversions import as_floats, check_closure, to_array_function
from ferrograd.scipy._scipy_primitives import get_scipy_function
from ferrograd.transforms import make_vjp

#: The options of `quad` that `quad_vec`, which integrates the derivatives, supports.
_FORWARDED_OPTIONS = ("epsabs", "epsrel", "limit", "points")


def quad(
    func: Callable[..., Any], a: Any, b: Any, args: Any = (), full_output: Any = 0, **options: Any
) -> Any:
    """`(value, error)` of the integral of `func(x, *args)` from `a` to `b`, by QUADPACK.

    `a` and `b` are numbers, also infinite; `args` floats, arrays and containers of them. The value
    is differentiable to any order with respect to `a`, `b` and `args`, by Leibniz's rule; with
    `complex_func=True` separately for both parts: `∂/∂b = f(b)`, `∂/∂a = -f(a)`, `∂/∂p = ∫ ∂f/∂p
    dx`. `options` are those of SciPy's `quad`.
    Errors: `NotDifferentiableError` if `func` closes over a value that requires grad, or if a
    gradient with `weight` is needed.

    >>> from ferrograd.scipy import integrate
    >>> slope = fg.grad(lambda k: integrate.quad(lambda x, k: np.exp(-k * x), 0, np.inf, (k,))[0])
    >>> round(slope(2.0), 9)
    -0.25
    """
    if options.pop("complex_func", False):
        return _integrate_complex(func, (a, b, args, full_output), options)
    args = args if isinstance(args, tuple) else (args,)
    flat, unflatten = flatten(args)

    later = DeferredFunction(func)

    def evaluate_integrand(x: Any, values: Any) -> Any:
        return later(x, *unflatten(values))

    own = getval(flat)
    inner = to_array_function(lambda x: evaluate_integrand(x, own))
    ends = [float(getval(np.asarray(end))) for end in (a, b)]
    found = get_scipy_function("integrate.quad")(
        lambda x: float(inner(x)), *ends, full_output=full_output, **options
    )
    recorded = holds_tensor([a, b, flat])
    if is_grad_enabled() and ends[0] != ends[1]:
        check_closure("quad", evaluate_integrand(_choose_interior_point(*ends), own))
    if not recorded:
        return found
    other = [
        key
        for key in options
        if key not in _FORWARDED_OPTIONS and options[key] not in (None, False)
    ]
    if other:
        raise NotDifferentiableError(
            f"quad: {other[0]}={options[other[0]]!r} has no derivative here; put the weight into"
            " func, or pass detached values"
        )
    later.end_trace()
    return (_integrate(a, b, flat, evaluate_integrand, options, found[0]), *found[1:])


def _integrate_complex(
    func: Callable[..., Any], given: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Integrates a complex function; the errors of both parts are one complex number."""
    real = quad(lambda x, *args: np.real(func(x, *args)), *given, **options)
    imag = quad(lambda x, *args: np.imag(func(x, *args)), *given, **options)
    value, error = real[0] + 1j * imag[0], real[1] + 1j * imag[1]
    more = {"real": real[2:], "imag": imag[2:]}
    return (value, error, more) if given[3] else (value, error)


def _choose_interior_point(a: float, b: float) -> float:
    """A point inside the interval."""
    low, high = min(a, b), max(a, b)
    low = low if numpy.isfinite(low) else min(high, 1.0) - 1.0
    high = high if numpy.isfinite(high) else low + 1.0
    return 0.5 * (low + high)


@primitive
def _integrate(a: Any, b: Any, flat: Any, func: Any, options: Any, known: Any = None) -> Any:
    """The integral of a function with a number or a vector for its value."""
    if known is not None:
        return known
    plain = to_array_function(lambda x: func(x, flat))
    return get_scipy_function("integrate.quad_vec")(plain, float(a), float(b), **options)[0]


def _make_limit_rule(place: int) -> Callable[..., Any]:
    sign = 2.0 * place - 1.0

    def rule(ans: Any, a: Any, b: Any, flat: Any, func: Any, options: Any, *_: Any) -> Any:
        limit = (a, b)[place]
        if not numpy.isfinite(getval(limit)):
            return lambda g: numpy.zeros(())
        return lambda g: sign * np.sum(g * np.asarray(func(limit, flat)))

    return rule


def _arguments_vjp(
    ans: Any, a: Any, b: Any, flat: Any, func: Any, options: Any, *_: Any
) -> Callable[[Any], Any]:
    shared = {key: options[key] for key in _FORWARDED_OPTIONS if options.get(key) is not None}

    def pull(g: Any) -> Any:
        count = np.shape(flat)[0]

        def slope(x: Any, given: Any) -> Any:
            by_flat, value = make_vjp(lambda p: np.asarray(func(x, p)))(given[:count])
            return by_flat(np.reshape(given[count:], np.shape(value)))

        return _integrate(a, b, np.concatenate([flat, np.ravel(g)]), slope, shared)

    return pull


defvjp(_integrate, _make_limit_rule(0), _make_limit_rule(1), _arguments_vjp)


def fixed_quad(func: Callable[..., Any], a: Any, b: Any, args: Any = (), n: int = 5) -> Any:
    """`(value, None)` of the integral from `a` to `b` by Gauss and Legendre's rule of order `n`.

    `func(x, *args)` gets `n` points at once, along its last axis. It is recorded, so the value is
    differentiable by everything that it reads. Errors: `ArgumentError` for infinite limits.

    >>> from ferrograd.scipy import integrate
    >>> fg.grad(lambda b: integrate.fixed_quad(lambda x: x**3, 0.0, b)[0])(2.0)
    8.0
    """
    a, b = as_floats(a), as_floats(b)
    if not numpy.all(numpy.isfinite(getval(a))) or not numpy.all(numpy.isfinite(getval(b))):
        raise ArgumentError(
            f"fixed_quad: the limits are {getval(a)} and {getval(b)}; give finite ones, or use quad"
        )
    places, weights = numpy.polynomial.legendre.leggauss(n)
    x = (b - a) * (places + 1) / 2 + a
    args = args if isinstance(args, tuple) else (args,)
    return (b - a) / 2 * np.sum(weights * func(x, *args), -1), None
