"""Systems whose backward uses the factors that the forward made: derivatives are the inverse's."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import linalg

SIZES = [(7,), (8,), (9,), (10,), (33,), (100,), (3, 9), (2, 3, 17)]


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    values = np.random.default_rng(seed).normal(size=(2, *shape))
    whole = values[0] + 1j * values[1] if dtype.startswith("complex") else values[0]
    return whole.astype(dtype)


def system(size: tuple[int, ...], columns: int, dtype: str) -> tuple[fg.Tensor, fg.Tensor, Any]:
    n = size[-1]
    a = numbers((*size, n), dtype, 0) + n * np.eye(n, dtype=dtype)
    b = numbers((*size, columns), dtype, 1)
    g = numbers((*size, columns), dtype, 2)
    return fg.tensor(a, requires_grad=True), fg.tensor(b, requires_grad=True), g


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize("size", SIZES)
def test_gradients_are_those_of_the_inverse(size: tuple[int, ...], dtype: str) -> None:
    a, b, g = system(size, 2, dtype)
    plain = linalg.solve(a.detach(), b.detach())
    y = linalg.solve(a, b)
    assert y.detach().numpy().tobytes() == plain.numpy().tobytes()
    found = fg.autograd.grad(y, [a, b], g, retain_graph=True)
    recorded = fg.autograd.grad(y, [a, b], g, create_graph=True)
    expected = fg.autograd.grad(linalg.inv(a) @ b, [a, b], g)
    tolerance = 1e-4 if dtype in ("float32", "complex64") else 1e-11
    for one, other, known in zip(found, recorded, expected, strict=True):
        assert one.dtype == known.dtype
        np.testing.assert_allclose(one.numpy(), known.numpy(), tolerance, tolerance)
        np.testing.assert_allclose(other.detach().numpy(), known.numpy(), tolerance, tolerance)


@pytest.mark.parametrize("n", [8, 12])
def test_second_derivatives_and_the_other_side(n: int) -> None:
    a, b, _ = system((n,), 1, "float64")
    fg.gradcheck(lambda a, b: linalg.solve(a, b[:, 0]), (a, b))
    fg.gradcheck(lambda a, b: linalg.solve(a, b.T, left=False), (a, b))
    fg.gradgradcheck(lambda a, b: linalg.solve(a, b), (a, b))


def test_many_pulls_at_once_are_those_of_each_row() -> None:
    a, b, _ = system((10,), 1, "float64")
    whole = fg.jacobian(lambda a: linalg.solve(a, b.detach()[:, 0]))(a.detach().numpy())
    y = linalg.solve(a, b[:, 0])
    rows = [fg.autograd.grad(y[i], [a], retain_graph=True)[0].numpy() for i in range(10)]
    np.testing.assert_allclose(whole, np.stack(rows), 1e-12, 1e-14)


def test_a_singular_matrix_is_named_with_and_without_a_history() -> None:
    a = fg.tensor(np.zeros((12, 12)))
    for matrix in (a, a.clone().requires_grad_()):
        with pytest.raises(fg.errors.MatrixError, match=r"^solve: .*singular"):
            linalg.solve(matrix, fg.ones(12))


def test_a_change_of_the_matrix_matters_to_nothing() -> None:
    a, b, g = system((12,), 1, "float64")
    held = a * 1.0
    y = linalg.solve(held, b)
    (before,) = fg.autograd.grad(y, [b], g, retain_graph=True)
    with fg.no_grad():
        held.mul_(2.0)
    # The factors are those of the matrix as it was.
    (after,) = fg.autograd.grad(y, [b], g, retain_graph=True)
    assert before.numpy().tobytes() == after.numpy().tobytes()
    # So is what the derivative of the derivative reads again.
    (slope,) = fg.autograd.grad(y, [b], g, create_graph=True)
    (found,) = fg.autograd.grad(slope.sum(), [a])
    z = linalg.solve(a * 1.0, b)
    (slope,) = fg.autograd.grad(z, [b], g, create_graph=True)
    (expected,) = fg.autograd.grad(slope.sum(), [a])
    np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-10)


def test_a_change_of_the_matrix_is_found_by_what_reads_it_again_where_that_is_refused() -> None:
    a, b, g = system((12,), 1, "float64")
    held = a * 1.0
    y = linalg.solve(held, b)
    with fg.no_grad(), fg.autograd.graph.disallow_mutation_on_saved_tensors():
        held.mul_(2.0)
    fg.autograd.grad(y, [b], g, retain_graph=True)
    with pytest.raises(fg.errors.InPlaceError):
        fg.autograd.grad(y, [b], g, create_graph=True)


@pytest.mark.parametrize("scale", [1e-200, 1e-160, 1.0, 1e150])
def test_tiny_and_huge_complex_matrices(scale: float) -> None:
    a, b, g = system((9,), 1, "complex128")
    (expected,) = fg.autograd.grad(linalg.solve(a.detach(), b), [b], g)
    small = fg.tensor(a.detach().numpy() * scale)
    (found,) = fg.autograd.grad(linalg.solve(small, b), [b], g)
    np.testing.assert_allclose(found.numpy() * scale, expected.numpy(), 1e-10)
    factors = linalg.lu_factor(small)
    for adjoint in (False, True):
        solved = linalg.lu_solve(*factors, fg.tensor(g), adjoint=adjoint)
        whole = small.numpy().conj().T if adjoint else small.numpy()
        known = np.linalg.solve(whole / scale, g)
        np.testing.assert_allclose(solved.numpy() * scale, known, 1e-10)
