"""The normal distribution of a vector."""

from typing import Any

import ferrograd.numpy as np


def logpdf(x: Any, mean: Any, cov: Any, allow_singular: bool = False) -> Any:
    """The logarithm of the density at a vector or at the rows of a matrix."""
    if allow_singular:
        raise NotImplementedError("multivariate_normal: singular covariances have no derivative")
    cov = np.asarray(cov)
    if np.ndim(cov) < 2:
        size = np.shape(mean)[0] if np.ndim(mean) else 1
        cov = cov * np.eye(size)
    centred = x - mean
    rows = centred if np.ndim(centred) > 1 else np.reshape(centred, (1, -1))
    solved = np.linalg.solve(cov, rows.T).T
    log_det = np.linalg.slogdet(cov)[1]
    dimension = np.shape(cov)[-1]
    found = -(dimension * np.log(2 * np.pi) + log_det + np.sum(rows * solved, -1)) / 2
    return found if np.ndim(centred) > 1 else found[0]


def pdf(x: Any, mean: Any, cov: Any, allow_singular: bool = False) -> Any:
    """The density."""
    return np.exp(logpdf(x, mean, cov, allow_singular))
