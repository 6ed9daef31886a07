"""Bounds that are tensors, and functions whose loops take the rare ends of their domain apart."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg


def reference(x: Any, low: Any, high: Any) -> Any:
    """Clipping by one selection after the other, with its derivatives."""
    x, low, high = (fg.tensor(v, requires_grad=True) for v in (x, low, high))
    a, b, c = fg.broadcast_arrays(x, low, high)
    raised = fg.where((a < b) | fg.isnan(b.detach()), b, a)
    out = fg.where((raised > c) | fg.isnan(c.detach()), c, raised)
    out.backward(fg.ones_like(out))
    return out.numpy(), [v.grad.numpy() for v in (x, low, high)]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_clip_by_tensors_is_two_selections(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x, low, high = rng.integers(-3, 4, (3, 40, 11)).astype(dtype)
    x[0, :3], low[1, :3], high[2, :3], low[3, 0], high[3, 0] = (
        np.nan,
        np.nan,
        np.nan,
        np.inf,
        -np.inf,
    )
    for lo, hi in (
        (low, high),
        (low[:, :1], high[0]),
        (low[0], high[:, :1]),
        (-np.abs(low), np.abs(high)),
    ):
        want, gradients = reference(x, lo, hi)
        leaves = [fg.tensor(v, requires_grad=True) for v in (x, lo, hi)]
        out = fg.clip(*leaves)
        np.testing.assert_array_equal(out.numpy(), want)
        out.backward(fg.ones_like(out))
        for leaf, gradient in zip(leaves, gradients, strict=True):
            np.testing.assert_array_equal(np.asarray(leaf.grad), gradient)


def test_clip_by_one_tensor_and_a_number() -> None:
    x, low = np.linspace(-2, 2, 9), np.array([-1.0, 0, 1])[:, None]
    np.testing.assert_array_equal(fg.clip(x, fg.tensor(low), 1.5).numpy(), np.clip(x, low, 1.5))
    np.testing.assert_array_equal(
        fg.clip(fg.tensor(x), fg.tensor(low)).numpy(), np.clip(x, low, None)
    )
    np.testing.assert_array_equal(
        fg.clip(fg.tensor(x), None, fg.tensor(low)).numpy(), np.clip(x, None, low)
    )
    assert np.isnan(fg.clip(fg.tensor(x), fg.tensor(low), float("nan")).numpy()).all()


def test_clip_by_tensors_has_a_second_derivative() -> None:
    x = fg.tensor(np.linspace(-1, 1, 7), requires_grad=True)
    low = fg.tensor(np.full(7, -0.5), requires_grad=True)
    high = fg.tensor(np.full(7, 0.4), requires_grad=True)
    assert fg.gradgradcheck(lambda a, b, c: (fg.clip(a, b, c) ** 3).sum(), (x, low, high))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_erfinv_at_the_ends_does_not_depend_on_its_neighbours(dtype: Any) -> None:
    close = 1 - 10.0 ** -np.arange(1, 16 if dtype == "float64" else 7)
    special = np.concatenate(
        [close, -close, [1, -1, 0, -0.0, np.nan, 1.5, -2, 0.999, 0.9990, 0.99903, 0.9966]]
    ).astype(dtype)
    alone = np.array([fg.erfinv(fg.tensor(np.full(1, v))).numpy()[0] for v in special])
    for n in (64, 65, 1000):
        for at in (0, 63, n - 1):
            for value, want in zip(special, alone, strict=True):
                x = np.full(n, 0.25, dtype)
                x[at] = value
                got = fg.erfinv(fg.tensor(x)).numpy()
                np.testing.assert_array_equal(got[at], want)
                assert len(set(np.delete(got, at).tolist())) == 1
    assert alone[2 * len(close)] == np.inf
    assert alone[2 * len(close) + 1] == -np.inf


def test_the_derivative_of_sinc_near_and_far_from_zero() -> None:
    x = np.concatenate(
        [
            [0.0, 1e-300, -1e-9],
            np.linspace(-4, 4, 801),
            1 / np.pi + np.arange(-3, 4) * 1e-15,
            [1e5, -3e7],
        ]
    )
    t = fg.tensor(x, requires_grad=True)
    (slope,) = fg.autograd.grad(fg.sinc(t).sum(), [t], create_graph=True)
    u = np.pi * x
    with np.errstate(all="ignore"):
        far = np.pi * (np.cos(u) - np.sin(u) / u) / u
    np.testing.assert_allclose(
        slope.numpy()[np.abs(x) > 0.1], far[np.abs(x) > 0.1], rtol=0, atol=2e-14
    )
    series = np.pi * u * (-1 / 3 + u**2 / 30 - u**4 / 840 + u**6 / 45360)
    near = np.abs(x) < 0.02
    np.testing.assert_allclose(slope.numpy()[near], series[near], rtol=1e-14)
    (second,) = fg.autograd.grad(slope.sum(), [t])
    step = 1e-5
    numeric = np.gradient(np.interp(x[3:804], x[3:804], slope.numpy()[3:804]), 0.01)
    np.testing.assert_allclose(second.numpy()[4:803], numeric[1:-1], atol=2e-2 + step)
