"""Derivatives of transforms: adjoints, both parts of complex numbers, second order, batches.

A transform is linear over the real numbers, so its slope along a direction is its value there:
differences would be exact, and are not needed.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from test_fft import NORMS, REAL, WAVES, samples

SHAPES: dict[str, tuple[dict[str, Any], ...]] = {
    "": ({}, {"n": 5}, {"n": 9, "axis": 0}, {"axis": 1}),
    "2": ({}, {"s": (3, 8)}, {"axes": (2, 0)}),
    "n": ({}, {"s": (9, 3), "axes": (0, 2)}, {"axes": (1,)}),
}
FOURIER = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
NAMES = [f"{name}{many}" for name in FOURIER for many in SHAPES]
NAMES += [f"{name}{many}" for name in WAVES for many in ("", "n")]


def inner(a: Any, b: Any) -> float:
    """The real inner product of two arrays, or of tensors."""
    a, b = (v.detach().numpy() if isinstance(v, fg.Tensor) else v for v in (a, b))
    return float(np.sum(a.real * b.real) + np.sum(a.imag * b.imag))


def calls(name: str) -> list[Callable[[Any], Any]]:
    many = name[-1] if name[-1] in "2n" else ""
    found = []
    for i, options in enumerate(SHAPES[many]):
        if name.removesuffix("n") in WAVES:
            options = {**options, "type": i + 1, "norm": NORMS[-1 - i]}
            found.append({**options, "orthogonalize": True})
        found.append({**options, "norm": NORMS[i]})
    return [lambda x, options=options: getattr(fg.fft, name)(x, **options) for options in found]


def like(rng: np.random.Generator, value: Any) -> np.ndarray:
    made = rng.standard_normal(value.shape)
    made = made + 1j * rng.standard_normal(value.shape) if value.dtype.kind == "c" else made
    return made.astype(value.dtype)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_to_second_order(name: str) -> None:
    rng = np.random.default_rng(5)
    for f in calls(name):
        x = fg.tensor(samples(name, 4, 6, 7), requires_grad=True)
        y = f(x)
        g = fg.tensor(like(rng, y), requires_grad=True)
        (slope,) = fg.autograd.grad([y], [x], [g], create_graph=True)
        assert slope.dtype == x.dtype
        for _ in range(2):
            d = like(rng, x)
            want = inner(g, f(fg.tensor(d)))
            assert abs(inner(slope, d) - want) <= 1e-12 * np.sqrt(inner(d, d) * inner(slope, slope))
        # The gradient is linear in `g`, and its own adjoint is the transform again.
        v = fg.tensor(like(rng, x))
        (back,) = fg.autograd.grad([slope], [g], [v])
        want = f(v).numpy()
        np.testing.assert_allclose(back.numpy(), want, 1e-11, 1e-12 * np.abs(want).max())


@pytest.mark.parametrize("name", [name for name in FOURIER if name not in REAL])
def test_real_input_has_a_real_gradient(name: str) -> None:
    x = fg.tensor(samples("rfft", 3, 8), requires_grad=True)
    y = getattr(fg.fft, name)(x, norm="ortho")
    g = like(np.random.default_rng(1), y)
    (slope,) = fg.autograd.grad([y], [x], [fg.tensor(g)])
    assert slope.dtype == np.float64
    d = samples("rfft", 3, 8, seed=4)
    want = inner(g, getattr(fg.fft, name)(fg.tensor(d), norm="ortho"))
    assert abs(inner(slope, d) - want) <= 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_batched_pulls_are_the_single_ones(name: str) -> None:
    rng = np.random.default_rng(3)
    f = calls(name)[-1]
    x = fg.tensor(samples(name, 4, 6, 7), requires_grad=True)
    y = f(x)
    rows = np.stack([like(rng, y) for _ in range(3)])
    (together,) = fg.autograd.grad(
        [y], [x], [fg.tensor(rows)], is_grads_batched=True, retain_graph=True
    )
    for row, found in zip(rows, together.numpy(), strict=True):
        (alone,) = fg.autograd.grad([y], [x], [fg.tensor(row)], retain_graph=True)
        np.testing.assert_allclose(found, alone.numpy(), 1e-12, 1e-13)


def test_the_gradient_of_fft_is_pytorchs() -> None:
    x = fg.tensor(samples("fft", 6), requires_grad=True)
    g = samples("fft", 6, seed=2)
    fg.fft.fft(x).backward(fg.tensor(g))
    np.testing.assert_allclose(x.grad.numpy(), 6 * np.fft.ifft(g), 1e-13)


def test_a_filter_is_fitted_in_frequency_space() -> None:
    """A loss of real values on both sides of a transform goes down along its gradient."""
    rng = np.random.default_rng(0)
    target = fg.tensor(rng.standard_normal(32))
    x = fg.tensor(rng.standard_normal(32), requires_grad=True)
    losses = []
    for _ in range(20):
        loss = (
            (fg.fft.irfft(fg.fft.rfft(x, norm="ortho")[:9], 32, norm="ortho") - target) ** 2
        ).sum()
        x.grad = None
        loss.backward()
        losses.append(loss.item())
        with fg.no_grad():
            x -= 0.3 * x.grad
    assert losses[-1] < losses[0]


def test_compiled_gradients_have_the_bits_of_eager() -> None:
    def loss(x: Any) -> Any:
        return (fg.fft.irfft(fg.fft.rfft(x, 20), 15) ** 3).sum() + (fg.fft.dst(x, 3) ** 2).sum()

    slope, compiled = fg.grad(loss), fg.compile(fg.grad(loss))
    for seed in range(3):
        x = fg.tensor(samples("rfft", 4, 15, seed=seed))
        np.testing.assert_array_equal(compiled(x).numpy(), slope(x).numpy())
