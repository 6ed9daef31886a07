"""Spellings of NumPy's and PyTorch's that mean one of our parameters, and what in place may narrow.

What is refused: `test_argument_errors.py`.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import linalg
from ferrograd.nn import functional
from op_support import DTYPES, parts

X = fg.tensor([[3.0, 1.0, 2.0], [0.5, -1.0, 4.0]])
SQUARE = fg.tensor([[2.0, 1.0], [1.0, 3.0]])
HALVES = np.array([[0, 1], [1, 0]])

# fmt: off
SAME: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "dim, keepdim": (lambda: X.sum(dim=1, keepdim=True), lambda: X.sum(axis=1, keepdims=True)),
    "amax dim": (lambda: X.amax(dim=1), lambda: X.max(axis=1)),
    "amin dim": (lambda: fg.amin(X, dim=0, keepdim=True), lambda: X.min(axis=0, keepdims=True)),
    "correction": (lambda: X.var(dim=0, correction=1), lambda: X.var(axis=0, ddof=1)),
    "unbiased": (lambda: X.std(dim=0, unbiased=True), lambda: X.std(axis=0, ddof=1)),
    "not unbiased": (lambda: X.std(dim=0, unbiased=False), lambda: X.std(axis=0)),
    "interpolation": (lambda: fg.quantile(X, 0.3, interpolation="lower"),
                      lambda: fg.quantile(X, 0.3, method="lower")),
    "rtol": (lambda: linalg.pinv(SQUARE, rtol=0.5), lambda: linalg.pinv(SQUARE, rcond=0.5)),
    "upper": (lambda: linalg.solve_triangular(SQUARE, SQUARE, upper=False, unitriangular=True),
              lambda: linalg.solve_triangular(SQUARE, SQUARE, lower=True, unit_diagonal=True)),
    "correction=None": (lambda: X.var(dim=0, correction=None), lambda: X.var(axis=0, ddof=1)),
    "std correction=None": (lambda: fg.std(X, correction=None), lambda: fg.std(X, ddof=1)),
    "var_mean correction=None": (lambda: fg.var_mean(X, dim=1, correction=None),
                                 lambda: fg.var_mean(X, dim=1)),
    "left": (lambda: linalg.solve_triangular(SQUARE, SQUARE, upper=True, left=False),
             lambda: linalg.solve_triangular(SQUARE.T, SQUARE.T, upper=False).T),
    "hermitian": (lambda: linalg.pinv(SQUARE.tril(), hermitian=True), lambda: linalg.pinv(SQUARE)),
    "end": (lambda: fg.arange(1, end=4), lambda: fg.arange(1, 4)),
    "start, end, step": (lambda: fg.arange(start=1, end=4, step=0.5), lambda: fg.arange(1, 4, 0.5)),
    "end alone": (lambda: fg.arange(end=4), lambda: fg.arange(4)),
    "not sorted": (lambda: fg.unique(X, sorted=False, return_counts=True, dim=0),
                   lambda: fg.unique(X, return_counts=True, axis=0)),
    "tril_indices dtype": (lambda: fg.tril_indices(3, 4, 1, dtype=fg.int32, device="cpu"),
                           lambda: fg.tensor(np.tril_indices(3, 1, 4)).astype("int32")),
    "triu_indices dtype": (lambda: fg.triu_indices(3, 4, offset=-1, dtype=fg.int32),
                           lambda: fg.tensor(np.triu_indices(3, -1, 4)).astype("int32")),
    "randint_like dtype": (lambda: fg.randint_like(X, 7, 8, dtype=fg.int32),
                           lambda: fg.full((2, 3), 7, dtype=fg.int32)),
    "range": (lambda: X[range(1), range(1, 2)], lambda: X[[0], [1]]),
    "range of columns": (lambda: X[:, range(0, 3, 2)], lambda: X[:, [0, 2]]),
    "range of an operation": (lambda: X.take(range(4)) + range(4),
                              lambda: X.reshape(6)[:4] + np.arange(4)),
    "empty range": (lambda: X[range(0)], lambda: X[[]]),
    **{f"{name} dim": (lambda name=name: getattr(fg.fft, name)(X + 0j, dim=(0, 1)),
                       lambda name=name: getattr(fg.fft, name)(X + 0j, axes=(0, 1)))
       for name in ("fft2", "ifft2", "irfft2", "fftn", "ifftn", "irfftn", "hfft2", "hfftn")},
    **{f"{name} dim": (lambda name=name: getattr(fg.fft, name)(X, dim=0),
                       lambda name=name: getattr(fg.fft, name)(X, axes=0))
       for name in ("rfftn", "ihfftn", "fftshift", "ifftshift")},
    "offset": (lambda: fg.diagflat(X[0], offset=1), lambda: fg.diagflat(X[0], 1)),
    "stable": (lambda: X.argsort(dim=1, stable=True), lambda: X.argsort(axis=1)),
    "kind": (lambda: fg.sort(X, kind="stable"), lambda: fg.sort(X)),
    "sorted": (lambda: fg.unique(X, sorted=True), lambda: fg.unique(X)),
    "out": (lambda: fg.exp(X, out=None), lambda: fg.exp(X)),
    "device": (lambda: X.zeros_like(device="cpu"), lambda: fg.zeros_like(X)),
    "dtype": (lambda: fg.softmax(X, dim=1, dtype=np.float32),
              lambda: fg.softmax(X.astype(np.float32), 1)),
    "along the flattened": (lambda: fg.take_along_dim(X, HALVES),
                            lambda: X.reshape(6)[[0, 1, 1, 0]]),
    "polygamma": (lambda: SQUARE.polygamma(2), lambda: fg.polygamma(2, SQUARE)),
    "dtype by position": (lambda: fg.array([1, 2], np.float32),
                          lambda: fg.tensor([1.0, 2.0], dtype=np.float32)),
    "Tensor": (lambda: fg.Tensor([1, 2], np.float32), lambda: fg.tensor([1, 2], np.float32)),
}
# fmt: on


@pytest.mark.parametrize("name", SAME)
def test_two_spellings_of_one_call(name: str) -> None:
    ours, plain = (parts(call()) for call in SAME[name])
    for a, b in zip(ours, plain, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_words_that_would_change_the_result_are_refused() -> None:
    calls: list[Callable[[], Any]] = [
        lambda: fg.partition(X, 1, kind="stable"),
        lambda: X.zeros_like(device="cuda"),
    ]
    for call in calls:
        with pytest.raises(fg.errors.ArgumentTypeError, match="unexpected keyword"):
            call()


def test_evenly_spaced_integers_are_rounded_down() -> None:
    for end, dtype in ((-3, np.int64), (7, np.int32), (-3, np.float32)):
        ours = fg.linspace(0, end, 5, dtype=dtype)
        assert ours.dtype == dtype
        np.testing.assert_array_equal(ours, np.linspace(0, end, 5, dtype=dtype))


def test_attention_drops_weights_when_asked() -> None:
    rng = np.random.default_rng(0)
    q, k, v = (fg.tensor(rng.normal(size=(2, 5, 4)), requires_grad=True) for _ in range(3))
    attention = functional.scaled_dot_product_attention
    plain = attention(q, k, v, is_causal=True)
    assert fg.array_equal(attention(q, k, v, None, 0.0, True), plain)
    generators = (fg.Generator(3), fg.Generator(3))
    found = attention(q, k, v, dropout_p=0.5, is_causal=True, generator=generators[0])
    weights = attention(q, k, np.eye(5), is_causal=True)
    dropped = functional.dropout(weights, 0.5, generator=generators[1])
    assert fg.allclose(found, dropped @ v)
    assert (dropped == 0).sum().item() > (weights == 0).sum().item()
    assert all(g is not None for g in fg.autograd.grad(found.sum(), [q, k, v]))


NUMBERS = DTYPES[:-1]


@pytest.mark.parametrize(("own", "other"), list(itertools.product(NUMBERS, DTYPES)))
def test_in_place_narrows_as_numpy_does(own: Any, other: Any) -> None:
    x, y = np.array([1, 2, 3], own), np.array([1, 0, 1], other)
    ours = fg.tensor(x)
    try:
        x += y
    except TypeError:
        with pytest.raises(fg.errors.DTypeError, match="the result is"):
            ours += fg.tensor(y)
        assert ours.tolist() == [1, 2, 3]
        return
    ours += fg.tensor(y)
    assert ours.dtype == own
    np.testing.assert_array_equal(ours, x)


@pytest.mark.parametrize(("own", "other"), list(itertools.product(DTYPES, DTYPES)))
def test_what_is_assigned_is_cast_as_numpy_does(own: Any, other: Any) -> None:
    y = np.array([1, 0, 2.75]).astype(other)
    expected = y.astype(own)
    assigned, copied, filled = (fg.zeros(3, dtype=own) for _ in range(3))
    assigned[:] = fg.tensor(y)
    copied.copy_(fg.tensor(y))
    filled.fill_(fg.tensor(y[2]))
    np.testing.assert_array_equal(assigned, expected)
    np.testing.assert_array_equal(copied, expected)
    np.testing.assert_array_equal(filled, np.full(3, expected[2]))


def test_the_gradient_of_a_narrowed_operand_is_wide_again() -> None:
    wide = fg.tensor([1.0, 2.0], requires_grad=True)
    x = fg.ones(2, dtype=fg.float32) * 1
    x += wide * wide
    x.sum().backward()
    assert wide.grad is not None
    assert wide.grad.dtype == fg.float64
    assert wide.grad.tolist() == [2.0, 4.0]
