"""Long element-wise nodes in a row run together in a backward pass.

A hook on an intermediate keeps its node apart: programs with hooks everywhere are computed node by
node.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

N = 70_000  # Shorter operands are in the caches anyway.
Program = Callable[[Any, Any], Any]


def numbers(*shape: int, seed: int = 0, dtype: str = "float64") -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def chain(leaves: Any, k: Any) -> Any:
    y = k(fg.tanh(k(k(leaves[0] * 1.5) + 0.5)))
    return (k(y) * k(fg.exp(k(-y)))).sum()


def diamonds(leaves: Any, k: Any) -> Any:
    x, w, _ = leaves
    y = k(k(x * x) + w)
    y = k(y - k(x * w))
    return k(k(k(fg.exp(k(y * 0.1))) * y) + k(fg.maximum(y, x)) - k(y / k(2.0 + k(w * w)))).mean()


def kinks(leaves: Any, k: Any) -> Any:
    x, w, _ = leaves
    y = k(fg.where(x > 0.2, k(x * 2.0), k(fg.sign(w) * x)))
    return (k(fg.clip(k(y - w), -1.0, 0.5)) * k(fg.abs(y)) + k(fg.floor(y))).sum()


def masks(leaves: Any, k: Any) -> Any:
    x, w, _ = leaves
    error = k(k(x * 1.5) - w)
    far = k(fg.abs(error)) > 1.0
    huber = k(fg.where(far, k(k(fg.abs(error)) - 0.5), k(k(error * error) * 0.5)))
    shown = k(fg.where(w > 0, huber, 0.25))
    return (k(shown * shown) * k(fg.where(far[:1], shown, w))).sum()


def rows(leaves: Any, k: Any) -> Any:
    x, _, row = leaves
    y = k(fg.sigmoid(k(k(x.reshape(-1, 7) * row) + row)))
    return (k(fg.sqrt(k(y + 1.0))) * k(y**3.0)).sum(axis=0).max()


def columns(leaves: Any, k: Any) -> Any:
    x = leaves[0].reshape(7, -1)
    y = k(k(fg.sin(x)) * k(fg.cos(x[:, :1])))
    return (k(fg.sin(k(y * 2.0))) * numbers(7, N // 7).astype(str(x.dtype))).sum()


def crosswise(leaves: Any, k: Any) -> Any:
    x, w, _ = leaves
    y = k(k(x.reshape(7, -1).T * w.reshape(-1, 7)) + 1.0)
    return k(k(y * y) * y).sum()


def many_leaves(leaves: Any, k: Any) -> Any:
    x, w, row = leaves
    y = x
    for other in (w, x, row.repeat(N // 7), w):
        y = k(k(y * other) + other)
    return (y * y).sum()


def through_products(leaves: Any, k: Any) -> Any:
    x, w, _ = leaves
    y = k(fg.tanh(k(k(x.reshape(-1, 70) * 0.5) + w.reshape(-1, 70))))
    return (k(fg.tanh(k(k(y @ y[:70].T) * 0.1))) ** 2).sum()


def behind_a_product(leaves: Any, k: Any) -> Any:
    """A leaf is given the very gradient that reaches the run."""
    x, w, _ = leaves
    y = k(k(fg.sin(k(x * 2.0))) + w)
    return (y.reshape(-1, 70) @ numbers(70, 70, dtype=str(x.dtype))).sum()


PROGRAMS = [
    behind_a_product,
    chain,
    diamonds,
    kinks,
    masks,
    rows,
    columns,
    crosswise,
    many_leaves,
    through_products,
]


def leaves_of(dtype: str) -> list[fg.Tensor]:
    shapes = [(N,), (N,), (7,)]
    return [
        fg.tensor(numbers(*shape, seed=seed, dtype=dtype), requires_grad=True)
        for seed, shape in enumerate(shapes)
    ]


def hooked(x: Any) -> Any:
    if x.grad_fn is not None:
        x.register_hook(lambda _: None)
    return x


def gradients(program: Program, dtype: str, keep: Any, **options: Any) -> list[Any]:
    leaves = leaves_of(dtype)
    program(leaves, keep).backward(**options)
    grads = [leaf.grad for leaf in leaves]
    return [None if g is None else g.detach().numpy().tobytes() for g in grads]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_bits_are_those_of_node_by_node(program: Program, dtype: str) -> None:
    together = gradients(program, dtype, lambda x: x)
    assert together == gradients(program, dtype, hooked)
    if dtype != "float16":
        assert together == gradients(program, dtype, lambda x: x, retain_graph=True)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_bits_are_the_same_on_any_number_of_threads(program: Program) -> None:
    threads = fg.get_num_threads()
    try:
        fg.set_num_threads(1)
        alone = gradients(program, "float64", lambda x: x)
        fg.set_num_threads(2)
        assert gradients(program, "float64", lambda x: x) == alone
    finally:
        fg.set_num_threads(threads)


@pytest.mark.parametrize("program", PROGRAMS)
def test_targets_and_kept_gradients_in_the_middle(program: Program) -> None:
    """What somebody asks for is laid out, whichever nodes stand around it."""

    def middle_of(keep: Any) -> tuple[Any, Any]:
        results: list[Any] = []

        def noted(x: Any) -> Any:
            results.append(keep(x))
            return x

        value = program(leaves_of("float64"), noted)
        recorded = [x for x in results if x.grad_fn is not None]
        return value, recorded[len(recorded) // 2]

    value, middle = middle_of(lambda x: x)
    (asked,) = fg.autograd.grad(value, [middle], retain_graph=True)
    middle.retain_grad()
    value.backward()
    value, apart = middle_of(hooked)
    apart.retain_grad()
    value.backward()
    assert middle.grad is not None
    assert apart.grad is not None
    np.testing.assert_array_equal(asked.numpy(), apart.grad.numpy())
    np.testing.assert_array_equal(middle.grad.numpy(), apart.grad.numpy())


def test_a_changed_operand_names_its_operation_and_the_graph_lives_on() -> None:
    x = fg.tensor(numbers(N), requires_grad=True)
    y = x * 1.0
    z = fg.exp(fg.sin(y) * 2.0).sum()
    with fg.no_grad(), fg.autograd.graph.disallow_mutation_on_saved_tensors():
        y.add_(1.0)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="sin"):
            z.backward()
    assert x.grad is None


def test_operands_of_a_stretch_are_those_it_computed_with() -> None:
    slopes = []
    for changed in (False, True):
        x = fg.tensor(numbers(N), requires_grad=True)
        y = x * 1.0
        w = y * 2.0
        z = fg.exp(fg.sin(y) * w).sum()
        if changed:
            with fg.no_grad():
                y[1:] = 5.0
            w.mul_(y)
        slopes.append(fg.autograd.grad(z, x)[0].numpy())
    np.testing.assert_array_equal(slopes[0], slopes[1])


def test_a_gradient_that_was_passed_in_is_not_written_over() -> None:
    x = fg.tensor(numbers(N), requires_grad=True)
    seed = fg.tensor(numbers(N, seed=5))
    before = seed.numpy().copy()
    y = fg.exp(fg.sin(x * 2.0) * 0.5)
    y.backward(seed, retain_graph=True)
    assert x.grad is not None
    first = x.grad.numpy().copy()
    np.testing.assert_array_equal(seed.numpy(), before)
    y.backward(seed)
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), 2.0 * first)


def test_gradients_of_two_leaves_are_apart() -> None:
    x, w = (fg.tensor(numbers(N, seed=s), requires_grad=True) for s in range(2))
    ((x + w) * 2.0 + 1.0).sum().backward()
    assert x.grad is not None
    assert w.grad is not None
    x.grad.mul_(3.0)
    np.testing.assert_array_equal(w.grad.numpy(), np.full(N, 2.0))


def test_a_second_pass_and_a_pass_that_records() -> None:
    x = fg.tensor(numbers(N), requires_grad=True)
    y = (fg.tanh(fg.sin(x) * 2.0) * 3.0).sum()
    (plain,) = fg.autograd.grad(y, [x], retain_graph=True)
    (recorded,) = fg.autograd.grad(y, [x], create_graph=True)
    np.testing.assert_allclose(recorded.detach().numpy(), plain.numpy(), rtol=1e-13)
    (second,) = fg.autograd.grad(recorded.sum(), [x], retain_graph=True)
    assert second.shape == (N,)
    y.backward()
    with pytest.raises(RuntimeError, match="freed"):
        y.backward()
