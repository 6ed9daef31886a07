"""Identity matrices have NumPy's bits, and one window over an image is its mean."""

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


@pytest.mark.parametrize("size", [1, 2, 3, (1, 2), (4, 6), (2, 6), (None, 3)])
@pytest.mark.parametrize("lead", [(2, 3), (3,)])
def test_adaptive_maxima_of_windows_of_one_size(lead: tuple[int, ...], size: Any) -> None:
    x = np.random.default_rng(0).integers(0, 9, (*lead, 4, 6)).astype(np.float32)
    x[..., 1, 1] = np.nan
    rows, columns = size if isinstance(size, tuple) else (size, size)
    rows, columns = rows or 4, columns or 6
    leaf = fg.tensor(x, requires_grad=True)
    found, places = F.adaptive_max_pool2d(leaf, size, return_indices=True)
    assert np.array_equal(
        F.adaptive_max_pool2d(leaf, size).detach().numpy(), found.detach().numpy(), equal_nan=True
    )
    counted = np.zeros_like(x)
    for at in np.ndindex(*lead, rows, columns):
        i, j = at[-2:]
        top, left = i * 4 // rows, j * 6 // columns
        window = x[at[:-2]][top : -(-(i + 1) * 4 // rows), left : -(-(j + 1) * 6 // columns)]
        r, c = np.unravel_index(window.argmax(), window.shape)
        assert np.array_equal(found[at].item(), window[r, c], equal_nan=True)
        assert places[at].item() == (top + r) * 6 + left + c
        counted[(*at[:-2], top + r, left + c)] += 1
    found.sum().backward()
    assert np.array_equal(leaf.grad.numpy(), counted)


@pytest.mark.parametrize("weight", [None, [0.5, 2.0, 1.0]])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy_of_images_is_that_of_their_rows(weight: Any, smoothing: float) -> None:
    rng = np.random.default_rng(1)
    x, target = rng.normal(size=(2, 3, 4, 5)), rng.integers(0, 3, (2, 4, 5))
    target[0, 0] = -100
    soft = rng.random((2, 3, 4, 5))
    images, rows = fg.tensor(x, requires_grad=True), fg.tensor(x, requires_grad=True)
    weight = None if weight is None else fg.tensor(weight)
    flat = rows.permute(0, 2, 3, 1).reshape(-1, 3)
    for reduction in ("mean", "sum", "none"):
        for numbers in (True, False):
            goal = fg.tensor(target if numbers else soft)
            line = goal.reshape(-1) if numbers else goal.permute(0, 2, 3, 1).reshape(-1, 3)
            options = {"weight": weight, "reduction": reduction, "label_smoothing": smoothing}
            ours = F.cross_entropy(images, goal, **options)
            theirs = F.cross_entropy(flat, line, **options)
            if reduction == "none":
                assert ours.shape == (2, 4, 5)
            elif not numbers and reduction == "mean":
                assert ours.item() == pytest.approx(theirs.item())
            total = (ours.reshape(-1) - theirs.reshape(-1)).abs().max()
            assert total.item() < 1e-12
            first = fg.autograd.grad((ours**2).sum(), [images])[0].numpy()
            second = fg.autograd.grad((theirs**2).sum(), [rows], retain_graph=True)[0].numpy()
            np.testing.assert_allclose(first, second, atol=1e-12)
            if numbers:
                ours = F.nll_loss(images, goal, weight, reduction=reduction)
                theirs = F.nll_loss(flat, line, weight, reduction=reduction)
                np.testing.assert_allclose(
                    ours.detach().numpy().reshape(-1), theirs.detach().numpy().reshape(-1)
                )
