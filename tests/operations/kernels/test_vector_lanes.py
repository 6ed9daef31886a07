"""Vector loops of functions: tails, memory beside them, results in place, subnormals.

How exact their functions are, test_accuracy.py holds.
"""

from collections.abc import Callable

import numpy as np
import pytest

import ferrograd as fg

ONE = (
    "exp",
    "log",
    "log2",
    "log10",
    "log1p",
    "sinh",
    "cosh",
    "cbrt",
    "erfc",
    "sigmoid",
    "silu",
    "softplus",
    "logsigmoid",
    "mish",
    "gelu",
)
TWO = ("power", "logaddexp", "xlogy")
LENGTHS = (1, 2, 7, 15, 16, 17, 31, 33, 48, 61, 300)


def operation(name: str) -> Callable[..., fg.Tensor]:
    found: Callable[..., fg.Tensor] = getattr(fg, name, None) or getattr(fg.nn.functional, name)
    return found


def operands(name: str, n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    x = [rng.uniform(0.01, 4.0, n).astype(np.float32) for _ in range(1 + (name in TWO))]
    if name not in ("log", "log2", "log10", "power", "xlogy"):
        x[0][::2] *= -1 if name != "log1p" else -0.2
    return x


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_an_element_is_the_same_in_a_run_of_any_length(name: str) -> None:
    f, x = operation(name), operands(name, 320)
    whole = f(*map(fg.tensor, x)).numpy()
    for n in LENGTHS:
        for start in (0, 3, 19):
            part = f(*(fg.tensor(v[start : start + n]) for v in x)).numpy()
            np.testing.assert_array_equal(part, whole[start : start + n])


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_nothing_beside_the_result_is_written(name: str) -> None:
    f = operation(name)
    for n in LENGTHS:
        x = operands(name, n)
        room = fg.tensor(np.full(n + 40, 7.0, np.float32))
        room[20 : 20 + n] = fg.tensor(x[0])
        view = room[20 : 20 + n]
        want = f(*map(fg.tensor, x)).numpy()
        np.testing.assert_array_equal(f(view, *map(fg.tensor, x[1:])).numpy(), want)
        if name in ONE and hasattr(view, f"{name}_"):
            getattr(view, f"{name}_")()
            np.testing.assert_array_equal(room.numpy()[20 : 20 + n], want)
        assert (room.numpy()[:20] == 7.0).all()
        assert (room.numpy()[20 + n :] == 7.0).all()


@pytest.mark.parametrize("name", ["sinh", "log1p", "cbrt"])
def test_subnormal_numbers_keep_their_digits(name: str) -> None:
    x = np.array([1e-45, 3e-45, 1e-40, 1e-38, 1e-30] * 5, np.float32)
    for sign in (1, -1):
        got = operation(name)(fg.tensor(sign * x)).numpy()
        np.testing.assert_allclose(
            got,
            getattr(np, name)(sign * x.astype(np.float64)).astype(np.float32),
            rtol=2e-7,
            atol=0,
        )


def test_powers_of_negative_numbers_know_odd_and_even_exponents() -> None:
    x = np.array([-2.0, -0.0, 0.0, -np.inf, -1.0, 3.0, -0.5, -1e-40] * 5, np.float32)
    for y in (3.0, -3.0, 2.0, 5.0, -4.0, 0.5, 2.5, 1e10, np.inf, -np.inf, 0.0, 16777217.0):
        exponents = np.full_like(x, y)
        with np.errstate(all="ignore"):
            want = x**exponents
        got = fg.power(fg.tensor(x), fg.tensor(exponents)).numpy()
        np.testing.assert_allclose(got, want, rtol=2e-7)
        known = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got)[known], np.signbit(want)[known])


def test_logarithms_know_the_ends_of_their_domain() -> None:
    x = np.array([0.0, -0.0, -1.0, np.inf, -np.inf, np.nan, 1.0, 1e-45] * 4, np.float32)
    for name in ("log", "log2", "log10"):
        with np.errstate(all="ignore"):
            want = getattr(np, name)(x)
        np.testing.assert_allclose(operation(name)(fg.tensor(x)).numpy(), want, rtol=2e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["exp", "tanh", "power", "arctan2"])
def test_far_memory_is_called_for_without_changing_results(name: str, dtype: str) -> None:
    n = 300_007
    x = [
        np.linspace(0.1, 3.0, n).astype(dtype)
        for _ in range(2 if name in ("power", "arctan2") else 1)
    ]
    f = operation(name)
    whole = f(*map(fg.tensor, x)).numpy()
    for start in (0, 131_072, n - 1000):
        part = f(*(fg.tensor(v[start : start + 1000]) for v in x)).numpy()
        np.testing.assert_array_equal(part, whole[start : start + 1000])
