"""Discrete distributions: probabilities, differentiable by their parameters.

Counts and draws have no derivative: `rvs` is SciPy's, on arrays. Invariant: formulas are evaluated
only inside the support.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd._core import Tensor, _is_recording_program, asarray
from ferrograd._dispatch.detach import detach_tensors
from ferrograd.scipy._conversions import as_floats, detach
from ferrograd.scipy._scipy_primitives import get_scipy_function, ignore_float_warnings
from ferrograd.scipy.special import xlog1py, xlogy
from ferrograd.scipy.stats._arguments import parse_parameters
from ferrograd.scipy.stats._frozen import FrozenDistribution
from ferrograd.scipy.stats._supports import needs_derivative, replace_value

Formula = Callable[..., Any]

#: The names that a module of one distribution binds.
METHODS = ("logpmf", "pmf", "cdf", "logcdf", "sf", "logsf")


class DiscreteDistribution:
    """A distribution of integers from `low` on, under SciPy's name.

    The probability of `k` is `exp(weight) * p**a * (1 - p)**b` for the last parameter `p`, where
    `weight`, `a` and `b` are `weight(k, *parameters)` and `powers(k, *parameters)`; without `ends`,
    for a parameter that is not a probability, `b` is not read. `cdf(k, *parameters)` and `sf` are
    formulas for numbers below `high(*parameters)`, the largest one. If `valid(*parameters)` is
    false, every result is NaN; `within` are valid parameters. The methods have SciPy's arguments:
    the parameters and `loc`, by position or by name. If `p` is 0 or 1, derivatives are limits:
    `binom.pmf(1, n, p)` has the slope `n` at 0, and `binom.logpmf(1, n, p)` an infinite one.
    Errors: `ArgumentTypeError` for unknown parameters.

    >>> from ferrograd.scipy import stats
    >>> round(fg.grad(lambda p: stats.binom.logpmf(2, 4, p))(0.25), 6)
    5.333333
    >>> round(fg.grad(lambda p: stats.binom.pmf(1, 4, p))(0.0), 9)
    4.0
    """

    def __init__(
        self,
        name: str,
        shapes: str,
        weight: Formula,
        powers: Formula,
        cdf: Formula,
        sf: Formula,
        *,
        high: Formula,
        valid: Formula,
        within: tuple[float, ...],
        low: int = 0,
        ends: tuple[float, ...] = (0.0, 1.0),
    ) -> None:
        self.name, self.shapes, self._within = name, shapes.split(), within
        self._weight, self._powers, self._curves = weight, powers, (cdf, sf)
        self._low, self._high, self._valid, self._ends = low, high, valid, ends

    def __repr__(self) -> str:
        return f"<distribution {self.name}>"

    def __getattr__(self, name: str) -> Any:
        """Every other method is SciPy's, on arrays."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(get_scipy_function(f"stats.{self.name}"), name)

    def __call__(self, *args: Any, **kwargs: Any) -> FrozenDistribution:
        """The distribution with fixed parameters: its methods take the count only."""
        self._parse_arguments("__call__", 0, args, kwargs)
        return FrozenDistribution(self, self.name, args, kwargs)

    def get_methods(self) -> tuple[Any, ...]:
        """The functions that a module of this distribution offers."""
        return tuple(getattr(self, name) for name in METHODS)

    def _parse_arguments(
        self, method: str, k: Any, args: Any, kwargs: Any
    ) -> tuple[Any, list[Any]]:
        """The number and the parameters of a call."""
        call = f"{self.name}.{method}"
        *given, loc = parse_parameters(call, self.shapes, {"loc": 0.0}, args, kwargs)
        k = detach(as_floats(k)) - detach(as_floats(loc))
        found = [as_floats(value) for value in given]
        if not _is_recording_program():
            return k, found
        # A trace cannot read results of operations on arrays.
        return asarray(k), [asarray(value) for value in found]

    def _replace_outside(self, mask: Any, k: Any, given: list[Any]) -> tuple[Any, list[Any]]:
        """Replaces number and parameters by valid constants where the mask is false."""
        if _is_true_everywhere(mask):
            return k, given
        pairs = zip(given, self._within, strict=True)
        return np.where(mask, k, self._low), [np.where(mask, value, w) for value, w in pairs]

    def _is_at_end(self, given: list[Any]) -> Any:
        """A mask of values of the last parameter at an end."""
        p: Any = detach(given[-1])
        found: Any = p == 0.0
        return found | (p == 1.0) if len(self._ends) > 1 else found

    def _log_pmf_inside(self, k: Any, given: list[Any]) -> Any:
        """The logarithm of the probability of a number inside."""
        (a, b), p = self._powers(k, *given), given[-1]
        found = self._weight(k, *given) + _log_end_power(a, p, 0.0)
        return found + _log_end_power(b, p, 1.0) if len(self._ends) > 1 else found

    def _pmf_product(self, k: Any, given: list[Any]) -> Any:
        """The probability as a product; its derivatives are limits if `p` is 0 or 1."""
        (a, b), p = self._powers(k, *given), given[-1]
        found = np.exp(np.minimum(self._weight(k, *given), 700.0)) * _end_power(a, p, 0.0)
        return found * _end_power(b, p, 1.0) if len(self._ends) > 1 else found

    def _is_in_support(self, k: Any, given: list[Any]) -> Any:
        high = self._high(*map(detach, given))
        return (np.floor(k) == k) & (k >= self._low) & (k <= high)

    @ignore_float_warnings
    def logpmf(self, k: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the probability of `k`, -∞ outside the support."""
        k, given = self._parse_arguments("logpmf", k, args, kwargs)
        return self._mask_invalid(self._log_pmf(k, given), k, given)

    def _log_pmf(self, k: Any, given: list[Any]) -> Any:
        whole = self._is_in_support(k, given)
        found = self._log_pmf_inside(*self._replace_outside(whole, k, given))
        return found if _is_true_everywhere(whole) else np.where(whole, found, -numpy.inf)

    @ignore_float_warnings
    def pmf(self, k: Any, *args: Any, **kwargs: Any) -> Any:
        """The probability of `k`."""
        k, given = self._parse_arguments("pmf", k, args, kwargs)
        end = self._is_at_end(given)
        if not needs_derivative(*given) or _is_true_nowhere(end):
            return self._mask_invalid(np.exp(self._log_pmf(k, given)), k, given)
        whole = self._is_in_support(k, given)
        product = self._pmf_product(*self._replace_outside(whole & end, k, given))
        within = np.where(end, self._within[-1], given[-1])
        found = np.exp(self._log_pmf(k, [*given[:-1], within]))
        found = np.where(end, np.where(whole, product, 0.0), found)
        return self._mask_invalid(found, k, given)

    def cdf(self, k: Any, *args: Any, **kwargs: Any) -> Any:
        """The probability of at most `k`."""
        return self._compute_probability("cdf", k, args, kwargs)

    def sf(self, k: Any, *args: Any, **kwargs: Any) -> Any:
        """The probability of more than `k`."""
        return self._compute_probability("sf", k, args, kwargs)

    @ignore_float_warnings
    def _compute_probability(self, name: str, k: Any, args: Any, kwargs: Any) -> Any:
        k, given = self._parse_arguments(name, k, args, kwargs)
        return self._mask_invalid(self._sum_probability(name, np.floor(k), given), k, given)

    def _sum_probability(self, name: str, k: Any, given: list[Any]) -> Any:
        tail = name == "sf"
        inside = (k >= self._low) & (k < self._high(*map(detach, given)))
        inner, known = self._replace_outside(inside, k, given)
        found = self._curves[tail](inner, *known)
        if _is_true_everywhere(inside):
            return found
        return np.where(inside, found, np.where(k < self._low, float(tail), 1.0 - tail))

    def logcdf(self, k: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the probability of at most `k`."""
        return self._compute_log_probability("logcdf", k, args, kwargs)

    def logsf(self, k: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the probability of more than `k`."""
        return self._compute_log_probability("logsf", k, args, kwargs)

    @ignore_float_warnings
    def _compute_log_probability(self, name: str, k: Any, args: Any, kwargs: Any) -> Any:
        k, given = self._parse_arguments(name, k, args, kwargs)
        place = np.floor(k)
        found = self._sum_probability(name[3:], place, given)
        gone: Any = detach(found) == 0.0
        if not needs_derivative(*given) or _is_true_nowhere(gone):
            return self._mask_invalid(np.log(found), k, given)
        # A sum that is zero has the derivative of its largest term, the last or the first.
        last = np.where(gone, place + (name == "logsf"), self._low - 1.0)
        near = self._log_pmf(last, given)
        near = replace_value(near, np.full_like(detach(near), -numpy.inf))
        return self._mask_invalid(
            np.where(gone, near, np.log(np.where(gone, 1.0, found))), k, given
        )

    def _mask_invalid(self, found: Any, k: Any, given: list[Any]) -> Any:
        """Replaces results by NaN for NaN and for invalid parameters."""
        known = ~np.isnan(k) & self._valid(*map(detach, given))
        found = found if _is_true_everywhere(known) else np.where(known, found, numpy.nan)
        return found[()] if isinstance(found, numpy.ndarray) else found


def _end_power(power: Any, p: Any, end: float) -> Any:
    """`|p - end|**power`."""
    found = (1.0 - p if end else p) ** power
    return _add_slope_at_end(found, 1.0, power, p, end) if isinstance(power, Tensor) else found


def _log_end_power(power: Any, p: Any, end: float) -> Any:
    """`power * log(|p - end|)`, which is 0 with its derivatives by `p` where `power` is 0."""
    flat = (detach(p) == end) & (detach(power) == 0.0)
    if not needs_derivative(power, p) or _is_true_nowhere(flat):
        return xlog1py(power, -p) if end else xlogy(power, p)
    inner = np.where(flat, 0.5, p)
    found = xlog1py(power, -inner) if end else xlogy(power, inner)
    return _add_slope_at_end(found, 0.0, power, p, end) if isinstance(power, Tensor) else found


def _add_slope_at_end(found: Any, value: float, power: Any, p: Any, end: float) -> Any:
    """Replaces the result by `value` with slope -∞ by `p` where `p` is at the end and `power` 0."""
    flat = (detach(p) == end) & (detach(power) == 0.0)
    slope = power * np.where(flat, -numpy.inf, 0.0)
    return np.where(flat, replace_value(slope, np.full_like(detach(slope), value)), found)


def _is_true_everywhere(mask: Any) -> bool:
    """Whether the mask is true everywhere; False during a trace, since other calls may differ."""
    return not _is_recording_program() and bool(numpy.all(detach_tensors(mask)))


def _is_true_nowhere(mask: Any) -> bool:
    return not _is_recording_program() and not numpy.any(detach_tensors(mask))
