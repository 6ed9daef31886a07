"""Kernels that work on blocks: equal bits at any block size, fused norms beside their formula."""

import os
import subprocess
import sys

import numpy as np
import pytest

import ferrograd as fg

RNG = np.random.default_rng(7)

PRODUCTS = {
    "square": ((200, 200), (200, 200)),
    "deep": ((130, 1100), (1100, 90)),
    "narrow": ((300, 700), (700, 65)),
    "batch": ((6, 90, 200), (6, 200, 110)),
    "one matrix for a batch": ((6, 50, 200), (200, 110)),
    "row": ((1, 2000), (2000, 700)),
}


def gradients(a: np.ndarray, b: np.ndarray, threads: int) -> list[bytes]:
    """The bytes of a product and of both gradients."""
    fg.set_num_threads(threads)
    x, y = fg.tensor(a, requires_grad=True), fg.tensor(b, requires_grad=True)
    out = x @ y
    (out * out).sum().backward()
    return [t.numpy().tobytes() for t in (out.detach(), x.grad, y.grad)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_have_the_same_bits_at_any_thread_count(name: str, dtype: str) -> None:
    a, b = (RNG.normal(size=shape).astype(dtype) for shape in PRODUCTS[name])
    one = gradients(a, b, 1)
    assert all(gradients(a, b, threads) == one for threads in (2, 3))


CHILD = """
import hashlib, numpy as np, ferrograd as fg
rng = np.random.default_rng(0)
x = fg.tensor(rng.normal(size=(96, 96)), requires_grad=True)
loss = 0.0
for _ in range(12):
    loss = loss + ((x @ rng.normal(size=(96, 96))).tanh() @ x).sum()
loss.backward()
print(hashlib.sha256(x.grad.numpy().tobytes()).hexdigest())
"""


def test_lanes_do_not_show_in_the_bits() -> None:
    def digest(**settings: str) -> str:
        child = [sys.executable, "-c", CHILD]
        return subprocess.check_output(child, env={**os.environ, **settings}, text=True)

    alone = digest(FERROGRAD_NUM_THREADS="1")
    assert digest(FERROGRAD_NUM_THREADS="2", FERROGRAD_LANES="1") == alone
    assert digest(FERROGRAD_NUM_THREADS="2") == alone


def text_of_norm(
    x: fg.Tensor, w: fg.Tensor | None, b: fg.Tensor | None, centred: bool
) -> fg.Tensor:
    """Layer or RMS norm in elementary operations."""
    if centred:
        x = x - x.mean(axis=-1, keepdims=True)
    y = x / fg.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5)
    y = y if w is None else y * w
    return y if b is None else y + b


@pytest.mark.parametrize("wanted", [(True, True, True), (True, False, False), (False, True, True)])
@pytest.mark.parametrize("shape", [(700, 37), (3, 5, 1300), (2, 1), (0, 4)])
@pytest.mark.parametrize("centred", [True, False])
def test_fused_norms_equal_their_text(
    centred: bool, shape: tuple[int, ...], wanted: tuple[bool, bool, bool]
) -> None:
    arrays = RNG.normal(size=shape), RNG.normal(size=shape[-1:]), RNG.normal(size=shape[-1:])
    g = RNG.normal(size=shape)

    def run(fused: bool) -> list[np.ndarray]:
        x, w, b = (fg.tensor(a, requires_grad=r) for a, r in zip(arrays, wanted, strict=True))
        if not fused:
            y = text_of_norm(x, w, b if centred else None, centred)
        elif centred:
            y = fg.nn.functional.layer_norm(x, shape[-1:], w, b, 1e-5)
        else:
            y = fg.nn.functional.rms_norm(x, shape[-1:], w, 1e-5)
        y.backward(fg.tensor(g))
        return [y.detach().numpy(), *(t.grad.numpy() for t in (x, w, b) if t.grad is not None)]

    for got, want in zip(run(True), run(False), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("n", [1, 8, 9, 17, 48, 130])
def test_factorisations_beyond_one_leaf(n: int) -> None:
    a, b = RNG.normal(size=(n, n)), RNG.normal(size=(n, 3))
    spd = a @ a.T + n * np.eye(n)
    lib = fg.linalg
    np.testing.assert_allclose(lib.solve(a, b).numpy(), np.linalg.solve(a, b), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(lib.inv(a).numpy(), np.linalg.inv(a), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(lib.det(a).numpy(), np.linalg.det(a), rtol=1e-10)
    np.testing.assert_allclose(lib.cholesky(spd).numpy(), np.linalg.cholesky(spd), rtol=1e-10)
    a[:, n // 2] = 0.0
    with pytest.raises(fg.errors.MatrixError, match="inv"):
        lib.inv(a)
    spd[n // 2, n // 2] = -1.0
    with pytest.raises(fg.errors.MatrixError, match="cholesky"):
        lib.cholesky(spd)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 2), (1, 2)])
def test_results_that_repeat_are_those_of_one(dtype: str, axes: tuple[int, ...]) -> None:
    given = (np.arange(-3.0, 39.0).reshape(7, 1, 6) / 4).astype(dtype)
    for base in (given, given[:, :, :1], given[:1], given[:1, :, :1]):
        whole = np.broadcast_to(base, (7, 5, 6))
        repeated, plain = fg.tensor(base).expand(7, 5, 6), fg.tensor(whole.copy())
        for name in ("sum", "prod", "any"):
            for keepdims in (False, True):
                found = getattr(repeated, name)(axis=axes, keepdims=keepdims)
                want = getattr(plain, name)(axis=axes, keepdims=keepdims)
                assert found.shape == want.shape
                np.testing.assert_allclose(found.numpy(), want.numpy(), rtol=1e-6)
