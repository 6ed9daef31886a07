"""Transforms: values, structures and kinds of what comes out, nesting, and mathematics.

Owns: everything a transform gives when it is used well; `test_transforms_errors.py` has the rest.
"""

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

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


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass(frozen=True)
class Model:
    weight: Any
    bias: Any
    power: int = dataclasses.field(default=2, metadata={"static": True})


def test_first_second_and_third_derivative_of_a_float() -> None:
    for order, expected in enumerate((np.cos(0.7), -np.sin(0.7), -np.cos(0.7)), start=1):
        f: Callable[..., Any] = np.sin
        for _ in range(order):
            f = fg.grad(f)
        found = f(0.7)
        assert type(found) is float
        assert found == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("f", "at", "expected"),
    [
        (lambda x: x * fg.grad(lambda y: x * y)(x), 3.0, 6.0),
        (lambda x: x * fg.grad(lambda y: x + y)(1.0), 2.0, 1.0),
        (lambda x: x * fg.grad(lambda y: x + y)(x), 2.0, 1.0),
        (lambda a: fg.grad(lambda y: a * y**2)(3.0), 2.0, 6.0),
        (lambda a: a * fg.grad(lambda y: y**2)(3.0), 2.0, 6.0),
        (lambda x: fg.grad(lambda y: x**3 * fg.grad(lambda z: y * z**2)(y))(x), 2.0, 80.0 * 2),
        (lambda x: fg.grad(lambda y: fg.grad(lambda z: x * y * z)(x) * y)(x), 2.0, 8.0),
    ],
)
def test_nested_gradients_of_one_value_stay_apart(
    f: Callable[..., Any], at: float, expected: float
) -> None:
    numeric = (f(at + 1e-6) - f(at - 1e-6)) / 2e-6
    assert fg.grad(f)(at) == pytest.approx(float(numeric), rel=1e-6)
    assert fg.grad(f)(at) == pytest.approx(expected if expected != 160.0 else 4 * 2 * 2.0**3 * 2)


def test_an_inner_gradient_of_nothing_outer_is_a_plain_number() -> None:
    seen = []

    def f(a: Any) -> Any:
        inner = fg.grad(lambda y: y**2)(3.0)
        seen.append(inner)
        return a * inner

    assert fg.grad(f)(2.0) == 6.0
    assert seen == [6.0]
    assert type(seen[0]) is float


def test_arrays_come_out_fresh_writable_contiguous_and_of_their_dtype() -> None:
    kept: dict[str, Any] = {}

    def f(x: Any) -> Any:
        kept["x"] = x
        return np.sum(x.T * 2.0)

    for dtype in (np.float64, np.float32):
        x = np.asfortranarray(np.ones((2, 3), dtype))
        value, slope = fg.value_and_grad(f)(x)
        assert slope.dtype == dtype
        assert value.dtype == dtype
        assert slope.flags.writeable
        assert slope.flags.c_contiguous
        slope[...] = 7.0
        assert_array_equal(x, np.ones((2, 3)))
        assert_array_equal(kept["x"].detach().numpy(), np.ones((2, 3)))
    kept.clear()


def test_an_identity_gives_values_that_share_nothing() -> None:
    x = np.ones(3)
    value, pull = fg.vjp(lambda x: x, x)
    seed = np.arange(3.0)
    (slope,) = pull(seed)
    slope[0] = value[0] = 9.0
    assert_array_equal(x, np.ones(3))
    assert_array_equal(seed, np.arange(3.0))


@pytest.mark.parametrize(
    ("x", "kind"),
    [(2.0, float), (np.float64(2.0), np.float64), (np.float32(2.0), np.float32)],
)
def test_numbers_keep_their_kind(x: Any, kind: type) -> None:
    value, slope = fg.value_and_grad(lambda x: x**2)(x)
    assert type(slope) is kind
    assert slope == 4.0
    assert value == 4.0
    assert isinstance(value, float | np.floating)


def test_an_array_without_axes_stays_one() -> None:
    slope = fg.grad(lambda x: x**2)(np.array(3.0))
    assert isinstance(slope, np.ndarray)
    assert slope.shape == ()
    assert slope == 6.0


def test_tensors_give_tensors_without_history() -> None:
    x = fg.tensor(X)
    value, slope = fg.value_and_grad(lambda x: (x**2).sum())(x)
    assert isinstance(slope, Tensor)
    assert isinstance(value, Tensor)
    assert not slope.requires_grad
    assert not value.requires_grad
    assert not x.requires_grad
    assert_allclose(slope.numpy(), 2 * X)


def test_a_gradient_with_respect_to_a_recorded_tensor_can_be_differentiated() -> None:
    x = fg.tensor(X, requires_grad=True)
    slope = fg.grad(lambda x: (x**3).sum())(x)
    assert slope.requires_grad
    slope.sum().backward()
    assert_allclose(x.grad.numpy(), 6 * X)


def test_a_gradient_that_depends_on_a_recorded_closure_stays_recorded() -> None:
    w = fg.tensor(2.0, requires_grad=True)
    slope = fg.grad(lambda x: w * (x**2).sum())(fg.tensor(X))
    slope.sum().backward()
    assert w.grad.item() == pytest.approx(2 * X.sum())


