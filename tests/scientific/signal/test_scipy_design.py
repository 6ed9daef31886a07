"""`ferrograd.scipy.signal`'s filter design beside SciPy's: orders, kinds, outputs, derivatives."""

from typing import Any

import numpy as np
import pytest
import scipy.signal as theirs
from numpy.testing import assert_allclose

import ferrograd as fg
from ferrograd.scipy import signal as ours

PASSES: dict[str, Any] = {
    "low": 0.3,
    "high": 0.4,
    "bandpass": [0.2, 0.55],
    "bandstop": [0.2, 0.55],
}
FAMILIES: dict[str, tuple[float, ...]] = {
    "butter": (),
    "bessel": (),
    "cheby1": (1.0,),
    "cheby2": (30.0,),
    "ellip": (1.0, 40.0),
}


def leaves(designed: Any) -> list[Any]:
    return list(designed) if isinstance(designed, tuple) else [designed]


def weighed(designed: Any) -> Any:
    """A sum of all that a design gives, with fixed weights."""
    total: Any = 0.0
    for k, leaf in enumerate(leaves(designed)):
        weight = np.cos(k + 1.0 + np.arange(np.size(leaf))).reshape(np.shape(leaf))
        total = total + np.sum(np.real(leaf) * weight) + np.sum(np.imag(leaf) * weight**2)
    return total


def compared(name: str, count: int, values: list[Any], constant: int, **options: Any) -> None:
    """Compares values, and the gradient by all values behind the constant ones."""
    mine, other = getattr(ours, name), getattr(theirs, name)
    moving = [fg.tensor(v, requires_grad=True) for v in values[constant:]]
    designed = mine(count, *values[:constant], *moving, **options)
    for a, b in zip(leaves(designed), leaves(other(count, *values, **options)), strict=True):
        found = a.detach().numpy() if isinstance(a, fg.Tensor) else a
        assert np.shape(found) == np.shape(b)
        assert_allclose(found, b, rtol=1e-9, atol=1e-12)
    weighed(designed).backward()
    for k, leaf in enumerate(moving, constant):
        way = np.array([1.0, -0.3])[: np.size(values[k])].reshape(np.shape(values[k]))
        near = [
            weighed(
                mine(count, *values[:k], np.add(values[k], s * way), *values[k + 1 :], **options)
            )
            for s in (1e-6, -1e-6)
        ]
        numeric = (near[0] - near[1]) / 2e-6
        assert leaf.grad is not None
        assert np.sum(leaf.grad.numpy() * way) == pytest.approx(numeric, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("output", ["ba", "zpk", "sos"])
@pytest.mark.parametrize("btype", PASSES)
@pytest.mark.parametrize("analog", [False, True])
def test_designs(name: str, output: str, btype: str, analog: bool) -> None:
    ripples = list(FAMILIES[name])
    constant = 2 if name == "ellip" else 0
    for count in (1, 2, 3):
        options = {"btype": btype, "output": output, "analog": analog}
        compared(name, count, [*ripples, PASSES[btype]], constant, **options)


@pytest.mark.parametrize("norm", ["phase", "delay", "mag"])
def test_norms_of_bessel_and_sampling_frequencies(norm: str) -> None:
    compared("bessel", 3, [120.0], 0, norm=norm, fs=1000.0)
    rate = fg.tensor(1000.0, requires_grad=True)
    weighed(ours.bessel(3, 120.0, norm=norm, fs=rate)).backward()
    near = [weighed(theirs.bessel(3, 120.0, norm=norm, fs=1000 + s)) for s in (1e-3, -1e-3)]
    assert rate.grad is not None
    assert rate.grad.item() == pytest.approx((near[0] - near[1]) / 2e-3, rel=1e-5)


def test_higher_derivatives_of_designs() -> None:
    fg.check_grads(lambda w: weighed(ours.butter(3, w, "bandpass", output="sos")), "rev", 2)(
        np.array([0.2, 0.5])
    )
    fg.check_grads(lambda r, w: weighed(ours.cheby2(3, r, w)), "rev", 2)(25.0, 0.4)


def test_what_a_design_refuses() -> None:
    w = fg.tensor(0.3, requires_grad=True)
    with pytest.raises(fg.errors.NotDifferentiableError, match="rp and rs"):
        ours.ellip(3, w, 40.0, 0.3)
    with pytest.raises(ValueError, match="0 < Wn < 1"):
        ours.butter(3, w + 1)
    assert isinstance(ours.butter(3, 0.3)[0], np.ndarray)


def test_a_filter_is_learned_by_its_frequency() -> None:
    x = np.random.default_rng(0).normal(size=64)
    target = theirs.lfilter(*theirs.butter(2, 0.35), x)
    found = fg.grad(lambda w: np.mean((ours.lfilter(*ours.butter(2, w), x) - target) ** 2))
    assert found(0.3) < 0 < found(0.4)
