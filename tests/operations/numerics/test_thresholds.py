"""Activations with a threshold or a weight, and their derivatives, have the bits of `where`."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg

F = fg.nn.functional
SPECIAL = [-np.inf, -2.0, -0.5, -0.0, 0.0, 0.5, 0.75, np.inf, np.nan]


def same(ours: Any, theirs: Any) -> None:
    ours = ours.numpy()
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("repeats", [1, 300])
def test_thresholds_are_those_of_where(dtype: Any, repeats: int) -> None:
    x = fg.tensor(np.array(SPECIAL * repeats, dtype), requires_grad=True)
    slope = fg.tensor(np.array([0.25], dtype))
    texts = [
        (F.threshold(x, 0.5, -3.0), fg.where(x <= 0.5, -3.0, x)),
        (F.threshold(x, 0, 7), fg.where(x <= 0, 7, x)),
        (F.hardshrink(x), fg.where(abs(x) <= 0.5, 0.0, x)),
        (F.hardshrink(x, -1.0), fg.where(abs(x) <= -1.0, 0.0, x)),
        (F.softshrink(x, 0.6), x - x.clip(-0.6, 0.6)),
        (F.prelu(x, slope), fg.where(x > 0, x, slope * x)),
    ]
    for ours, text in texts:
        same(ours.detach(), text.detach().numpy())
        of_ours, of_text = (
            fg.autograd.grad(y, [x], grad_outputs=fg.ones_like(y))[0] for y in (ours, text)
        )
        same(of_ours, of_text.numpy())


def test_thresholds_of_integers_stay_those_of_where() -> None:
    x = fg.tensor([-2, 0, 3])
    assert F.threshold(x, 1, 5).dtype == np.int64
    assert F.hardshrink(x, 2).tolist() == [0.0, 0.0, 3.0]


def test_the_weight_of_a_channel_gets_the_sum_of_its_channel() -> None:
    x = fg.tensor(np.arange(-6.0, 6.0).reshape(2, 3, 2), requires_grad=True)
    weight = fg.tensor([0.5, 0.25, 2.0], requires_grad=True)
    F.prelu(x, weight).sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [-11.0, -7.0, -3.0]


@pytest.mark.parametrize("limit", [None, "x", {}])
def test_a_limit_is_a_number(limit: Any) -> None:
    x = fg.tensor(SPECIAL)
    calls = [
        ("threshold: threshold", lambda: F.threshold(x, limit, 1.0)),
        ("threshold: value", lambda: F.threshold(x, 1.0, limit)),
        ("hardshrink: lambd", lambda: F.hardshrink(x, limit)),
        ("softshrink: lambd", lambda: F.softshrink(x, limit)),
    ]
    for start, call in calls:
        with pytest.raises(fg.errors.ArgumentTypeError, match=f"^{start} is a .*; pass a number"):
            call()
    with pytest.raises(fg.errors.IntegerRangeError, match=r"does not fit int64; give a float$"):
        F.prelu(x, 2**70)