@pytest.mark.parametrize("mode", [fg.no_grad, fg.inference_mode])
def test_recording_may_be_off_around_a_transform(mode: Any) -> None:
    with mode():
        assert_allclose(fg.grad(cubes)(X), 3 * X**2)
        assert_allclose(fg.hvp(cubes)(X, X), 6 * X**2)
        assert_allclose(fg.jvp(np.sin, (X,), (X,))[1], X * np.cos(X))
        assert not fg.is_grad_enabled()


def containers() -> list[Any]:
    return [
        {"w": X, "b": [1.0, {"c": X[:2]}]},
        (X, (2.0, [])),
        [X, None, X],
        Pair(X, 2.0),
        Model(X, 1.5),
        OrderedDict(z=X, a=2.0),
        defaultdict(list, k=X),
    ]


@pytest.mark.parametrize("tree", containers(), ids=lambda tree: type(tree).__name__)
def test_containers_come_back_with_their_structure(tree: Any) -> None:
    def squares(value: Any) -> Any:
        if isinstance(value, Tensor):
            return (value**2).sum()
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return squares(value.weight) + squares(value.bias)
        items = value.values() if isinstance(value, dict) else value
        return sum(squares(item) for item in items if item is not None)

    def compare(got: Any, given: Any) -> None:
        assert type(got) is type(given)
        if isinstance(given, np.ndarray | float):
            assert_allclose(got, 2 * np.asarray(given))
        elif isinstance(given, Model):
            compare(got.weight, given.weight)
            compare(got.bias, given.bias)
            assert got.power == given.power
        elif isinstance(given, dict):
            assert list(got) == list(given)
            for key in given:
                compare(got[key], given[key])
        elif given is not None:
            assert len(got) == len(given)
            for a, b in zip(got, given, strict=True):
                compare(a, b)

    compare(fg.grad(squares)(tree), tree)


def test_argnums_by_position_name_default_and_alias() -> None:
    def f(x: Any, y: Any = 2.0, *, z: Any = 3.0) -> Any:
        return np.sum(x * y * z)

    assert fg.grad(f, 1)(2.0, 5.0) == 6.0
    assert fg.grad(f, -1)(2.0, 5.0) == 6.0
    assert fg.grad(f, argnum=1)(2.0, 5.0) == 6.0
    assert fg.grad(f, "z")(2.0, 5.0) == 10.0
    assert fg.grad(f, "y")(2.0, z=4.0) == 8.0
    assert fg.grad(f, 0)(x=2.0) == 6.0
    assert fg.grad(f, (0, 1))(2.0, 5.0) == (15.0, 6.0)
    assert fg.grad(f, ["x", "z"])(2.0, 5.0) == (15.0, 10.0)
    assert fg.grad(fg.grad(f, "x"), "z")(2.0, 5.0) == 5.0


def test_other_arguments_pass_untouched() -> None:
    given = object()

    def f(x: Any, other: Any, *, key: Any) -> Any:
        assert other is given
        assert key is given
        return x**2

    assert fg.grad(f)(3.0, given, key=given) == 6.0


def test_one_value_for_two_arguments_is_two_variables() -> None:
    assert fg.grad(lambda x, y: x**2 * y, (0, 1))(3.0, 3.0) == (18.0, 9.0)


@pytest.mark.parametrize("constant", [1.0, 5, np.float64(2.0), np.ones(1), fg.tensor(3.0)])
def test_a_constant_has_zeros(constant: Any) -> None:
    value, slope = fg.value_and_grad(lambda x: constant)(X)
    assert_array_equal(slope, np.zeros(5))
    assert float(np.asarray(value).item()) == float(np.asarray(constant).item())
    assert fg.grad(lambda x, y: x * 2.0, (0, 1))(1.0, 3.0) == (2.0, 0.0)
    assert fg.grad(lambda x: constant)(1.0) == 0.0


def test_aux_comes_back_as_values() -> None:
    def f(x: Any) -> Any:
        return np.sum(x**2), {"y": x * 2, "names": ["s"], "arg": x.argmax()}

    (value, aux), slope = fg.value_and_grad(f, has_aux=True)(X)
    assert value == pytest.approx((X**2).sum())
    assert_allclose(slope, 2 * X)
    assert isinstance(aux["y"], np.ndarray)
    assert_allclose(aux["y"], 2 * X)
    assert aux["names"] == ["s"]
    assert aux["arg"] == 4
    assert_allclose(fg.grad(f, has_aux=True)(X)[0], 2 * X)
    assert_allclose(fg.jacobian(f, has_aux=True)(X)[0], 2 * X)
    assert_allclose(fg.elementwise_grad(f, has_aux=True)(X)[0], 2 * X)


def test_control_flow_is_pythons() -> None:
    def f(x: Any) -> Any:
        while x < 10:
            x = x * x if x > 1.5 else x + 1.0
        return x

    assert fg.grad(f)(1.2) == pytest.approx(4 * 2.2**3)

    def power(x: Any, n: int) -> Any:
        return 1.0 if n == 0 else x * power(x, n - 1)

    assert fg.grad(power)(2.0, 5) == 80.0


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
        fg.grad(lambda x: anp.fft.fft(x)[0])(X)


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
