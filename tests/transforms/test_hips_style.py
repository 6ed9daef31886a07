"""Programs in the style of HIPS autograd: only the name of the package differs.

What the functions compute is tested elsewhere.
"""

import importlib
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as onp
import pytest

import ferrograd as fg
import ferrograd.numpy as np
import ferrograd.numpy.random as npr
import ferrograd.scipy.stats.norm as norm
from ferrograd import (
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)
from ferrograd.builtins import dict as adict, isinstance as ainstance, list as alist, type as atype
from ferrograd.extend import (
    Box,
    defjvp,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    notrace_primitive,
    primitive,
    register_notrace,
)
from ferrograd.misc import const_graph
from ferrograd.misc.fixed_points import fixed_point
from ferrograd.misc.flatten import flatten, flatten_func
from ferrograd.misc.optimizers import adam, rmsprop, sgd
from ferrograd.test_util import (
    check_equivalent,
    check_grads,
    check_jvp,
    check_vjp,
    combo_check,
    scalar_close,
)
from ferrograd.tracer import getval, isbox

npr.seed(1)


class Pair(NamedTuple):
    a: Any
    b: Any


MODULES = """builtins differential_operators extend misc misc.fixed_points misc.flatten
    misc.optimizers misc.tracers numpy numpy.fft numpy.linalg numpy.random scipy scipy.integrate
    scipy.linalg scipy.misc scipy.signal scipy.special scipy.stats scipy.stats.norm scipy.stats.t
    scipy.stats.gamma scipy.stats.beta scipy.stats.chi2 scipy.stats.poisson scipy.stats.dirichlet
    scipy.stats.multivariate_normal test_util tracer"""
NESTED = {"w": npr.randn(2, 3), "b": [1.5, npr.randn(2)], "p": Pair(2.0, (npr.randn(1),))}


@pytest.mark.parametrize(
    "name",
    MODULES.split(),
)
def test_every_module_is_there(name: str) -> None:
    assert importlib.import_module(f"ferrograd.{name}").__doc__


def test_the_namespace_of_numpy_is_complete() -> None:
    for home, other in ((np, onp), (np.linalg, onp.linalg), (np.fft, onp.fft), (npr, onp.random)):
        missing = [n for n in dir(other) if not n.startswith("_") and not hasattr(home, n)]
        assert missing == [], other


class TestCombinations:
    """`combo_check` over arguments, as the public suites use it."""

    def test_reductions(self) -> None:
        for f in (np.sum, np.mean, np.std, np.var, np.max, np.min, np.prod):
            combo_check(f, [0])(
                [npr.randn(3, 4), npr.randn(2)], axis=[None, 0], keepdims=[True, False]
            )

    def test_products(self) -> None:
        combo_check(np.dot, [0, 1])([npr.randn(3, 4)], [npr.randn(4), npr.randn(4, 2)])
        combo_check(np.outer, [0, 1])([npr.randn(3), npr.randn(2, 2)], [npr.randn(2)])
        combo_check(np.tensordot, [0, 1])(
            [npr.randn(1, 3, 2)], [npr.randn(3, 2, 2)], axes=[([1, 2], [0, 1]), ([1], [0])]
        )
        check_grads(lambda a, b: np.einsum("ijk,kl->il", a, b), (0, 1))(
            npr.randn(2, 3, 4), npr.randn(4, 2)
        )

    def test_shapes(self) -> None:
        a = npr.randn(2, 3, 4)
        combo_check(np.roll, [0])([a], [1, -1], axis=[0, 2])
        combo_check(np.rollaxis, [0])([a], [0, 2], [0, 1])
        combo_check(np.swapaxes, [0])([a], [0, 1], [1, 2])
        combo_check(np.expand_dims, [0])([a], [0, -1])
        check_grads(lambda x, y: np.concatenate((x, y), axis=1), (0, 1))(a, a)
        check_grads(lambda x: np.stack([x, x * 2], axis=-1))(a)
        check_grads(lambda x: np.pad(x, ((1, 1), (0, 2)), "constant"))(npr.randn(2, 3))

    def test_indexing(self) -> None:
        a = npr.randn(5, 6)
        for index in (3, slice(None, -1, 2), ([3, 0, 1], [1, 2, 3]), a > 0, (..., None, 1)):
            check_grads(lambda x, i=index: x[i])(a)

    def test_operators(self) -> None:
        check_grads(lambda x, y: x * y + x / y - x**y + x % y, (0, 1))(
            npr.rand(2, 3) + 1, npr.rand(3) + 2.1
        )
        check_grads(lambda x: abs(-x) + 2.0 / x + 3**x + 1 - x)(2.5)


