"""Products with sparse arrays of SciPy's, and sparse arrays whose values are tensors."""

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from numpy.testing import assert_allclose

import ferrograd as fg
from ferrograd.scipy import sparse
from ferrograd.scipy.sparse import linalg
from scipy_support import agree

RANDOM = np.random.default_rng(31)
DENSE = RANDOM.normal(size=(4, 3)) * (RANDOM.uniform(size=(4, 3)) < 0.6)
SQUARE = DENSE[:3] + 4 * np.eye(3)
X, Y, V = RANDOM.normal(size=(3, 2)), RANDOM.normal(size=(2, 4)), RANDOM.normal(size=3)
KINDS = [
    getattr(scipy.sparse, f"{form}_{kind}")
    for form in ("csr", "csc", "coo", "lil", "dia")
    for kind in ("array", "matrix")
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_constants_of_scipy(kind: Any) -> None:
    matrix = kind(DENSE)
    agree(lambda x: sparse.product(matrix, x), lambda x: DENSE @ x, X, singles=False)
    for x in (X, V):
        t = fg.tensor(x, requires_grad=True)
        found = matrix @ t
        assert isinstance(found, fg.Tensor)
        assert_allclose(found.detach().numpy(), DENSE @ x)
        fg.gradcheck(lambda t: matrix @ t, t)
        fg.gradgradcheck(lambda t: (matrix @ t) ** 2, t)
    t = fg.tensor(Y, requires_grad=True)
    assert_allclose((t @ matrix).detach().numpy(), Y @ DENSE)
    fg.gradcheck(lambda t: t @ matrix, t)
    row = fg.tensor(Y[0], requires_grad=True)
    assert_allclose((row @ matrix).detach().numpy(), Y[0] @ DENSE)
    assert_allclose((fg.tensor(Y) @ matrix).numpy(), Y @ DENSE)


def test_single_precision() -> None:
    matrix = scipy.sparse.csr_array(DENSE.astype(np.float32))
    t = fg.tensor(X.astype(np.float32), requires_grad=True)
    found = matrix @ t
    assert found.dtype == np.float32
    found.sum().backward()
    assert t.grad.dtype == np.float32


def test_other_operators_of_sparse_arrays_still_refuse() -> None:
    t = fg.tensor(V, requires_grad=True)
    with pytest.raises(fg.errors.GraphCutError, match="silently leave the graph"):
        scipy.sparse.csr_array(DENSE) * t
    with pytest.raises(ValueError, match="fitting sizes"):
        scipy.sparse.csr_array(DENSE) @ fg.tensor(Y, requires_grad=True)


ROWS, COLUMNS = np.array([0, 2, 2, 1, 0, 2]), np.array([1, 0, 2, 1, 1, 2])
VALUES = RANDOM.normal(size=6)


@pytest.mark.parametrize("name", ["csr_array", "csc_array", "coo_array"])
def test_values_that_are_tensors(name: str) -> None:
    def matrix(home: Any, values: Any) -> Any:
        return getattr(home, name)((values, (ROWS, COLUMNS)), shape=(4, 3))

    other = scipy.sparse
    agree(lambda v, x: matrix(sparse, v) @ x, lambda v, x: matrix(other, v) @ x, VALUES, X)
    agree(lambda v, y: y @ matrix(sparse, v), lambda v, y: y @ matrix(other, v), VALUES, Y)
    agree(lambda v, x: matrix(sparse, v).dot(x), lambda v, x: matrix(other, v) @ x, VALUES, V)
    agree(lambda v: matrix(sparse, v).toarray(), lambda v: matrix(other, v).toarray(), VALUES)
    agree(
        lambda v, x: (-2.0 * matrix(sparse, v) / 3.0).T @ x,
        lambda v, x: (-2.0 * matrix(other, v) / 3.0).T @ x,
        VALUES,
        Y.T,
    )


def test_what_a_sparse_array_shows() -> None:
    known = scipy.sparse.csr_array(DENSE)
    ours = sparse.csr_array((fg.tensor(known.data), known.indices, known.indptr))
    assert (ours.shape, ours.nnz, ours.ndim) == ((4, 3), known.nnz, 2)
    assert ours.format == "csr"
    assert ours.T.format == "csc"
    assert ours.dtype == np.float64
    assert_allclose(sparse.csc_array(ours).toarray().numpy(), DENSE)
    assert_allclose(sparse.csr_array(scipy.sparse.coo_array(DENSE)).toarray(), DENSE)
    assert sparse.csc_array(scipy.sparse.csc_array(DENSE)).indptr.tolist()[-1] == ours.nnz
    assert ours.indices.tolist() == known.indices.tolist()
    assert repr(ours) == f"<sparse csr array of shape (4, 3) with {known.nnz} stored values>"


@pytest.mark.parametrize("right", [V, X])
def test_equations(right: Any) -> None:
    rows, columns = np.nonzero(SQUARE)

    def ours(values: Any, b: Any) -> Any:
        return sparse.linalg.spsolve(sparse.csr_array((values, (rows, columns))), b)

    agree(
        ours,
        lambda v, b: np.linalg.solve(scipy.sparse.csr_array((v, (rows, columns))).toarray(), b),
        SQUARE[rows, columns],
        right,
    )
    matrix = scipy.sparse.csc_array(SQUARE)
    assert_allclose(sparse.linalg.spsolve(matrix, right), np.linalg.solve(SQUARE, right))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sparse.csr_array((fg.ones(3), ([0, 1], [0, 1]))), "one value"),
        (lambda: sparse.csr_array(3.0), "give .data, indices, indptr."),
        (lambda: sparse.linalg.spsolve(scipy.sparse.csr_array(DENSE), V), "square matrix"),
        (lambda: sparse.product(scipy.sparse.coo_array(V), V), "give a matrix"),
    ],
)
def test_wrong_arguments(call: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError, IndexError), match=words):
        call()


