"""Factors, matrix equations and structured matrices of `ferrograd.scipy.linalg` beside SciPy's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as theirs
from numpy.testing import assert_allclose

import ferrograd as fg
import ferrograd.numpy as fnp
from ferrograd.scipy import linalg as ours

RANDOM = np.random.default_rng(5)
A = RANDOM.normal(size=(3, 3))
B = RANDOM.normal(size=(3, 3))
TALL, WIDE = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=(3, 4))
POSITIVE = A @ A.T + np.eye(3)
STABLE = A - 4 * np.eye(3)
SMALL = A / 5
V, W = RANDOM.normal(size=3), RANDOM.normal(size=3)
IMAGINARY = RANDOM.normal(size=(3, 3))

#: Name, arguments, and whether complex ones are tried.
CASES: list[tuple[str, tuple[Any, ...], bool]] = [
    *(("lu", (a,), True) for a in (A, TALL, WIDE)),
    *(("polar", (a,), True) for a in (A, TALL, WIDE)),
    ("pinvh", (POSITIVE,), False),
    ("norm", (A,), True),
    ("eigvalsh", (POSITIVE,), False),
    ("orthogonal_procrustes", (TALL, TALL[::-1]), False),
    ("solve_continuous_lyapunov", (STABLE, B), True),
    ("solve_discrete_lyapunov", (SMALL, B), True),
    ("expm_frechet", (SMALL, B), True),
    *((name, (SMALL,), True) for name in ("cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm")),
    ("fractional_matrix_power", (POSITIVE, 0.3), False),
    ("signm", (A + 0.5 * np.eye(3),), False),
    ("toeplitz", (V, np.concatenate([V[:1], W[1:]])), True),
    ("hankel", (V, np.concatenate([V[-1:], W])), True),
    ("circulant", (V,), True),
    ("companion", (V,), True),
    ("leslie", (V, W[:2]), True),
    ("fiedler", (V,), False),
    ("khatri_rao", (A, TALL), True),
    ("solve_toeplitz", (V + np.array([5.0, 0, 0]), W), True),
    ("matmul_toeplitz", (V, B), True),
    ("eigvalsh_tridiagonal", (V, W[:2]), False),
]


def parts(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def listed(call: Callable[..., Any]) -> Callable[..., Any]:
    """All results as one vector of reals, which has a derivative."""

    def vector(*args: Any) -> Any:
        rows = [fnp.ravel(fnp.asarray(part)) for part in parts(call(*args))]
        return fnp.concatenate([half for row in rows for half in (fnp.real(row), fnp.imag(row))])

    return vector


def checked(name: str, args: tuple[Any, ...]) -> None:
    mine, other = getattr(ours, name), getattr(theirs, name)
    for one, two in zip(parts(mine(*args)), parts(other(*args)), strict=True):
        assert not isinstance(one, fg.Tensor)
        assert_allclose(one, two, rtol=1e-9, atol=1e-9)
    tensors = tuple(fg.tensor(a, requires_grad=True) for a in args)
    for one, two in zip(parts(mine(*tensors)), parts(other(*args)), strict=True):
        assert_allclose(one.detach().numpy() if isinstance(one, fg.Tensor) else one, two, atol=1e-9)
    fg.gradcheck(listed(mine), tensors, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(("name", "args", "complex_too"), CASES, ids=lambda v: str(v)[:12])
def test_values_and_derivatives(name: str, args: tuple[Any, ...], complex_too: bool) -> None:
    checked(name, args)
    if complex_too:
        checked(
            name,
            tuple(
                a + 0.3j * IMAGINARY.ravel()[: a.size].reshape(a.shape)
                if a.size <= 9
                else a * (1 + 0.3j)
                for a in args
            ),
        )


@pytest.mark.parametrize("name", ["lu", "polar", "solve_continuous_lyapunov"])
def test_second_derivatives(name: str) -> None:
    args = next(args for known, args, _ in CASES if known == name)
    tensors = tuple(fg.tensor(a, requires_grad=True) for a in args)
    fg.gradgradcheck(listed(getattr(ours, name)), tensors, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("trans", [0, 1, 2])
def test_solutions_from_factors(trans: int) -> None:
    a, b = A + 0.4j * IMAGINARY, V + 1j * W

    def solved(a: Any, b: Any) -> Any:
        return ours.lu_solve(ours.lu_factor(a), b, trans)

    assert_allclose(solved(a, b), theirs.lu_solve(theirs.lu_factor(a), b, trans), rtol=1e-10)
    packed, pivots = ours.lu_factor(a)
    assert_allclose(packed, theirs.lu_factor(a)[0], rtol=1e-10)
    assert_allclose(pivots, theirs.lu_factor(a)[1])
    fg.gradcheck(solved, tuple(fg.tensor(v, requires_grad=True) for v in (a, b)))


def test_forms_of_lu() -> None:
    for a in (A, TALL, WIDE):
        for one, two in zip(ours.lu(a, permute_l=True), theirs.lu(a, permute_l=True), strict=True):
            assert_allclose(one, two, atol=1e-12)
        for one, two in zip(ours.lu(a, p_indices=True), theirs.lu(a, p_indices=True), strict=True):
            assert_allclose(one, two, atol=1e-12)


@pytest.mark.parametrize("name", ["null_space", "orth"])
def test_spaces_move_with_their_matrices(name: str) -> None:
    mine, other = getattr(ours, name), getattr(theirs, name)

    def projector(a: Any) -> Any:
        basis = mine(a)
        return basis @ fnp.conj(basis.T)

    for a in (WIDE, WIDE + 0.5j * WIDE[::-1], WIDE[:2]):
        a = a if name == "null_space" else a.T
        assert_allclose(mine(a), other(a))
        fg.gradcheck(projector, (fg.tensor(a, requires_grad=True),))
        fg.gradgradcheck(projector, (fg.tensor(a, requires_grad=True),), rtol=1e-3, atol=1e-4)


def test_polar_factors_of_equal_singular_values() -> None:
    turn = theirs.qr(A)[0]
    slope = fg.jacobian(lambda a: ours.polar(a)[0])(turn)
    assert np.all(np.isfinite(slope))
    assert_allclose(ours.polar(A, side="left")[1], theirs.polar(A, side="left")[1], atol=1e-12)
    with pytest.raises(ValueError, match="give 'left' or 'right'"):
        ours.polar(A, side="up")


@pytest.mark.parametrize("name", ["solve_continuous_are", "solve_discrete_are"])
def test_riccati_equations(name: str) -> None:
    a, b = A / 2, TALL[:3, :2]
    q, r = POSITIVE, np.array([[2.0, 0.3], [0.3, 1.0]])
    mine = getattr(ours, name)
    assert_allclose(mine(a, b, q, r), getattr(theirs, name)(a, b, q, r), rtol=1e-9)
    tensors = tuple(fg.tensor(v, requires_grad=True) for v in (a, b))
    fg.gradcheck(lambda a, b: mine(a, b, q, r), tensors, rtol=1e-3, atol=1e-5)
    weights = tuple(fg.tensor(v, requires_grad=True) for v in (1.0, 2.0))
    fg.gradcheck(lambda s, t: mine(a, b, s * q, t * r), weights, rtol=1e-3, atol=1e-5)


def test_generalised_eigenvalues() -> None:
    symmetric = A + A.T

    def values(a: Any, b: Any) -> Any:
        return ours.eigh(a + a.T, b @ b.T + np.eye(3), eigvals_only=True)

    assert_allclose(values(A, B), theirs.eigh(symmetric, B @ B.T + np.eye(3), eigvals_only=True))
    w, v = ours.eigh(symmetric, POSITIVE)
    assert_allclose(symmetric @ v, POSITIVE @ v * w, atol=1e-10)
    assert_allclose(v.T @ POSITIVE @ v, np.eye(3), atol=1e-10)
    fg.gradcheck(values, tuple(fg.tensor(m, requires_grad=True) for m in (A, B)))
    w, v = ours.eigh_tridiagonal(V, W[:2])
    assert_allclose(w, theirs.eigh_tridiagonal(V, W[:2])[0])


def test_wrong_shapes() -> None:
    with pytest.raises(ValueError, match="give one matrix"):
        ours.lu(np.ones((2, 3, 3)))
    with pytest.raises(ValueError, match="give a square matrix"):
        ours.lu_factor(TALL)


def test_sylvester_of_real_and_complex_matrices() -> None:
    """SciPy's own is wrong here, since the real matrix has complex eigenvalues."""
    turning = np.array([[0.0, 2.0], [-1.0, 0.5]])
    b, q = np.diag([1.0 + 1j, 3.0]), np.array([[1.0, 2.0], [0.0, 1.0]])
    x = ours.solve_sylvester(turning, b, q)
    assert_allclose(turning @ x + x @ b, q, atol=1e-14)
    fg.check_grads(ours.solve_sylvester, order=2)(turning, b, q)


@pytest.mark.parametrize("stacked", [False, True])
def test_root_of_real_matrices_with_negative_eigenvalues(stacked: bool) -> None:
    """On the branch cut, where eigenvalues of symmetric matrices stay."""
    x = np.array([[-2.0, 0.3, 0.1], [0.3, 1.0, -0.4], [0.1, -0.4, -0.5]])
    x = np.stack([x, POSITIVE]) if stacked else x
    root = ours.sqrtm(x)
    assert_allclose(root @ root, x, atol=1e-13)
    fg.check_grads(lambda x: ours.sqrtm((x + np.swapaxes(x, -1, -2)) / 2), order=2)(x)
