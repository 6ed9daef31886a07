"""Convolutions of images that kernels cut into strips, tiles and rows, beside sums tap by tap.

What operations compute: `test_ops.py`.
"""

import numpy as np
import pytest

import ferrograd as fg

F = fg.nn.functional

Pair = tuple[int, int]


def correlated(
    x: np.ndarray, w: np.ndarray, stride: Pair, padding: Pair, dilation: Pair
) -> np.ndarray:
    """The convolution of one group, tap by tap."""
    steps = zip(x.shape[2:], w.shape[2:], stride, padding, dilation, strict=True)
    high, wide = ((n + 2 * p - (k - 1) * d - 1) // s + 1 for n, k, s, p, d in steps)
    x = np.pad(x, [(0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2])
    out = np.zeros((len(x), len(w), high, wide))
    for i, j in np.ndindex(w.shape[2:]):
        rows = slice(i * dilation[0], None, stride[0])
        columns = slice(j * dilation[1], None, stride[1])
        part = x[:, :, rows, columns][:, :, :high, :wide]
        out += np.einsum("bchw,oc->bohw", part, w[:, :, i, j])
    return out


# Images, kernels, stride, padding, dilation; all of one group.
SHAPES = [
    ((2, 3, 9, 11), (5, 3, 3, 3), (1, 1), (0, 0), (1, 1)),
    ((1, 4, 5, 70), (9, 4, 3, 3), (1, 1), (1, 1), (1, 1)),
    ((3, 1, 60, 7), (8, 1, 5, 2), (1, 1), (2, 0), (1, 3)),
    ((2, 2, 6, 4), (17, 2, 1, 3), (1, 1), (0, 4), (1, 2)),
    ((1, 7, 4, 3), (2, 7, 3, 3), (1, 1), (3, 3), (2, 1)),
    ((2, 2, 1, 40), (3, 2, 1, 4), (1, 1), (1, 3), (1, 1)),
    ((1, 600, 40, 30), (4, 600, 3, 3), (1, 1), (1, 1), (1, 1)),
    # Phases of a stride, some of which no tap reads.
    ((2, 3, 15, 13), (9, 3, 3, 3), (2, 2), (1, 1), (1, 1)),
    ((2, 5, 12, 19), (8, 5, 4, 4), (2, 3), (0, 2), (1, 2)),
    ((1, 3, 31, 40), (12, 3, 7, 7), (2, 2), (3, 3), (1, 1)),
    ((3, 6, 9, 9), (10, 6, 1, 1), (2, 2), (0, 0), (1, 1)),
    ((2, 3, 4, 9), (4, 3, 2, 3), (5, 1), (1, 0), (1, 1)),
    ((2, 3, 16, 16), (8, 3, 4, 4), (4, 4), (0, 0), (1, 1)),
    # Several small images to a tile, and taps in several blocks.
    ((9, 20, 4, 4), (20, 20, 3, 3), (1, 1), (1, 1), (1, 1)),
    ((13, 40, 8, 8), (30, 40, 3, 3), (1, 1), (1, 1), (1, 1)),
    ((40, 3, 2, 3), (9, 3, 2, 2), (1, 1), (1, 1), (1, 1)),
    ((5, 9, 7, 7), (33, 9, 1, 1), (1, 1), (0, 0), (1, 1)),
    ((3, 64, 10, 30), (24, 64, 3, 3), (1, 1), (2, 2), (2, 2)),
    # One channel of an image for each of the result.
    ((2, 1, 14, 14), (1, 1, 3, 3), (1, 1), (1, 1), (1, 1)),
    ((3, 1, 7, 5), (1, 1, 5, 5), (1, 1), (2, 2), (1, 1)),
    ((1, 1, 33, 50), (1, 1, 7, 7), (1, 1), (3, 0), (1, 2)),
    ((2, 1, 28, 17), (1, 1, 3, 3), (2, 2), (1, 1), (1, 1)),
    ((2, 1, 9, 1), (1, 1, 4, 1), (3, 1), (0, 2), (2, 1)),
    ((1, 1, 1, 300), (1, 1, 1, 9), (1, 1), (0, 4), (1, 1)),
    ((1, 1, 400, 400), (1, 1, 3, 3), (1, 1), (1, 1), (1, 1)),
    ((2, 1, 3, 3), (1, 1, 1, 7), (4, 1), (0, 2), (1, 1)),
]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("image", "kernel", "stride", "padding", "dilation"), SHAPES)
@pytest.mark.parametrize("groups", [1, 3])
def test_direct_convolutions(
    image: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
    dtype: str,
) -> None:
    rng = np.random.default_rng(11)
    x = rng.standard_normal((image[0], image[1] * groups, *image[2:])).astype(dtype)
    w = rng.standard_normal((kernel[0] * groups, *kernel[1:])).astype(dtype)
    bias = rng.standard_normal(len(w)).astype(dtype)
    given = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    steps = stride, padding, dilation
    wide = zip(np.split(x, groups, 1), np.split(w, groups), strict=True)
    parts = [correlated(a.astype("float64"), b.astype("float64"), *steps) for a, b in wide]
    expected = np.concatenate(parts, 1) + bias[:, None, None]
    t, k = fg.tensor(x, requires_grad=True), fg.tensor(w, requires_grad=True)
    close = {"rtol": 1e-4, "atol": 2e-4} if dtype == "float32" else {"rtol": 1e-10, "atol": 1e-10}

    def run(threads: int) -> list[bytes]:
        fg.set_num_threads(threads)
        y = F.conv2d(t, k, fg.tensor(bias), **given)
        np.testing.assert_allclose(y.detach().numpy(), expected, **close)
        g = fg.tensor(np.cos(np.arange(y.size)).reshape(y.shape).astype(dtype))
        grads = fg.autograd.grad(y, [t, k], g)
        # The adjoint of a product has the same product with it.
        for leaf, grad in zip((t, k), grads, strict=True):
            left = np.vdot(grad.numpy().astype("float64"), leaf.detach().numpy())
            right = np.vdot(g.numpy().astype("float64"), expected - bias[:, None, None])
            assert abs(left - right) <= (1e-3 if dtype == "float32" else 1e-8) * (1 + abs(right))
        return [a.detach().numpy().tobytes() for a in (y, *grads)]

    assert run(1) == run(2)


# Images, kernels, stride, groups; no padding, so that a corner of the image meets one tap.
CORNERS = [
    ((2, 3, 9, 11), (8, 3, 3, 3), 1, 1),
    ((9, 8, 4, 5), (16, 8, 3, 3), 1, 1),
    ((2, 40, 9, 9), (16, 40, 3, 3), 1, 1),
    ((2, 4, 11, 9), (4, 1, 3, 3), 1, 4),
    ((2, 4, 11, 9), (4, 1, 3, 3), 2, 4),
    ((2, 3, 11, 9), (8, 3, 3, 3), 2, 1),
    ((1, 2, 8, 8), (2, 2, 2, 2), 2, 1),
]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("image", "kernel", "stride", "groups"), CORNERS)
@pytest.mark.parametrize("end", [0, -1])
def test_what_lies_outside_a_window_is_not_read(
    image: tuple[int, ...], kernel: tuple[int, ...], stride: int, groups: int, end: int, dtype: str
) -> None:
    rng = np.random.default_rng(5)
    x, w = (rng.standard_normal(dims).astype(dtype) for dims in (image, kernel))
    x[0, 0, end, end] = np.inf
    t, k = fg.tensor(x, requires_grad=True), fg.tensor(w, requires_grad=True)
    y = F.conv2d(t, k, stride=stride, groups=groups)
    met = ~np.isfinite(y.detach().numpy())
    reached = np.zeros_like(met)
    reached[0, : len(w) // groups, end, end] = True
    np.testing.assert_array_equal(met, reached)
    g = np.ones(y.shape, dtype)
    g[0, 0, end, end] = np.nan
    left, right = fg.autograd.grad(y, [t, k], fg.tensor(g))
    spoilt = np.zeros(image, bool)
    window = slice(kernel[2]) if end == 0 else slice(-kernel[2], None)
    spoilt[0, : kernel[1], window, window] = True
    np.testing.assert_array_equal(np.isnan(left.numpy()), spoilt)
    # The number that is none meets the whole first kernel; the infinity the one tap of the others.
    found = ~np.isfinite(right.numpy())
    taps = np.zeros(kernel, bool)
    taps[0] = True
    taps[: len(w) // groups, 0, end, end] = True
    np.testing.assert_array_equal(found, taps)