def test_complex_values() -> None:
    values = np.array([1.0 + 1j, 2.0, -3j, 0.5])
    places = (np.array([0, 0, 1, 1]), np.array([0, 2, 1, 2]))
    right = np.array([1j, 2.0 - 1j, 0.5])

    def product(values: Any, right: Any) -> Any:
        return sparse.csr_array((values, places), shape=(2, 3)) @ right

    assert_allclose(product(values, right), [1.0 - 1 + 1j, -6j - 3 + 0.25])
    fg.check_grads(product, order=2)(values, right)


SYMMETRIC = np.random.default_rng(3).normal(size=(5, 5))
SYMMETRIC = SYMMETRIC @ SYMMETRIC.T + 5 * np.eye(5)
GENERAL = np.random.default_rng(4).normal(size=(5, 5)) + 6 * np.eye(5)


@pytest.mark.parametrize(
    ("name", "a"),
    [("cg", SYMMETRIC), ("minres", SYMMETRIC), ("gmres", GENERAL), ("bicgstab", GENERAL)],
)
class TestIterations:
    """Methods that iterate, whose derivative solves the transposed equations."""

    B = np.random.default_rng(5).normal(size=5)

    def test_dense_matrices(self, name: str, a: Any) -> None:
        def solve(a: Any, b: Any) -> Any:
            return getattr(linalg, name)(a, b, rtol=1e-13)[0]

        found, info = getattr(linalg, name)(a, self.B, rtol=1e-13)
        assert (type(found), info) == (np.ndarray, 0)
        np.testing.assert_allclose(found, np.linalg.solve(a, self.B), rtol=1e-9)
        fg.gradcheck(solve, (fg.tensor(a, requires_grad=True), fg.tensor(self.B)))
        leaves = (fg.tensor(a, requires_grad=True), fg.tensor(self.B, requires_grad=True))
        fg.gradgradcheck(solve, leaves)

    def test_values_of_sparse_matrices(self, name: str, a: Any) -> None:
        known = scipy.sparse.csr_array(a)

        def solve(values: Any, b: Any) -> Any:
            matrix = sparse.csr_array((values, known.indices, known.indptr), shape=a.shape)
            return getattr(linalg, name)(matrix, b, np.ones(5), rtol=1e-13)[0]

        leaves = (fg.tensor(known.data, requires_grad=True), fg.tensor(self.B, requires_grad=True))
        fg.gradcheck(solve, leaves)
        fg.gradgradcheck(solve, leaves)

    def test_operators_with_a_preconditioner(self, name: str, a: Any) -> None:
        operator = scipy.sparse.linalg.aslinearoperator(a)
        nearly = scipy.sparse.linalg.aslinearoperator(np.diag(1 / np.diag(a)))

        def solve(b: Any) -> Any:
            return getattr(linalg, name)(operator, b, M=nearly, rtol=1e-13)[0]

        fg.gradcheck(solve, (fg.tensor(self.B, requires_grad=True),))

    def test_sizes_that_do_not_fit(self, name: str, a: Any) -> None:
        with pytest.raises(fg.errors.ShapeError, match=rf"{name}: A has shape \(5, 5\) and b"):
            getattr(linalg, name)(a, self.B[:3])
        few = {"restart": 1} if name == "gmres" else {}
        unfinished = getattr(linalg, name)(a, self.B, maxiter=1, rtol=1e-15, **few)
        assert unfinished[1] > 0


