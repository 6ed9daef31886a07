"""`ferrograd.scipy.ndimage` beside SciPy: ranks of neighbourhoods, zooms and rotations."""

from typing import Any

import numpy as np
import pytest
import scipy.ndimage as theirs
from numpy.testing import assert_allclose

import ferrograd as fg
from ferrograd.scipy import ndimage as ours
from scipy_support import agree

RANDOM = np.random.default_rng(31)
IMAGE, CUBE = RANDOM.normal(size=(5, 6)), RANDOM.normal(size=(3, 4, 5))
CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
WINDOWS: tuple[dict[str, Any], ...] = (
    {"size": 3},
    {"size": (2, 4)},
    {"footprint": CROSS},
    {"footprint": CROSS[:2], "origin": (0, 1)},
    {"size": 4, "origin": -1},
)


@pytest.mark.parametrize("mode", ["reflect", "constant", "nearest", "mirror", "wrap"])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(
    ("name", "first"),
    [
        *(("maximum_filter", ()), ("minimum_filter", ()), ("median_filter", ())),
        *(("rank_filter", (1,)), ("rank_filter", (-2,)), ("percentile_filter", (30,))),
        *(("percentile_filter", (100,)), ("percentile_filter", (-20.0,))),
    ],
)
def test_ranks(name: str, first: Any, window: dict[str, Any], mode: str) -> None:
    def of(home: Any) -> Any:
        return lambda x: getattr(home, name)(x, *first, mode=mode, cval=0.2, **window)

    agree(of(ours), of(theirs), IMAGE, order=1)


def test_ranks_of_whole_numbers_and_cubes() -> None:
    whole = np.arange(12).reshape(3, 4) % 5
    found = ours.median_filter(fg.tensor(whole), 3)
    assert found.dtype == np.int64
    assert_allclose(found.numpy(), theirs.median_filter(whole, 3))
    agree(lambda x: ours.maximum_filter(x, 2), lambda x: theirs.maximum_filter(x, 2), CUBE, order=1)
    buffer = fg.zeros(5, 6)
    assert ours.minimum_filter(fg.tensor(IMAGE), 3, output=buffer) is buffer
    assert_allclose(buffer.numpy(), theirs.minimum_filter(IMAGE, 3))


@pytest.mark.parametrize("grid_mode", [False, True])
@pytest.mark.parametrize("order", [0, 1, 3])
@pytest.mark.parametrize("zoom", [2.0, 0.6, (1.5, 0.5), (1.0, 2.3)])
def test_zoom(zoom: Any, order: int, grid_mode: bool) -> None:
    mode = "grid-constant" if grid_mode else "nearest"

    def of(home: Any) -> Any:
        return lambda x: home.zoom(x, zoom, order=order, mode=mode, grid_mode=grid_mode)

    agree(of(ours), of(theirs), IMAGE, order=1, rtol=1e-7, atol=1e-9, singles=order > 0)
    assert_allclose(
        ours.zoom(fg.tensor(CUBE), 1.3, order=order).numpy(),
        theirs.zoom(CUBE, 1.3, order=order),
        rtol=1e-7,
        atol=1e-9,
    )


@pytest.mark.parametrize("reshape", [True, False])
@pytest.mark.parametrize("order", [1, 3])
@pytest.mark.parametrize("angle", [17.0, -40.0, 90.0, 133.0])
def test_rotate(angle: float, order: int, reshape: bool) -> None:
    def of(home: Any) -> Any:
        return lambda x: home.rotate(x, angle, reshape=reshape, order=order, mode="nearest")

    agree(of(ours), of(theirs), IMAGE, order=1, rtol=1e-7, atol=1e-9)
    for axes in ((0, 2), (2, 1)):
        found = ours.rotate(fg.tensor(CUBE), angle, axes, reshape, order=order, mode="nearest")
        expected = theirs.rotate(CUBE, angle, axes, reshape, order=order, mode="nearest")
        assert_allclose(found.numpy(), expected, rtol=1e-7, atol=1e-9)


def test_rotate_by_the_angle() -> None:
    def turned(angle: Any) -> Any:
        return ours.rotate(IMAGE, angle, reshape=False, mode="nearest")

    angle = fg.tensor(21.0, requires_grad=True)
    fg.gradcheck(turned, (angle,), rtol=1e-3, atol=1e-5)
    assert_allclose(turned(angle).detach().numpy(), turned(21.0), atol=1e-9)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: ours.maximum_filter(x), "give one of them"),
        (lambda x: ours.maximum_filter(x, 3, CROSS), "give one of them"),
        (lambda x: ours.median_filter(x, footprint=[1, 1]), "give as many axes"),
        (lambda x: ours.rank_filter(x, 9, 3), "rank 9 is asked of 9 values"),
        (lambda x: ours.percentile_filter(x, 101, 3), "give 0 to 100"),
        (lambda x: ours.rotate(x, 3.0, (0, 0)), "two different ones"),
        (lambda x: ours.zoom(x, (1.0, 2.0, 3.0)), "3 values for 2 axes"),
    ],
)
def test_wrong_arguments(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call(fg.tensor(IMAGE))
