"""The normal distribution of a vector."""

from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd.errors import NotDifferentiableError
from ferrograd.hips.tracer import getval, isbox
from ferrograd.scipy._conversions import as_floats
from ferrograd.scipy._scipy_primitives import make_scipy_getattr
from ferrograd.scipy.stats._frozen import make_callable

__getattr__ = make_scipy_getattr("stats.multivariate_normal")
make_callable(__name__)


def _expand_parameters(mean: Any, cov: Any) -> tuple[Any, Any]:
    """Mean and covariance as a vector and a matrix."""
    cov = as_floats(cov)
    mean = None if mean is None else as_floats(mean)
    size = max(
        np.shape(mean)[-1] if mean is not None and np.ndim(mean) else 1,
        np.shape(cov)[-1] if np.ndim(cov) else 1,
    )
    if np.ndim(cov) < 2:
        cov = cov * np.eye(size)
    return (np.zeros(size) if mean is None else mean), cov


def logpdf(x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    """The logarithm of the density at vectors along the last axis.

    With `allow_singular`, the density in the space that the covariance spans, -∞ outside, and no
    derivative by the covariance.
    """
    mean, cov = _expand_parameters(mean, cov)
    size = np.shape(cov)[-1]
    centred = as_floats(x) - mean
    if np.ndim(centred) == 0 or np.shape(centred)[-1] != size:
        centred = np.reshape(centred, (*np.shape(centred), 1))
    rows = np.reshape(centred, (-1, size))
    if allow_singular:
        found = _singular_logpdf(rows, cov)
    else:
        solved = np.linalg.solve(cov, rows.T).T
        log_det = np.linalg.slogdet(cov)[1]
        found = -(size * np.log(2 * np.pi) + log_det + np.sum(rows * solved, -1)) / 2
    return np.reshape(found, np.shape(centred)[:-1])[()]


def _singular_logpdf(rows: Any, cov: Any) -> Any:
    """The density in the span of the eigenvectors of the covariance with nonzero eigenvalues."""
    if isbox(cov):
        raise NotDifferentiableError(
            "multivariate_normal.logpdf: with allow_singular=True there is no derivative by the"
            " covariance; pass cov.detach(), or leave allow_singular out"
        )
    values, vectors = numpy.linalg.eigh(getval(cov))
    kept = values > 1e6 * numpy.finfo(values.dtype).eps * numpy.abs(values).max(initial=0.0)
    values, outside = values[kept], vectors[:, ~kept]
    inner = rows @ (vectors[:, kept] / numpy.sqrt(values))
    constant = kept.sum() * numpy.log(2 * numpy.pi) + numpy.log(values).sum()
    found = -(constant + np.sum(inner**2, -1)) / 2
    near = numpy.linalg.norm(getval(rows) @ outside, axis=-1) < 1e-8
    return np.where(near, found, -np.inf)


def pdf(x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    """The density."""
    return np.exp(logpdf(x, mean, cov, allow_singular))


def entropy(mean: Any = None, cov: Any = 1.0) -> Any:
    """The differential entropy."""
    _, cov = _expand_parameters(mean, cov)
    return (np.shape(cov)[-1] * (1.0 + np.log(2 * np.pi)) + np.linalg.slogdet(cov)[1]) / 2