class TestOperators:
    """The differential operators and their conventions."""

    def test_values(self) -> None:
        def f(x: Any) -> Any:
            return np.sum(np.sin(x) * x**2)

        x, v = npr.randn(3), npr.randn(3)
        h = hessian(f)(x)
        check_equivalent(hessian_vector_product(f)(x, v), h @ v)
        check_equivalent(hessian_tensor_product(f)(x, v), h @ v)
        product, slope = make_hvp(f)(x)
        check_equivalent(product(v), h @ v)
        check_equivalent(slope, grad(f)(x))
        check_equivalent(jacobian(grad(f))(x), h)

        def g(x: Any) -> Any:
            return np.array([x[0] * x[1], np.sin(x[2])])

        w = npr.randn(2)
        j = jacobian(g)(x)
        check_equivalent(vector_jacobian_product(g)(x, w), w @ j)
        check_equivalent(tensor_jacobian_product(g)(x, w), w @ j)
        check_equivalent(make_vjp(g)(x)[0](w), w @ j)
        check_equivalent(make_jvp(g)(x)(v)[1], j @ v)
        check_equivalent(make_ggnvp(g)(x)(v), j.T @ (j @ v))
        check_equivalent(elementwise_grad(np.tanh)(x), 1 - np.tanh(x) ** 2)
        check_equivalent(value_and_grad(f)(x), (f(x), grad(f)(x)))
        assert deriv(lambda x: x**3)(2.0) == 12.0
        check_equivalent(deriv(np.sin)(x), np.cos(x))

    def test_arguments_by_name(self) -> None:
        def f(x: Any, y: Any, scale: float = 2.0) -> Any:
            return scale * x * y

        assert grad_named(f, "y")(3.0, 5.0) == 6.0
        found = multigrad_dict(f)(3.0, 5.0)
        assert isinstance(found, OrderedDict)
        assert dict(found) == {"x": 10.0, "y": 6.0, "scale": 15.0}
        assert grad_and_aux(lambda x: (x**2, "note"))(3.0) == (6.0, "note")
        assert grad(f, argnum=1)(3.0, 5.0) == 6.0

    def test_complex_numbers_are_those_of_hips(self) -> None:
        assert holomorphic_grad(np.sin)(1j) == pytest.approx(onp.cos(1j))
        for f, slope in (
            (lambda x: 1j * x, 0.0),
            (lambda x: x * (2 + 1j), 2.0),
            (lambda x: x + onp.complex128(1j), 1.0),
        ):
            assert grad(lambda x, f=f: np.real(f(x)))(1.0) == slope
        assert grad(lambda z: np.abs(z) ** 2)(1 + 2j) == pytest.approx(2 - 4j)
        x = npr.randn(3)
        assert grad(lambda x: np.sum(np.real(x) * np.conj(x) + np.imag(x)))(x) == pytest.approx(
            2 * x
        )


