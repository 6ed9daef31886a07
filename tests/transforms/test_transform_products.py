"""Matrices of derivatives, products with them, and the faces built on the transforms."""

from typing import Any

import numpy as np
import pytest
import scipy.optimize
from numpy.testing import assert_allclose, assert_array_equal

import ferrograd as fg
from ferrograd import Tensor
from ferrograd.autograd import functional

X = np.linspace(0.1, 1.0, 5)


def cubes(x: Any) -> Any:
    return np.sum(x**3)


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def test_elementwise_grad() -> None:
    assert_allclose(fg.elementwise_grad(np.tanh)(X), 1 - np.tanh(X) ** 2)
    twice = fg.elementwise_grad(fg.elementwise_grad(np.sin))
    assert_allclose(twice(X), -np.sin(X))


def test_jacobian_shapes_and_containers() -> None:
    A = np.arange(6.0).reshape(2, 3)
    found = fg.jacobian(lambda x: A @ x)(np.ones(3))
    assert_allclose(found, A)
    assert fg.jacobian(lambda x: np.outer(x, x))(np.ones(2)).shape == (2, 2, 2)
    assert fg.jacobian(lambda x: x**2)(3.0) == 6.0
    assert_allclose(fg.jacobian(lambda x: fg.stack([x, x**2]))(3.0), [1.0, 6.0])
    nested = fg.jacobian(lambda p: {"s": p["a"] * p["b"]})({"a": 2.0, "b": X})
    assert_allclose(nested["s"]["a"], X)
    assert_allclose(nested["s"]["b"], 2 * np.eye(5))
    both = fg.jacobian(lambda x, y: x * y, (0, 1))(X, X)
    assert_allclose(both[0], np.diag(X))
    assert_array_equal(fg.jacobian(lambda x: np.ones(2))(X), np.zeros((2, 5)))


def test_hessian() -> None:
    assert_allclose(fg.hessian(cubes)(X), np.diag(6 * X))
    x = np.linspace(-1, 1, 10)
    assert_allclose(fg.hessian(rosenbrock)(x), scipy.optimize.rosen_hess(x), atol=1e-12)
    rows = fg.hessian(lambda x, y: np.sum(x * y**2), (0, 1))(X[:2], X[:2])
    assert_allclose(rows[0][1], np.diag(2 * X[:2]))
    assert_array_equal(rows[0][0], np.zeros((2, 2)))
    assert fg.hessian(lambda x: x**3)(2.0) == 12.0
    third = fg.jacobian(fg.hessian(cubes))(X)
    assert_allclose(third[2, 2, 2], 6.0)
    assert third.sum() == pytest.approx(30.0)


def test_products_with_hessian_and_jacobian() -> None:
    v = np.arange(5.0)
    H = fg.hessian(rosenbrock)(X)
    assert_allclose(fg.hvp(rosenbrock)(X, v), H @ v)
    product, slope = fg.make_hvp(rosenbrock)(X)
    assert_allclose(product(v), H @ v)
    assert_allclose(slope, scipy.optimize.rosen_der(X))
    value, change = fg.jvp(np.sin, (X,), (v,))
    assert_allclose(value, np.sin(X))
    assert_allclose(change, v * np.cos(X))
    pull, value = fg.make_vjp(np.sin)(X)
    assert_allclose(pull(v), v * np.cos(X))
    assert_allclose(pull(v), v * np.cos(X))
    assert_allclose(value, np.sin(X))
    push = fg.make_jvp(np.sin)(X)
    assert_allclose(push(v)[1], v * np.cos(X))
    J = fg.jacobian(lambda x: x[1:] * x[:-1])(X)
    found = fg.make_ggnvp(lambda x: x[1:] * x[:-1])(X)(v)
    assert_allclose(found, J.T @ (J @ v))


