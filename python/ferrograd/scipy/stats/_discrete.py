"""Discrete distributions: Bernoulli, binomial, geometric, negative binomial.

Owns: probabilities of whole numbers, differentiable by their parameters. Counts have no derivative,
and draws none either: `rvs` is SciPy's, on arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as _face
from ferrograd.scipy._closures import plain
from ferrograd.scipy._library import library
from ferrograd.scipy.special import betainc, gammaln, xlog1py, xlogy
from ferrograd.scipy.stats._frozen import Frozen

np: Any = _face


class Discrete:
    """A distribution of whole numbers from `low` on, under SciPy's name.

    `logpmf(k, *parameters)`, `cdf` and `sf` are its formulas; `high(*parameters)` is the largest
    number, and where `valid(*parameters)` is false every result is NaN. The methods take what
    SciPy's take: the parameters, then `loc`.

    >>> from ferrograd.scipy import stats
    >>> round(fg.grad(lambda p: stats.binom.logpmf(2, 4, p))(0.25), 6)
    5.333333
    """

    def __init__(
        self,
        name: str,
        count: int,
        logpmf: Callable[..., Any],
        cdf: Callable[..., Any],
        sf: Callable[..., Any],
        high: Callable[..., Any],
        valid: Callable[..., Any],
        low: int = 0,
    ) -> None:
        self.name, self._count, self._low, self._high = name, count, low, high
        self._logpmf, self._cdf, self._sf, self._valid = logpmf, cdf, sf, valid

    def __repr__(self) -> str:
        return f"<distribution {self.name}>"

    def __getattr__(self, name: str) -> Any:
        """Every other method is SciPy's, on arrays."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(library(f"stats.{self.name}"), name)

    def __call__(self, *args: Any, **kwargs: Any) -> Frozen:
        """The distribution with fixed parameters: its methods take the count only."""
        return Frozen(self, self.name, args, kwargs)

    def _given(self, k: Any, args: tuple[Any, ...], loc: Any) -> tuple[Any, list[Any]]:
        loc = args[self._count] if len(args) > self._count else loc
        return plain(k) - plain(loc), list(args[: self._count])

    def logpmf(self, k: Any, *args: Any, loc: Any = 0) -> Any:
        """The logarithm of the probability of `k`, -∞ where it is no such number."""
        k, given = self._given(k, args, loc)
        high = self._high(*map(plain, given))
        whole = (numpy.floor(k) == k) & (k >= self._low) & (k <= high)
        inner = numpy.where(whole, k, self._low)
        found = np.where(whole, self._logpmf(inner, *given), -numpy.inf)
        return self._checked(found, k, given)

    def pmf(self, k: Any, *args: Any, loc: Any = 0) -> Any:
        """The probability of `k`."""
        return np.exp(self.logpmf(k, *args, loc=loc))

    def cdf(self, k: Any, *args: Any, loc: Any = 0) -> Any:
        """The probability of at most `k`."""
        return self._summed(self._cdf, 0.0, 1.0, k, args, loc)

    def sf(self, k: Any, *args: Any, loc: Any = 0) -> Any:
        """The probability of more than `k`."""
        return self._summed(self._sf, 1.0, 0.0, k, args, loc)

    def _summed(self, formula: Any, below: float, above: float, k: Any, args: Any, loc: Any) -> Any:
        k, given = self._given(k, args, loc)
        k, high = numpy.floor(k), self._high(*map(plain, given))
        inside = (k >= self._low) & (k < high)
        inner = numpy.where(inside, k, self._low)
        found = np.where(inside, formula(inner, *given), numpy.where(k < self._low, below, above))
        return self._checked(found, k, given)

    def _checked(self, found: Any, k: Any, given: list[Any]) -> Any:
        """NaN for NaN and for parameters that are impossible."""
        known = ~numpy.isnan(k) & self._valid(*map(plain, given))
        return found if numpy.all(known) else np.where(known, found, numpy.nan)

    def logcdf(self, k: Any, *args: Any, loc: Any = 0) -> Any:
        """The logarithm of the probability of at most `k`."""
        with numpy.errstate(divide="ignore"):
            return np.log(self.cdf(k, *args, loc=loc))

    def logsf(self, k: Any, *args: Any, loc: Any = 0) -> Any:
        """The logarithm of the probability of more than `k`."""
        with numpy.errstate(divide="ignore"):
            return np.log(self.sf(k, *args, loc=loc))


def _choose(n: Any, k: Any) -> Any:
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


#: 1 with the probability `p`, else 0.
bernoulli = Discrete(
    "bernoulli",
    1,
    lambda k, p: xlogy(k, p) + xlog1py(1.0 - k, -p),
    lambda k, p: 1.0 - p + 0.0 * k,
    lambda k, p: p + 0.0 * k,
    lambda p: 1,
    lambda p: (p >= 0) & (p <= 1),
)

#: The number of successes among `n` trials.
binom = Discrete(
    "binom",
    2,
    lambda k, n, p: _choose(n, k) + xlogy(k, p) + xlog1py(n - k, -p),
    lambda k, n, p: betainc(n - k, k + 1.0, 1.0 - p),
    lambda k, n, p: betainc(k + 1.0, n - k, p),
    lambda n, p: n,
    lambda n, p: (n >= 0) & (n == numpy.floor(n)) & (p >= 0) & (p <= 1),
)

#: The number of trials up to the first success.
geom = Discrete(
    "geom",
    1,
    lambda k, p: xlog1py(k - 1.0, -p) + np.log(p),
    lambda k, p: -np.expm1(k * np.log1p(-p)),
    lambda k, p: np.exp(k * np.log1p(-p)),
    lambda p: numpy.inf,
    lambda p: (p > 0) & (p <= 1),
    low=1,
)

#: The number of failures before the `n`-th success.
nbinom = Discrete(
    "nbinom",
    2,
    lambda k, n, p: gammaln(k + n) - gammaln(k + 1.0) - gammaln(n) + xlogy(n, p) + xlog1py(k, -p),
    lambda k, n, p: betainc(n, k + 1.0, p),
    lambda k, n, p: betainc(k + 1.0, n, 1.0 - p),
    lambda n, p: numpy.inf,
    lambda n, p: (n > 0) & (p > 0) & (p <= 1),
)
