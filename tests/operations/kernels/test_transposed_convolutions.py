"""Transposed convolutions beside sums element by element, and batches without an image."""

import itertools

import numpy as np
import pytest

import ferrograd as fg

F = fg.nn.functional

GEOMETRIES = [
    (kernel, stride, padding, output_padding, dilation)
    for kernel, stride, padding, output_padding, dilation in itertools.product(
        (1, 2, 3), (1, 2, 3), (0, 1, 2), (0, 1, 2), (1, 2, 3)
    )
    if output_padding < max(stride, dilation)
    and 3 * stride - 2 * padding + dilation * (kernel - 1) + output_padding >= 0
]


def spread(
    x: np.ndarray, w: np.ndarray, stride: int, padding: int, output_padding: int, dilation: int
) -> np.ndarray:
    """The sums of a transposed convolution, one product after the other."""
    side, taps = x.shape[2], w.shape[2]
    wide = (side - 1) * stride - 2 * padding + dilation * (taps - 1) + output_padding + 1
    out = np.zeros((len(x), w.shape[1], wide, wide))
    for i, j, k, m in itertools.product(range(side), range(side), range(taps), range(taps)):
        row, column = (p * stride - padding + t * dilation for p, t in ((i, k), (j, m)))
        if 0 <= row < wide and 0 <= column < wide:
            out[:, :, row, column] += x[:, :, i, j] @ w[:, :, k, m]
    return out


@pytest.mark.parametrize("channels", [(1, 1), (1, 2), (3, 4)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_geometry(channels: tuple[int, int], dtype: str) -> None:
    rng = np.random.default_rng(0)
    for kernel, stride, padding, output_padding, dilation in GEOMETRIES:
        x = rng.normal(size=(2, channels[0], 4, 4)).astype(dtype)
        w = rng.normal(size=(*channels, kernel, kernel)).astype(dtype)
        found = F.conv_transpose2d(
            fg.tensor(x),
            fg.tensor(w),
            stride=stride,
            padding=padding,
            output_padding=output_padding,
            dilation=dilation,
        )
        expected = spread(x, w, stride, padding, output_padding, dilation)
        tolerance = 1e-5 if dtype == "float32" else 1e-12
        np.testing.assert_allclose(
            found.numpy(),
            expected,
            tolerance,
            tolerance,
            err_msg=str((kernel, stride, padding, output_padding, dilation)),
        )


@pytest.mark.parametrize("channels", [(1, 1), (1, 2), (3, 4)])
def test_gradients_of_every_geometry(channels: tuple[int, int]) -> None:
    """Results are linear in both operands, so gradients are held against results of others."""
    rng = np.random.default_rng(1)
    for kernel, stride, padding, output_padding, dilation in GEOMETRIES:
        options = (stride, padding, output_padding)
        x = fg.tensor(rng.normal(size=(2, channels[0], 4, 4)), requires_grad=True)
        w = fg.tensor(rng.normal(size=(*channels, kernel, kernel)), requires_grad=True)
        y = F.conv_transpose2d(x, w, None, *options, dilation=dilation)
        g = rng.normal(size=y.shape)
        dx, dw = fg.autograd.grad(y, [x, w], g)
        for name, operand, slope in (("x", x, dx), ("w", w, dw)):
            other = rng.normal(size=operand.shape)
            pair = (other, w.detach().numpy()) if name == "x" else (x.detach().numpy(), other)
            expected = (spread(*pair, *options, dilation) * g).sum()
            np.testing.assert_allclose(
                (slope.numpy() * other).sum(),
                expected,
                1e-10,
                1e-10,
                err_msg=str((name, kernel, *options, dilation)),
            )


@pytest.mark.parametrize("channels", [3, 64, 600])
@pytest.mark.parametrize("function", [F.conv2d, F.conv_transpose2d])
def test_a_batch_without_an_image_has_gradients_of_zeros(channels: int, function: object) -> None:
    x = fg.ones(0, channels, 9, 9, requires_grad=True)
    w = fg.ones(channels, channels, 3, 3, requires_grad=True)
    y = function(x, w)  # type: ignore[operator]
    y.sum().backward()
    assert y.shape[:2] == (0, channels)
    assert w.grad is not None
    assert not w.grad.any()
    assert x.grad is not None
    assert x.grad.shape == x.shape