class TestContainers:
    """Nested values in, out, and through the helpers."""

    def test_flatten(self) -> None:
        vector, unflatten = flatten(NESTED)
        assert vector.shape == (11,)
        check_equivalent(unflatten(vector), NESTED)
        check_grads(lambda value: flatten(value)[0] ** 2, modes=["rev"])(NESTED)
        assert flatten({"b": 1.0, "a": (2.0, None, 3.0)})[0].tolist() == [2.0, 3.0, 1.0]
        assert flatten({1: 1.0, "a": 2.0})[0].tolist() == [1.0, 2.0]
        of_vector, back, start = flatten_func(lambda p: p["w"] * 2, NESTED)
        check_equivalent(of_vector(start), 2 * NESTED["w"].ravel())
        check_equivalent(back(start), NESTED)
        with pytest.raises(ValueError, match="11 elements"):
            unflatten(vector[:-1])

    @pytest.mark.parametrize("optimize", [sgd, rmsprop, adam])
    def test_optimizers(self, optimize: Any) -> None:
        def loss(p: Any, step: int) -> Any:
            return np.sum((flatten(p)[0] - 1.0) ** 2)

        seen: list[Any] = []

        def callback(p: Any, step: int, g: Any) -> None:
            seen.append((step, loss(p, step), set(g)))

        found = optimize(grad(loss), NESTED, callback, num_iters=300, step_size=0.05)
        check_equivalent(flatten(found)[1](flatten(found)[0]), found)
        assert loss(found, 0) < 0.1 * loss(NESTED, 0)
        assert [step for step, *_ in seen] == list(range(300))
        assert seen[0][2] == {"w", "b", "p"}

    def test_builtins(self) -> None:
        def f(x: Any) -> Any:
            assert ainstance(x, onp.ndarray)
            assert ainstance(x, (list, onp.ndarray))
            assert not ainstance(x, float)
            assert ainstance(np.sum(x), float)
            assert not ainstance(x, int)
            assert atype(x) is onp.ndarray
            assert ainstance(x, Box)
            assert isbox(x)
            assert not isbox(getval(x))
            assert type(getval(np.sum(x))) is onp.float64
            return sum(alist([np.sum(x), adict(a=x)["a"][0]]))

        check_equivalent(grad(f)(onp.ones(2)), onp.array([2.0, 1.0]))
        assert atype(3) is int
        assert getval(3) == 3

    def test_const_graph(self) -> None:
        assert grad(const_graph(lambda x: x**2))(3.0) == 6.0
        assert grad(const_graph(lambda a, x: a * x, 5.0))(3.0) == 5.0


class TestExtend:
    """Rules of one's own."""

    def test_one_maker_for_all_arguments(self) -> None:
        @primitive
        def times(x: Any, y: Any) -> Any:
            return onp.multiply(x, y)

        @primitive
        def also(x: Any, y: Any) -> Any:
            return onp.multiply(x, y)

        defvjp_argnum(times, lambda argnum, ans, args, kwargs: lambda g: g * args[1 - argnum])
        defvjp_argnums(
            also,
            lambda argnums, ans, args, kwargs: lambda g: [g * args[1 - k] for k in argnums],
        )
        defjvp(times, lambda g, ans, x, y: g * y, lambda g, ans, x, y: x * g)
        for f in (times, also):
            check_grads(f, (0, 1))(npr.randn(3), npr.randn(3))
            check_grads(f, 1, modes=["rev"])(2.0, 3.0)
            assert grad(lambda x, f=f: f(x, x))(3.0) == 6.0

    def test_a_function_without_derivative(self) -> None:
        @notrace_primitive
        def rounded(x: Any) -> Any:
            assert isinstance(x, onp.ndarray)
            return onp.round(x)

        register_notrace(None, rounded)
        assert grad(lambda x: x * rounded(x))(2.2) == 2.0

    def test_wrong_arguments(self) -> None:
        for define in (defjvp, defvjp_argnum, defvjp_argnums):
            with pytest.raises(TypeError, match="@primitive"):
                define(onp.sin, lambda *a: None)

    def test_primitives_are_at_the_top(self) -> None:
        assert fg.primitive is primitive
        f = primitive(lambda x: x**2)
        defvjp(f, lambda ans, x: lambda g: 2 * g * x)
        assert grad(grad(f))(3.0) == 2.0


def closing(b: Any) -> Any:
    """A fixed point whose function closes over its parameter."""
    return fixed_point(lambda a: lambda x: a * b / (1 + x), 1.0, 1.0, lambda x, y: abs(x - y), 1e-9)


