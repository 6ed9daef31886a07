"""`ferrograd.scipy.ndimage` beside SciPy: filters and interpolation of images."""

from typing import Any

import numpy as np
import pytest
import scipy.ndimage as theirs
from numpy.testing import assert_allclose

import ferrograd as fg
from ferrograd.scipy import ndimage as ours
from scipy_support import agree

RANDOM = np.random.default_rng(23)
IMAGE, ROW = RANDOM.normal(size=(4, 5)), RANDOM.normal(size=7)
W3, W4 = RANDOM.normal(size=3), RANDOM.normal(size=4)
MODES = ["reflect", "constant", "nearest", "mirror", "wrap"]
EVERY = [*MODES, "grid-mirror", "grid-constant", "grid-wrap"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["correlate1d", "convolve1d"])
def test_one_axis(name: str, mode: str) -> None:
    mine, other = getattr(ours, name), getattr(theirs, name)
    for weights, axis, origin in ((W3, 0, 0), (W4, -1, 0), (W3, 1, 1), (W4, 1, -1)):

        def of(f: Any, axis: int = axis, origin: int = origin) -> Any:
            return lambda x, w: f(x, w, axis, mode=mode, cval=0.7, origin=origin)

        agree(of(mine), of(other), IMAGE, weights)
    long = RANDOM.normal(size=15)
    found = mine(fg.tensor(IMAGE), long, 0, mode=mode).numpy()
    assert_allclose(found, other(IMAGE, long, 0, mode=mode), atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["correlate", "convolve"])
def test_all_axes(name: str, mode: str) -> None:
    mine, other = getattr(ours, name), getattr(theirs, name)
    for shape, origin in (((3, 2), 0), ((1, 4), (0, -1)), ((2, 3), (0, 1))):

        def of(f: Any, origin: Any = origin) -> Any:
            return lambda x, w: f(x, w, mode=mode, cval=0.7, origin=origin)

        agree(of(mine), of(other), IMAGE, RANDOM.normal(size=shape))
    agree(mine, other, RANDOM.normal(size=(3, 4, 3)), RANDOM.normal(size=(2, 1, 3)), order=1)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_gaussians(order: int) -> None:
    def of(home: Any) -> Any:
        return lambda x, s: home.gaussian_filter1d(x, s, 0, order, truncate=2.2)

    tensors = fg.tensor(IMAGE, requires_grad=True), fg.tensor(0.9, requires_grad=True)
    expected = of(theirs)(IMAGE, 0.9)
    assert_allclose(of(ours)(*tensors).detach().numpy(), expected, atol=1e-12)
    fg.gradcheck(of(ours), tensors)
    fg.gradgradcheck(of(ours), tensors)


@pytest.mark.parametrize(
    "options",
    [
        {"sigma": 0.8},
        {"sigma": (0.8, 1.3), "order": (0, 1), "mode": ("wrap", "nearest")},
        {"sigma": (0.0, 1.0), "radius": (1, 2)},
        {"sigma": 1.0, "axes": (1,), "mode": "constant", "cval": 2.0},
    ],
)
def test_gaussians_of_images(options: Any) -> None:
    agree(
        lambda x: ours.gaussian_filter(x, **options),
        lambda x: theirs.gaussian_filter(x, **options),
        IMAGE,
    )


def test_the_width_of_a_gaussian_along_each_axis() -> None:
    agree(
        lambda s: ours.gaussian_filter(IMAGE, [s[0], s[1]]),
        lambda s: theirs.gaussian_filter(IMAGE, s),
        np.array([0.8, 1.1]),
        singles=False,
    )


@pytest.mark.parametrize("mode", MODES)
def test_means_and_edges(mode: str) -> None:
    for name, more in (
        ("uniform_filter", (3,)),
        ("uniform_filter", ((2, 3),)),
        ("uniform_filter1d", (4, 0)),
        ("sobel", (0,)),
        ("laplace", ()),
    ):

        def of(home: Any, name: str = name, more: Any = more) -> Any:
            return lambda x: getattr(home, name)(x, *more, mode=mode)

        agree(of(ours), of(theirs), IMAGE)


@pytest.mark.parametrize("mode", EVERY)
@pytest.mark.parametrize("order", [0, 1, 2, 3, 4, 5])
def test_coordinates(order: int, mode: str) -> None:
    at = RANDOM.uniform(-7.3, 11.7, size=(2, 3, 4))
    inside = RANDOM.uniform(0.6, 2.9, size=(2, 3))

    def of(home: Any, at: Any) -> Any:
        return lambda x: home.map_coordinates(x, at, order=order, mode=mode, cval=0.4)

    agree(of(ours, at), of(theirs, at), IMAGE, order=1 + (order == 3), rtol=1e-8, atol=1e-9)
    agree(of(ours, inside), of(theirs, inside), IMAGE, order=1, rtol=1e-8, atol=1e-9)
    if order:
        for places in (at, inside):
            moving = fg.tensor(places, requires_grad=True)
            call = lambda p: ours.map_coordinates(IMAGE, p, order=order, mode=mode, cval=0.4)  # noqa: E731
            fg.gradcheck(call, moving, rtol=1e-3, atol=1e-5)
        fg.gradgradcheck(call, moving, rtol=1e-3, atol=1e-4)


