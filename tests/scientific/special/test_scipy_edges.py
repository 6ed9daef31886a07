"""Places where a formula of a derivative divides by 0 or leaves its branch.

Slopes are held against central differences of SciPy's functions.
"""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

import ferrograd as fg
from ferrograd.errors import NotDifferentiableError
from ferrograd.scipy import special as ours


def slopes(name: str, args: tuple[float, ...], place: int, h: float = 1e-6) -> tuple[float, float]:
    """The slope by one argument, ours and the central difference of SciPy's."""

    def moved(lib: Any, value: Any) -> Any:
        return getattr(lib, name)(*args[:place], value, *args[place + 1 :])

    x = args[place]
    mine = fg.grad(lambda t: moved(ours, t))(x)
    return float(mine), float((moved(special, x + h) - moved(special, x - h)) / (2 * h))


@pytest.mark.filterwarnings("ignore:floating point number truncated")
@pytest.mark.filterwarnings("ignore:non-integer arg n")
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("yn", (0.3, 1.2)),
        ("yn", (-0.4, 1.2)),
        ("bdtr", (1.3, 3.7, 0.3)),
        ("bdtrc", (1.3, 3.7, 0.3)),
        ("bdtrc", (-2.5, 3, 0.3)),
        ("bdtri", (1.3, 3.7, 0.3)),
        ("nbdtr", (1.3, 3.7, 0.3)),
        ("nbdtr", (-0.4, 2, 0.3)),
        ("nbdtrc", (1.3, 3.7, 0.3)),
        ("nbdtri", (1.3, 3.7, 0.3)),
        ("pdtri", (-0.4, 0.3)),
    ],
)
def test_counts_and_orders_are_truncated(name: str, args: tuple[float, ...]) -> None:
    mine, theirs = slopes(name, args, len(args) - 1)
    assert_allclose(mine, theirs, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["bdtr", "bdtrc", "bdtri", "nbdtr", "nbdtrc", "nbdtri"])
def test_a_count_that_is_truncated_has_no_derivative(name: str) -> None:
    with pytest.raises(NotDifferentiableError, match="argument 1 requires grad"):
        getattr(ours, name)(1.0, fg.tensor(3.0, requires_grad=True), 0.3)


@pytest.mark.parametrize(
    ("name", "args", "place"),
    [
        ("berp", (0.0,), 0),
        ("beip", (0.0,), 0),
        ("struve", (0, 0.0), 1),
        ("struve", (1, 0.0), 1),
        ("modstruve", (0, 0.0), 1),
        ("modstruve", (300, 60.0), 1),
        ("powm1", (0.0, 1.7), 1),
        ("boxcox", (0.0, 1.7), 1),
        ("boxcox1p", (-1.0, 1.7), 1),
        ("lpmv", (-1, 1.0, -0.4), 2),
        ("eval_chebyu", (-2, 3.0), 1),
        ("eval_chebyu", (-1, 3.0), 1),
        ("eval_chebyu", (-3.5, 0.4), 1),
    ],
)
def test_slopes_at_special_places(name: str, args: tuple[float, ...], place: int) -> None:
    mine, theirs = slopes(name, args, place)
    assert_allclose(mine, theirs, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["berp", "beip"])
@pytest.mark.parametrize("x", [0.0, 0.3, 0.999, 1.001])
def test_kelvin_functions_have_their_series_near_0(name: str, x: float) -> None:
    def slope(t: Any) -> Any:
        return fg.grad(getattr(ours, name))(t)

    h = 1e-5
    assert_allclose(
        fg.grad(slope)(x), (slope(x + h) - slope(x - h)) / (2 * h), rtol=1e-7, atol=1e-9
    )
    third = fg.grad(fg.grad(fg.grad(getattr(ours, "ber" if name == "berp" else "bei"))))
    assert_allclose(third(0.0), 0.0, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "args", "place"),
    [
        ("zeta", (0.3, 0.6), 1),
        ("zeta", (0.3, 0.6), 0),
        ("bdtr", (2.0, 1, 0.3), 2),
        ("fdtr", (-1.0, 2.0, 0.3), 2),
        ("gammainc", (-2.5, 0.3), 1),
        ("hyp2f1", (1.0, 1.5, 0.0, 1.5), 3),
    ],
)
def test_what_is_not_defined_has_no_slope(name: str, args: tuple[float, ...], place: int) -> None:
    assert not np.isfinite(getattr(special, name)(*args))

    def moved(value: Any) -> Any:
        return getattr(ours, name)(*args[:place], value, *args[place + 1 :])

    assert not np.isfinite(fg.grad(moved)(args[place]))


