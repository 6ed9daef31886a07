"""Shapes and arguments that PyTorch's layers and losses take beside the usual ones."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import nn
from ferrograd.nn import functional as F  # noqa: N812

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "shape", [(2, 3, 4), (2, 3, 1), (2, 1, 4), (1, 3, 4), (1, 1, 1), (2, 3), ()]
)
def test_variances_broadcast(shape: tuple[int, ...]) -> None:
    x, t = RNG.standard_normal((2, 2, 3, 4))
    v = RNG.uniform(0.5, 2.0, shape)
    wide = v[..., None] if shape == (2, 3) else v
    expected = 0.5 * (np.log(wide) + (x - t) ** 2 / wide)
    variance = fg.tensor(v, requires_grad=True)
    loss = nn.GaussianNLLLoss(reduction="none")
    np.testing.assert_allclose(loss(fg.tensor(x), fg.tensor(t), variance).detach(), expected)
    fg.gradcheck(lambda v: F.gaussian_nll_loss(fg.tensor(x), fg.tensor(t), v), (variance,))
    with pytest.raises(fg.errors.ShapeError, match=r"var of shape \(3, 4\)"):
        loss(fg.tensor(x), fg.tensor(t), fg.ones(3, 4))


def test_the_batch_of_a_number_is_one() -> None:
    x, t = fg.tensor(-0.5), fg.tensor(0.25)
    expected = 0.25 * (np.log(0.25) + 0.5)
    assert nn.KLDivLoss("batchmean")(x, t).item() == pytest.approx(expected)
    assert F.kl_div(x, t, reduction="batchmean").item() == F.kl_div(x, t, reduction="sum").item()


@pytest.mark.parametrize(
    ("kind", "shape"),
    [("BatchNorm1d", (0, 3)), ("BatchNorm1d", (0, 3, 5)), ("BatchNorm2d", (0, 3, 4, 4))],
)
def test_an_empty_batch_is_normalised_to_itself(kind: str, shape: tuple[int, ...]) -> None:
    layer = getattr(nn, kind)(3)
    x = fg.zeros(*shape, requires_grad=True)
    out = layer(x)
    assert out.shape == shape
    assert layer.running_mean.tolist() == [0.0] * 3
    assert layer.running_var.tolist() == [1.0] * 3
    out.sum().backward()
    assert x.grad.shape == shape
    assert layer.weight.grad.tolist() == [0.0] * 3
    assert layer.bias.grad.tolist() == [0.0] * 3
    with pytest.raises(fg.errors.ShapeError, match="more than one value per channel"):
        layer(fg.ones(1, 3)) if kind == "BatchNorm1d" else layer(fg.ones(1, 3, 1, 1))


def test_areas_of_volumes() -> None:
    x = RNG.standard_normal((2, 3, 4, 6, 8))
    parts = x.reshape(2, 3, 2, 2, 3, 2, 2, 4)
    found = F.interpolate(fg.tensor(x), size=(2, 3, 2), mode="area")
    np.testing.assert_allclose(found, parts.mean((3, 5, 7)))
    uneven = F.interpolate(fg.tensor(x), size=(3, 4, 3), mode="area")
    expected = F.adaptive_avg_pool3d(fg.tensor(x), (3, 4, 3))
    assert np.array_equal(uneven, expected)


MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("widths", [(-1, 2), (2, -1), (-2, -1), (-1, 0), (3, -4)])
def test_negative_widths_crop(mode: str, widths: tuple[int, int]) -> None:
    """A border shows the whole axis, as PyTorch's does; a turn goes on with what is left."""
    x = RNG.standard_normal((2, 3, 6))
    crop = slice(max(-widths[0], 0), 6 - max(-widths[1], 0))
    wide = tuple(max(w, 0) for w in widths)
    if mode == "circular":
        expected = np.pad(x[..., crop], ((0, 0), (0, 0), wide), mode="wrap")
    else:
        whole = np.pad(x, ((0, 0), (0, 0), wide), mode=MODES[mode])
        last = whole.shape[-1] - max(-widths[1], 0)
        expected = whole[..., max(-widths[0], 0) : last]
    if mode == "circular" and max(wide) > x[..., crop].shape[-1]:
        with pytest.raises(fg.errors.ArgumentError, match="give widths of at most 2"):
            F.pad(fg.tensor(x), widths, mode=mode)
        return
    given = fg.tensor(x, requires_grad=True)
    np.testing.assert_array_equal(F.pad(given, widths, mode=mode).detach(), expected)
    fg.gradcheck(lambda x: F.pad(x, widths, mode=mode), (given,))


def test_widths_take_no_more_than_there_is() -> None:
    for mode in MODES:
        with pytest.raises(fg.errors.ArgumentError, match="crop no more than there is"):
            F.pad(fg.ones(1, 1, 5), (-3, -3), mode=mode)


@pytest.mark.parametrize("shape", [(40, 50), (40, 50, 3), (40, 50, 2, 3)])
def test_dropout2d_drops_channels_of_rows(shape: tuple[int, ...]) -> None:
    fg.manual_seed(0)
    out: Any = nn.Dropout2d(0.25)(fg.ones(*shape)).numpy().reshape(40, 50, -1)
    assert np.ptp(out, axis=2).max() == 0
    assert (out[..., 0] == 0).mean() == pytest.approx(0.25, abs=0.05)
