"""One check for functions of `ferrograd.scipy` that compares them with SciPy's."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

import ferrograd as fg


def agree(
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    *arrays: Any,
    order: int = 2,
    rtol: float = 1e-9,
    atol: float = 1e-12,
    singles: bool = True,
) -> None:
    """Both give the same for arrays; tensors give tensors with derivatives up to `order`."""
    expected, found = theirs(*arrays), ours(*arrays)
    assert not isinstance(found, fg.Tensor)
    assert np.shape(found) == np.shape(expected)
    assert_allclose(found, expected, rtol=rtol, atol=atol)
    tensors = tuple(fg.tensor(a, requires_grad=True) for a in arrays)
    recorded = ours(*tensors)
    assert isinstance(recorded, fg.Tensor)
    assert recorded.requires_grad
    assert_allclose(recorded.detach().numpy(), expected, rtol=rtol, atol=atol)
    if singles:
        halves = [fg.tensor(np.asarray(a, np.float32)) for a in arrays]
        assert ours(*halves).dtype == np.float32
        assert_allclose(ours(*halves).numpy(), expected, rtol=2e-3, atol=2e-3)
    fg.gradcheck(ours, tensors, rtol=1e-3, atol=1e-5)
    if order > 1:
        fg.gradgradcheck(ours, tensors, rtol=1e-3, atol=1e-4, nondet_tol=1e-13)
