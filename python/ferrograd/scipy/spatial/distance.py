"""`scipy.spatial.distance`: distances of all pairs of points, differentiable.

The formulas are in `_metrics`. SciPy computes the distances of arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as _numpy

import ferrograd.numpy as np
from ferrograd.errors import (
    ArgumentError as _ArgumentError,
    DTypeError as _DTypeError,
    ShapeError as _ShapeError,
)
from ferrograd.numpy._tensor_arguments import holds_tensor as _holds_tensor
from ferrograd.scipy._conversions import as_floats as _as_floats
from ferrograd.scipy._scipy_primitives import (
    get_scipy_function as _get_scipy_function,
    make_scipy_getattr as _make_scipy_getattr,
)
from ferrograd.scipy.spatial._metrics import METRICS as _METRICS

__getattr__ = _make_scipy_getattr("spatial.distance")


def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """The distances of all rows of `XA`, `(m, k)`, from all rows of `XB`, `(n, k)`: `(m, n)`.

    `metric` is "euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski" (`p`),
    "seuclidean" (`V`), "mahalanobis" (`VI`), "cosine", "correlation", "canberra", "braycurtis",
    "jensenshannon" or a function of two vectors; most take weights `w`. Differentiable by the
    points and by tensors among the parameters, 0 between equal points. Memory: `m n k` elements.
    Errors: `ArgumentError` for metrics that have no derivative, `ShapeError`.

    >>> from ferrograd.scipy.spatial import distance
    >>> x = fg.tensor([[0.0, 0.0]], requires_grad=True)
    >>> distance.cdist(x, [[3.0, 4.0]]).sum().backward()
    >>> x.grad.round(9).tolist()
    [[-0.6, -0.8]]
    """
    if not _holds_tensor([XA, XB, *kwargs.values()]):
        return _get_scipy_function("spatial.distance.cdist")(XA, XB, metric, out=out, **kwargs)
    a, b = _check_points("cdist", XA), _check_points("cdist", XB)
    if np.shape(a)[1] != np.shape(b)[1]:
        raise _ShapeError(
            f"cdist: XA has shape {np.shape(a)} and XB {np.shape(b)}; give points of as many"
            " coordinates"
        )
    measure = _get_metric("cdist", metric, out, (a, b), kwargs)
    if callable(metric):
        rows = [[metric(u, v, **kwargs) for v in b] for u in a]
        return np.stack([np.stack(row) for row in rows])
    return measure(a[:, None], b[None])


def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """The distances of all pairs of rows of `X`, as a vector: (0, 1), (0, 2), …, (1, 2), …

    Metrics, parameters and errors are those of `cdist`; `squareform` makes a matrix of it.

    >>> from ferrograd.scipy.spatial import distance
    >>> distance.pdist(fg.tensor([[0.0], [1.0], [4.0]]), "cityblock").tolist()
    [1.0, 4.0, 3.0]
    """
    if not _holds_tensor([X, *kwargs.values()]):
        return _get_scipy_function("spatial.distance.pdist")(X, metric, out=out, **kwargs)
    x = _check_points("pdist", X)
    measure = _get_metric("pdist", metric, out, (x,), kwargs)
    first, second = _numpy.triu_indices(np.shape(x)[0], 1)
    if callable(metric):
        return np.stack([metric(x[i], x[j], **kwargs) for i, j in zip(first, second, strict=True)])
    return measure(x[first], x[second])


def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """The symmetric matrix of a vector of distances, or the vector of such a matrix.

    >>> from ferrograd.scipy.spatial import distance
    >>> distance.squareform(fg.tensor([1.0, 4.0, 3.0])).tolist()
    [[0.0, 1.0, 4.0], [1.0, 0.0, 3.0], [4.0, 3.0, 0.0]]
    """
    if not _holds_tensor(X) or force != "no" or np.ndim(X) not in (1, 2):
        given = _numpy.asarray(X)
        if given.dtype.hasobject:
            raise _DTypeError(
                f"squareform: elements of dtype {given.dtype}, whose bytes SciPy would copy without"
                " counting references; give numbers"
            )
        return _get_scipy_function("spatial.distance.squareform")(given, force, checks)
    if np.ndim(X) == 2:
        if checks:
            _get_scipy_function("spatial.distance.squareform")(X.detach().numpy())
        return X[_numpy.triu_indices(np.shape(X)[0], 1)]
    count = round((1 + (1 + 8 * np.shape(X)[0]) ** 0.5) / 2)
    if count * (count - 1) // 2 != np.shape(X)[0]:
        raise _ShapeError(
            f"squareform: {np.shape(X)[0]} elements are not the distances of all pairs of points;"
            " give n (n - 1) / 2 elements"
        )
    places = _numpy.zeros((count, count), int)
    places[_numpy.triu_indices(count, 1)] = _numpy.arange(1, np.shape(X)[0] + 1)
    return np.concatenate([0 * X[:1] if count > 1 else _numpy.zeros(1), X])[places + places.T]


def _check_points(name: str, X: Any) -> Any:
    x = _as_floats(X)
    if np.ndim(x) != 2:
        raise _ShapeError(f"{name}: points have shape {np.shape(x)}; give a matrix, a point a row")
    return x


def _get_metric(name: str, metric: Any, out: Any, sets: tuple[Any, ...], kwargs: Any) -> Any:
    """The formula of a metric with its parameters; some depend on all points."""
    if out is not None:
        raise _ArgumentError(f"{name}: out= cannot be used with tensors; use the result")
    if callable(metric):
        return None
    if metric not in _METRICS:
        raise _ArgumentError(
            f"{name}: metric {metric!r} has no derivative here; give one of {', '.join(_METRICS)}"
        )
    given = {key: value for key, value in kwargs.items() if value is not None}
    if metric == "seuclidean" and "V" not in given:
        given["V"] = np.var(np.concatenate(sets), axis=0, ddof=1)
    if metric == "mahalanobis" and "VI" not in given:
        given["VI"] = np.linalg.inv(np.atleast_2d(np.cov(np.concatenate(sets).T))).T
    return lambda u, v: _METRICS[metric](u, v, **given)


def _make_vector_distance(name: str, parameters: str, text: str) -> Any:
    """Makes SciPy's function of this name, the distance of two vectors."""
    names = parameters.split()

    def distance(u: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
        if not _holds_tensor([u, v, *args, *kwargs.values()]):
            return _get_scipy_function(f"spatial.distance.{name}")(u, v, *args, **kwargs)
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        if len(args) > len(names) or not set(given) <= set(names):
            raise _ArgumentError(
                f"{name}: got {len(args)} parameters and {sorted(kwargs)}; give u, v"
                f" and {', '.join(names)}"
            )
        u, v = _as_floats(u), _as_floats(v)
        if np.ndim(u) != 1 or np.shape(u) != np.shape(v):
            raise _ShapeError(
                f"{name}: u has shape {np.shape(u)} and v {np.shape(v)}; give two vectors of one"
                " length, or use cdist for all pairs of points"
            )
        return _METRICS[name](u, v, **{key: x for key, x in given.items() if x is not None})

    distance.__name__ = distance.__qualname__ = name
    distance.__doc__ = f"{text} Differentiable by all arguments."
    return distance


braycurtis = _make_vector_distance("braycurtis", "w", "`Σ |u - v| / Σ |u + v|`.")
canberra = _make_vector_distance("canberra", "w", "`Σ |u - v| / (|u| + |v|)`.")
chebyshev = _make_vector_distance("chebyshev", "w", "The largest `|u - v|`.")
cityblock = _make_vector_distance("cityblock", "w", "`Σ |u - v|`.")
correlation = _make_vector_distance("correlation", "w", "One minus the correlation of two vectors.")
cosine = _make_vector_distance(
    "cosine", "w", "One minus the cosine of the angle between two vectors."
)
euclidean = _make_vector_distance("euclidean", "w", "The length of `u - v`.")


def jensenshannon(
    p: Any, q: Any, base: Any = None, *, axis: int = 0, keepdims: bool = False
) -> Any:
    """The root of the mean of `Σ p log(p / m)` and `Σ q log(q / m)`, `m = (p + q) / 2`.

    `p` and `q` are scaled to sums of 1 along `axis`; logarithms are by `base`. Differentiable by
    both, and 0 there where they are equal.

    >>> from ferrograd.scipy.spatial import distance
    >>> round(distance.jensenshannon(fg.tensor([1.0, 0.0]), [0.0, 1.0], 2.0).item(), 9)
    1.0
    """
    if not _holds_tensor([p, q, base]):
        find = _get_scipy_function("spatial.distance.jensenshannon")
        return find(p, q, base, axis=axis, keepdims=keepdims)
    u, v = (np.moveaxis(_as_floats(x), axis, -1) for x in (p, q))
    found = _METRICS["jensenshannon"](*np.broadcast_arrays(u, v))
    if base is not None:
        # A Python number is weak: it widens no single precision.
        root = np.log(base) ** 0.5
        found = found / (root if _holds_tensor(base) else float(root))
    return np.expand_dims(found, axis) if keepdims else found


mahalanobis = _make_vector_distance("mahalanobis", "VI", "The root of `(u - v) @ VI @ (u - v)`.")
minkowski = _make_vector_distance(
    "minkowski", "p w", "`(Σ |u - v|**p)**(1 / p)`, by default for `p = 2`."
)
seuclidean = _make_vector_distance("seuclidean", "V", "The root of `Σ (u - v)**2 / V`.")
sqeuclidean = _make_vector_distance("sqeuclidean", "w", "`Σ (u - v)**2`.")