@pytest.mark.parametrize("name", ["cg", "minres"])
def test_symmetric_operators_need_no_transpose(name: str) -> None:
    operator = scipy.sparse.linalg.LinearOperator((5, 5), lambda v: SYMMETRIC @ v, dtype=float)

    def solve(b: Any) -> Any:
        return getattr(linalg, name)(operator, b, rtol=1e-13)[0]

    fg.gradcheck(solve, (fg.ones(5, requires_grad=True),))
    fg.gradgradcheck(lambda b: solve(b) ** 2, (fg.ones(5, requires_grad=True),))


def test_hermitian_operators_need_no_transpose() -> None:
    skew = np.triu(SYMMETRIC, 1) * 0.2j
    a = SYMMETRIC + skew + skew.conj().T
    operator = scipy.sparse.linalg.LinearOperator((5, 5), lambda v: a @ v, dtype=complex)
    b = fg.tensor(np.arange(5) + 1j, requires_grad=True)
    fg.gradcheck(lambda b: linalg.cg(operator, b, rtol=1e-13)[0], (b,))


def test_an_operator_without_a_transpose_has_no_derivative_where_one_is_needed() -> None:
    operator = scipy.sparse.linalg.LinearOperator((5, 5), lambda v: GENERAL @ v, dtype=float)
    found, info = linalg.gmres(operator, fg.ones(5, requires_grad=True))
    assert info == 0
    words = "gmres: a derivative solves the transposed equations, and A or M is a LinearOperator"
    with pytest.raises(fg.errors.NotDifferentiableError, match=words):
        found.sum().backward()


def test_a_derivative_that_has_not_converged_says_so() -> None:
    a = np.diag(np.arange(1.0, 41.0))
    start = np.linalg.solve(a, np.ones(40))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, info = linalg.cg(a, fg.ones(40, requires_grad=True), start, rtol=1e-10, maxiter=3)
    assert info == 0
    with pytest.warns(RuntimeWarning, match="cg: the equations of the derivative") as said:
        (found * fg.linspace(0, 1, 40)).sum().backward()
    assert [warning.filename for warning in said] == [__file__]


def test_dense_matrices_are_no_sparse_ones() -> None:
    with pytest.raises(
        fg.errors.ArgumentTypeError, match=r"spsolve: A is a dense Tensor; use np\."
    ):
        linalg.spsolve(fg.tensor(GENERAL), np.ones(5))


@pytest.mark.parametrize("kind", ["csr", "csc"])
@pytest.mark.parametrize("solve", ["spsolve", "cg"])
def test_unsorted_places_are_solved_and_stay_as_they_are(kind: str, solve: str) -> None:
    places, ends = np.array([1, 0, 1, 0]), np.array([0, 2, 4])
    values, b = np.array([0.3, 2.0, 1.0, 0.3]), np.array([1.0, 2.0])
    dense = getattr(scipy.sparse, f"{kind}_array")((values, places.copy(), ends)).toarray()

    def solution(values: Any, b: Any, indices: Any) -> Any:
        made = getattr(sparse, f"{kind}_array")((values, indices, ends), shape=(2, 2))
        return linalg.spsolve(made, b) if solve == "spsolve" else linalg.cg(made, b, rtol=1e-13)[0]

    t, right = (fg.tensor(each, requires_grad=True) for each in (values, b))
    for given, other in ((values, right), (t, b), (t, right)):
        indices = places.copy()
        found = solution(given, other, indices)
        assert_allclose(found.detach().numpy(), np.linalg.solve(dense, b))
        found.sum().backward()
        assert indices.tolist() == places.tolist()
    assert values.tolist() == [0.3, 2.0, 1.0, 0.3] == t.tolist()
    fg.gradcheck(lambda v, r: solution(v, r, places), (t, right))


def test_unsorted_entries_are_assembled_and_solved() -> None:
    places = (np.array([1, 0, 1, 0]), np.array([1, 1, 0, 0]))

    def loss(values: Any) -> Any:
        matrix = sparse.coo_array((values, places), shape=(2, 2))
        return (linalg.spsolve(matrix, np.array([1.0, 2.0])) ** 2).sum()

    fg.gradcheck(loss, fg.tensor([2.0, 0.3, 0.4, 1.5], requires_grad=True))
