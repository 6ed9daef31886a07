"""Gradients of a few elements are added where they lie: the bits of a sum, and who must not see it.

What accumulates in `.grad` has its own file.
"""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg

DTYPES = ["float32", "float64", "complex64", "complex128", "float16"]


def numbers(n: int, dtype: str, seed: int) -> Any:
    values = np.random.default_rng(seed).standard_normal((2, n))
    whole = values[0] + 1j * values[1] if dtype.startswith("complex") else values[0]
    return whole.astype(dtype)


def leaves(n: int, dtype: str) -> list[fg.Tensor]:
    return [fg.tensor(numbers(n, dtype, seed), requires_grad=True) for seed in range(2)]


@pytest.mark.parametrize("n", [0, 1, 3, 128, 129, 256, 257])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_have_the_bits_of_separate_gradients(dtype: str, n: int) -> None:
    """`w` collects one gradient from each step; a loop by hand adds them in the same order."""
    x, w = leaves(n, dtype)
    steps = [x]
    for _ in range(4):
        steps.append(steps[-1] * w)
    ones = np.ones(n, dtype)
    steps[-1].backward(fg.tensor(ones))
    g, total = fg.tensor(ones), None
    factor = w.detach().conj()
    for step in reversed(steps[:-1]):
        part = g * step.detach().conj()
        total = part if total is None else total + part
        g = g * factor
    assert total is not None
    assert x.grad is not None
    assert w.grad is not None
    np.testing.assert_array_equal(w.grad.numpy(), total.numpy())
    np.testing.assert_array_equal(x.grad.numpy(), g.numpy())


@pytest.mark.parametrize("n", [1, 7, 300])
def test_one_operand_twice_and_derivatives_of_every_kind(n: int) -> None:
    x, w = leaves(n, "float64")
    y = x * x + w
    y = y - x * w
    z = (fg.exp(y * 0.1) * y + fg.maximum(y, x) - y / (2.0 + w * w)).sum()
    recorded = fg.autograd.grad(z, [x, w], create_graph=True)
    z.backward()
    for tensor, expected in zip([x, w], recorded, strict=True):
        assert tensor.grad is not None
        np.testing.assert_allclose(tensor.grad.numpy(), expected.detach().numpy(), rtol=1e-13)


def test_gradients_that_others_hold_are_not_written_to() -> None:
    x, w = leaves(3, "float64")
    first, second = fg.tensor([1.0, 2.0, 3.0]), fg.tensor([4.0, 5.0, 6.0])
    seen: list[Any] = []
    y = x * w
    y.register_hook(lambda g: seen.append((g, g.numpy().copy())))
    z = y * w + y * x
    fg.autograd.backward([z, z, y], [first, second, first])
    np.testing.assert_array_equal(first.numpy(), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(second.numpy(), [4.0, 5.0, 6.0])
    assert len(seen) == 1
    np.testing.assert_array_equal(seen[0][0].numpy(), seen[0][1])
    xs, ws = x.detach().numpy(), w.detach().numpy()
    g = first.numpy() + second.numpy()
    to_y = g * (ws + xs) + first.numpy()
    assert x.grad is not None
    assert w.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), to_y * ws + g * xs * ws, rtol=1e-14)
    np.testing.assert_allclose(w.grad.numpy(), to_y * xs + g * xs * ws, rtol=1e-14)


def test_a_gradient_that_was_handed_on_whole_is_shared_and_not_written_to() -> None:
    """A sum hands the same gradient to both operands; what comes later is added to one of them."""
    x, w = leaves(2, "float64")
    y = x * 2.0
    z = (x + y) + x * w
    z.backward(fg.tensor([1.0, 10.0]))
    assert x.grad is not None
    expected = np.array([1.0, 10.0]) * (3.0 + w.detach().numpy())
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-15)


def test_a_changed_operand_is_found_beside_one_that_is_added_to() -> None:
    x, w = leaves(2, "float64")
    v = w * 1.0
    y = x * v
    with fg.autograd.graph.disallow_mutation_on_saved_tensors():
        v += 1.0
    z = y + x * x
    with pytest.raises(RuntimeError, match=r"changed|modified"):
        z.sum().backward()
    assert x.grad is None
    assert w.grad is None


def test_a_changed_operand_counts_as_it_was_beside_one_that_is_added_to() -> None:
    x, w = leaves(2, "float64")
    xs, ws = x.detach().numpy().copy(), w.detach().numpy().copy()
    v = w * 1.0
    y = x * v
    v += 1.0
    z = y + x * x + v * x
    z.sum().backward()
    assert x.grad is not None
    assert w.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 2 * ws + 1.0 + 2 * xs, rtol=1e-14)
    np.testing.assert_allclose(w.grad.numpy(), 2 * xs, rtol=1e-14)


FORMULAS = {
    "a constant factor": lambda x, w: 3.0 * x,
    "constants alone": lambda x, w: -(3.0 * x) * 0.5,
    "a power": lambda x, w: x**2 - w,
    "two factors": lambda x, w: x * w,
    "a shared gradient": lambda x, w: (x - w) ** 2 + (1 - x) ** 2 + x,
    "functions": lambda x, w: fg.tanh(x) * 2.0 - w / 4.0,
    "a leaf alone": lambda x, w: x,
}


@pytest.mark.parametrize("shape", [(1,), (7,), (2, 3, 5), (256,), (257,), (0,)])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
def test_the_gradient_of_a_sum_is_that_of_its_elements(
    formula: Any, dtype: str, shape: Any
) -> None:
    """Below a sum one element stands for all: the bits are those of ones."""
    sums, elements = [], []
    for found in sums, elements:
        leaf = [
            fg.tensor(x.detach().reshape(shape), requires_grad=True)
            for x in leaves(int(np.prod(shape)), dtype)
        ]
        y = formula(*leaf)
        if found is sums:
            root, weights = y.sum(), np.ones((), dtype)
        else:
            root, weights = y, np.ones(shape, dtype)
        found += fg.autograd.grad(root, leaf, weights, allow_unused=True)
    for one, other in zip(sums, elements, strict=True):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            np.testing.assert_array_equal(one.numpy(), other.numpy())
            one += 1  # It has memory of its own, an element for each.
            np.testing.assert_array_equal(one.numpy(), other.numpy() + np.ones((), dtype))


def test_targets_that_are_all_leaves_and_some_of_them() -> None:
    x, w = leaves(5, "float64")
    a, b, c = fg.autograd.grad((x * w).sum(), [x, w, x])
    np.testing.assert_array_equal(a.numpy(), w.detach().numpy())
    np.testing.assert_array_equal(b.numpy(), x.detach().numpy())
    a += 1
    np.testing.assert_array_equal(c.numpy(), w.detach().numpy())
    y = x * w
    one, other = fg.autograd.grad((y * y).sum(), [y, x])
    np.testing.assert_allclose(one.numpy(), 2 * y.detach().numpy())
    np.testing.assert_allclose(other.numpy(), one.numpy() * w.detach().numpy())
    (alone,) = fg.autograd.grad((x * 2.0 + w.sin()).sum(), [x])
    np.testing.assert_array_equal(alone.numpy(), np.full(5, 2.0))
    assert w.grad is None
