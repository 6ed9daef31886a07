"""`ferrograd.scipy.spatial.distance` beside SciPy."""

from typing import Any

import numpy as np
import pytest
import scipy.spatial.distance as theirs
from numpy.testing import assert_allclose

import ferrograd as fg
import ferrograd.numpy as fnp
from ferrograd.scipy.spatial import distance as ours
from scipy_support import agree

RANDOM = np.random.default_rng(29)
A, B = RANDOM.uniform(0.1, 1.0, size=(4, 3)), RANDOM.uniform(0.1, 1.0, size=(5, 3))
W = np.array([0.5, 2.0, 1.2])
C = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.0]])

METRICS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "canberra")),
    *((name, {}) for name in ("braycurtis", "cosine", "correlation", "jensenshannon")),
    *((name, {}) for name in ("seuclidean", "mahalanobis", "minkowski")),
    *((name, {"w": W}) for name in ("euclidean", "sqeuclidean", "cityblock", "canberra")),
    *((name, {"w": W}) for name in ("braycurtis", "cosine", "correlation", "chebyshev")),
    ("minkowski", {"p": 3.0, "w": W}),
    ("minkowski", {"p": 1.5}),
    ("minkowski", {"p": np.inf}),
    ("seuclidean", {"V": W}),
    ("mahalanobis", {"VI": C}),
]


@pytest.mark.parametrize(("metric", "options"), METRICS, ids=str)
def test_distances(metric: str, options: Any) -> None:
    singles = not options and metric != "mahalanobis"
    agree(
        lambda a, b: ours.cdist(a, b, metric, **options),
        lambda a, b: theirs.cdist(a, b, metric, **options),
        A,
        B,
        singles=singles,
    )
    agree(
        lambda a: ours.pdist(a, metric, **options),
        lambda a: theirs.pdist(a, metric, **options),
        A,
        singles=singles,
        order=1,
    )


def test_parameters_that_are_tensors() -> None:
    agree(
        lambda v: ours.cdist(A, B, "seuclidean", V=v),
        lambda v: theirs.cdist(A, B, "seuclidean", V=v),
        W,
        singles=False,
    )
    agree(
        lambda v: ours.cdist(A, B, "mahalanobis", VI=v),
        lambda v: theirs.cdist(A, B, "mahalanobis", VI=v),
        C,
        singles=False,
    )


@pytest.mark.parametrize("metric", ["euclidean", "minkowski", "seuclidean", "canberra"])
def test_equal_points_have_finite_derivatives(metric: str) -> None:
    twice = fg.tensor(np.concatenate([A, A[:1]]), requires_grad=True)
    more = {"p": 1.5} if metric == "minkowski" else {}
    slope = fg.autograd.grad(ours.pdist(twice, metric, **more).sum(), twice, create_graph=True)[0]
    assert np.all(np.isfinite(slope.detach().numpy()))
    (slope**2).sum().backward()
    assert np.all(np.isfinite(twice.grad.numpy()))


def test_a_metric_of_ones_own() -> None:
    def far(u: Any, v: Any, k: float = 1.0) -> Any:
        return k * fnp.sum((u - v) ** 4)

    agree(
        lambda a, b: ours.cdist(a, b, far, k=2.0),
        lambda a, b: theirs.cdist(a, b, far, k=2.0),
        A[:2],
        B[:2],
    )
    agree(lambda a: ours.pdist(a, far), lambda a: theirs.pdist(a, far), A[:3])


def test_squareform() -> None:
    flat = theirs.pdist(A)
    agree(ours.squareform, theirs.squareform, flat, singles=False)
    matrix = fg.tensor(theirs.squareform(flat), requires_grad=True)
    assert_allclose(ours.squareform(matrix).detach().numpy(), flat)
    with pytest.raises(ValueError, match="all pairs"):
        ours.squareform(fg.ones(4))


T = fg.tensor(A)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ours.cdist(T, B[:, :2]), "as many coordinates"),
        (lambda: ours.cdist(T[0], B), "a point a row"),
        (lambda: ours.pdist(T, "hamming"), "metric 'hamming' has no derivative"),
        (lambda: ours.pdist(T, out=np.zeros(6)), "out= cannot"),
    ],
)
def test_wrong_arguments(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_points_without_mass_coordinates_or_numbers() -> None:
    points = fg.tensor([[0.0, 0.0], [1.0, 2.0]])
    found = ours.cdist(points, [[1.0, 2.0]], "jensenshannon").numpy()
    assert_allclose(found, [[np.inf], [0.0]])
    for metric in ("euclidean", "minkowski", "cityblock", "sqeuclidean"):
        assert np.isnan(ours.cdist(fg.tensor([[np.nan, 1.0]]), [[0.0, 1.0]], metric).numpy()).all()
    column = np.array([[0.0], [1.0], [4.0]])
    found = ours.cdist(fg.tensor(column), column, "mahalanobis").numpy()
    assert_allclose(found, theirs.cdist(column, column, "mahalanobis"))
    assert ours.cdist(fg.ones(2, 0), np.ones((1, 0)), "chebyshev").tolist() == [[0.0], [0.0]]


@pytest.mark.parametrize(
    "name",
    [
        *("braycurtis", "canberra", "chebyshev", "cityblock"),
        *("correlation", "cosine", "euclidean", "sqeuclidean"),
    ],
)
def test_distances_of_two_vectors(name: str) -> None:
    mine, other = getattr(ours, name), getattr(theirs, name)
    agree(mine, other, A[0], B[1], order=1)
    agree(mine, other, A[0], B[1], abs(B[2]), order=1)


def test_distances_of_two_vectors_with_parameters() -> None:
    agree(lambda u, v: ours.minkowski(u, v, 3), lambda u, v: theirs.minkowski(u, v, 3), A[0], B[0])
    agree(ours.seuclidean, theirs.seuclidean, A[0], B[0], abs(A[1]))
    inverse = A.T @ A
    agree(ours.mahalanobis, theirs.mahalanobis, A[0], B[0], inverse, order=1)
    x = fg.tensor(A[0])
    with pytest.raises(ValueError, match="use cdist"):
        ours.euclidean(fg.tensor(A), B)
    with pytest.raises(ValueError, match="give u, v and p, w"):
        ours.minkowski(x, x, q=3)


def test_jensen_and_shannons_distance() -> None:
    p, q = abs(A) + 0.1, abs(B[: len(A)]) + 0.1
    for options in ({}, {"base": 2.0}, {"axis": 1}, {"axis": 1, "keepdims": True}):
        agree(
            lambda p, q, o=options: ours.jensenshannon(p, q, **o),
            lambda p, q, o=options: theirs.jensenshannon(p, q, **o),
            p,
            q,
        )