def test_vjp_and_jvp_over_containers() -> None:
    value, pull = fg.vjp(lambda x, y: {"p": x * y, "c": 1.0}, X, 2.0)
    assert value["c"] == 1.0
    left, right = pull({"p": np.ones(5), "c": 0.0})
    assert_allclose(left, 2 * np.ones(5))
    assert type(right) is float
    assert right == pytest.approx(X.sum())
    value, change = fg.jvp(lambda x, y: (x * y, np.ones(2)), (2.0, 3.0), (1.0, 0.5))
    assert value[0] == 6.0
    assert change[0] == 4.0
    assert_array_equal(change[1], np.zeros(2))
    value, pull, aux = fg.vjp(lambda x: (x**2, x + 1.0), 3.0, has_aux=True)
    assert (value, pull(1.0), aux) == (9.0, (6.0,), 4.0)


def test_forward_and_reverse_nest() -> None:
    def slope(x: Any) -> Any:
        return fg.jvp(lambda y: np.sin(y) * x, (x,), (1.0,))[1]

    assert fg.grad(slope)(0.7) == pytest.approx(np.cos(0.7) - 0.7 * np.sin(0.7))
    pushed = fg.jvp(fg.grad(lambda x: x**4), (2.0,), (1.0,))
    assert pushed == (32.0, 48.0)
    assert fg.grad(lambda v: fg.vjp(np.exp, 1.0)[1](v)[0] * v)(2.0) == pytest.approx(4 * np.e)
    twice = fg.jvp(lambda x: fg.jvp(np.sin, (x,), (1.0,))[1], (0.7,), (1.0,))[1]
    assert twice == pytest.approx(-np.sin(0.7))


def test_products_nest_in_gradients() -> None:
    v = np.arange(5.0)

    def along(x: Any) -> Any:
        return np.sum(fg.hvp(cubes)(x, v))

    assert_allclose(fg.grad(along)(X), 6 * v)
    assert_allclose(fg.grad(lambda v: np.sum(fg.hvp(cubes)(X, v) * v))(v), 12 * X * v)
    assert_allclose(fg.grad(lambda x: np.trace(fg.hessian(cubes)(x)))(X), np.full(5, 6.0))
    assert_allclose(fg.grad(lambda x: np.sum(fg.jacobian(np.sin)(x)))(X), -np.sin(X))

    def scaled(a: Any) -> Any:
        return np.sum(fg.make_hvp(lambda x: a * cubes(x))(X)[1])

    assert fg.grad(scaled)(2.0) == pytest.approx(np.sum(3 * X**2))


def test_threads_differentiate_side_by_side() -> None:
    from concurrent.futures import ThreadPoolExecutor

    def slope(k: int) -> Any:
        return fg.grad(lambda x: np.sum(x**k) * fg.grad(lambda y: y**2)(0.5))(X)

    with ThreadPoolExecutor(4) as pool:
        for k, found in enumerate(pool.map(slope, range(2, 30)), start=2):
            assert_allclose(found, k * X ** (k - 1))