def test_what_is_not_used_spoils_nothing() -> None:
    x = fg.tensor([-2.0, 0.3], requires_grad=True)
    fg.where(x > 0, ours.exp1(x), 0.0).sum().backward()
    assert x.grad is not None
    assert x.grad[0] == 0
    assert np.isfinite(x.grad.numpy()).all()


@pytest.mark.parametrize(("name", "rest"), [("zeta", ()), ("zeta", (0.6,)), ("lambertw", ())])
def test_ufuncs_behind_functions_of_scipy_take_tensors(name: str, rest: tuple[float, ...]) -> None:
    x = fg.tensor([1.3, 2.5], requires_grad=True)
    mine, theirs = getattr(ours, name)(x, *rest), getattr(special, name)(x, *rest)
    assert_allclose(theirs.detach(), mine.detach(), rtol=1e-15)
    (slope,), (expected,) = (fg.autograd.grad(y.real.sum(), x) for y in (theirs, mine))
    assert_allclose(slope, expected, rtol=1e-15)
    if name == "zeta":
        more = getattr(special, name)(2.5, x)
        assert_allclose(more.detach(), special.zeta(2.5, [1.3, 2.5]), rtol=1e-14)


#: Arguments at poles of gamma functions, and the slopes there; None where there is none.
POLES: list[tuple[str, tuple[float, float], tuple[float | None, float | None]]] = [
    ("binom", (5.0, 6.0), (1 / 6, -1 / 6)),
    ("binom", (5.0, 8.0), (1 / 168, -1 / 168)),
    ("binom", (5.0, -1.0), (0.0, 1 / 6)),
    ("binom", (4.0, -2.0), (0.0, -1 / 30)),
    ("binom", (2.5, -1.0), (0.0, 2 / 7)),
    ("binom", (0.0, 1.0), (1.0, -1.0)),
    ("binom", (5.0, 400.0), (None, None)),
    ("poch", (0.0, 0.0), (0.0, None)),
    ("poch", (0.0, 1.0), (1.0, 0.0)),
    ("poch", (0.0, 3.0), (2.0, 0.0)),
    ("poch", (-1.0, 1.0), (1.0, None)),
    ("poch", (-1.0, 2.0), (-1.0, 0.0)),
    ("poch", (-2.0, 3.0), (2.0, 0.0)),
    ("poch", (-2.0, 1.0), (1.0, None)),
    ("poch", (0.0, -1.0), (-1.0, None)),
    ("poch", (-3.0, -1.0), (-1 / 16, None)),
    ("poch", (-2.0, 2.5), (2.0 * np.sqrt(np.pi), 0.0)),
    ("poch", (1e-9, -1.0), (-1.0000000020000002, 1000000000.5772157)),
    ("poch", (1e-9, -2.0), (0.75000000175, -500000000.2886079)),
    ("poch", (-1 + 2.0**-40, 2.0), (-1 + 2.0**-39, None)),
    ("poch", (2.0, 0.0), (0.0, 1 - np.euler_gamma)),
]


@pytest.mark.parametrize(("name", "args", "expected"), POLES)
def test_slopes_at_poles_of_gamma_functions(
    name: str, args: tuple[float, float], expected: tuple[float | None, float | None]
) -> None:
    leaves = [fg.tensor(a, requires_grad=True) for a in args]
    found = fg.autograd.grad(getattr(ours, name)(*leaves), leaves)
    for slope, wanted in zip(found, expected, strict=True):
        if wanted is not None:
            assert_allclose(slope.item(), wanted, rtol=1e-12, atol=1e-15)
    if name == "binom":
        assert np.isfinite([slope.item() for slope in found]).all()


def test_rising_factorials_of_whole_numbers_are_polynomials() -> None:
    for m in range(1, 6):
        power = np.polynomial.Polynomial.fromroots(-np.arange(m))
        z = np.array([-4.0, -3.5, -2.0, -1e-8, 0.0, 0.3, 1.0, 2.5])
        t = fg.tensor(z, requires_grad=True)
        (slope,) = fg.autograd.grad(ours.poch(t, float(m)).sum(), [t])
        assert_allclose(slope, power.deriv()(z), rtol=1e-11, atol=1e-11)