class TestPrograms:
    """Whole small programs."""

    def test_fixed_point(self) -> None:
        def sqrt(a: Any) -> Any:
            return fixed_point(
                lambda a: lambda x: (x + a / x) / 2, a, 1.0, lambda x, y: np.abs(x - y), 1e-12
            )

        assert sqrt(2.0) == pytest.approx(2**0.5)
        assert grad(sqrt)(2.0) == pytest.approx(0.5 * 2**-0.5)
        assert grad(grad(sqrt))(2.0) == pytest.approx(-0.25 * 2**-1.5)

    def test_derivatives_of_a_slow_iteration_are_those_of_its_limit(self) -> None:
        def root(p: Any, x: Any = 1.0) -> Any:
            step = lambda p: lambda x: x - 0.1 * (x**2 - p["a"] * p["b"])  # noqa: E731
            return fixed_point(step, p, x, lambda x, y: np.max(np.abs(x - y)), 1e-12)

        p = {"a": 2.0, "b": onp.array([1.0, 1.5])}
        check_grads(lambda p: root(p, onp.ones(2)))(p)
        of_a = lambda a: root({"a": a, "b": 1.0})  # noqa: E731
        for order, expected in ((1, 0.5 * 2**-0.5), (2, -0.25 * 2**-1.5), (3, 0.375 * 2**-2.5)):
            of_a = grad(of_a)
            assert of_a(2.0) == pytest.approx(expected), order
        with pytest.raises(NotImplementedError, match="pass it in a"):
            grad(lambda b: root({"a": 2.0, "b": 1.0}, b) + closing(b))(2.0)

    def test_a_neural_network(self) -> None:
        def predict(params: Any, x: Any) -> Any:
            for w, b in params:
                out = np.dot(x, w) + b
                x = np.tanh(out)
            return out

        def objective(params: Any, step: int) -> Any:
            return -np.sum(norm.logpdf(targets, predict(params, inputs), 0.1)) + 0.1 * np.sum(
                flatten(params)[0] ** 2
            )

        inputs = onp.linspace(-1, 1, 20).reshape(-1, 1)
        targets = onp.sin(3 * inputs)
        params = [(npr.randn(1, 5), npr.randn(5)), (npr.randn(5, 1), npr.randn(1))]
        check_grads(lambda p: objective(p, 0), modes=["rev"], order=1)(params)
        fitted = adam(grad(objective), params, num_iters=150, step_size=0.05)
        assert objective(fitted, 0) < 0.3 * objective(params, 0)

    def test_checks_find_mistakes(self) -> None:
        @primitive
        def wrong(x: Any) -> Any:
            return x**2

        defvjp(wrong, lambda ans, x: lambda g: g * x)
        for check in (check_vjp, check_jvp):
            with pytest.raises(AssertionError, match="finite differences"):
                check(wrong, 2.0)
        with pytest.raises(AssertionError, match="differ"):
            check_equivalent([1.0], (1.0,))
        with pytest.raises(AssertionError, match="differ"):
            check_equivalent(1.0, 1.1)
        assert scalar_close(1.0, 1.0 + 1e-9)
        assert not scalar_close(1.0, 1.1)

    def test_where_has_keywords(self) -> None:
        def chosen(x: Any) -> Any:
            return np.sum(np.where(condition=x > 0, x=x * 2.0, y=-x))

        onp.testing.assert_allclose(grad(chosen)(np.array([1.0, -1.0])), [2, -1])
        onp.testing.assert_array_equal(np.where([True, False], y=[0, 1], x=[2, 3]), [2, 1])
        onp.testing.assert_array_equal(np.where([True, False]), [[0]])

    @pytest.mark.parametrize("triangle", ["L", "U"])
    def test_eigh_of_complex_matrices_reads_one_triangle(self, triangle: str) -> None:
        random = onp.random.default_rng(3)
        x = random.normal(size=(4, 4)) + 1j * random.normal(size=(4, 4))

        def f(x: Any) -> Any:
            w, v = np.linalg.eigh(x, triangle)
            return w, np.abs(v)

        onp.testing.assert_allclose(f(x)[0], onp.linalg.eigvalsh(x, triangle))
        check_grads(f)(x)