def test_check_grads_finds_right_and_wrong_rules() -> None:
    fg.check_grads(lambda x, y, k: np.sin(x) * y**k, order=3)(X, 1.5, 2)

    class Wrong(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Tensor:
            return g * ctx.saved_tensors[0]

    for modes in ("rev", "fwd"):
        with pytest.raises(AssertionError, match="finite differences give"):
            fg.check_grads(Wrong.apply, modes, order=1)(X)


def test_functional_takes_and_gives_tensors() -> None:
    x, y = fg.tensor([1.0, 2.0]), fg.tensor([3.0, 4.0])

    def f(x: Any, y: Any) -> Any:
        return (x * y**2).sum()

    assert functional.jacobian(lambda x: x**2, x).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    blocks = functional.jacobian(lambda x, y: (x * y, x), (x, y))
    assert blocks[0][1].tolist() == [[1.0, 0.0], [0.0, 2.0]]
    assert blocks[1][1].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert functional.hessian(f, (x, y))[0][1].tolist() == [[6.0, 0.0], [0.0, 8.0]]
    assert functional.vjp(lambda x: x.sum(), x)[1].tolist() == [1.0, 1.0]
    value, change = functional.jvp(lambda x, y: x * y, (x, y), (x, y))
    assert change.tolist() == [6.0, 16.0]
    value, product = functional.hvp(f, (x, y), (x, y))
    assert value.item() == 41.0
    assert product[0].tolist() == [18.0, 32.0]
    assert functional.vhp(lambda x: (x**3).sum(), x, x)[1].tolist() == [6.0, 24.0]


def test_functional_records_only_when_asked() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    assert not functional.jacobian(lambda x: x**2, x).requires_grad
    found = functional.jacobian(lambda x: x**2, x, create_graph=True)
    assert fg.autograd.grad(found.sum(), x)[0].tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="does not depend on input 1"):
        functional.jacobian(lambda x, y: x, (x, x), strict=True)


def test_rosenbrock_by_scipy() -> None:
    x = np.linspace(-1, 2, 10)
    found = scipy.optimize.minimize(fg.value_and_grad(rosenbrock), x, jac=True, method="BFGS")
    assert_allclose(found.x, np.ones(10), atol=1e-4)
    newton = scipy.optimize.minimize(
        fg.value_and_grad(rosenbrock), x, jac=True, hessp=fg.hvp(rosenbrock), method="Newton-CG"
    )
    assert_allclose(newton.x, np.ones(10), atol=1e-4)


def test_transforms_free_their_graphs() -> None:
    before = fg.live_nodes()
    fg.hessian(rosenbrock)(X)
    fg.jvp(cubes, (X,), (X,))
    assert fg.live_nodes() == before


def test_the_numpy_face() -> None:
    import ferrograd.numpy as anp

    assert type(anp.sin(X)) is np.ndarray
    assert type(anp.array([1.0, 2.0])) is np.ndarray
    assert anp.pi == np.pi
    assert anp.add.reduce(X) == np.add.reduce(X)

    def f(x: Any) -> Any:
        table = anp.array([[x[0], 1.0], [x[1] * x[2], x[3]]])
        return anp.sum(table**2) + anp.append(x, x).sum() + anp.sum(anp.full((2,), x[0]))

    fg.check_grads(f)(X)
    fg.check_grads(lambda x: anp.linalg.inv(anp.eye(5) + anp.outer(x, x)), order=1)(X)
    fg.check_grads(lambda x: anp.linspace(x[0], 1.0, 3))(X)
    with pytest.raises(NotImplementedError, match="complex"):
        fg.grad(lambda x: anp.roots(x)[0])(X)


def test_the_scipy_face() -> None:
    import scipy.special
    import scipy.stats

    from ferrograd.scipy import special, stats

    for name in ("erf", "erfc", "expit", "gammaln", "digamma", "logit", "ndtr", "logsumexp"):
        ours, theirs = getattr(special, name), getattr(scipy.special, name)
        x = X * 0.9
        assert_allclose(ours(x), theirs(x), rtol=1e-12)
        assert type(ours(x)) is type(theirs(x))
        fg.check_grads(ours)(x)
    for name, rest in (("norm", ()), ("t", (3.0,)), ("gamma", (2.5,)), ("beta", (2.0, 3.0))):
        ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
        x = X * 0.9
        assert_allclose(ours.logpdf(x, *rest), theirs.logpdf(x, *rest))
        fg.check_grads(ours.logpdf)(x, *rest)
    cov = np.diag(X) + 0.1
    ours, theirs = stats.multivariate_normal, scipy.stats.multivariate_normal
    assert_allclose(ours.logpdf(X, X * 2, cov), theirs.logpdf(X, X * 2, cov))
    fg.check_grads(ours.logpdf, order=1)(X, X * 2, cov)
