"""`comb` and `perm` beside SciPy: numbers of choices, and what they are where there are none."""

from typing import Any

import numpy as np
import pytest
import scipy.special as theirs
from numpy.testing import assert_allclose

import ferrograd as fg
from ferrograd.scipy import special as ours
from scipy_support import agree

N, K = np.array([5.0, 7.5, 12.0]), np.array([2.0, 3.3, 0.5])


@pytest.mark.parametrize("name", ["comb", "perm"])
def test_choices(name: str) -> None:
    mine, other = getattr(ours, name), getattr(theirs, name)
    agree(mine, other, N, K, singles=False)
    given: list[tuple[Any, Any]] = [(5, 2), (3, 5), (-2, 1), (4, -1), (0, 0), (3, 3), (6.5, 0)]
    for n, k in given:
        assert_allclose(mine(n, k), other(n, k), rtol=1e-14)
        assert isinstance(mine(n, k), float)
        slope = fg.grad(lambda n, k=k: mine(n, k))(float(n))
        assert np.isfinite(slope)
        assert slope == 0 or (0 < k <= n)


def test_choices_with_repetition() -> None:
    agree(
        lambda n, k: ours.comb(n, k, repetition=True),
        lambda n, k: theirs.comb(n, k, repetition=True),
        N,
        K,
        singles=False,
    )
    assert ours.comb(0, 0, repetition=True) == 1.0
    assert fg.grad(lambda n: ours.comb(n, 0, repetition=True))(0.0) == 0.0


def test_exact_choices_are_whole_numbers() -> None:
    assert ours.comb(60, 30, exact=True) == theirs.comb(60, 30, exact=True)
    assert ours.perm(20, 7, exact=True) == theirs.perm(20, 7, exact=True)
    for name in ("comb", "perm"):
        with pytest.raises(fg.errors.NotDifferentiableError, match="leave exact out"):
            getattr(ours, name)(fg.tensor(6.0, requires_grad=True), 2, exact=True)
