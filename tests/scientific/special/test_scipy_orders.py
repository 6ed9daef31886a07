"""Derivatives by the order of Bessel functions and by parameters of hypergeometric functions."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special as theirs
from numpy.testing import assert_allclose

import ferrograd as fg
from ferrograd.errors import NotDifferentiableError
from ferrograd.scipy import special as ours
from scipy_support import agree

#: From mpmath with 40 digits; `golden/orders.py` writes it.
GOLDEN = np.load(Path(__file__).parents[2] / "golden" / "orders.npz")
PARAMETERS = {"jv": 1, "yv": 1, "iv": 1, "kv": 1, "hyp2f1": 3, "hyp1f1": 2}

V = np.array([0.4, 1.0, 2.6, 0.0])
X = np.array([0.3, 1.7, 2.2, 6.0])


@pytest.mark.parametrize("name", PARAMETERS)
def test_derivatives_have_the_digits_of_mpmath(name: str) -> None:
    count = PARAMETERS[name]
    rows = GOLDEN[name].T
    arguments, expected = rows[:-count], rows[-count:]
    assert arguments.shape[1] > 30
    found = fg.grad(lambda *a: getattr(ours, name)(*a).sum(), tuple(range(count)))(*arguments)
    # Beside a zero of the derivative its error is that of the function's size.
    size = np.abs(getattr(theirs, name)(*arguments))
    for mine, other in zip(found, expected, strict=True):
        assert np.all(np.abs(mine - other) <= 1e-11 * np.abs(other) + 1e-13 * size)


@pytest.mark.parametrize("name", ["jv", "yv", "iv", "kv", "ive", "kve", "jve", "yve"])
def test_bessel_functions_by_order_and_argument(name: str) -> None:
    mine, other = getattr(ours, name), getattr(theirs, name)
    agree(mine, other, V + 0.1, X, singles=False, rtol=2e-9)
    agree(mine, other, -V - 0.3, X, singles=False, rtol=2e-9)


def test_hypergeometric_functions_by_all_arguments() -> None:
    a, b, c = np.array([0.3, 1.2]), np.array([1.4, -0.7]), np.array([2.2, 3.1])
    for z in (np.array([0.2, -1.5]), np.array([-0.4, 0.7])):
        agree(ours.hyp2f1, theirs.hyp2f1, a, b, c, z, singles=False)
        agree(ours.hyp1f1, theirs.hyp1f1, a, c, 3 * z, singles=False)


def test_orders_and_arguments_have_one_shape_together() -> None:
    slope = fg.grad(lambda v: ours.jv(v, X[:, None]).sum())(V)
    assert slope.shape == V.shape
    ones = [fg.grad(lambda v, x=x: ours.jv(v, x).sum())(V) for x in X]
    assert_allclose(slope, sum(ones), rtol=1e-12)


def test_edges() -> None:
    slope = fg.grad(lambda v: ours.jv(v, 0.0))
    assert slope(1.5) == 0.0
    assert np.isnan(slope(-0.5))
    assert np.isnan(fg.grad(lambda v: ours.kv(v, -1.0))(0.3))
    assert fg.grad(lambda v: ours.kv(v, np.inf))(0.3) == 0.0


#: Functions, the place of the parameter, arguments, and mpmath's derivative.
BY_PARAMETER = [
    ("zeta", 0, (1.1, 1.0), -99.92816307577054),
    ("zeta", 0, (1.5, 0.3), 3.292037761731204),
    ("zeta", 0, (50.0, 0.1), 2.302585092994039e50),
    ("zeta", 0, (2.5, 10000.0), -6.585131894468707e-06),
    ("zeta", 0, (-0.5,), -0.3608543395999476),
    ("hyp0f1", 0, (1.5, 2.0), -1.6144614674791236),
    ("hyp0f1", 0, (0.3, -1.0), 6.629554920018167),
    ("hyp0f1", 0, (4.0, -20.0), -0.01333849065351031),
    ("hyp0f1", 0, (-1.5, 0.7), 0.6612077936420402),
    ("hyperu", 0, (0.5, 1.0, 0.2), 0.4386432540061797),
    ("hyperu", 1, (0.5, 1.0, 0.2), 0.9984921175657716),
    ("hyperu", 0, (5.0, 1.0, 10.0), -5.102816261698344e-06),
    ("hyperu", 1, (2.3, 0.7, 1.0), 0.06978829161420741),
    ("hyperu", 0, (-0.5, -2.0, 3.0), -3.7499151866188187),
    ("hyperu", 1, (-0.5, -2.0, 3.0), -0.2097607652445927),
]


@pytest.mark.parametrize(("name", "place", "args", "expected"), BY_PARAMETER)
def test_derivatives_by_parameters(
    name: str, place: int, args: tuple[float, ...], expected: float
) -> None:
    def of_one(value: Any) -> Any:
        return getattr(ours, name)(*args[:place], value, *args[place + 1 :])

    assert fg.grad(of_one)(args[place]) == pytest.approx(expected, rel=1e-12)


def test_zeta_and_its_like_by_all_arguments() -> None:
    s, q = np.array([1.3, 2.5, 4.0]), np.array([0.4, 1.0, 3.2])
    agree(ours.zeta, theirs.zeta, s, q, singles=False)
    agree(ours.hyp0f1, theirs.hyp0f1, s, q - 1.5, singles=False)
    agree(ours.hyperu, theirs.hyperu, q, s - 2.0, q[::-1], singles=False, rtol=1e-7)
    agree(ours.zetac, theirs.zetac, s, singles=False)
    assert fg.grad(ours.zetac)(2.5) == fg.grad(ours.zeta)(2.5)


@pytest.mark.parametrize(
    ("call", "at"),
    [
        (lambda v: ours.jv(v, 1e5), 0.3),
        (lambda v: ours.iv(v, 1.0 + 1.0j).real, 0.3),
        (lambda a: ours.hyp2f1(a, 0.5, 1.5, 0.9999), 0.3),
        (lambda a: ours.hyp1f1(a, 0.7, -40.0), 60.0),
        (lambda a: ours.hyp1f1(a, 0.7, 1e5), 0.3),
        (lambda v: ours.hyp0f1(v, -900.0), 0.3),
        (lambda a: ours.hyperu(a, 0.5, 2.0), -1.5),
        (lambda s: ours.zeta(s, 1e-9 + 0.5), 1e6),
        (lambda a: ours.hyp2f1(a, 0.5, 1.5, 0.2 + 1.0j).real, 0.3),
    ],
)
def test_what_cannot_be_accurate_is_refused(call: Any, at: float) -> None:
    with pytest.raises(NotDifferentiableError, match="detached"):
        fg.grad(call)(at)
