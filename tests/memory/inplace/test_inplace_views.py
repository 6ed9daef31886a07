"""A view whose memory was changed has one node, whichever operation asks for it first.

What a write means for hooks and targets: `test_inplace_history.py`.
"""

from collections.abc import Callable

import numpy as np
import pytest

import ferrograd as fg

Use = Callable[[fg.Tensor, fg.Tensor], fg.Tensor]

# Each takes a changed view of shape (1, 3) and its base of shape (3,).
USES: dict[str, Use] = {
    "an operator": lambda v, b: v * 2.0,
    "the base, broadcast": lambda v, b: v * b,
    "the base first": lambda v, b: b * v,
    "a function": lambda v, b: fg.maximum(v, b),
    "NumPy's name": lambda v, b: np.multiply(v, b),
    "another shape": lambda v, b: v + fg.ones(2, 3),
    "another dtype": lambda v, b: v + fg.ones(3, dtype=fg.float64) * fg.tensor([1, 2, 3]),
    "a conversion": lambda v, b: v.astype(np.float32),
    "no conversion": lambda v, b: v.astype(np.float64, copy=False) * b,
    "where": lambda v, b: fg.where(v > 0, v, b),
    "matmul": lambda v, b: v @ b,
    "matmul of vectors": lambda v, b: v[0] @ b,
    "einsum": lambda v, b: fg.einsum("ij,j->i", v, b),
    "tensordot": lambda v, b: fg.tensordot(v, b, 1),
    "concatenate": lambda v, b: fg.concatenate([v, v]),
    "stack": lambda v, b: fg.stack([v[0], b]),
    "sum": lambda v, b: v.sum(0),
    "expand": lambda v, b: v.expand(2, 3) * b,
    "broadcast_to its own shape": lambda v, b: fg.broadcast_to(v, (1, 3)) * b,
    "reshape to its own shape": lambda v, b: v.reshape(1, 3) * b,
    "clamp": lambda v, b: fg.clamp(v, b, None),
    "an index": lambda v, b: v[:, [0, 1]],
    "convolve": lambda v, b: fg.convolve(v.reshape(-1), b),
    "outer": lambda v, b: fg.outer(v, b),
    "logsumexp": lambda v, b: fg.logsumexp(v, 1),
    "softmax": lambda v, b: fg.softmax(v, 1) * b,
    "qr": lambda v, b: fg.linalg.qr(v)[1],
    "solve": lambda v, b: fg.linalg.solve(fg.eye(3) * v, b),
    "in a written tensor": lambda v, b: fg.zeros(2, 3).copy_(v) * b,
}


@pytest.mark.parametrize("through_view", [True, False], ids=["view", "base"])
@pytest.mark.parametrize("name", USES)
def test_what_used_a_changed_view_leads_to_it(name: str, through_view: bool) -> None:
    x = fg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    base = x * 1.0
    view = base[None]
    (view if through_view else base).mul_(2.0)
    used = USES[name](view, base)
    (found,) = fg.autograd.grad(used.sum(), view, allow_unused=True)
    assert found is not None

    # The view as an argument of its own: what the use gives it, without what the base gets.
    apart = fg.tensor([[2.0, 4.0, 6.0]], requires_grad=True)
    expected = fg.autograd.grad(USES[name](apart, fg.tensor([2.0, 4.0, 6.0])).sum(), apart)[0]
    np.testing.assert_allclose(found.numpy(), expected.numpy())


@pytest.mark.parametrize("name", USES)
def test_a_retained_gradient_of_a_changed_view(name: str) -> None:
    x = fg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    base = x * 1.0
    view = base[None]
    view.retain_grad()
    view.mul_(2.0)
    USES[name](view, base).sum().backward()
    assert view.grad is not None
    node = view.grad_fn
    USES[name](view, base)
    assert view.grad_fn is node
