"""Gradients of values of which only views are used: parts of one array of zeros.

Views: `tests/operations`.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ferrograd as fg

THREADS = (1, 2, 4)


def grad(x: fg.Tensor) -> np.ndarray:
    assert x.grad is not None
    return x.grad.detach().numpy()


def parts() -> st.SearchStrategy[Any]:
    """Basic indices of an array of 5 × 4."""
    bound = st.none() | st.integers(-6, 6)
    slices = st.builds(slice, bound, bound, st.sampled_from([None, 1, 2, -1, -2]))
    first = slices | st.integers(-5, 4)
    second = slices | st.integers(-4, 3)
    return first | st.tuples(first, second) | st.tuples(st.just(...), second)


@settings(max_examples=60, deadline=None)
@given(st.lists(parts(), min_size=1, max_size=6), st.booleans(), st.booleans())
def test_sums_of_parts(keys: list[Any], whole_first: bool, create_graph: bool) -> None:
    rng = np.random.default_rng(len(keys))
    x = fg.tensor(rng.standard_normal((5, 4)), requires_grad=True)
    expected = np.zeros((5, 4))
    loss: Any = (x * 3.0).sum() if whole_first else 0.0
    expected += 3.0 * whole_first
    for key in keys:
        view = x[key]
        weights = rng.standard_normal(view.shape)
        loss = loss + (view * view * weights).sum()
        expected[key] += 2 * weights * x.numpy()[key]
    loss.backward(create_graph=create_graph)
    np.testing.assert_allclose(grad(x), expected, rtol=1e-13, atol=1e-14)


@settings(max_examples=100, deadline=None)
@given(st.lists(parts(), min_size=2, max_size=5), st.booleans(), st.integers(0, 9))
def test_bits_of_sums_of_parts(keys: list[Any], whole_first: bool, seed: int) -> None:
    """Parts of large values are added where they lie, as arrays with zeros around them would be."""
    rng = np.random.default_rng(seed)

    def gradient(create_graph: bool) -> np.ndarray:
        x = fg.tensor(np.ones((5, 4, 60)), requires_grad=True)
        loss: Any = (x * whole).sum() if whole_first else 0.0
        for key, factors in zip(keys, weights, strict=True):
            loss = loss + (x[key] * factors).sum()
        loss.backward(create_graph=create_graph)
        return grad(x)

    shapes = [np.empty((5, 4, 60))[key].shape for key in keys]
    whole, *weights = (rng.choice([0.0, -0.0, 1.0, -1.0], shape) for shape in ((5, 4, 60), *shapes))
    assert gradient(False).tobytes() == gradient(True).tobytes()


def test_diagonals_and_iteration() -> None:
    x = fg.tensor(np.arange(16.0).reshape(4, 4), requires_grad=True)
    loss = fg.diagonal(x).sum() + 2.0 * fg.diagonal(x, 1).sum()
    for i, row in enumerate(x):
        loss = loss + i * row.sum()
    loss.backward()
    rows = np.arange(4.0)[:, None] * np.ones(4)
    np.testing.assert_array_equal(grad(x), rows + np.eye(4) + 2 * np.eye(4, k=1))


def test_a_shared_gradient_is_not_written_to() -> None:
    x = fg.tensor(np.arange(6.0), requires_grad=True)
    z = fg.tensor(np.arange(6.0), requires_grad=True)
    seen: list[fg.Tensor] = []
    loss = x[:2].sum() * 5.0 + (x[1:] * x[1:]).sum() + (x + z).sum()
    z.register_hook(seen.append)
    loss.backward()
    np.testing.assert_array_equal(grad(z), np.ones(6))
    np.testing.assert_array_equal(seen[0].numpy(), np.ones(6))
    np.testing.assert_array_equal(grad(x), [6.0, 8.0, 5.0, 7.0, 9.0, 11.0])


def test_a_seed_is_not_written_to() -> None:
    x = fg.tensor(np.ones(4), requires_grad=True)
    y = x * 1.0
    view = y[1:3]
    seed, of_view = fg.ones(4), fg.full((2,), 3.0)
    fg.autograd.backward([y, view], [seed, of_view])
    np.testing.assert_array_equal(grad(x), [1.0, 4.0, 4.0, 1.0])
    np.testing.assert_array_equal(seed.numpy(), np.ones(4))
    np.testing.assert_array_equal(of_view.numpy(), [3.0, 3.0])


@pytest.mark.parametrize("whole_at", [0, 3])
def test_the_same_bits_on_every_number_of_threads(whole_at: int) -> None:
    """A product with zero leaves negative zeros, which zeros that are added would change."""

    def gradients() -> bytes:
        rng = np.random.default_rng(0)
        x = fg.tensor(rng.standard_normal((64, 256)), requires_grad=True)
        y = x * 1.0
        loss: Any = 0.0
        for i in range(6):
            view = y if i == whole_at else y[8 * i : 8 * i + 40]
            for _ in range(3):
                view = fg.tanh(view @ fg.tensor(rng.standard_normal((256, 256))) / 16.0)
            loss = loss + (view * -0.0 if i == whole_at else view).sum()
        loss.backward()
        return grad(x).tobytes()

    results = []
    for threads in THREADS:
        fg.set_num_threads(threads)
        results.append(gradients())
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize("size", [8, 4096])
def test_signs_of_zeros_are_those_of_whole_gradients(size: int) -> None:
    """Negative zeros stay where every contribution is one, and nowhere else."""
    zeros = np.zeros(size)
    quarter = size // 4
    bounds = [(0, 2), (1, 3), (1, 2), (0, 4), (2, 4), (2, 3)]
    rng = np.random.default_rng(size)
    for _ in range(60):
        x = fg.tensor(rng.standard_normal(size), requires_grad=True)
        expected: Any = None
        loss: Any = 0.0
        # The pass meets the terms from the last to the first.
        for k in rng.integers(0, len(bounds), rng.integers(1, 6))[::-1]:
            keys = slice(*(quarter * b for b in bounds[k]))
            loss = loss + (x[keys] * -0.0).sum()
            part = zeros.copy()
            part[keys] = -0.0
            expected = part if expected is None else expected + part
        loss.backward()
        assert grad(x).tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_signs_of_zeros_in_rows_and_columns(dtype: str) -> None:
    """The same of parts whose elements do not lie in a row, and of gradients that do not."""
    keys: list[Any] = [np.s_[:, 1], np.s_[1], np.s_[:, 1:3], np.s_[::2, ::3], np.s_[2, 3]]
    keys += [
        np.s_[:, ::-1],
        np.s_[1:2, 4],
        np.s_[2:, :2],
        np.s_[0, 1::2],
        np.s_[...],
        np.s_[2:2],
        np.s_[:, :0],
    ]
    rng = np.random.default_rng(3)
    signs = np.array([-1.0, 0.0, -0.0, 0.25], dtype)
    for _ in range(80):
        x = fg.tensor(np.ones((4, 5), dtype), requires_grad=True)
        chosen = [keys[k] for k in rng.integers(0, len(keys), 5)]
        roots = [x[key] for key in chosen]
        seeds = [np.asarray(rng.choice(signs, root.shape)) for root in roots]
        fg.autograd.backward(roots, [fg.tensor(np.array(seed, order="F")) for seed in seeds])
        expected: Any = None
        for key, seed in list(zip(chosen, seeds, strict=True))[::-1]:
            part = np.zeros((4, 5), dtype)
            part[key] = seed
            expected = part if expected is None else expected + part
        assert grad(x).tobytes() == expected.tobytes(), chosen


def test_hooks_and_second_derivatives_see_whole_gradients() -> None:
    x = fg.tensor(np.arange(1.0, 5.0), requires_grad=True)
    y = x * 2.0
    y.retain_grad()
    shapes = []
    y.register_hook(lambda g: shapes.append(g.shape))
    ((y[0] * y[1]) + (y[1:] ** 3).sum()).backward()
    assert shapes == [(4,)]
    np.testing.assert_array_equal(grad(y), [4.0, 2.0 + 48.0, 108.0, 192.0])
    second = fg.hessian(lambda v: v[0] * v[1] + (v[1:] ** 3).sum())(np.arange(1.0, 5.0))
    expected = np.diag([0.0, 12.0, 18.0, 24.0])
    expected[0, 1] = expected[1, 0] = 1.0
    np.testing.assert_allclose(np.asarray(second), expected)


def test_parts_are_compiled() -> None:
    def gradient(x: fg.Tensor) -> Any:
        x = x.detach().requires_grad_()
        loss: Any = sum((x[i] * x[i + 1]).sum() for i in range(3)) + (x[:, ::2] ** 2).sum()
        return fg.autograd.grad(loss, [x])[0]

    compiled = fg.compile(gradient)
    for seed in range(3):
        x = fg.tensor(np.random.default_rng(seed).standard_normal((4, 5)))
        np.testing.assert_array_equal(compiled(x).numpy(), gradient(x).numpy())
