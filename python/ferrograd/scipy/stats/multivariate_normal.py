"""The normal distribution of a vector."""

from typing import Any

import ferrograd.numpy as np
from ferrograd.errors import NotDifferentiableError


def _full(mean: Any, cov: Any) -> tuple[Any, Any]:
    """Mean and covariance as a vector and a matrix."""
    cov = np.asarray(cov)
    size = max(
        np.shape(mean)[-1] if mean is not None and np.ndim(mean) else 1,
        np.shape(cov)[-1] if np.ndim(cov) else 1,
    )
    if np.ndim(cov) < 2:
        cov = cov * np.eye(size)
    return (np.zeros(size) if mean is None else mean), cov


def logpdf(x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    """The logarithm of the density at vectors along the last axis."""
    if allow_singular:
        raise NotDifferentiableError(
            "multivariate_normal.logpdf: the density of a singular covariance has no derivative;"
            " leave allow_singular out"
        )
    mean, cov = _full(mean, cov)
    size = np.shape(cov)[-1]
    centred = x - mean
    if np.ndim(centred) == 0 or np.shape(centred)[-1] != size:
        centred = np.reshape(centred, (*np.shape(centred), 1))
    rows = np.reshape(centred, (-1, size))
    solved = np.linalg.solve(cov, rows.T).T
    log_det = np.linalg.slogdet(cov)[1]
    found = -(size * np.log(2 * np.pi) + log_det + np.sum(rows * solved, -1)) / 2
    return np.reshape(found, np.shape(centred)[:-1])[()]


def pdf(x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    """The density."""
    return np.exp(logpdf(x, mean, cov, allow_singular))


def entropy(mean: Any = None, cov: Any = 1.0) -> Any:
    """The differential entropy."""
    _, cov = _full(mean, cov)
    return (np.shape(cov)[-1] * (1.0 + np.log(2 * np.pi)) + np.linalg.slogdet(cov)[1]) / 2
