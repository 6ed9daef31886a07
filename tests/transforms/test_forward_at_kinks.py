"""Forward and reverse derivatives agree where a derivative is a convention: at zeros and at ties.

Where the gradient is finite, `jvp` is its product with the direction; forward mode differentiates
the reverse pass, in which a quotient of zeros must not appear.
"""

import itertools
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.nn import functional

#: Names that draw numbers, or that are no functions of arrays.
OTHERS = ("set", "seed", "manual", "save", "load", "dropout", "alpha_dropout", "feature_")
POINTS = (0.0, -0.0, 1.0, -1.0, 3.0)


def functions(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in dir(module):
        f = getattr(module, name)
        if callable(f) and not isinstance(f, type) and not name.startswith(("_", *OTHERS)):
            yield name, f


def both(f: Callable[[Any], Any], x: Any, directions: list[Any]) -> list[tuple[Any, Any]] | None:
    """Pairs of forward and reverse derivatives; None where there is no finite gradient."""

    def total(x: Any) -> Any:
        return np.real(np.sum(f(x)))

    try:
        gradient = np.asarray(fg.grad(total)(x))
    except Exception:
        return None
    if not np.all(np.isfinite(gradient)):
        return None
    pairs = []
    for direction in directions:
        forward = fg.jvp(total, (x,), (direction,))[1]
        pairs.append((float(forward), float(np.real(np.sum(gradient * direction)))))
    return pairs


@pytest.mark.parametrize(
    "module", [fg, functional, fg.linalg], ids=["fg", "nn.functional", "linalg"]
)
@pytest.mark.parametrize("dtype", [float, complex])
def test_of_one_operand(module: ModuleType, dtype: type) -> None:
    wrong, count = [], 0
    directions = [np.ones(1, dtype), *([np.full(1, 1j)] if dtype is complex else [])]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for (name, f), point in itertools.product(functions(module), POINTS):
            pairs = both(f, np.full(1, point, dtype), directions)
            count += pairs is not None
            if pairs and not np.allclose(*np.array(pairs).T):
                wrong.append((name, point, pairs))
    assert not wrong
    assert count > (500 if module is fg else 0)


@pytest.mark.parametrize("module", [fg, functional], ids=["fg", "nn.functional"])
def test_of_two_operands(module: ModuleType) -> None:
    wrong, count = [], 0
    directions = [np.array(d) for d in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0])]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name, f in functions(module):
            for point in itertools.product((0.0, 1.0, -1.0), repeat=2):
                pairs = both(lambda q, f=f: f(q[:1], q[1:]), np.array(point), directions)
                if pairs is None:
                    continue
                count += 1
                if not np.allclose(*np.array(pairs).T):
                    wrong.append((name, point, pairs))
    assert not wrong
    assert count > 100


def test_absolute_values_of_zeros_in_a_sum() -> None:
    x, v = np.array([0.3, 0.7]), np.ones(2)
    for f in (
        lambda p: np.sum(np.abs(p * 0j)) + p[1],
        lambda p: np.sum(np.hypot(p - p, 0 * p)) + p[1],
    ):
        assert fg.grad(f)(x).tolist() == [0, 1]
        assert fg.jvp(f, (x,), (v,))[1] == 1
        assert fg.hvp(f)(x, v).tolist() == [0, 0]
