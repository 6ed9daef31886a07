"""Group and batch normalisation where they lie in memory, beside NumPy.

Small shapes: `cases_networks.py`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

RNG = np.random.default_rng(3)
F = fg.nn.functional


def normalised(x: np.ndarray, axes: tuple[int, ...], eps: float = 1e-5) -> np.ndarray:
    x = x.astype(np.float64)
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def in_groups(x: np.ndarray, groups: int) -> np.ndarray:
    return normalised(x.reshape(len(x), groups, -1), (2,)).reshape(x.shape)


def channels(p: np.ndarray) -> np.ndarray:
    return p[:, None, None]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("dims", [(2, 7), (4, 2), (2, 4), (3, 3), (7, 7), (14, 14), (5, 207)])
def test_normalisation_of_channels(dims: tuple[int, int], dtype: str) -> None:
    close = 1e-12 if dtype == "float64" else 3e-6
    x = (RNG.standard_normal((3, 6, *dims)) * 3 + 2).astype(dtype)
    w, b = RNG.standard_normal(6).astype(dtype), RNG.standard_normal(6).astype(dtype)
    spread = fg.tensor(np.repeat(x, 2, axis=1))[:, ::2]
    for given in (fg.tensor(x), spread):
        for groups in (1, 2, 3, 6):
            plain = in_groups(x, groups)
            np.testing.assert_allclose(F.group_norm(given, groups), plain, close, close)
            for weight, bias in ((w, b), (w, None), (None, b)):
                expected = plain if weight is None else plain * channels(w)
                expected = expected if bias is None else expected + channels(b)
                ours = F.group_norm(given, groups, weight, bias)
                np.testing.assert_allclose(ours, expected, close, close)
        expected = normalised(x, (0, 2, 3)) * channels(w) + channels(b)
        ours = F.batch_norm(given, None, None, w, b, True)
        np.testing.assert_allclose(ours, expected, close, close)
        mean, var = fg.tensor(b), fg.tensor(w * w + 1)
        expected = (x - channels(b)) / np.sqrt(channels(w * w + 1) + 1e-5) * channels(w)
        np.testing.assert_allclose(F.batch_norm(given, mean, var, w), expected, close, close)


@pytest.mark.parametrize("dims", [(3, 4, 3, 3), (3, 4, 2), (5, 4)])
def test_running_statistics_are_those_of_the_batch(dims: tuple[int, ...]) -> None:
    x = RNG.standard_normal(dims) * 1e-3 + 5
    mean, var = fg.zeros(4), fg.ones(4)
    F.batch_norm(fg.tensor(x), mean, var, training=True, momentum=0.25)
    axes = (0, *range(2, x.ndim))
    np.testing.assert_allclose(mean, 0.25 * x.mean(axes), 1e-13)
    np.testing.assert_allclose(var, 0.75 + 0.25 * x.var(axes, ddof=1), 1e-13)
    F.batch_norm(fg.tensor(x), None, var, training=True, momentum=1.0)
    np.testing.assert_allclose(var, x.var(axes, ddof=1), 1e-8)


FORMS: dict[str, Callable[..., Any]] = {
    "groups": lambda x, w, b: F.group_norm(x, 2, w, b),
    "weight": lambda x, w, b: F.group_norm(x, 4, w) * b.sum(),
    "bias": lambda x, w, b: F.group_norm(x, 1, None, b) * w.sum(),
    "batch": lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
    "given": lambda x, w, b: F.batch_norm(x, w * 0.5, b * b + 1, b, w),
    "given without bias": lambda x, w, b: F.batch_norm(x, w, b * b + 1),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("inner", [2, 8, 9])
def test_derivatives_of_the_normalisation_of_channels(form: str, inner: int) -> None:
    x, w, b = RNG.standard_normal((2, 4, inner)), RNG.standard_normal(4), RNG.standard_normal(4)
    assert fg.autograd.gradcheck(FORMS[form], (x, w, b))
    assert fg.autograd.gradgradcheck(FORMS[form], (x, w, b))
    rows = fg.jacobian(lambda t: FORMS[form](t, fg.tensor(w), fg.tensor(b)).sum((0, 2)))(x)
    leaf = fg.tensor(x, requires_grad=True)
    last = FORMS[form](leaf, fg.tensor(w), fg.tensor(b))[:, -1].sum()
    (one,) = fg.autograd.grad(last, leaf)
    np.testing.assert_allclose(np.asarray(rows)[-1], one, 1e-10, 1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_one_answer_at_any_number_of_threads_and_compiled(form: str) -> None:
    arrays = [RNG.standard_normal(dims) for dims in ((8, 4, 40, 40), (4,), (4,))]

    def run() -> list[bytes]:
        leaves = [fg.tensor(a, requires_grad=True) for a in arrays]
        y = FORMS[form](*leaves)
        grads = fg.autograd.grad((y * y).sum() + y[0].sum(), leaves)
        return [t.detach().numpy().tobytes() for t in (y, *grads)]

    def with_threads(n: int) -> list[bytes]:
        fg.set_num_threads(n)
        return run()

    assert with_threads(1) == with_threads(2) == with_threads(3)
    compiled = fg.compile(FORMS[form])
    for scale in (1.0, 2.0):
        given = [fg.tensor(a * scale) for a in arrays]
        np.testing.assert_array_equal(compiled(*given), FORMS[form](*given))


def test_normalisation_of_no_elements_and_of_others() -> None:
    assert F.group_norm(fg.zeros(0, 4, 9), 2).shape == (0, 4, 9)
    assert F.group_norm(fg.zeros(2, 4, 0), 2).shape == (2, 4, 0)
    mixed = F.group_norm(fg.ones(2, 4, 9, dtype="float32"), 2, fg.ones(4, dtype="float64"))
    assert mixed.dtype == np.float64
    x = RNG.standard_normal((2, 4, 9))
    x[0, 1, 3], x[1, 3, 0] = np.nan, np.inf
    bad = np.isnan(F.group_norm(fg.tensor(x), 2).numpy()).any(axis=2)
    assert bad.tolist() == [[True, True, False, False], [False, False, True, True]]
