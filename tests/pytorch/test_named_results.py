"""Results with names, and the smaller names that programs for PyTorch use."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import ferrograd as fg
import ferrograd.scipy.integrate
from ferrograd import nn

RANDOM = np.random.default_rng(41)
A = RANDOM.normal(size=(3, 3))
POSITIVE = A @ A.T + np.eye(3)

NAMED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "topk": (lambda x: fg.topk(x, 2), "values indices"),
    "topk, a method": (lambda x: x.topk(2), "values indices"),
    "cummax": (lambda x: fg.cummax(x, 1), "values indices"),
    "cummin": (lambda x: x.cummin(1), "values indices"),
    "kthvalue": (lambda x: fg.kthvalue(x, 2), "values indices"),
    "eigh": (lambda x: fg.linalg.eigh(x + x.mT), "eigenvalues eigenvectors"),
    "eig": (lambda x: fg.linalg.eig(x), "eigenvalues eigenvectors"),
    "svd": (lambda x: fg.linalg.svd(x), "U S Vh"),
    "qr": (lambda x: fg.linalg.qr(x), "Q R"),
    "lu": (lambda x: fg.linalg.lu(x), "P L U"),
    "lu_factor": (lambda x: fg.linalg.lu_factor(x), "LU pivots"),
    "slogdet": (lambda x: fg.linalg.slogdet(x), "sign logabsdet"),
    "lstsq": (lambda x: fg.linalg.lstsq(x, x[0]), "solution residuals rank singular_values"),
}


@pytest.mark.parametrize("name", NAMED)
def test_results_have_pytorch_s_names(name: str) -> None:
    call, fields = NAMED[name]
    found = call(fg.tensor(A))
    assert isinstance(found, tuple)
    assert found._fields == tuple(fields.split())
    for field, part in zip(fields.split(), found, strict=True):
        assert getattr(found, field) is part
    with fg.no_grad():
        for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
            assert again._fields == found._fields
            for one, two in zip(again, found, strict=True):
                assert_array_equal(one, two)


def test_names_in_gradients_programs_and_transforms() -> None:
    def largest(x: Any) -> Any:
        return fg.topk(x, 1).values.sum() + fg.linalg.svd(x).S.sum()

    x = fg.tensor(A, requires_grad=True)
    fg.gradcheck(largest, (x,))
    compiled = fg.compile(lambda x: fg.topk(x, 2))
    for _ in range(3):
        assert_array_equal(compiled(fg.tensor(A)).values, np.sort(A)[:, :0:-1])
    assert_allclose(fg.grad(largest)(A), fg.compile(fg.grad(largest))(A))


@pytest.mark.parametrize("right", [False, True])
def test_rows_are_searched_in_rows(right: bool) -> None:
    rows = np.sort(RANDOM.integers(0, 5, (2, 3, 6)).astype(float))
    values = RANDOM.integers(-1, 6, (2, 3, 4)).astype(float)
    side: Any = "right" if right else "left"
    expected = [
        [np.searchsorted(rows[i, j], values[i, j], side) for j in range(3)] for i in range(2)
    ]
    assert_array_equal(fg.searchsorted(fg.tensor(rows), fg.tensor(values), right=right), expected)
    assert_array_equal(fg.searchsorted(rows, values, side=side), expected)
    with pytest.raises(fg.errors.ShapeError, match="same axes before the last"):
        fg.searchsorted(rows, values[0])
    assert fg.searchsorted(np.zeros((0, 3)), np.zeros((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("upper", [False, True])
def test_solutions_from_a_cholesky_factor(upper: bool) -> None:
    factor = fg.linalg.cholesky(fg.tensor(POSITIVE + 0.2j * (A - A.T)))
    factor = factor.mH if upper else factor
    matrix = (factor.mH @ factor if upper else factor @ factor.mH).numpy()
    assert_allclose(matrix @ fg.cholesky_solve(A, factor, upper).numpy(), A, atol=1e-12)
    assert_allclose(matrix @ factor.cholesky_inverse(upper).numpy(), np.eye(3), atol=1e-12)
    fg.gradcheck(
        lambda b, a: b.cholesky_solve(fg.linalg.cholesky(a @ a.mT)),
        (fg.tensor(A, requires_grad=True), fg.tensor(POSITIVE, requires_grad=True)),
    )


ALGEBRA: dict[str, Callable[[Any, Any], Any]] = {
    "cond": lambda la, a: la.cond(a),
    "cross": lambda la, a: la.cross(a, a[::-1]),
    "diagonal": lambda la, a: la.diagonal(a),
    "matmul": lambda la, a: la.matmul(a, a),
    "matrix_rank": lambda la, a: la.matrix_rank(a),
    "outer": lambda la, a: la.outer(a[0], a[1]),
    "tensorsolve": lambda la, a: la.tensorsolve(a, a[0]),
    "trace": lambda la, a: la.trace(a),
    "vecdot": lambda la, a: la.vecdot(a, a),
}


@pytest.mark.parametrize("name", ALGEBRA)
def test_numpy_s_other_names_of_linear_algebra(name: str) -> None:
    expected = ALGEBRA[name](np.linalg, A)
    x = fg.tensor(A, requires_grad=True)
    found = ALGEBRA[name](fg.linalg, x)
    if name == "matrix_rank":
        assert found == expected
        return
    assert_allclose(found.detach(), expected)
    fg.gradcheck(lambda a: ALGEBRA[name](fg.linalg, a), (x,))


def test_a_name_that_nobody_has() -> None:
    with pytest.raises(AttributeError, match=r"ferrograd.linalg. has no attribute .nothing."):
        fg.linalg.nothing  # noqa: B018


def test_parameters_of_a_dict_come_in_the_order_of_their_names() -> None:
    made = nn.ParameterDict({"w": fg.ones(2), "U": fg.ones(3), "b": fg.ones(1)})
    assert list(made) == ["U", "b", "w"]
    made["a"] = fg.ones(1)
    made.update([("z", fg.ones(1)), ("c", fg.ones(1))])
    assert list(made) == ["U", "b", "w", "a", "z", "c"]


def test_a_missing_parameter_is_an_attribute() -> None:
    module = nn.Module()
    module.register_parameter("bias", None)
    assert module.bias is None
    assert not module.state_dict()
    module.bias = nn.Parameter([1.0])
    assert list(module.state_dict()) == ["bias"]
    with pytest.raises(fg.errors.ArgumentError, match="cannot name a member"):
        module.register_parameter("a.b", None)


@pytest.mark.parametrize("name", ["hann_window", "igamma"])
def test_names_elsewhere(name: str) -> None:
    with pytest.raises(AttributeError, match="here use"):
        getattr(fg, name)
