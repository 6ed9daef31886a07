"""Distributions on the whole line: Laplace, logistic, Cauchy, Gumbel."""

from math import log, pi
from typing import Any

import ferrograd.numpy as _face
from ferrograd.scipy.special import expit, log_expit, logit
from ferrograd.scipy.stats._continuous import Continuous

np: Any = _face


def _laplace_cdf(z: Any) -> Any:
    half = np.exp(-np.abs(z)) / 2
    return np.where(z < 0, half, 1.0 - half)


def _laplace_ppf(q: Any) -> Any:
    low = q < 0.5
    return np.where(
        low, np.log(2 * np.where(low, q, 0.5)), -np.log(2 * (1.0 - np.where(low, 0.5, q)))
    )


#: The density `exp(-|z|) / 2`.
laplace = Continuous(
    "laplace",
    "",
    lambda z: -np.abs(z) - log(2),
    _laplace_cdf,
    sf=lambda z: _laplace_cdf(-z),
    ppf=_laplace_ppf,
)

#: The distribution function `1 / (1 + exp(-z))`.
logistic = Continuous(
    "logistic",
    "",
    lambda z: log_expit(z) + log_expit(-z),
    expit,
    sf=lambda z: expit(-z),
    logcdf=log_expit,
    logsf=lambda z: log_expit(-z),
    ppf=logit,
)

#: The density `1 / (π (1 + z²))`.
cauchy = Continuous(
    "cauchy",
    "",
    lambda z: -np.log1p(z * z) - log(pi),
    lambda z: np.arctan2(1.0, -z) / pi,
    sf=lambda z: np.arctan2(1.0, z) / pi,
    ppf=lambda q: -1.0 / np.tan(pi * q),
)

#: The largest of many: the distribution function `exp(-exp(-z))`.
gumbel_r = Continuous(
    "gumbel_r",
    "",
    lambda z: -z - np.exp(-z),
    lambda z: np.exp(-np.exp(-z)),
    sf=lambda z: -np.expm1(-np.exp(-z)),
    logcdf=lambda z: -np.exp(-z),
    ppf=lambda q: -np.log(-np.log(q)),
)

#: The smallest of many: `sf` is `exp(-exp(z))`.
gumbel_l = Continuous(
    "gumbel_l",
    "",
    lambda z: z - np.exp(z),
    lambda z: -np.expm1(-np.exp(z)),
    sf=lambda z: np.exp(-np.exp(z)),
    logsf=lambda z: -np.exp(z),
    ppf=lambda q: np.log(-np.log1p(-q)),
)
