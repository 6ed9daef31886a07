"""`ferrograd.scipy.cluster.vq` beside SciPy."""

from typing import Any

import numpy as np
import pytest
import scipy.cluster.vq as theirs
from numpy.testing import assert_allclose

import ferrograd as fg
from ferrograd.scipy.cluster import vq as ours
from scipy_support import agree

RANDOM = np.random.default_rng(31)
CENTRES = np.array([[0.0, 0.0], [5.0, 1.0], [2.0, 7.0]])
POINTS = np.concatenate([c + RANDOM.normal(size=(4, 2)) for c in CENTRES])
GUESS = CENTRES + 0.3


def test_whiten() -> None:
    agree(ours.whiten, theirs.whiten, POINTS)
    agree(ours.whiten, theirs.whiten, POINTS[:, 0])
    flat = np.array([[1.0, 2.0], [1.0, 5.0]])
    with pytest.warns(RuntimeWarning, match="standard deviation zero"):
        found = ours.whiten(fg.tensor(flat))
    with pytest.warns(RuntimeWarning, match="standard deviation zero"):
        assert_allclose(found.numpy(), theirs.whiten(flat))
    with pytest.raises(ValueError, match="infs or NaNs"):
        ours.whiten(fg.tensor([[np.nan]]))


def test_vq() -> None:
    agree(lambda x, b: ours.vq(x, b)[1], lambda x, b: theirs.vq(x, b)[1], POINTS, GUESS)
    agree(
        lambda x, b: ours.vq(x, b)[1],
        lambda x, b: theirs.vq(x, b)[1],
        POINTS[:, 0].copy(),
        GUESS[:, 0].copy(),
    )
    codes, _ = ours.vq(fg.tensor(POINTS), GUESS)
    expected, _ = theirs.vq(POINTS, GUESS)
    assert codes.dtype == expected.dtype
    assert codes.tolist() == expected.tolist()
    x = fg.tensor(CENTRES, requires_grad=True)
    ours.vq(x, CENTRES)[1].sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0]] * 3
    with pytest.raises(ValueError, match="same number"):
        ours.vq(fg.tensor(POINTS), GUESS[0])


@pytest.mark.parametrize("k", [3, 2, np.int64(1)])
@pytest.mark.parametrize("given", [{"rng": 5}, {"rng": np.random.default_rng}, {"seed": 7}])
def test_kmeans_of_a_number(k: Any, given: dict[str, Any]) -> None:
    def options() -> dict[str, Any]:
        return {key: value(3) if callable(value) else value for key, value in given.items()}

    for part in (0, 1):
        agree(
            lambda x, part=part: ours.kmeans(x, k, **options())[part],
            lambda x, part=part: theirs.kmeans(x, k, **options())[part],
            POINTS,
            singles=False,
            order=1,
        )


@pytest.mark.parametrize("thresh", [1e-5, 0.3, 1e9])
def test_kmeans_of_a_guess(thresh: float) -> None:
    start = CENTRES[:, ::-1] + 0.5
    for part in (0, 1):
        agree(
            lambda x, b, part=part: ours.kmeans(x, b, thresh=thresh)[part],
            lambda x, b, part=part: theirs.kmeans(x, b, thresh=thresh)[part],
            POINTS,
            start.copy(),
            singles=False,
            order=1,
        )
    far = np.append(GUESS, [[99.0, 99.0]], axis=0)  # nothing is near: SciPy drops it
    assert ours.kmeans(fg.tensor(POINTS), far)[0].shape == (3, 2)
    for points in (POINTS, fg.tensor(POINTS)):
        with pytest.raises(ValueError, match="thresh is -1"):
            ours.kmeans(points, far, thresh=-1.0)
    with pytest.raises(fg.errors.ArgumentError, match="at least one"):
        ours.kmeans(fg.tensor(POINTS), 0)


@pytest.mark.parametrize("minit", ["random", "points", "++", "matrix"])
@pytest.mark.parametrize("points", [POINTS, POINTS[:, 0].copy()], ids=["rows", "numbers"])
def test_kmeans2(minit: str, points: Any) -> None:
    k: Any = (GUESS if points.ndim == 2 else GUESS[:, 0].copy()) if minit == "matrix" else 3
    options: dict[str, Any] = {"minit": minit, "rng": 11}
    agree(
        lambda x: ours.kmeans2(x, k, **options)[0],
        lambda x: theirs.kmeans2(x, k, **options)[0],
        points,
        singles=False,
        order=1,
    )
    labels = ours.kmeans2(fg.tensor(points), k, **options)[1]
    assert labels.tolist() == theirs.kmeans2(points, k, **options)[1].tolist()


@pytest.mark.filterwarnings("ignore:One of the clusters is empty")
@pytest.mark.parametrize("start", [None, [-4.0, -1.0, 0.0, 0.1, 2.0, 9.0, 11.0, 60.0]])
def test_an_empty_cluster_moves_as_when_it_had_observations(start: Any) -> None:
    points = np.random.default_rng(4).normal(size=(30, 1)) ** 3
    given = (points,) if start is None else (points, np.array(start)[:, None])
    for steps in (2, 3, 5):
        options: dict[str, Any] = {"minit": "points" if start is None else "matrix"}
        options |= {"rng": 4, "iter": steps}
        labels = theirs.kmeans2(points, given[1] if start else 8, **options)[1]
        assert not np.bincount(labels, minlength=8).all()
        agree(
            lambda x, k=8, o=options: ours.kmeans2(x, k, **o)[0],
            lambda x, k=8, o=options: theirs.kmeans2(x, k, **o)[0],
            *given,
            singles=False,
            order=1,
        )


@pytest.mark.filterwarnings("ignore:One of the clusters is empty")
def test_a_random_centroid_that_never_has_observations() -> None:
    x, k = fg.tensor(POINTS, requires_grad=True), np.append(GUESS, [[99.0, 99.0]], axis=0)
    seeds = range(100)
    empty = [
        seed
        for seed in seeds
        if not np.bincount(ours.kmeans2(POINTS, 9, iter=1, rng=seed)[1], minlength=9).all()
    ]
    with pytest.raises(fg.errors.NotDifferentiableError, match="never has an observation"):
        ours.kmeans2(x, 9, iter=1, rng=empty[0])
    with pytest.warns(UserWarning, match="empty"):
        book, _ = ours.kmeans2(x.detach(), k, minit="matrix")
    with pytest.warns(UserWarning, match="empty"):
        assert_allclose(book.numpy(), theirs.kmeans2(POINTS, k, minit="matrix")[0])


def test_arrays_give_arrays() -> None:
    for ours_, theirs_ in (
        (ours.whiten(POINTS), theirs.whiten(POINTS)),
        (ours.vq(POINTS, GUESS)[1], theirs.vq(POINTS, GUESS)[1]),
        (ours.kmeans(POINTS, GUESS)[0], theirs.kmeans(POINTS, GUESS)[0]),
        (ours.kmeans2(POINTS, 3, rng=11)[0], theirs.kmeans2(POINTS, 3, rng=11)[0]),
    ):
        assert isinstance(ours_, np.ndarray)
        np.testing.assert_array_equal(ours_, theirs_)
