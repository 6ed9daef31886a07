"""Identity matrices have NumPy's bits, and one window over an image is its mean.

Owns: both, with what may be done to the results.
"""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg

F = fg.nn.functional


@pytest.mark.parametrize("dims", [(0, 0), (1, 1), (4, 4), (3, 5), (5, 3), (0, 2), (2, 0), (50, 60)])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "u1", "c8", "?"])
def test_eye_has_numpys_bits(dims: Any, dtype: str) -> None:
    for k in (0, 1, -1, 2, -4, 4, 7):
        ours, theirs = fg.eye(*dims, k=k, dtype=dtype).numpy(), np.eye(*dims, k, dtype)
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert ours.tobytes() == theirs.tobytes()


def test_eye_is_a_leaf_that_may_be_written() -> None:
    x = fg.eye(2, 3, requires_grad=True)
    assert x.is_leaf
    (x * x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0]]
    rows = fg.eye(2)
    rows[0, 1] = 3.0
    assert rows.tolist() == [[1.0, 3.0], [0.0, 1.0]]
    with fg.no_grad():
        assert fg.eye(2, requires_grad=True).requires_grad


def test_eye_in_a_compiled_function() -> None:
    @fg.compile
    def shifted(x: Any) -> Any:
        return x @ (fg.eye(3, k=1) * 2 + fg.eye(3))

    for _ in range(4):
        x = np.random.default_rng(0).standard_normal((2, 3))
        np.testing.assert_allclose(
            shifted(fg.tensor(x)).numpy(), x @ (np.eye(3, k=1) * 2 + np.eye(3))
        )


@pytest.mark.parametrize("size", [1, (1, 1), [1, 1], (None, 1)])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8"])
def test_one_window_is_a_mean(size: Any, dtype: str) -> None:
    x = np.arange(2 * 3 * 1 * 5).reshape(2, 3, 1, 5).astype(dtype)
    got = F.adaptive_avg_pool2d(fg.tensor(x), size)
    assert got.shape == (2, 3, 1, 1)
    assert got.numpy().dtype == (x.dtype if dtype != "i8" else np.float64)
    np.testing.assert_allclose(got.numpy(), x.mean((2, 3), keepdims=True), rtol=1e-6)
    assert F.adaptive_avg_pool2d(fg.tensor(x[0]), size).shape == (3, 1, 1)


@pytest.mark.parametrize("shape", [(4,), (2, 3, 0, 4)])
def test_one_window_needs_an_image(shape: Any) -> None:
    with pytest.raises(ValueError, match="adaptive_avg_pool2d"):
        F.adaptive_avg_pool2d(fg.zeros(shape), 1)