def test_coordinates_of_a_row_and_of_a_volume() -> None:
    volume = RANDOM.normal(size=(3, 4, 3))
    at = RANDOM.uniform(0.0, 2.0, size=(3, 5))
    agree(ours.map_coordinates, theirs.map_coordinates, volume, at, singles=False, order=1)
    agree(ours.map_coordinates, theirs.map_coordinates, ROW, 3 * at[:1], singles=False)
    plain = ours.map_coordinates(fg.tensor(volume), at, prefilter=False).numpy()
    assert_allclose(plain, theirs.map_coordinates(volume, at, prefilter=False))
    short = np.ones((1, 3))
    for mode in EVERY:
        found = ours.map_coordinates(fg.tensor(short), at[:2], order=1, mode=mode).numpy()
        assert_allclose(found, theirs.map_coordinates(short, at[:2], order=1, mode=mode))


@pytest.mark.parametrize("mode", ["mirror", "reflect", "grid-wrap", "constant", "nearest"])
@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_spline_filters(order: int, mode: str) -> None:
    for name in ("spline_filter", "spline_filter1d"):

        def of(home: Any, name: str = name) -> Any:
            return lambda x: getattr(home, name)(x, order, mode=mode, output=np.float64)

        agree(of(ours), of(theirs), IMAGE, singles=False)


def test_transforms() -> None:
    matrix = np.array([[0.9, 0.2], [-0.1, 1.1]])
    agree(
        lambda x, m, o: ours.affine_transform(x, m, o, (3, 4), mode="reflect"),
        lambda x, m, o: theirs.affine_transform(x, m, o, (3, 4), mode="reflect"),
        IMAGE,
        matrix,
        np.array([0.3, 0.2]),
        singles=False,
        order=1,
    )
    wide = np.concatenate([matrix, [[0.3], [0.2]]], 1)
    for m in (wide, np.concatenate([wide, [[0, 0, 1.0]]]), np.array([0.7, 1.2])):
        found = ours.affine_transform(fg.tensor(IMAGE), m, order=1).numpy()
        assert_allclose(found, theirs.affine_transform(IMAGE, m, order=1), atol=1e-12)
    agree(
        lambda x, s: ours.shift(x, s, mode="mirror"),
        lambda x, s: theirs.shift(x, s, mode="mirror"),
        IMAGE,
        np.array([0.3, -1.2]),
        singles=False,
        order=1,
    )


