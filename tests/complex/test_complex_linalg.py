"""Factorisations and functions of complex matrices: values, derivatives, errors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import ferrograd as fg
from complex_support import check, numbers
from ferrograd import linalg as la
from ferrograd.errors import NotDifferentiableError

N = 4
SQUARE = numbers(1, N, N) + 3 * np.eye(N)
TALL, WIDE = numbers(2, 5, 3), numbers(3, 3, 5)
STACK = numbers(4, 2, 3, 3) + 3 * np.eye(3)
RIGHT = numbers(5, N, 2)


def herm(x: Any) -> Any:
    return (x + x.mT.conj()) / 2


def positive(x: Any) -> Any:
    return x @ x.mT.conj() + fg.tensor(np.eye(x.shape[-1]))


def projectors(v: Any) -> Any:
    """What does not depend on the phases of vectors."""
    return v[..., :, None, :] * v.conj()[..., None, :, :]


VALUES: list[tuple[Callable[..., Any], Callable[..., Any], list[Any]]] = [
    (la.inv, np.linalg.inv, [SQUARE]),
    (la.inv, np.linalg.inv, [STACK]),
    (la.det, np.linalg.det, [SQUARE]),
    (la.det, np.linalg.det, [STACK]),
    (la.slogdet, np.linalg.slogdet, [STACK]),
    (la.solve, np.linalg.solve, [SQUARE, RIGHT]),
    (la.solve, np.linalg.solve, [SQUARE, RIGHT[:, 0]]),
    (la.solve, np.linalg.solve, [SQUARE, RIGHT.real.copy()]),
    (la.qr, np.linalg.qr, [SQUARE]),
    (la.qr, np.linalg.qr, [TALL]),
    (la.qr, np.linalg.qr, [WIDE]),
    (la.svdvals, np.linalg.svdvals, [WIDE]),
    (la.pinv, np.linalg.pinv, [TALL]),
    (la.matrix_norm, np.linalg.matrix_norm, [STACK]),
    (lambda x: la.norm(x, "nuc"), lambda x: np.linalg.norm(x, "nuc"), [TALL]),
    (lambda x: la.norm(x, 2), lambda x: np.linalg.norm(x, 2), [TALL]),
    (lambda x: la.norm(x, 1), lambda x: np.linalg.norm(x, 1), [TALL]),
    (lambda x: la.vector_norm(x, ord=3), lambda x: np.linalg.vector_norm(x, ord=3), [TALL]),
    (lambda x: la.matrix_power(x, 3), lambda x: np.linalg.matrix_power(x, 3), [SQUARE]),
    (lambda x: la.matrix_power(x, -2), lambda x: np.linalg.matrix_power(x, -2), [STACK]),
    (lambda x: la.matrix_power(x, 0), lambda x: np.linalg.matrix_power(x, 0), [STACK]),
    (lambda a, b: la.multi_dot([a, b]), lambda a, b: np.linalg.multi_dot([a, b]), [TALL, WIDE]),
    (
        lambda a, b: la.solve_triangular(a, b, trans=2),
        lambda a, b: scipy.linalg.solve_triangular(a, b, trans=2),
        [SQUARE, RIGHT],
    ),
    (la.expm, scipy.linalg.expm, [SQUARE]),
    (la.expm, scipy.linalg.expm, [5 * STACK]),
    (la.expm, scipy.linalg.expm, [STACK.real.copy()]),
    (la.sqrtm, scipy.linalg.sqrtm, [SQUARE]),
    (la.logm, scipy.linalg.logm, [SQUARE]),
    (la.logm, scipy.linalg.logm, [SQUARE.real @ SQUARE.real.T + np.eye(N)]),
    (la.sqrtm, scipy.linalg.sqrtm, [SQUARE.real @ SQUARE.real.T + np.eye(N)]),
]


@pytest.mark.parametrize("case", range(len(VALUES)))
@pytest.mark.parametrize("single", [False, True])
def test_values(case: int, single: bool) -> None:
    ours, theirs, arrays = VALUES[case]
    narrow = {"c": np.complex64, "f": np.float32}
    want = theirs(*arrays)
    if single:
        arrays = [a.astype(narrow[a.dtype.kind]) for a in arrays]
    got = ours(*map(fg.tensor, arrays))
    many = isinstance(want, tuple)
    for g, w in zip(got, want, strict=True) if many else [(got, want)]:
        w = np.asarray(w)
        assert g.shape == w.shape
        if single or w.dtype.kind == g.numpy().dtype.kind:
            kinds = (
                {"c": np.complex64, "f": np.float32} if single else {"c": np.complex128, "f": float}
            )
            assert g.numpy().dtype == kinds[g.numpy().dtype.kind]
        rtol = 2e-4 if single else 1e-10
        np.testing.assert_allclose(g.numpy(), w, rtol=rtol, atol=rtol * (1 + np.abs(w).max()))


@pytest.mark.parametrize("a", [SQUARE, STACK, SQUARE.real.copy(), np.triu(SQUARE), np.eye(3)])
def test_eigenvalues_and_vectors(a: Any) -> None:
    w, v = la.eig(fg.tensor(a))
    assert w.dtype == np.complex128
    wn, vn = w.numpy(), v.numpy()
    np.testing.assert_allclose(a @ vn, vn * wn[..., None, :], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(vn, axis=-2), 1, atol=1e-13)

    def key(z: Any) -> Any:
        return np.sort_complex(np.round(z, 9))

    np.testing.assert_allclose(
        key(la.eigvals(fg.tensor(a)).numpy()), key(np.linalg.eigvals(a)), atol=1e-8
    )


def test_larger_matrices_have_their_eigenvalues() -> None:
    rng = np.random.default_rng(0)
    for n in (10, 30, 60):
        for a in (rng.standard_normal((n, n)), numbers(n, n, n), np.diag(np.ones(n - 1), 1)):
            w, v = (x.numpy() for x in la.eig(fg.tensor(a)))
            np.testing.assert_allclose(a @ v, v * w, atol=1e-11)
    companion = np.diag(np.ones(5), -1)
    companion[0, -1] = 1.0
    got = np.sort_complex(np.round(la.eigvals(fg.tensor(companion)).numpy(), 12))
    np.testing.assert_allclose(
        got, np.sort_complex(np.round(np.exp(2j * np.pi * np.arange(6) / 6), 12)), atol=1e-10
    )


def test_real_eigenvalues_of_real_matrices_have_no_imaginary_part() -> None:
    a = np.array([[2.0, 1.0, 0.0], [0.5, 3.0, 1.0], [0.0, 0.2, 1.0]])
    assert (la.eigvals(fg.tensor(a)).numpy().imag == 0).all()


@pytest.mark.parametrize("a", [SQUARE, STACK, SQUARE.real.copy(), STACK.real.copy()])
@pytest.mark.parametrize("output", ["real", "complex"])
def test_schur_form(a: Any, output: str) -> None:
    t, z = (x.numpy() for x in la.schur(fg.tensor(a), output=output))
    np.testing.assert_allclose(z @ t @ z.conj().swapaxes(-1, -2), a, atol=1e-12)
    np.testing.assert_allclose(
        z @ z.conj().swapaxes(-1, -2), np.broadcast_to(np.eye(a.shape[-1]), a.shape), atol=1e-12
    )
    assert t.dtype == (a.dtype if output == "real" else np.complex128)
    assert (np.tril(t, -2 if t.dtype == float else -1) == 0).all()


def test_schur_form_has_derivatives() -> None:
    def invariant(x: Any) -> Any:
        t, z = la.schur(x, output="complex")
        return (
            fg.diagonal(t, 0, -2, -1),
            z @ t @ z.mT.conj(),
            (z * z.conj()).real,
            (t * t.conj()).real,
        )

    for a in (numbers(1, 3, 3), numbers(2, 2, 3, 3), numbers(3, 3, 3).real.copy()):
        x = fg.tensor(a, requires_grad=True)
        assert fg.gradcheck(invariant, x)
        assert fg.gradgradcheck(invariant, x)
    basis = np.linalg.qr(numbers(4, 4, 4).real)[0]
    a = basis @ (np.diag([1.0, 2.0, 3.0, 4.5]) + np.triu(numbers(5, 4, 4).real, 1)) @ basis.T
    x = fg.tensor(a, requires_grad=True)
    assert fg.gradcheck(la.schur, x)
    assert fg.gradgradcheck(la.schur, x)
    slope = fg.grad(lambda a: (abs(la.schur(a)[0]) ** 3).sum())
    compiled = fg.compile(slope)
    for scale in (1.0, 2.0):
        np.testing.assert_array_equal(compiled(scale * SQUARE), slope(scale * SQUARE))


def test_schur_form_says_where_it_has_no_derivative() -> None:
    x = fg.tensor(SQUARE, requires_grad=True)
    with pytest.raises(NotDifferentiableError, match="phases"):
        la.schur(x)[1].real.sum().backward()
    turn = fg.tensor([[0.0, 1.0], [-1.0, 0.0]], requires_grad=True)
    with pytest.raises(NotDifferentiableError, match='output="complex"'):
        la.schur(turn)[0].sum().backward()
    same = fg.tensor(np.eye(2), requires_grad=True)
    with pytest.raises(fg.errors.MatrixError, match="twice"):
        abs(la.schur(same)[1]).sum().backward()


def test_hermitian_matrices() -> None:
    a = herm(SQUARE[None] * np.arange(1, 4)[:, None, None]).astype(complex)
    w, v = (x.numpy() for x in la.eigh(fg.tensor(a)))
    np.testing.assert_allclose(w, np.linalg.eigvalsh(a), atol=1e-12)
    np.testing.assert_allclose(a @ v, v * w[..., None, :], atol=1e-12)
    np.testing.assert_allclose(la.eigvalsh(fg.tensor(a), "U").numpy(), w, atol=1e-12)
    lower = la.cholesky(fg.tensor(a @ a.mT.conj() + np.eye(N)))
    np.testing.assert_allclose(
        lower.numpy(), np.linalg.cholesky(a @ a.mT.conj() + np.eye(N)), atol=1e-11
    )


def test_large_cholesky_and_inverse() -> None:
    a = numbers(9, 70, 70)
    p = a @ a.conj().T + np.eye(70)
    np.testing.assert_allclose(la.cholesky(fg.tensor(p)).numpy(), np.linalg.cholesky(p), atol=1e-10)
    up = la.cholesky(fg.tensor(p), upper=True).numpy()
    np.testing.assert_allclose(up, np.linalg.cholesky(p, upper=True), atol=1e-10)
    np.testing.assert_allclose(la.inv(fg.tensor(a)).numpy() @ a, np.eye(70), atol=1e-9)


@pytest.mark.parametrize("a", [SQUARE, TALL, WIDE, STACK, TALL @ WIDE, np.zeros((3, 2), complex)])
def test_singular_values_multiply_back(a: Any) -> None:
    for full in (False, True):
        u, s, vh = (x.numpy() for x in la.svd(fg.tensor(a), full_matrices=full))
        k = s.shape[-1]
        assert s.dtype == float
        np.testing.assert_allclose(u[..., :k] * s[..., None, :] @ vh[..., :k, :], a, atol=1e-12)
        np.testing.assert_allclose(s, np.linalg.svdvals(a), atol=1e-12)
        for q in (u.conj().swapaxes(-1, -2) @ u, vh @ vh.conj().swapaxes(-1, -2)):
            np.testing.assert_allclose(q, np.broadcast_to(np.eye(q.shape[-1]), q.shape), atol=1e-12)


def test_least_squares() -> None:
    a, b = TALL, numbers(6, 5, 2)
    got, want = la.lstsq(fg.tensor(a), fg.tensor(b)), np.linalg.lstsq(a, b)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(np.asarray(g), w, atol=1e-11)
    check(lambda a, b: la.lstsq(a, b)[:2], a, b, second=False)


DERIVATIVES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "inv": (la.inv, [SQUARE]),
    "inv of a stack": (la.inv, [STACK]),
    "det": (la.det, [SQUARE]),
    "slogdet": (la.slogdet, [SQUARE]),
    "solve": (la.solve, [SQUARE, RIGHT]),
    "solve with one matrix for all": (la.solve, [STACK[0], numbers(6, 2, 3, 2)]),
    "triangular": (lambda a, b: la.solve_triangular(a, b), [SQUARE, RIGHT]),
    "triangular transposed": (lambda a, b: la.solve_triangular(a, b, trans=1), [SQUARE, RIGHT]),
    "triangular adjoint": (
        lambda a, b: la.solve_triangular(a, b, trans=2, lower=True),
        [SQUARE, RIGHT],
    ),
    "cholesky": (lambda x: la.cholesky(positive(x)), [SQUARE[:3, :3].copy()]),
    "qr": (la.qr, [TALL]),
    "qr square": (la.qr, [SQUARE[:3, :3].copy()]),
    "qr wide": (la.qr, [WIDE]),
    "svdvals": (la.svdvals, [WIDE]),
    "svd projectors": (
        lambda x: [projectors(la.svd(x, full_matrices=False)[0]), la.svdvals(x)],
        [TALL],
    ),
    "svd both": (
        lambda x: (lambda u, s, vh: u * (s**2 + 1) @ vh)(*la.svd(x, full_matrices=False)),
        [WIDE],
    ),
    "eigh": (lambda x: (lambda w, v: [w, projectors(v)])(*la.eigh(herm(x))), [SQUARE]),
    "eigvalsh": (lambda x: la.eigvalsh(herm(x)), [SQUARE]),
    "pinv": (la.pinv, [TALL]),
    "eigvals": (la.eigvals, [SQUARE]),
    "eig": (lambda x: (lambda w, v: [w, projectors(v)])(*la.eig(x)), [SQUARE]),
    "eig of real": (lambda x: (lambda w, v: [w, projectors(v)])(*la.eig(x)), [SQUARE.real.copy()]),
    "expm": (la.expm, [SQUARE[:3, :3].copy()]),
    "expm of real": (la.expm, [SQUARE[:3, :3].real.copy()]),
    "expm of a stack": (la.expm, [STACK]),
    "sqrtm": (la.sqrtm, [SQUARE[:3, :3].copy()]),
    "sqrtm of real": (lambda x: la.sqrtm(x @ x.mT + fg.tensor(np.eye(3))), [STACK[0].real.copy()]),
    "logm": (la.logm, [SQUARE[:3, :3].copy()]),
    "logm of real": (lambda x: la.logm(x @ x.mT + fg.tensor(np.eye(3))), [STACK[0].real.copy()]),
    "power": (lambda x: la.matrix_power(x, -3), [SQUARE[:3, :3].copy()]),
    "norms": (lambda x: [la.norm(x, o) for o in (None, "nuc", 1, 2, np.inf)], [TALL]),
    "vector norms": (lambda x: [la.vector_norm(x, ord=o) for o in (1, 2, 3, 4, np.inf)], [TALL]),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(name: str) -> None:
    f, arrays = DERIVATIVES[name]
    check(f, *arrays)


def test_phases_are_refused() -> None:
    x = fg.tensor(SQUARE, requires_grad=True)
    for f in (lambda: la.eig(x)[1], lambda: la.eigh(herm(x))[1], lambda: la.svd(x)[0]):
        with pytest.raises(fg.errors.NotDifferentiableError, match="phase"):
            f().backward(fg.tensor(numbers(8, N, N)))


def test_matrices_without_an_answer() -> None:
    none = fg.tensor(np.ones((3, 3), complex))
    for f in (la.inv, lambda x: la.solve(x, x), lambda x: la.logm(0 * x)):
        with pytest.raises(fg.errors.MatrixError, match="singular"):
            f(none)
    with pytest.raises(fg.errors.MatrixError, match="positive definite"):
        la.cholesky(-none)
    real = fg.tensor(np.diag([1.0, -1.0]))
    for f in (la.sqrtm, la.logm):
        with pytest.raises(fg.errors.MatrixError, match="complex"):
            f(real)
        np.testing.assert_allclose(
            f(real.astype(np.complex128)).numpy(),
            getattr(scipy.linalg, f.__name__)(np.diag([1.0, -1.0]).astype(complex)),
            atol=1e-14,
        )
    for f in (la.eig, la.eigvals, la.schur, la.expm, la.sqrtm, la.logm):
        with pytest.raises(fg.errors.ShapeError):
            f(fg.tensor(TALL))
        with pytest.raises(fg.errors.MatrixError):
            f(fg.tensor(np.full((2, 2), np.nan)))
        f(fg.tensor(np.zeros((0, 2, 2))))


def test_defective_matrix_has_no_derivative_of_its_vectors() -> None:
    x = fg.tensor(np.array([[1.0, 1.0], [0.0, 1.0]]), requires_grad=True)
    w = la.eigvals(x)
    np.testing.assert_allclose(w.numpy(), [1, 1])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("values", [[-1.5, 2, 3, 1], [-1.5, -0.7, 3, 1], [-1, -2, -3, -0.5]])
@pytest.mark.parametrize(
    ("ours", "f"), [(la.logm, np.log), (la.sqrtm, np.sqrt)], ids=["logm", "sqrtm"]
)
def test_negative_eigenvalues_lie_on_one_side_of_the_cut(
    ours: Any, f: Any, values: Any, seed: int
) -> None:
    """Against divided differences of the function on the eigenvalues, seen from above."""
    random = np.random.default_rng(seed)
    basis = np.linalg.qr(random.normal(size=(N, N)))[0] + 0.2 * random.normal(size=(N, N))
    a = basis @ np.diag(values) @ np.linalg.inv(basis)
    step, other = random.normal(size=(2, N, N))
    weight = random.normal(size=(N, N)) + 1j * random.normal(size=(N, N))

    def known(a: Any) -> tuple[Any, Any]:
        at, v = np.linalg.eig(a)
        at = at.real + 0j
        gaps = at[:, None] - at + np.eye(N)
        slopes = (f(at)[:, None] - f(at)) / gaps
        slopes[np.diag_indices(N)] = 1 / at if f is np.log else 0.5 / f(at)
        back = np.linalg.inv(v)
        return v @ np.diag(f(at)) @ back, v @ (slopes * (back @ step @ v)) @ back

    x = fg.tensor(a.astype(complex), requires_grad=True)
    y = ours(x)
    np.testing.assert_allclose(y.detach().numpy(), known(a)[0], rtol=1e-9, atol=1e-9)
    (g,) = fg.autograd.grad((y * weight.conj()).real.sum(), [x], create_graph=True)
    first = float((g.detach().numpy() * step).real.sum())
    assert np.isclose(first, np.vdot(weight, known(a)[1]).real, rtol=1e-7, atol=1e-7)
    (h,) = fg.autograd.grad((g * step).real.sum(), [x])
    second = float((h.numpy() * other).real.sum())
    ends = (np.vdot(weight, known(a + side * other)[1]).real for side in (1e-5, -1e-5))
    assert np.isclose(second, np.subtract(*ends) / 2e-5, rtol=1e-3, atol=1e-3)
