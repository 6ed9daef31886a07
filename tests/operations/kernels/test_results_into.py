"""Results that are computed where they are to go."""

import numpy as np
import pytest

import ferrograd as fg


def test_a_result_is_computed_into_out():
    rng = np.random.default_rng(0)
    a, b = (fg.tensor(rng.standard_normal((50, 7))) for _ in range(2))
    calls = [(fg.add, (a, b)), (fg.exp, (a,)), (fg.divide, (a, 3)), (fg.add, (a, b[0]))]
    for function, operands in calls:
        out = fg.zeros((50, 7))
        assert function(*operands, out=out) is out
        np.testing.assert_array_equal(out.numpy(), function(*operands).numpy())
    out = fg.zeros((50, 7))
    assert np.multiply(a, b, out=out) is out
    np.testing.assert_array_equal(out.numpy(), a.numpy() * b.numpy())
    # An operand, an arrangement, and memory that overlaps.
    out = a.clone()
    fg.add(out, b, out=out)
    np.testing.assert_array_equal(out.numpy(), (a + b).numpy())
    out = fg.zeros((7, 50))
    fg.add(a, b, out=out.T)
    np.testing.assert_array_equal(out.numpy().T, (a + b).numpy())
    buffer = fg.zeros((51, 7))
    buffer[:50] = a
    fg.add(buffer[:50], b, out=buffer[1:])
    np.testing.assert_array_equal(buffer.numpy()[1:], (a + b).numpy())


def test_what_is_computed_into_out_has_its_history():
    w = fg.tensor(np.arange(3.0), requires_grad=True)
    out = fg.zeros(3)
    fg.multiply(w, 2.0, out=out)
    out.sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), np.full(3, 2.0))
    kept = fg.tensor(np.ones(3))
    loss = (kept * w).sum()
    fg.add(kept, 1.0, out=kept)
    w.grad = None
    loss.backward(retain_graph=True)
    np.testing.assert_array_equal(w.grad.numpy(), np.ones(3))
    with fg.autograd.graph.disallow_mutation_on_saved_tensors():
        fg.add(kept, 1.0, out=kept)
    with pytest.raises(RuntimeError, match="changed in place"):
        loss.backward()