T = fg.tensor(IMAGE)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ours.correlate1d(T, W3, mode="round"), "mode is 'round'"),
        (lambda: ours.correlate1d(T, W3, origin=2), "keep the middle inside"),
        (lambda: ours.correlate1d(T, IMAGE), "give a vector"),
        (
            lambda: ours.correlate1d(fg.tensor(IMAGE, requires_grad=True), W3, output=IMAGE),
            "lose the history",
        ),
        (lambda: ours.sobel(T, output=fg.zeros(3, 3)), r"shape \(3, 3\) and the result \(4, 5\)"),
        (lambda: ours.convolve(T, W3), "as many axes"),
        (lambda: ours.gaussian_filter(T, (1.0, 2.0, 3.0)), "3 values for 2 axes"),
        (lambda: ours.gaussian_filter(T, 1.0, order=-1), "from 0 on"),
        (lambda: ours.uniform_filter1d(T, 0), "at least 1"),
        (lambda: ours.map_coordinates(T, np.ones((3, 4))), r"shape \(2, ...\)"),
        (lambda: ours.map_coordinates(T, np.ones((2, 4)), order=6), "order is 6"),
        (lambda: ours.spline_filter(T, 7), "order is 7"),
        (lambda: ours.affine_transform(T, np.ones((3, 2))), "a vector of scales"),
    ],
)
def test_wrong_arguments(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_splines_reach_their_border_outside(order: int) -> None:
    places = np.array([[-7.2, -1.4, -0.4, 1.0, 3.4, 4.2, 9.0], [1.0, -2.5, 4.6, 5.3, 6.7, 0.2, -1]])
    more = {"order": order, "mode": "nearest", "prefilter": False}
    found = ours.map_coordinates(fg.tensor(IMAGE), places, **more).numpy()
    assert_allclose(found, theirs.map_coordinates(IMAGE, places, **more), atol=1e-12)
    found = ours.shift(fg.tensor(IMAGE), (1.3, -2.4), **more).numpy()
    assert_allclose(found, theirs.shift(IMAGE, (1.3, -2.4), **more), atol=1e-12)


#: One call of each function with `output`.
WITH_OUTPUT: dict[str, tuple[Any, ...]] = {
    "correlate1d": (W3,),
    "convolve1d": (W3,),
    "correlate": (IMAGE[:3, :3],),
    "convolve": (IMAGE[:3, :3],),
    "gaussian_filter1d": (1.0,),
    "gaussian_filter": (1.0,),
    "uniform_filter1d": (3,),
    "uniform_filter": (3,),
    "sobel": (),
    "laplace": (),
    "spline_filter1d": (),
    "spline_filter": (),
    "map_coordinates": (np.indices(IMAGE.shape) * 0.7,),
    "affine_transform": (np.eye(2) * 0.8,),
    "shift": (0.3,),
}


@pytest.mark.parametrize("name", WITH_OUTPUT)
def test_output(name: str) -> None:
    function, others = getattr(ours, name), WITH_OUTPUT[name]
    expected = getattr(theirs, name)(IMAGE, *others)
    x = fg.tensor(IMAGE, requires_grad=True)
    buffer = fg.zeros(*IMAGE.shape)
    assert function(x, *others, output=buffer) is buffer
    assert_allclose(buffer.detach().numpy(), expected)
    buffer.square().sum().backward()
    slope = x.grad
    assert slope is not None
    again = fg.tensor(IMAGE, requires_grad=True)
    wanted = fg.autograd.grad(function(again, *others).square().sum(), again)[0]
    np.testing.assert_array_equal(slope.numpy(), wanted.numpy())
    assert function(x, *others, output=np.float32).dtype == np.float32
    assert function(x, *others, output="complex128").dtype == np.complex128
    memory = np.zeros(IMAGE.shape)
    assert function(fg.tensor(IMAGE), *others, output=memory) is memory
    assert_allclose(memory, expected)
    filled = fg.zeros(*IMAGE.shape)
    assert function(IMAGE, *others, output=filled) is filled
    assert_allclose(filled.numpy(), expected)
    assert_allclose(function(IMAGE, *others, output=np.float64), expected)


def test_output_by_position() -> None:
    buffer = fg.zeros(7, dtype=np.float64)
    ours.gaussian_filter1d(fg.tensor(ROW), 1.0, -1, 0, buffer, "nearest")
    assert_allclose(buffer.numpy(), theirs.gaussian_filter1d(ROW, 1.0, mode="nearest"))


@pytest.mark.parametrize("name", ["correlate", "convolve"])
@pytest.mark.parametrize("axes", [(0, 1), (2, 0), (-1, 1), (1,)])
def test_a_kernel_on_some_axes(name: str, axes: tuple[int, ...]) -> None:
    image = np.random.default_rng(0).normal(size=(4, 5, 6))
    kernel = np.random.default_rng(1).normal(size=(3, 3)[: len(axes)])
    mine, other = getattr(ours, name), getattr(theirs, name)
    options: dict[str, Any] = {"mode": "nearest", "origin": (1, -1)[: len(axes)], "axes": axes}
    agree(lambda x, w: mine(x, w, **options), lambda x, w: other(x, w, **options), image, kernel)
    with pytest.raises(ValueError, match="one axis for each"):
        mine(fg.tensor(image), np.ones((2, 2, 2)), axes=axes)


@pytest.mark.parametrize("order", range(6))
def test_coordinates_of_complex_images(order: int) -> None:
    draw = np.random.default_rng(order).normal
    image = draw(size=(5, 6)) + 1j * draw(size=(5, 6))
    places = np.array([[1.2, 2.1], [0.7, 3.5]])
    for mode in ("mirror", "nearest", "constant", "grid-wrap"):
        expected = theirs.map_coordinates(image, places, order=order, mode=mode)
        for given in ((fg.tensor(image), places), (image, fg.tensor(places))):
            found = ours.map_coordinates(*given, order=order, mode=mode).numpy()
            assert_allclose(found, expected, atol=1e-12)
    x = fg.tensor(image, requires_grad=True)
    assert fg.gradcheck(lambda x: ours.map_coordinates(x, places, order=order), x)


@pytest.mark.parametrize(("name", "by"), [("shift", 0.4), ("zoom", 1.5), ("rotate", 20.0)])
def test_complex_images_are_moved(name: str, by: float) -> None:
    draw = np.random.default_rng(0).normal
    image = draw(size=(4, 5)) + 1j * draw(size=(4, 5))
    found = getattr(ours, name)(fg.tensor(image), by).numpy()
    assert_allclose(found, getattr(theirs, name)(image, by), atol=1e-12)
    x = fg.tensor(image[:3, :3], requires_grad=True)
    assert fg.gradcheck(lambda x: getattr(ours, name)(x, by), x)
