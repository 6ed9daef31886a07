"""Dropout: what is kept, scaled and drawn."""

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.nn.functional import dropout


def test_kept_elements_and_gradients_are_scaled_alike() -> None:
    x = fg.tensor(np.linspace(1.0, 2.0, 1000), requires_grad=True)
    y = dropout(x, 0.25, generator=fg.Generator(0))
    kept = y.detach().numpy() != 0
    assert 0.7 < kept.mean() < 0.8
    np.testing.assert_allclose(y.detach().numpy()[kept], x.detach().numpy()[kept] / 0.75)
    y.sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad, np.where(kept, 1 / 0.75, 0.0))


def test_the_seed_decides() -> None:
    x = fg.ones(50)
    first = [dropout(x, generator=fg.Generator(seed)).tolist() for seed in (1, 1, 2)]
    assert first[0] == first[1] != first[2]
    fg.manual_seed(3)
    second = dropout(x).tolist()
    fg.manual_seed(3)
    assert dropout(x).tolist() == second


def test_evaluation_and_the_ends_of_the_range() -> None:
    x = fg.ones(5)
    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0) is x
    assert dropout(x, 1.0).tolist() == [0.0] * 5
    with pytest.raises(fg.errors.ArgumentError, match=r"dropout: p=1.5; give"):
        dropout(x, 1.5)
